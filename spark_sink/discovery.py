"""Which columns a query has: as told, as the registry says, or as a sample shows."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    DataType,
    NullType,
    StringType,
    StructField,
    StructType,
)

from connect import ConfigError, ConnectError, SinkRecord
from connect.pipeline import SinkPipeline
from spark_sink.offsets import Log, Place, ranges_between
from spark_sink.options import ReadOptions
from spark_sink.ranges import RangeReader
from spark_sink.registry import registered_records
from spark_sink.schemas import VALUE, columns_of, merged

log = logging.getLogger(__name__)


def find_columns(options: ReadOptions) -> StructType:
    """The value's columns, of a registry's schemas and a sample. Raises when neither tells."""
    pipeline = SinkPipeline(options.spec, options.spec.retry())
    try:
        kafka = Log(options)
        places = kafka.partitions(all_topics=False)
        topics = options.topics or sorted({topic for topic, _ in places})
        registered = _columns(registered_records(topics, pipeline))
        found = _columns(_sample(options, kafka, places, pipeline))
    finally:
        pipeline.close()
    columns = merged(schema for schema in (registered, found) if schema is not None)
    if not columns.fields:
        raise ConfigError(
            "spark.schema",
            None,
            f"is not set, and the columns can't be found out: of {_told(options)} no record of "
            "the sample has a value that passed the pipeline. Set it, such as 'id BIGINT'.",
        )
    return StructType([StructField(f.name, _known(f.dataType)) for f in columns.fields])


def _told(options: ReadOptions) -> str:
    return ", ".join(options.topics) or f"topics that match {options.topics_regex}"


def _sample(
    options: ReadOptions, kafka: Log, places: Iterable[Place], pipeline: SinkPipeline
) -> list[SinkRecord]:
    """The newest records of every partition, through the pipeline, without those that fail."""
    places = list(places)
    first, last = kafka.earliest(places), kafka.latest(places)
    share = max(1, options.sample // max(1, len(places)))
    start = {place: max(first[place], last[place] - share) for place in places}
    reader = RangeReader(options)
    records: list[SinkRecord] = []
    try:
        for wanted in ranges_between(start, last):
            for messages in reader.read(wanted):
                some, failures = pipeline.run(messages)
                records += some
                if failures:
                    log.info("%d records of the sample failed", len(failures))
    finally:
        reader.close()
    return records


def _columns(records: Iterable[SinkRecord]) -> StructType | None:
    """The columns of records: their schemas' where they have one, else their values'."""
    schemas = {}
    loose: list[dict[str, Any]] = []
    for record in records:
        if record.value_schema is not None:
            schemas[id(record.value_schema)] = record.value_schema
        elif record.value is not None:
            value = record.value
            loose.append(value if isinstance(value, dict) else {VALUE: value})
    found = [columns_of(schema) for schema in schemas.values()]
    if loose:
        found.append(_inferred(loose))
    return merged(found) if found else None


def _inferred(values: list[dict[str, Any]]) -> StructType:
    names = dict.fromkeys(name for value in values for name in value)
    arrays = {}
    for name in names:
        try:
            arrays[name] = pa.array([value.get(name) for value in values])
        except pa.ArrowException as error:
            raise ConnectError(
                f"Field {name} is of one type in some records and of another in others: {error}. "
                "Say in spark.schema which it is to be."
            ) from error
    return from_arrow_schema(pa.schema([(name, array.type) for name, array in arrays.items()]))


def _known(type: DataType) -> DataType:
    """A type for what was null all through the sample: text."""
    if isinstance(type, NullType):
        return StringType()
    if isinstance(type, ArrayType):
        return ArrayType(_known(type.elementType))
    if isinstance(type, StructType):
        return StructType([StructField(f.name, _known(f.dataType)) for f in type.fields])
    return type
