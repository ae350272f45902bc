"""How many rounds a row is given, and what it tells of them."""

import pytest

from bench.runs import Goal, Row, Sample


def row(*ratios):
    """A row with these rounds, whose goal is three times the other side's."""
    made = Row("work", "title", Goal(3.0))
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
