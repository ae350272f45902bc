"""A replayed record tells where it has been."""

import pytest

from connect.pipeline import RawMessage
from dlq import letter as names
from dlq.lineage import lineage
from dlq.reader import letter_from
from dlq.replay import ReplayError, parse_target


def test_lineage_grows_with_each_replay():
    """Own headers stay, error headers go, the first origin and every letter are kept."""
    errors = [(names.TOPIC, b"orders"), (names.PARTITION, b"1"), (names.OFFSET, b"7"),
              (names.MESSAGE, b"no")]  # fmt: skip
    first = letter_from(RawMessage("dlq", b"v", offset=3, headers=[("own", b"1"), *errors]))
    replayed = lineage(first, "r1")
    assert replayed == [
        ("own", b"1"),
        (names.ATTEMPT, b"1"),
        (names.ORIGIN, b'"orders/1/7"'),
        (names.FROM_LETTER, b'"dlq/0/3"'),
        (names.REPLAY_ID, b'"r1"'),
    ]
    again = letter_from(
        RawMessage("dlq", b"v", offset=9, headers=[*replayed, (names.TOPIC, b"orders"),
                                                   (names.OFFSET, b"99")])
    )  # fmt: skip
    assert (again.attempts, again.origin) == (1, "orders/1/7")
    assert lineage(again, "r2")[1:] == [
        (names.ATTEMPT, b"2"),
        (names.ORIGIN, b'"orders/1/7"'),
        (names.FROM_LETTER, b'"dlq/0/3"'),
        (names.FROM_LETTER, b'"dlq/0/9"'),
        (names.REPLAY_ID, b'"r2"'),
    ]


@pytest.mark.parametrize(
    ("text", "meant"), [("original", "original"), ("sink", "sink"), ("topic:a:b", "a:b")]
)
def test_targets(text, meant):
    """Where to, as people write it."""
    assert parse_target(text) == meant


@pytest.mark.parametrize("text", ["", "moon", "topic:", "topic:sink", "TOPIC:x"])
def test_other_targets_are_refused(text):
    """The text and the ways to write it are named."""
    with pytest.raises(ReplayError, match="original, sink or topic:NAME"):
        parse_target(text)
