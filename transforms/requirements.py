"""What transforms ask of a record, and what they say when it is not so, in the JVM's words."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

from connect import DataError, Schema, Type

_BY_TYPE = {
    Type.INT8: "java.lang.Byte",
    Type.INT16: "java.lang.Short",
    Type.INT32: "java.lang.Integer",
    Type.INT64: "java.lang.Long",
    Type.FLOAT32: "java.lang.Float",
    Type.FLOAT64: "java.lang.Double",
    Type.STRUCT: "org.apache.kafka.connect.data.Struct",
}
# bool before int and datetime before date: the first that fits counts.
_BY_VALUE: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "java.lang.Boolean"),
    (int, "java.lang.Long"),
    (float, "java.lang.Double"),
    (str, "java.lang.String"),
    ((bytes, bytearray, memoryview), "[B"),
    ((list, tuple), "java.util.ArrayList"),
    (dict, "java.util.HashMap"),
    (decimal.Decimal, "java.math.BigDecimal"),
    ((dt.date, dt.time), "java.util.Date"),
)


class UnknownFieldError(DataError):
    """A field that a transform was told to take is not in the record's schema."""

    java_name = "java.lang.IllegalArgumentException"


def java_class(value: Any, schema: Schema | None = None) -> str:
    """The name that the JVM has for the class of such a value; users know it from error texts."""
    if value is None:
        return "null"
    if schema is not None and not schema.is_logical and schema.type in _BY_TYPE:
        return _BY_TYPE[schema.type]
    for kind, name in _BY_VALUE:
        if isinstance(value, kind):
            return name
    return type(value).__qualname__


def only_maps(purpose: str, value: Any) -> DataError:
    return DataError(
        f"Only Map objects supported in absence of schema for [{purpose}], "
        f"found: {java_class(value)}"
    )


def only_structs(purpose: str, value: Any, schema: Schema | None) -> DataError:
    return DataError(
        f"Only Struct objects supported for [{purpose}], found: {java_class(value, schema)}"
    )
