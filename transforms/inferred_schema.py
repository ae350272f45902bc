"""Schemas inferred from values, where nobody says what a value is.

Every field is optional. Objects in one list share a schema that has the fields of all of them.
"""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import orjson

from connect import DataError, Schema, Type


class NotInferableError(DataError):
    """No schema can describe the value."""


def expand_json(text: str, name: str, *, keep_nulls: bool) -> tuple[Schema, Any]:
    """The schema and the value of a JSON object or list. See `infer_schema`."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise NotInferableError(f"not JSON: {error}") from error
    if not isinstance(value, (dict, list)):
        raise NotInferableError("neither an object nor a list")
    schema = infer_schema(value, name, keep_nulls=keep_nulls, narrow_ints=True)
    if schema is None:
        raise NotInferableError("an empty list, whose items nothing is known of")
    return schema, _shape(value, schema)


def infer_schema(
    value: Any, name: str | None, *, keep_nulls: bool, narrow_ints: bool
) -> Schema | None:
    """The optional schema of a value; None if nothing can be said about it.

    `name` is the name of the schema; objects in fields are named after the way to them. Nulls,
    which say nothing about their type, are left out or taken for optional bytes. Whole numbers
    are int64, with `narrow_ints` int32 where they fit.
    """
    match value:
        case None:
            return Schema.OPTIONAL_BYTES if keep_nulls else None
        case bool():
            return Schema.OPTIONAL_BOOLEAN
        case int():
            if narrow_ints and -(2**31) <= value < 2**31:
                return Schema.OPTIONAL_INT32
            # More than an int64 holds is what a double makes of it.
            return Schema.OPTIONAL_INT64 if -(2**63) <= value < 2**63 else Schema.OPTIONAL_FLOAT64
        case dict():
            builder = Schema.struct(name).optional()
            for key, item in value.items():
                inner_name = f"{name}.{key}" if name else None
                inner = infer_schema(
                    item, inner_name, keep_nulls=keep_nulls, narrow_ints=narrow_ints
                )
                if inner is not None:
                    builder.field(str(key), inner)
            return builder.build()
        case list():
            return _infer_list(value, name, narrow_ints=narrow_ints)
        case decimal.Decimal():
            exponent = value.as_tuple().exponent
            if not isinstance(exponent, int):
                raise NotInferableError(f"{value} is no decimal number")
            return Schema.decimal(-exponent).optional().build()
    for kind, schema in _PLAIN:
        if isinstance(value, kind):
            return schema
    raise NotInferableError(f"{type(value).__qualname__} is no type of the data model")


# datetime before date, of which it is one.
_PLAIN = (
    (float, Schema.OPTIONAL_FLOAT64),
    (str, Schema.OPTIONAL_STRING),
    (bytes, Schema.OPTIONAL_BYTES),
    (dt.datetime, Schema.timestamp().optional().build()),
    (dt.date, Schema.date().optional().build()),
    (dt.time, Schema.time().optional().build()),
)


def _infer_list(items: list[Any], name: str | None, *, narrow_ints: bool) -> Schema | None:
    known: Schema | None = None
    for item in items:
        schema = infer_schema(item, name, keep_nulls=False, narrow_ints=narrow_ints)
        if schema is not None:
            known = schema if known is None else _both(known, schema)
    return None if known is None else Schema.array(known).optional().build()


_WIDTH = {Type.INT32: 1, Type.INT64: 2, Type.FLOAT64: 3}


def _both(one: Schema, other: Schema) -> Schema:
    """A schema for what either of two describes."""
    if one == other:
        return one
    if one.type in _WIDTH and other.type in _WIDTH:
        return max(one, other, key=lambda schema: _WIDTH[schema.type])
    if one.type is Type.STRUCT and other.type is Type.STRUCT:
        builder = Schema.struct(one.name).optional()
        for field in one.fields:
            twin = other.field(field.name)
            builder.field(
                field.name, field.schema if twin is None else _both(field.schema, twin.schema)
            )
        for field in other.fields:
            if one.field(field.name) is None:
                builder.field(field.name, field.schema)
        return builder.build()
    if one.type is Type.ARRAY and other.type is Type.ARRAY:
        assert one.value_schema is not None
        assert other.value_schema is not None
        return Schema.array(_both(one.value_schema, other.value_schema)).optional().build()
    raise NotInferableError(f"a list holds {one.type.value} and {other.type.value} side by side")


def _shape(value: Any, schema: Schema) -> Any:
    """The value as the schema describes it: fields that it does not have are left out."""
    if value is None:
        return None
    if schema.type is Type.STRUCT:
        return {f.name: _shape(value.get(f.name), f.schema) for f in schema.fields}
    if schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        items = schema.value_schema
        return [_shape(item, items) for item in value]
    return float(value) if schema.type is Type.FLOAT64 else value
