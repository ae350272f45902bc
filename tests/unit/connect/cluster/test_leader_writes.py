"""What the leader writes to the config topic, one after the other."""

import asyncio
import ssl
import threading
from types import SimpleNamespace

import pytest

from connect.cluster.herder import ElsewhereError
from connect.cluster.kafka_log import Record
from connect.cluster.member import ClusterMember
from connect.cluster.peers import Peers
from connect.errors import AlreadyExistsError
from tests.support.settings import distributed


class SlowTopic:
    """Writes to it end when the test lets them. What is written is read."""

    def __init__(self, configs):
        self._configs = configs
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.written = []

    def put(self, name):
        self.begun.set()
        assert self.may_end.wait(30)
        value = b'{"properties":{}}'
        self._configs._apply(Record(f"connector-{name}".encode(), value, len(self.written), 0))
        self.written.append(name)


@pytest.fixture
def leader():
    config = distributed()
    peers = Peers(ssl.create_default_context)
    member = ClusterMember(config, "worker:1", "http://127.0.0.1:2", peers)
    member.is_leader = True
    member._membership = SimpleNamespace(in_touch=True)
    yield member
    member._threads.shutdown()


def free(config):
    if "a" in config.connectors:
        raise AlreadyExistsError("a is taken")


@pytest.mark.parametrize("first_is_cancelled", [False, True])
def test_what_a_write_rests_on_holds_when_it_is_done(leader, first_is_cancelled):
    """Of two that take the same name the second is refused, also if nobody waits for the first any
    more."""
    topic = SlowTopic(leader.configs)

    async def run():
        first = asyncio.ensure_future(leader.write(topic.put, "a", check=free))
        await asyncio.to_thread(topic.begun.wait)
        if first_is_cancelled:
            first.cancel()
        second = asyncio.ensure_future(leader.write(topic.put, "a", check=free))
        for _ in range(10):  # turns of the loop, in which the second gets as far as it can
            await asyncio.sleep(0)
        topic.may_end.set()
        return await asyncio.gather(first, second, return_exceptions=True)

    first, second = asyncio.run(run())
    assert isinstance(first, asyncio.CancelledError) if first_is_cancelled else first is None
    assert isinstance(second, AlreadyExistsError)
    assert topic.written == ["a"]


def test_a_leader_that_is_none_any_more_writes_nothing(leader):
    """While it waits for its turn another may have taken over, who is told instead."""
    topic = SlowTopic(leader.configs)

    async def run():
        first = asyncio.ensure_future(leader.write(topic.put, "a"))
        await asyncio.to_thread(topic.begun.wait)
        second = asyncio.ensure_future(leader.write(topic.put, "b"))
        leader.is_leader = False
        topic.may_end.set()
        await first
        with pytest.raises(ElsewhereError):
            await second

    asyncio.run(run())
    assert topic.written == ["a"]
