"""The stream for Spark 4.1, which does not say where a batch begins when it asks for its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from spark_sink.offsets import Offsets, from_json, to_json, within
from spark_sink.options import ReadOptions
from spark_sink.stream import Stream


class UnlimitedStream(Stream):
    """Remembers where it is, to keep to `maxOffsetsPerTrigger`.

    Spark tells it with the first batch, which therefore has all there is.
    """

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        super().__init__(options, schema)
        self._reached: Offsets | None = None

    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override] # noqa: N802 - Spark 4.1's
        self._settle()
        end = self._latest()
        limit = self._options.max_offsets
        if self._reached is not None and limit is not None:
            self._compare(self._reached, end)
            end = within(self._with_new_ones(self._reached, end), end, limit)
        return to_json(end)

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[InputPartition]:
        planned = super().partitions(start, end)
        self._reached = from_json(end)
        return planned
