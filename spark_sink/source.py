"""The data source `penstock`: Kafka's records through a connector's pipeline, as Spark rows."""

from __future__ import annotations

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

from spark_sink.discovery import find_columns
from spark_sink.offsets import Log, ranges_between
from spark_sink.options import ReadOptions
from spark_sink.ranges import bear_loss
from spark_sink.reading import Reading
from spark_sink.schemas import row_ddl, row_type


class PenstockDataSource(DataSource):
    """`spark.read.format("penstock")`; docs/spark.md has the options and the columns."""

    @classmethod
    def name(cls) -> str:
        return "penstock"

    def schema(self) -> StructType | str:
        options = ReadOptions.parse(self.options)
        return row_ddl(options.ddl) if options.ddl else row_type(find_columns(options))

    def reader(self, schema: StructType) -> BatchReader:
        return BatchReader(ReadOptions.parse(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        options = ReadOptions.parse(self.options)
        try:
            from spark_sink.stream_limited import LimitedStream  # noqa: PLC0415
        except ImportError:
            from spark_sink.stream_unlimited import UnlimitedStream  # noqa: PLC0415

            return UnlimitedStream(options, schema)
        return LimitedStream(options, schema)


class BatchReader(Reading, DataSourceReader):
    """Everything between two sets of offsets, settled once."""

    def partitions(self) -> list[InputPartition]:
        options = self._options
        log_ = Log(options)
        places = log_.partitions(all_topics=True)
        start = log_.resolve("startingOffsets", options.starting or "earliest", places)
        end = log_.resolve("endingOffsets", options.ending, places)
        first, last = log_.earliest(places), log_.latest(places)
        for place in sorted(places):
            what = f"{place[0]}-{place[1]}"
            if start[place] < first[place] and start[place] < end[place]:
                bear_loss(options, f"{what} begins at offset {first[place]}, not {start[place]}.")
                start[place] = min(first[place], end[place])
            if end[place] > last[place]:
                bear_loss(options, f"{what} ends at offset {last[place]}, not {end[place]}.")
                end[place] = last[place]
        return list(ranges_between(start, end, options.min_partitions))
