"""State records are read back as they were written, and others are left alone."""

import pytest

from dlq.model import Mark
from dlq.reader import TopicFacts
from dlq.selection import State
from dlq.state import decode, encode

TOPIC = TopicFacts("dlq", "id-1", (0,))
MARK = Mark(2, 5, State.REPLAYED, "ann@host", 17, "note", "replay-1", "orders")


def test_a_mark_survives_its_record():
    """Key and value hold all of a mark."""
    assert decode(TOPIC, *encode(TOPIC, MARK)) == MARK


def test_a_topic_created_anew_begins_afresh():
    """The same place in a topic with another id is another letter."""
    assert decode(TopicFacts("dlq", "id-2", (0,)), *encode(TOPIC, MARK)) is None


def test_a_tombstone_reopens():
    """No value, no state: the letter is open."""
    key, _ = encode(TOPIC, MARK)
    assert decode(TOPIC, key, None).state is State.OPEN


@pytest.mark.parametrize("key", [None, b"", b"{}", b"\xff", b'{"topic":1}'])
def test_foreign_records_are_left_alone(key):
    """What is no mark is passed over."""
    assert decode(TOPIC, key, b"{}") is None
