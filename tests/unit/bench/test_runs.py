"""How many rounds a row is given, and what it tells of them."""

import pytest

from bench.runs import Goal, Row, Sample

THREE_TIMES = Goal(3.0)


def row(*ratios, goal=THREE_TIMES):
    """A row with these rounds, whose goal is three times the other side's unless said otherwise."""
    made = Row("work", "title", goal)
    made.theirs = [Sample(1.0) for _ in ratios]
    made.ours = [Sample(ratio) for ratio in ratios]
    return made


@pytest.mark.parametrize(
    ("ratios", "more"),
    [
        ([], True),
        ([4.0, 4.0], True),
        ([4.0, 3.5, 3.1], False),
        ([2.0, 2.5, 2.9], False),
        ([4.0, 2.9, 3.1], True),
        ([4.0, 2.9] * 4, True),
        ([4.0, 2.9] * 5, False),
    ],
    ids=["none", "too few", "all met", "none met", "undecided", "still undecided", "enough"],
)
def test_a_row_with_rounds_on_both_sides_of_its_goal_wants_more(ratios, more):
    """Three rounds are enough where they agree; else there are up to nine."""
    assert row(*ratios).wants_more(3) is more


def test_the_median_of_all_rounds_decides():
    """However many there were."""
    assert row(2.9, 2.8, 3.1, 3.2, 3.3).met
    assert not row(2.9, 2.8, 3.1, 2.7, 3.3).met
    assert not row().met


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([0.9, 1.1, 0.95], "met"),
        ([1.2, 1.1, 0.9], "even"),
        ([1.01, 1.02, 1.01], "MISSED"),
        ([0.8, 0.9, 1.1, 1.1, 1.2, 1.3, 0.9, 1.2, 1.1], "even"),
        ([0.9, 1.1, 1.1, 1.1, 1.2, 1.3, 1.1, 1.2, 1.1], "MISSED"),
    ],
)
def test_no_worse_is_missed_only_if_more_rounds_are_worse_than_chance_explains(ratios, verdict):
    """Neither side is better where rounds lie on both sides of 1 as a coin would have it."""
    assert row(*ratios, goal=Goal(1.0, at_least=False)).verdict == verdict


def test_other_goals_are_met_or_missed():
    """Three times as much is not even with less."""
    assert row(2.9, 2.9, 3.1).verdict == "MISSED"
    assert row(2.9, 3.1, 3.1).verdict == "met"
