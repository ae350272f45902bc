"""The data source `penstock`: Kafka's records through a connector's pipeline, as Spark rows."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from connect import ConfigError, ConnectError
from connect.pipeline import Failure, SinkPipeline
from connect.runtime.memory import tune_garbage_collection
from spark_sink.columns import RowBuilder
from spark_sink.discovery import find_columns
from spark_sink.offsets import Log, Offsets, from_json, ranges_between, to_json, within
from spark_sink.options import ReadOptions
from spark_sink.ranges import OffsetRange, RangeReader, lost
from spark_sink.schemas import ERROR, KAFKA, row_ddl, row_type

log = logging.getLogger(__name__)


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

    def streamReader(self, schema: StructType) -> StreamReader:  # noqa: N802 - Spark's name
        return StreamReader(ReadOptions.parse(self.options), schema)


class _Reading:
    """What happens on an executor, the same for batches and streams."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        if not {KAFKA, ERROR} <= set(schema.fieldNames()):
            raise ConfigError(
                f"The schema has no columns {KAFKA} and {ERROR}: say which fields the value has "
                "with the option spark.schema, instead of with schema(...)"
            )
        self._options = options
        self._schema = schema

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, OffsetRange):  # an empty plan comes as one partition of nothing
            yield from _worker_for(self._options, self._schema).batches(partition)


class BatchReader(_Reading, DataSourceReader):
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
                _loss(options, f"{what} begins at offset {first[place]}, not {start[place]}.")
                start[place] = min(first[place], end[place])
            if end[place] > last[place]:
                _loss(options, f"{what} ends at offset {last[place]}, not {end[place]}.")
                end[place] = last[place]
        return list(ranges_between(start, end, options.min_partitions))


class StreamReader(_Reading, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Batch after batch. Spark keeps the offsets in its checkpoint; nothing else does."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        super().__init__(options, schema)
        self._log: Log | None = None
        self._target: Offsets | None = None

    def __getstate__(self) -> dict[str, Any]:
        # A copy goes to every executor; the connection to Kafka stays on the driver.
        return {**vars(self), "_log": None, "_target": None}

    @property
    def _kafka(self) -> Log:
        if self._log is None:
            self._log = Log(self._options)
        return self._log

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        places = self._kafka.partitions(all_topics=False)
        wanted = self._options.starting or "latest"
        return to_json(self._kafka.resolve("startingOffsets", wanted, places))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        limit = self._options.max_offsets
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._target = self._kafka.latest(self._kafka.partitions(all_topics=False))

    def latestOffset(self, start: Mapping[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        begin = from_json(start)
        if self._target is None:
            end = self._kafka.latest(self._kafka.partitions(all_topics=False))
        else:
            end = dict(self._target)
        self._compare(begin, end)
        new = [place for place in end if place not in begin]
        begin |= self._kafka.earliest(new)
        if isinstance(limit, ReadMaxRows):
            end = within(begin, end, limit.max_rows)
        return to_json(end)

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return to_json(self._kafka.latest(self._kafka.partitions(all_topics=False)))

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[InputPartition]:
        begin, to = from_json(start), from_json(end)
        new = [place for place in to if place not in begin]
        begin |= self._kafka.earliest(new)
        for place in [p for p in to if begin[p] > to[p]]:
            # The topic was made anew, which latestOffset has let pass: all of it is new.
            begin |= self._kafka.earliest([place])
        return list(ranges_between(begin, to, self._options.min_partitions))

    def commit(self, end: Mapping[str, Any]) -> None:
        """Spark's checkpoint is the truth, so there is nothing to commit."""

    def stop(self) -> None:
        self._log = None

    def _compare(self, begin: Offsets, end: Offsets) -> None:
        """Notice what is gone: a topic, partitions, or the end of one that was made anew."""
        gone = sorted(place for place in begin if place not in end)
        if gone:
            topic, partition = gone[0]
            _loss(self._options, f"{topic}-{partition} is no longer there.")
        for place in sorted(p for p in begin if p in end and end[p] < begin[p]):
            _loss(
                self._options,
                f"{place[0]}-{place[1]} ends at offset {end[place]}, and {begin[place]} were read "
                "before: the topic was made anew or cut off.",
            )


def _loss(options: ReadOptions, what: str) -> None:
    if options.fail_on_data_loss:
        raise lost(what)
    log.warning("%s Going on with what is there.", what)


class _Worker:
    """Pipeline, consumer and row builder of one executor process, kept from range to range."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        spec = options.spec
        self._pipeline = SinkPipeline(spec, spec.retry())
        self._ranges = RangeReader(options)
        self._rows = RowBuilder(schema, spec.connector, spec.task)
        self._tolerates = options.tolerates

    def batches(self, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
        for messages in self._ranges.read(wanted):
            batch, failures = self._pipeline.run_batch(messages)
            columns, origins, misfits = self._rows.fit(batch, messages, failures)
            failures += misfits
            for failure in failures:
                if failure.is_outage or not self._tolerates:
                    raise _intolerable(failure)
            if origins or failures:
                yield self._rows.build(columns, origins, failures)

    def close(self) -> None:
        self._ranges.close()
        self._pipeline.close()


def _intolerable(failure: Failure) -> ConnectError:
    record = failure.record
    hint = "Set errors.tolerance=all to get such records as rows with _error."
    if failure.is_outage:
        hint = "No record is skipped for that."
    error = ConnectError(
        f"Tolerance exceeded in error handler: {failure.stage} with {failure.class_name} failed "
        f"at {record.topic()}-{record.partition()} offset {record.offset()}: {failure.error}. "
        f"{hint}"
    )
    error.__cause__ = failure.error
    return error


# Executors' Python processes live on between batches. Connecting to Kafka and compiling a pipeline
# for every range would cost more than reading most of them.
_kept: dict[str, tuple[bytes, _Worker]] = {}


def _worker_for(options: ReadOptions, schema: StructType) -> _Worker:
    name = options.spec.connector
    wanted = _fingerprint(options, schema)
    kept = _kept.get(name)
    if kept is not None and kept[0] == wanted:
        return kept[1]
    if kept is not None:
        kept[1].close()
    else:
        tune_garbage_collection()
    _kept[name] = wanted, _Worker(options, schema)
    return _kept[name][1]


def _fingerprint(options: ReadOptions, schema: StructType) -> bytes:
    spec = options.spec
    settings = sorted(spec.config.items()), sorted(spec.worker.items())
    reading = options.fail_on_data_loss, options.read_timeout
    return repr((settings, reading, schema.json())).encode()
