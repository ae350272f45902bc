"""A stream of batches, each between two sets of offsets: what all versions of Spark share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
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
        self._initial: Offsets | None = None

    def __getstate__(self) -> dict[str, Any]:
        # A copy goes to every executor; the connection to Kafka stays on the driver.
        return {**vars(self), "_log": None}

    @property
    def _kafka(self) -> Log:
        if self._log is None:
            self._log = Log(self._options)
        return self._log

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where the first batch begins. Spark asks to plan it, and again to run it."""
        if self._initial is None:
            kept = self._options.kept_start
            self._initial = self._begin() if kept is None else from_json(orjson.loads(kept))
        return to_json(self._initial)

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[InputPartition]:
        begin, to = from_json(start), from_json(end)
        self._compare(begin, to)
        begin = self._with_new_ones(begin, to)
        # What is let pass there was made anew, so all of it is new.
        begin |= self._kafka.earliest([place for place in to if begin[place] > to[place]])
        return list(ranges_between(begin, to, self._options.min_partitions))

    def commit(self, end: Mapping[str, Any]) -> None:
        """Spark's checkpoint is the truth, so there is nothing to commit."""

    def stop(self) -> None:
        self._log = None

    @property
    def _wanted(self) -> str:
        return self._options.starting or "latest"

    def _begin(self) -> Offsets:
        places = self._kafka.partitions(all_topics=False)
        return self._kafka.resolve("startingOffsets", self._wanted, places)

    def _settle(self) -> None:
        """Settle where to begin before an end is asked for, or it could come to lie behind it.

        Explicit offsets do not move, and those of a query that goes on may no longer fit.
        """
        if not self._wanted.strip().startswith("{"):
            self.initialOffset()

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
                f"{place[0]}-{place[1]} ends at offset {end[place]}, and the batch begins at "
                f"{begin[place]}: the topic was made anew or cut off, or startingOffsets has moved "
                "on and a first batch comes again.",
            )
