"""What happens on an executor: a range of offsets in, Arrow batches out."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from connect import ConfigError, ConnectError
from connect.pipeline import Failure, SinkPipeline
from connect.runtime.memory import tune_garbage_collection
from spark_sink.columns import RowBuilder
from spark_sink.options import ReadOptions
from spark_sink.ranges import OffsetRange, RangeReader
from spark_sink.schemas import ERROR, KAFKA


class Reading:
    """The same for batches and streams."""

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
