"""Where a stream's batches begin and end while the topic grows."""

import pytest
from pyspark.sql.types import StructType

from spark_sink.offsets import Log
from spark_sink.options import START_OPTION, ReadOptions
from spark_sink.ranges import DataLossError, OffsetRange
from spark_sink.schemas import row_type
from spark_sink.stream_limited import LimitedStream
from spark_sink.stream_unlimited import UnlimitedStream

BASE = {"topics": "a", "value.converter": "x"}


class GrowingLog(Log):
    """A topic of one partition that has ten records more each time its end is asked for."""

    def __init__(self):
        self.end = 100

    def partitions(self, *, all_topics):
        return {("a", 0)}

    def earliest(self, places):
        return dict.fromkeys(places, 0)

    def latest(self, places):
        self.end += 10
        return dict.fromkeys(places, self.end)


def stream(kind, **options):
    made = kind(ReadOptions.parse(BASE | options), row_type(StructType()))
    made._log = GrowingLog()
    return made


def test_the_first_batch_begins_where_it_was_planned_to():
    """Spark asks for the start to plan a batch and again to run it: `latest` stays what it was."""
    grows = stream(LimitedStream)
    start = grows.initialOffset()
    end = grows.latestOffset(start, grows.getDefaultReadLimit())
    assert grows.partitions(grows.initialOffset(), end) == [OffsetRange("a", 0, 110, 120)]


def test_the_start_is_settled_before_the_end():
    """Spark 4.1, and available-now, ask for the end first: it does not lie before the start."""
    grows = stream(UnlimitedStream)
    end = grows.latestOffset()
    assert grows.partitions(grows.initialOffset(), end) == [OffsetRange("a", 0, 110, 120)]
    grows = stream(LimitedStream)
    grows.prepareForTriggerAvailableNow()
    start = grows.initialOffset()
    end = grows.latestOffset(start, grows.getDefaultReadLimit())
    assert grows.partitions(start, end) == [OffsetRange("a", 0, 110, 120)]


def test_a_kept_start_is_taken_as_it_is():
    """A connector's query begins where it was settled to; partitions it leaves out are new."""
    kept = stream(LimitedStream, **{START_OPTION: '{"a": {"0": 7}}'})
    assert kept.initialOffset() == {"a": {"0": 7}}
    empty = stream(LimitedStream, **{START_OPTION: "{}"})
    assert empty.partitions(empty.initialOffset(), {"a": {"0": 3}}) == [OffsetRange("a", 0, 0, 3)]


@pytest.mark.parametrize("kind", [LimitedStream, UnlimitedStream])
def test_a_batch_that_ends_before_it_begins_is_told(kind):
    """The topic is read from its beginning only where the loss of what was read is allowed."""
    begin, end = {"a": {"0": 9}}, {"a": {"0": 4}}
    with pytest.raises(DataLossError, match="a-0 ends at offset 4, and the batch begins at 9"):
        stream(kind).partitions(begin, end)
    tolerant = stream(kind, failondataloss="false")
    assert tolerant.partitions(begin, end) == [OffsetRange("a", 0, 0, 4)]
