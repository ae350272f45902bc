"""What a Connect schema means to a database: the kind of its values, by its logical name."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from connect import DataError, Schema, Type
from connect.data.logical import date_from_days, datetime_from_millis, decimal_from_bytes
from connect.data.schema import DATE, DECIMAL, TIME, TIMESTAMP
from connectors import json_text

Convert = Callable[[Any], Any]

_DEBEZIUM = "io.debezium."
_MIDNIGHT = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Kind:
    """`name` is what dialects map to a column type. `convert` makes the value to be written."""

    name: str
    convert: Convert | None = None
    scale: int = 0
    item: Kind | None = None


def _clock(micros: int) -> dt.time:
    try:
        return (_MIDNIGHT + dt.timedelta(microseconds=micros)).time()
    except OverflowError:
        raise DataError(f"Time of {micros} microseconds is out of range") from None


def _moment(micros: int) -> dt.datetime:
    try:
        return _MIDNIGHT + dt.timedelta(microseconds=micros)
    except OverflowError:
        raise DataError(
            f"Timestamp of {micros} microseconds since 1970 is outside the years 1 to 9999"
        ) from None


def _variable_scale(value: dict[str, Any]) -> decimal.Decimal:
    return decimal_from_bytes(value["value"], value["scale"])


# Debezium's own names, by the type under them. The values are plain numbers and texts.
_SEMANTIC: Final[dict[tuple[str, Type], Kind]] = {
    ("time.Date", Type.INT32): Kind("date", date_from_days),
    ("time.Time", Type.INT32): Kind("time", lambda v: _clock(v * 1000)),
    ("time.MicroTime", Type.INT64): Kind("time", _clock),
    ("time.NanoTime", Type.INT64): Kind("time", lambda v: _clock(v // 1000)),
    ("time.Timestamp", Type.INT64): Kind("timestamp", datetime_from_millis),
    ("time.MicroTimestamp", Type.INT64): Kind("timestamp", _moment),
    ("time.NanoTimestamp", Type.INT64): Kind("timestamp", lambda v: _moment(v // 1000)),
    ("time.ZonedTimestamp", Type.STRING): Kind("timestamptz"),
    ("time.ZonedTime", Type.STRING): Kind("timetz"),
    ("data.Json", Type.STRING): Kind("json"),
    ("data.Uuid", Type.STRING): Kind("uuid"),
    ("data.VariableScaleDecimal", Type.STRUCT): Kind("numeric", _variable_scale),
}

_LOGICAL = {
    (DATE, Type.INT32): Kind("date"),
    (TIME, Type.INT32): Kind("time"),
    (TIMESTAMP, Type.INT64): Kind("timestamp"),
}


def to_json(value: Any) -> str:
    """A nested value as JSON text."""
    return json_text.to_json(value).decode()


def kind_of(schema: Schema) -> Kind:
    """The kind of a column for values of this schema."""
    name = schema.name
    if name is not None:
        if name == DECIMAL and schema.type is Type.BYTES:
            return Kind("decimal", scale=schema.scale)
        known = _LOGICAL.get((name, schema.type))
        if known is None and name.startswith(_DEBEZIUM):
            known = _SEMANTIC.get((name.removeprefix(_DEBEZIUM), schema.type))
        if known is not None:
            return known
    if schema.type is Type.ARRAY and schema.value_schema is not None:
        item = kind_of(schema.value_schema)
        if item.item is None and item.name != "json":
            return Kind("array", item=item)
    if schema.type.is_primitive:
        return Kind(schema.type.value)
    return Kind("json", to_json)
