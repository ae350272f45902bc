"""The exactly-once loop, without Kafka."""

from types import SimpleNamespace

import pytest

from connect.runtime.exactly_once import ExactlyOnceLoop


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
