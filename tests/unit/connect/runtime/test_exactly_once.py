"""The exactly-once loops, without Kafka."""

import threading
from types import SimpleNamespace

import pytest

from connect.runtime.exactly_once import ExactlyOnceLoop
from connect.runtime.group_commit import GroupCommitLoop


def test_what_another_thread_finds_while_a_producer_is_made_counts():
    """A topic that wants smaller batches is met just then: the new producer does not fit either."""
    loop = ExactlyOnceLoop.__new__(ExactlyOnceLoop)
    loop._most_bytes, loop._express_terms = 1_000_000, None

    def make_producer(most_bytes):
        loop._most_bytes = 5000
        loop._fit_producer()

    loop._make_producer = make_producer
    loop._open = False
    loop._start_producer()
    assert not loop._fits


class FullProducer:
    """Has no room until what it has is sent, which takes it a while."""

    def __init__(self):
        self.left = [1, 0]
        self.has = []

    def produce(self, topic, *, value, key):
        if self.left:
            raise BufferError("no room")
        self.has.append((topic, key, value))

    def poll(self, seconds):
        return 0

    def flush(self, seconds):
        return self.left.pop(0)

    def commit_transaction(self, seconds):
        self.has.append("commit")


@pytest.mark.parametrize("stopping", [False, True])
def test_offsets_wait_for_room_in_the_producer(stopping):
    """They are in the transaction, also when the task is being stopped."""
    loop = ExactlyOnceLoop.__new__(ExactlyOnceLoop)
    loop._producer, loop._offsets_topic = FullProducer(), "offsets"
    loop._control, loop._express, loop._undelivered = SimpleNamespace(stopping=stopping), None, []
    if stopping:
        loop._producer.left = [0]
    loop._commit_transaction([(b"a", b"1"), (b"b", None)])
    assert loop._producer.has == [("offsets", b"a", b"1"), ("offsets", b"b", None), "commit"]


class RestingWay:
    """A short way that is at rest, and hands over to a producer that takes the place of another."""

    def pack(self, _batches, _most_bytes):
        return None

    def hand_over(self, take, *, anew):
        if anew:
            take()


class SmallTopicMet:
    """A producer; while the first one takes over, the task comes to a topic of small batches."""

    def __init__(self, loop, made):
        self.loop = loop
        self.made = made
        made.append(self)

    def init_transactions(self, _seconds):
        if len(self.made) == 1:
            self.loop._most_bytes = 5000
            self.loop._fit_producer()

    def begin_transaction(self):
        pass

    def commit_transaction(self, _seconds):
        pass


def test_producers_are_made_by_nobody_but_the_short_way():
    """One that it did not hear of would pass for another task's: the next transaction has it."""
    loop = GroupCommitLoop.__new__(GroupCommitLoop)
    made = []
    loop._make_producer = lambda most_bytes: SmallTopicMet(loop, made)
    loop._most_bytes, loop._express_terms = 1_000_000, None
    loop._short, loop._changed, loop._under_way = RestingWay(), threading.Condition(), []
    loop._open, loop._fits = False, False
    loop._commit_transaction([])
    assert len(made) == 1
    loop._commit_transaction([])
    assert (len(made), loop._fits) == (2, True)
