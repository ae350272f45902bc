"""Names of letters, times and states as people write them."""

import pytest

from dlq.reader import Span
from dlq.selection import SelectionError, State, parse_place, parse_states, parse_time


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("orders-dlq", ("orders-dlq", None)),
        ("a.b_c/0/12", ("a.b_c", Span(0, 12, 13))),
        ("t/3/5-9", ("t", Span(3, 5, 10))),
    ],
)
def test_letters_have_names(text, meant):
    """A topic, a letter in it, or a range."""
    assert parse_place(text) == meant


@pytest.mark.parametrize("text", ["", "t/1", "t/x/1", "t/1/9-5", "a/b/c/d", "t/-1/0"])
def test_other_names_are_refused(text):
    """What names no letters is said with the text and the way to write it."""
    with pytest.raises(SelectionError, match=r"names no letters|ends before"):
        parse_place(text)


def test_times():
    """Ago, a date with an offset, milliseconds."""
    assert parse_time("2h", now=10_000) == (10_000 - 7200) * 1000
    assert parse_time("2026-01-31T12:00+00:00") == 1769860800000
    assert parse_time("1769860800000") == 1769860800000
    with pytest.raises(SelectionError, match="'soon' is no time"):
        parse_time("soon")


def test_states():
    """One, several, or all, which is none in particular."""
    assert parse_states("Open, dismissed") == (State.OPEN, State.DISMISSED)
    assert parse_states("all") == ()
    with pytest.raises(SelectionError, match="'gone'"):
        parse_states("gone")
