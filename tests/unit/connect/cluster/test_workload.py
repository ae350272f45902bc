"""What a worker runs of its share, by what it reads."""

import asyncio
import json

import pytest

from connect.cluster.assignment import Work
from connect.cluster.config_log import ConfigState
from connect.cluster.herder import State, TaskId
from connect.cluster.kafka_log import Record
from connect.cluster.workload import Workload
from connect.errors import ConnectError
from connect.plugins import Plugins
from tests.support.settings import distributed

CONNECTOR = {"properties": {"connector.class": "FileStreamSource", "topic": "t"}}
TASK = TaskId("a", 0)


class Statuses:
    """What is said of tasks, in place of the topic."""

    def __init__(self):
        self.said = []

    def put_safely(self, subject, status, generation):
        self.said.append((subject, status.state))


class Topic:
    """The config topic, with a connector and its task in it."""

    def __init__(self):
        self.state = ConfigState()
        self.put("connector-a", CONNECTOR)
        self.commit()

    def put(self, key, value):
        data = None if value is None else json.dumps(value).encode()
        self.state.apply(Record(key.encode(), data, self.state.snapshot().offset, 0))

    def commit(self):
        self.put("task-a-0", {"properties": {"x": "1"}})
        self.put("commit-a", {"tasks": 1})

    def create_anew(self):
        self.put("connector-a", None)
        self.put("connector-a", CONNECTOR)
        self.commit()


async def until(condition):
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("change", [Topic.commit, Topic.create_anew])
def test_fencing_that_failed_is_tried_for_newer_tasks_alone(monkeypatch, change):
    """Tasks whose predecessors can't be fenced are FAILED, and it is not asked for again; it is for
    those of a later commit."""
    monkeypatch.setattr("connect.cluster.workload.FENCE_RETRY_SECONDS", (0.0, 0.0))
    topic, statuses, asked = Topic(), Statuses(), []

    async def refuse(name):
        asked.append(name)
        raise ConnectError("there are zombies")

    async def run():
        workload = Workload(
            distributed(exactly__once__source__support="enabled"),
            "worker:1",
            plugins=Plugins(),
            statuses=statuses,
            snapshot=topic.state.snapshot,
            on_task_configs=None,
            answer=None,
            fence=refuse,
        )
        workload.owned = Work(tasks=frozenset([TASK]))

        async def settled():
            await workload.run(topic.state.snapshot())
            await until(lambda: not workload._background)
            return len(asked), statuses.said

        every_try = 3
        assert await settled() == (every_try, [(TASK, State.FAILED)])
        assert await settled() == (every_try, [(TASK, State.FAILED)])
        change(topic)
        assert await settled() == (2 * every_try, [(TASK, State.FAILED)] * 2)

    asyncio.run(run())
