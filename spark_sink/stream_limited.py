"""The stream for Spark 4.2 and newer, which asks for batches of a wanted size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from spark_sink.offsets import Offsets, from_json, to_json, within
from spark_sink.options import ReadOptions
from spark_sink.stream import Stream


class LimitedStream(Stream, SupportsTriggerAvailableNow):
    """Its batches have `maxOffsetsPerTrigger` at most; available-now ends where it began."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        super().__init__(options, schema)
        self._target: Offsets | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_target": None}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        limit = self._options.max_offsets
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._settle()
        self._target = self._latest()

    def latestOffset(self, start: Mapping[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        begin = from_json(start)
        end = self._latest() if self._target is None else dict(self._target)
        self._compare(begin, end)
        if isinstance(limit, ReadMaxRows):
            end = within(self._with_new_ones(begin, end), end, limit.max_rows)
        return to_json(end)

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return to_json(self._latest())
