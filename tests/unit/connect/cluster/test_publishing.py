"""How the tasks that a connector names get to the leader."""

import asyncio
import json
import ssl

import pytest

from connect.cluster.assignment import Work
from connect.cluster.kafka_log import Record
from connect.cluster.member import ClusterMember
from connect.cluster.peers import Peers
from tests.support.http_service import http_service
from tests.support.settings import distributed

FIRST, SECOND = {"x": "1"}, {"x": "2"}
STOPPED = ("target-state-a", {"state": "PAUSED", "state.v2": "STOPPED"})
CHANGED = ("connector-a", {"properties": SECOND})
DELETED = ("connector-a", None)
WRITTEN = [("task-a-0", {"properties": FIRST}), ("commit-a", {"tasks": 1})]


class Follower:
    """A worker that runs connector a by its first config, and has a leader to tell of its tasks."""

    def __init__(self, leader):
        config = distributed()
        peers = Peers(ssl.create_default_context)
        self.member = ClusterMember(config, "worker:1", "http://127.0.0.1:2", peers)
        self.member.trust.sessioned = False
        self.member._leader_url = leader.url
        self.member.workload.owned = Work(connectors=frozenset("a"))
        self.read(("connector-a", {"properties": FIRST}))

    def read(self, *records):
        for key, value in records:
            data = None if value is None else json.dumps(value).encode()
            offset = self.member.configs.snapshot().offset
            self.member.configs._apply(Record(key.encode(), data, offset, 0))

    def publish(self, *configs):
        self.member._task_configs_made("a", FIRST, list(configs))
        return self.member._publishing.get("a")


@pytest.fixture
def leader(monkeypatch):
    """It has no time at first."""
    monkeypatch.setattr("connect.cluster.member.PUBLISH_RETRY_SECONDS", 0.01)
    with http_service() as service:
        service.answers = [503, 503]
        yield service


def test_tasks_are_sent_until_the_leader_has_them(leader):
    """A leader that has no time is asked again."""

    async def run():
        await Follower(leader).publish(FIRST)

    asyncio.run(run())
    assert [json.loads(asked.body) for asked in leader.at("/connectors/a/tasks")] == [[FIRST]] * 3


@pytest.mark.parametrize("meanwhile", [[STOPPED], [CHANGED], [DELETED], WRITTEN])
def test_tasks_that_are_not_wanted_any_more_are_not_sent_again(leader, meanwhile):
    """The connector was stopped, changed or deleted since it named them, or they are there."""

    async def run():
        follower = Follower(leader)

        def decide(asked):
            follower.read(*meanwhile)

        leader.decide = decide
        await follower.publish(FIRST)

    asyncio.run(run())
    assert len(leader.asked) == 1


def test_tasks_that_are_there_already_take_the_place_of_those_on_their_way(leader):
    """A connector that names what it had before has what it named since forgotten."""

    async def run():
        follower = Follower(leader)
        follower.read(*WRITTEN)
        on_its_way = follower.publish(SECOND)
        await asyncio.sleep(0)
        assert follower.publish(FIRST) is None
        with pytest.raises(asyncio.CancelledError):
            await on_its_way

    asyncio.run(run())
