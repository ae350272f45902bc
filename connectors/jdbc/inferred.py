"""Schemas for values that come without one, such as plain JSON, as far as the values tell."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

from connect import Schema, Type

# The name of a field that was null, so that nothing is known of it.
_UNKNOWN = "penstock.unknown"

_UNKNOWN_SCHEMA = Schema(Type.STRING, optional=True, name=_UNKNOWN)
_ANYTHING = Schema(Type.MAP, optional=True, key_schema=Schema.STRING, value_schema=Schema.STRING)

_BY_TYPE: dict[type, Schema] = {
    bool: Schema.OPTIONAL_BOOLEAN,
    int: Schema.OPTIONAL_INT64,
    float: Schema.OPTIONAL_FLOAT64,
    str: Schema.OPTIONAL_STRING,
    bytes: Schema.OPTIONAL_BYTES,
    dt.date: Schema.date().optional().build(),
    dt.time: Schema.time().optional().build(),
    dt.datetime: Schema.timestamp().optional().build(),
    type(None): _UNKNOWN_SCHEMA,
}


class InferredSchemas:
    """One schema for all values with the same fields of the same types."""

    def __init__(self) -> None:
        self._structs: dict[tuple[tuple[Any, type], ...], Schema] = {}

    def of(self, value: Any) -> Schema | None:
        """The schema of a map as a struct, or of a single value. None if it has none."""
        if isinstance(value, dict):
            shape = tuple([(name, type(item)) for name, item in value.items()])
            schema = self._structs.get(shape)
            if schema is None:
                if len(self._structs) > 1000:  # keys that are data; no reason to keep them all
                    self._structs.clear()
                builder = Schema.struct()
                for name, item in value.items():
                    builder.field(str(name), _field(item))
                schema = self._structs[shape] = builder.build()
            return schema
        return None if value is None else _field(value)


def unknown_fields(schema: Schema | None) -> list[str]:
    if schema is None:
        return []
    return [field.name for field in schema.fields if field.schema.name == _UNKNOWN]


def _field(value: Any) -> Schema:
    if isinstance(value, decimal.Decimal):
        exponent = value.as_tuple().exponent
        return Schema.decimal(-exponent if isinstance(exponent, int) else 0).optional().build()
    # A map and a list are written as JSON, whatever is in them.
    return _BY_TYPE.get(type(value), _ANYTHING)
