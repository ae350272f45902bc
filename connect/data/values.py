"""Values from text and to text: what headers and InsertHeader's literals mean.

`parse_string` finds the type of a text: `12` is an int8, `1.5` a float32, `[1, 2]` an array,
`2019-08-23` a Date, and whatever fits nothing is a string. `convert_to_string` writes a value so
that `parse_string` finds it again. The other `convert_to_…` functions bring a value of any type to
one, with Java's rules: whole numbers wrap round, fractions are cut off.

Differences from the JVM: dates are in UTC, not in the machine's time zone; dates before 1970 are
written as dates and not as times.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import math
from collections.abc import Callable, Iterable
from typing import Any

from connect.data.floats import float32, java_text, nearest_float64
from connect.data.logical import (
    date_from_days,
    date_to_days,
    datetime_from_millis,
    datetime_to_millis,
    decimal_from_bytes,
    decimal_to_bytes,
    time_from_millis,
    time_to_millis,
)
from connect.data.schema import (
    DATE,
    DECIMAL,
    TIME,
    TIMESTAMP,
    Field,
    Schema,
    SchemaAndValue,
    Type,
)
from connect.data.value_parser import Parser, java_decimal
from connect.errors import DataError


def parse_string(text: str | None) -> SchemaAndValue:
    """The value that a text stands for, and its schema."""
    if text is None:
        return SchemaAndValue(None, None)
    if not text:
        return SchemaAndValue(Schema.STRING, text)
    return Parser(text, convert_to).parse()


def infer_schema(value: Any) -> Schema | None:
    """The schema of a schemaless value: int64 and float64 for numbers.

    None where there is no one schema: empty or mixed lists and maps, and logical values, whose
    schema has to be given.
    """
    match value:
        case str():
            return Schema.STRING
        case bool():
            return Schema.BOOLEAN
        case int():
            return Schema.INT64
        case float():
            return Schema.FLOAT64
        case bytes() | bytearray() | memoryview():
            return Schema.BYTES
        case list() | tuple():
            items = _common_schema(value)
            return None if items is None else Schema.array(items).build()
        case dict():
            keys, values = _common_schema(value), _common_schema(value.values())
            return None if keys is None or values is None else Schema.map(keys, values).build()
    return None


def _common_schema(values: Iterable[Any]) -> Schema | None:
    found, optional = None, False
    for value in values:
        if value is None:
            optional = True
            continue
        schema = infer_schema(value)
        if schema is None or (found is not None and found.type is not schema.type):
            return None
        found = schema
    if found is None:
        return None
    return found.as_optional() if optional else found


# ---- to text ------------------------------------------------------------------------------


def convert_to_string(schema: Schema | None, value: Any) -> str | None:
    """A value as text. Strings stay as they are; inside arrays and maps they are quoted."""
    return None if value is None else _text(schema, value, embedded=False)


def _text(schema: Schema | None, value: Any, *, embedded: bool = True) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | decimal.Decimal():
            return str(value)
        case float():
            is_float32 = schema is not None and schema.type is Type.FLOAT32
            return java_text(float32(value) if is_float32 else value)
        case str():
            return _quoted(value) if embedded else value
        case bytes() | bytearray() | memoryview():
            encoded = base64.b64encode(value).decode()
            return f'"{encoded}"' if embedded else encoded
        case list() | tuple():
            items = schema.value_schema if schema else None
            return f"[{','.join(_text(items, item) for item in value)}]"
        case dict() if schema is not None and schema.type is Type.STRUCT:
            fields = (
                f"{_quoted(f.name)}:{_text(f.schema, _field(f, value))}" for f in schema.fields
            )
            return f"{{{','.join(fields)}}}"
        case dict():
            keys, values = (schema.key_schema, schema.value_schema) if schema else (None, None)
            entries = (f"{_text(keys, k)}:{_text(values, v)}" for k, v in value.items())
            return f"{{{','.join(entries)}}}"
        case dt.datetime():
            moment = datetime_from_millis(datetime_to_millis(value))
            if moment.time() == dt.time():
                return f"{moment:%Y-%m-%d}".rjust(10, "0")
            return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z".rjust(24, "0")
        case dt.date():
            return value.isoformat()
        case dt.time():
            return f"{value:%H:%M:%S}.{value.microsecond // 1000:03}Z"
    raise DataError(f"Failed to serialize unexpected value type {type(value).__name__}: {value}")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _field(field: Field, struct: dict[str, Any]) -> Any:
    value = struct.get(field.name)
    return field.schema.default if value is None else value


# ---- to one type --------------------------------------------------------------------------


def convert_to_boolean(schema: Schema | None, value: Any) -> bool | None:
    if isinstance(value, str):
        parsed = parse_string(value).value
        value = parsed if isinstance(parsed, bool) else value
    if value is None or isinstance(value, bool):
        return value
    return _long(schema, value) != 0


def convert_to_int8(schema: Schema | None, value: Any) -> int | None:
    return None if value is None else _wrapped(_long(schema, value), 8)


def convert_to_int16(schema: Schema | None, value: Any) -> int | None:
    return None if value is None else _wrapped(_long(schema, value), 16)


def convert_to_int32(schema: Schema | None, value: Any) -> int | None:
    return None if value is None else _wrapped(_long(schema, value), 32)


def convert_to_int64(schema: Schema | None, value: Any) -> int | None:
    return None if value is None else _long(schema, value)


def convert_to_float32(schema: Schema | None, value: Any) -> float | None:
    return None if value is None else float32(_double(schema, value))


def convert_to_float64(schema: Schema | None, value: Any) -> float | None:
    return None if value is None else _double(schema, value)


def convert_to_bytes(schema: Schema, value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, decimal.Decimal):
        return decimal_to_bytes(value, schema.scale)
    raise _unable(value, schema)


def convert_to_list(schema: Schema | None, value: Any) -> list[Any]:  # noqa: ARG001
    return _container(list, "Schema{ARRAY}", value)  # type: ignore[no-any-return]


def convert_to_map(schema: Schema | None, value: Any) -> dict[Any, Any]:  # noqa: ARG001
    return _container(dict, "Schema{MAP}", value)  # type: ignore[no-any-return]


def _container(kind: type, target: str, value: Any) -> Any:
    _require(value)
    found = parse_string(value).value if isinstance(value, str) else value
    if isinstance(found, kind):
        return found
    raise _unable(found, target)


def convert_to_date(schema: Schema | None, value: Any) -> dt.date:
    value = _parsed(value)
    match value:
        case dt.datetime():
            return value.date()
        case dt.date():
            return value
    return date_from_days(_wrapped(_long(schema, value), 32))


def convert_to_time(schema: Schema | None, value: Any) -> dt.time:
    value = _parsed(value)
    match value:
        case dt.datetime():
            return value.time()
        case dt.time():
            return value
    return time_from_millis(_wrapped(_long(schema, value), 32))


def convert_to_timestamp(schema: Schema | None, value: Any) -> dt.datetime:
    value = _parsed(value)
    match value:
        case dt.datetime():
            return value
        case dt.date():
            return dt.datetime.combine(value, dt.time(), dt.UTC)
        case dt.time():
            return datetime_from_millis(time_to_millis(value))
    return datetime_from_millis(_long(schema, value))


def convert_to_decimal(schema: Schema | None, value: Any, scale: int) -> decimal.Decimal:
    """A decimal. The scale says how bytes are read; other values keep the scale they have."""
    _require(value)
    match value:
        case bytes() | bytearray() | memoryview():
            return decimal_from_bytes(bytes(value), scale)
        case decimal.Decimal():
            return value
        case int() | float() if not isinstance(value, bool) and math.isfinite(value):
            return decimal.Decimal(java_text(float(value)))
        case str():
            number = java_decimal(value)
            if number is not None:
                return number
    raise _unable(value, schema or Schema.decimal(scale).build())


def convert_to(schema: Schema, value: Any) -> Any:
    """A value brought to a schema, whatever type it had. Null only where that may be."""
    if value is None:
        if schema.optional:
            return None
        _require(value)
    match schema.type, schema.name:
        case Type.STRING, _:
            return convert_to_string(None, value)
        case Type.BYTES, name if name == DECIMAL:
            return convert_to_decimal(schema, value, schema.scale)
        case Type.BYTES, _:
            return convert_to_bytes(schema, value)
        case Type.INT32, name if name == DATE:
            return convert_to_date(None, value)
        case Type.INT32, name if name == TIME:
            return convert_to_time(None, value)
        case Type.INT64, name if name == TIMESTAMP:
            return convert_to_timestamp(None, value)
        case Type.STRUCT, _:
            if isinstance(value, dict):
                return value
            raise _unable(value, schema)
    return _CONVERT[schema.type](None, value)


_CONVERT: dict[Type, Callable[[Schema | None, Any], Any]] = {
    Type.BOOLEAN: convert_to_boolean,
    Type.INT8: convert_to_int8,
    Type.INT16: convert_to_int16,
    Type.INT32: convert_to_int32,
    Type.INT64: convert_to_int64,
    Type.FLOAT32: convert_to_float32,
    Type.FLOAT64: convert_to_float64,
    Type.ARRAY: convert_to_list,
    Type.MAP: convert_to_map,
}


# ---- numbers ------------------------------------------------------------------------------


def _wrapped(number: int, bits: int) -> int:
    low = number & ((1 << bits) - 1)
    return low - (1 << bits) if low >> (bits - 1) else low


def _long(schema: Schema | None, value: Any) -> int:
    match value:
        case bool():
            pass
        case int():
            return _wrapped(value, 64)
        case float():
            return _saturated(value)
        case decimal.Decimal():
            return _wrapped(int(value), 64)
        case str():
            number = java_decimal(value)
            if number is not None:
                return _wrapped(int(number), 64)
        case dt.datetime() if schema is not None and schema.name == TIMESTAMP:
            return datetime_to_millis(value)
        case dt.date() if schema is not None and schema.name == DATE:
            return date_to_days(value)
        case dt.time() if schema is not None and schema.name == TIME:
            return time_to_millis(value)
    raise _unable(value, schema or "a number")


def _saturated(value: float) -> int:
    """A float cut to an int64 as Java casts it: what is too large becomes the largest there is."""
    if math.isnan(value):
        return 0
    if -(2.0**63) < value < 2.0**63:
        return int(value)
    return 2**63 - 1 if value > 0 else -(2**63)


def _double(schema: Schema | None, value: Any) -> float:
    match value:
        case float():
            return value
        case int() | decimal.Decimal() if not isinstance(value, bool):
            return nearest_float64(value)
        case str():
            number = java_decimal(value)
            if number is not None:
                return nearest_float64(number)
    return float(_long(schema, value))


def _parsed(value: Any) -> Any:
    _require(value)
    return parse_string(value).value if isinstance(value, str) else value


def _require(value: Any) -> None:
    if value is None:
        raise DataError("Unable to convert a null value to a schema that requires a value")


def _unable(value: Any, target: Schema | str) -> DataError:
    return DataError(f"Unable to convert {value} ({type(value).__name__}) to {target}")
