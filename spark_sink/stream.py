"""A stream of batches, each between two sets of offsets: what all versions of Spark share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from spark_sink.offsets import Log, Offsets, from_json, ranges_between, to_json
from spark_sink.options import ReadOptions
from spark_sink.ranges import bear_loss
from spark_sink.reading import Reading


class Stream(Reading, DataSourceStreamReader):
    """Batch after batch. Spark keeps the offsets in its checkpoint; nothing else does."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        super().__init__(options, schema)
        self._log: Log | None = None

    def __getstate__(self) -> dict[str, Any]:
        # A copy goes to every executor; the connection to Kafka stays on the driver.
        return {**vars(self), "_log": None}

    @property
    def _kafka(self) -> Log:
        if self._log is None:
            self._log = Log(self._options)
        return self._log

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        places = self._kafka.partitions(all_topics=False)
        wanted = self._options.starting or "latest"
        return to_json(self._kafka.resolve("startingOffsets", wanted, places))

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[InputPartition]:
        begin, to = self._with_new_ones(from_json(start), from_json(end)), from_json(end)
        for place in [p for p in to if begin[p] > to[p]]:
            # The topic was made anew, which latestOffset has let pass: all of it is new.
            begin |= self._kafka.earliest([place])
        return list(ranges_between(begin, to, self._options.min_partitions))

    def commit(self, end: Mapping[str, Any]) -> None:
        """Spark's checkpoint is the truth, so there is nothing to commit."""

    def stop(self) -> None:
        self._log = None

    def _latest(self) -> Offsets:
        return self._kafka.latest(self._kafka.partitions(all_topics=False))

    def _with_new_ones(self, begin: Offsets, end: Offsets) -> Offsets:
        """Where a batch begins, in partitions that there were not before, too."""
        return begin | self._kafka.earliest([place for place in end if place not in begin])

    def _compare(self, begin: Offsets, end: Offsets) -> None:
        """Notice what is gone: a topic, partitions, or the end of one that was made anew."""
        gone = sorted(place for place in begin if place not in end)
        if gone:
            topic, partition = gone[0]
            bear_loss(self._options, f"{topic}-{partition} is no longer there.")
        for place in sorted(p for p in begin if p in end and end[p] < begin[p]):
            bear_loss(
                self._options,
                f"{place[0]}-{place[1]} ends at offset {end[place]}, and {begin[place]} were read "
                "before: the topic was made anew or cut off.",
            )
