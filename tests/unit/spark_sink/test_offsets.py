"""Ranges between offsets, and batches of a set size."""

from hypothesis import given
from hypothesis import strategies as st

from spark_sink.offsets import from_json, ranges_between, to_json, within

places = st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 3))
starts = st.dictionaries(places, st.integers(0, 1000), min_size=1)


@st.composite
def spans(draw):
    start = draw(starts)
    return start, {place: offset + draw(st.integers(0, 500)) for place, offset in start.items()}


def test_offsets_are_kept_as_spark_keeps_them():
    """Offsets travel through JSON, whose keys are text, and come back the same."""
    offsets = {("orders", 0): 5, ("orders", 1): 7, ("users", 0): 0}
    stored = to_json(offsets)
    assert stored == {"orders": {"0": 5, "1": 7}, "users": {"0": 0}}
    assert from_json(stored) == offsets


@given(spans(), st.none() | st.integers(1, 20))
def test_ranges_cover_every_offset_once(span, at_least):
    """However ranges are cut, they follow each other without gap and overlap."""
    start, end = span
    ranges = ranges_between(start, end, at_least)
    covered = [(r.topic, r.partition, o) for r in ranges for o in range(r.start, r.end)]
    assert len(covered) == len(set(covered))
    assert set(covered) == {(*p, o) for p in start for o in range(start[p], end[p])}
    total = sum(end[p] - start[p] for p in start)
    assert len(ranges) >= min(at_least or 0, total)


@given(spans(), st.integers(1, 300))
def test_a_limited_batch_goes_on_everywhere_and_is_hardly_larger(span, limit):
    """Every partition that is behind gets a share; rounding adds at most one offset each."""
    start, end = span
    limited = within(start, end, limit)
    assert set(limited) == set(end)
    for place in start:
        assert start[place] <= limited[place] <= end[place]
        assert limited[place] > start[place] or end[place] == start[place]
    assert sum(limited[p] - start[p] for p in start) <= limit + len(start)
