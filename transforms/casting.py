"""How a value of one type becomes one of another, as in Java.

Whole numbers that are too large lose their upper bits, fractions are cut off, and a float that
is too large becomes the largest whole number there is.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from connect import DataError, Schema, Type
from connect.data.floats import exact_float32, float32, nearest_float64
from connect.data.logical import to_base
from connect.data.schema import DECIMAL
from connect.data.values import convert_to_string
from connect.javalang.numbers import (
    big_decimal_str,
    double_to_int,
    java_double_str,
    java_float_str,
    parse_double,
    parse_float,
    parse_integer,
    to_float32,
    wrap_int,
)
from transforms.key_or_value import Convert
from transforms.requirements import java_class

# What can be cast to, in the order in which error texts list it.
TARGETS = (
    Type.INT8,
    Type.INT16,
    Type.INT32,
    Type.INT64,
    Type.FLOAT32,
    Type.FLOAT64,
    Type.BOOLEAN,
    Type.STRING,
)
_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}


def caster(schema: Schema, target: Type) -> Convert:
    """The function that casts values of a schema. Nulls stay null."""
    cast = _cast_of(schema, target)

    def convert(value: Any) -> Any:
        return None if value is None else cast(value)

    return convert


def _cast_of(schema: Schema, target: Type) -> Callable[[Any], Any]:
    if schema.type not in (*TARGETS, Type.BYTES):
        return _refuse_input(schema.type)
    if schema.is_logical:
        return _from_logical(schema, target)
    match schema.type:
        case Type.FLOAT32:
            return _from_float32(target)
        case Type.FLOAT64:
            return _from_float(target)
        case Type.BOOLEAN:
            return _from_boolean(target)
        case Type.STRING:
            return _from_text(target)
        case Type.BYTES:
            return _from_bytes(target)
        case _:
            return _from_int(target)


def schemaless_caster(target: Type) -> Convert:
    """The function that casts values without a schema, by what they are."""
    casts: dict[type, Callable[[Any], Any]] = {
        int: _from_int(target),
        float: _from_float(target),
        bool: _from_boolean(target),
        str: _from_text(target),
        bytes: _from_bytes(target),
        type(None): lambda _: None,
    }
    for kind, connect_type in ((list, Type.ARRAY), (dict, Type.MAP)):
        casts[kind] = _refuse_input(connect_type)

    def convert(value: Any) -> Any:
        cast = casts.get(type(value))
        if cast is None:
            raise DataError(
                f"Cast transformation was passed a value of type class {java_class(value)} "
                "which is not supported by Connect's data API"
            )
        return cast(value)

    return convert


# ---- from each kind of value ----------------------------------------------------------------


def _from_int(target: Type) -> Callable[[Any], Any]:
    match target:
        case Type.FLOAT32:
            return exact_float32
        case Type.FLOAT64:
            return float
        case Type.BOOLEAN:
            return bool
        case Type.STRING:
            return str
    bits = _BITS[target]
    limit = 1 << (bits - 1)
    return lambda number: number if -limit <= number < limit else wrap_int(number, bits)


def _from_float32(target: Type) -> Callable[[Any], Any]:
    match target:
        case Type.FLOAT32:
            return float32
        case Type.STRING:
            return java_float_str
    # What a float32 is among the float64s, instead of the one that has its digits.
    cast = _from_float(target)
    return lambda value: cast(to_float32(value))


def _from_float(target: Type) -> Callable[[Any], Any]:
    match target:
        case Type.FLOAT32:
            return float32
        case Type.FLOAT64:
            return float
        case Type.BOOLEAN:
            return lambda value: double_to_int(value, 64) != 0
        case Type.STRING:
            return java_double_str
    bits = _BITS[target]
    return lambda value: double_to_int(value, bits)


def _from_boolean(target: Type) -> Callable[[Any], Any]:
    match target:
        case Type.FLOAT32 | Type.FLOAT64:
            return float
        case Type.BOOLEAN:
            return bool
        case Type.STRING:
            return lambda value: "true" if value else "false"
    return int


def _from_text(target: Type) -> Callable[[Any], Any]:
    match target:
        case Type.STRING:
            return str
        case Type.BOOLEAN:
            return lambda text: text.lower() == "true"
        case Type.FLOAT32:
            return _parsing(lambda text: float32(parse_float(text)))
        case Type.FLOAT64:
            return _parsing(parse_double)
    bits = _BITS[target]
    return _parsing(lambda text: parse_integer(text, bits))


def _parsing(parse: Callable[[str], Any]) -> Callable[[Any], Any]:
    def cast(text: Any) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise DataError(f"Value ({text}) was out of range for requested data type") from error

    return cast


def _from_bytes(target: Type) -> Callable[[Any], Any]:
    if target is Type.STRING:
        return lambda data: base64.b64encode(data).decode()

    def refuse(_: Any) -> Any:
        raise DataError("Unexpected type in Cast transformation: class [B")

    return refuse


def from_decimal(target: Type) -> Callable[[Any], Any]:
    """The function that casts decimals."""
    match target:
        case Type.FLOAT32:
            return exact_float32
        case Type.FLOAT64:
            return nearest_float64
        case Type.BOOLEAN:
            return lambda value: wrap_int(int(value), 64) != 0
        case Type.STRING:
            return big_decimal_str
    bits = _BITS[target]
    return lambda value: wrap_int(int(value), bits)


def _from_logical(schema: Schema, target: Type) -> Callable[[Any], Any]:
    if schema.name == DECIMAL:
        return from_decimal(target)
    if target is Type.STRING:
        return lambda value: convert_to_string(schema, value)
    plain = to_base(schema)
    cast = _from_int(target)
    assert plain is not None
    return lambda value: cast(plain(value))


def _refuse_input(found: Type) -> Callable[[Any], Any]:
    def refuse(_: Any) -> Any:
        supported = ", ".join(t.name for t in (*TARGETS, Type.BYTES))
        raise DataError(
            f"Cast transformation does not support casting from {found.name}; "
            f"supported types are [{supported}]"
        )

    return refuse
