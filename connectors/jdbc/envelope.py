"""Change events as Debezium makes them: the row after the change, or the news that it is gone."""

from __future__ import annotations

from typing import Any

from connect import Schema, SinkRecord, Type

_FIELDS = frozenset(("before", "after", "op", "source"))


def is_envelope(schema: Schema | None, value: Any) -> bool:
    if schema is None:
        return isinstance(value, dict) and value.keys() >= _FIELDS
    if schema.type is not Type.STRUCT or not (schema.name or "").endswith("Envelope"):
        return False
    return {field.name for field in schema.fields} >= _FIELDS


def unwrap(record: SinkRecord) -> SinkRecord | None:
    """The record as a row's new state, a tombstone if it was deleted, None if it is neither."""
    event = record.value
    operation = event.get("op")
    if operation in ("c", "u", "r"):
        field = record.value_schema.field("after") if record.value_schema is not None else None
        value, schema = event.get("after"), field.schema if field is not None else None
    elif operation == "d":
        value, schema = None, None
    else:  # a truncated table, a message of the database's log
        return None
    return SinkRecord(
        record.topic, record.partition, record.key_schema, record.key, schema, value,
        record.headers, record.timestamp, record.offset, record.timestamp_type,
        record.original_topic, record.original_partition,
    )  # fmt: skip
