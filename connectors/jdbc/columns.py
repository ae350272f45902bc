"""Columns as fields: a database type's schema, and what makes the field's value of the column's."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import types as sql

from connect import DataError, Schema, SchemaBuilder, Type
from connectors.jdbc.kinds import Convert, to_json

# Of a DECIMAL that says neither precision nor scale, which may have any number of digits.
_OPEN_SCALE = 18
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EXACT = decimal.Context(prec=decimal.MAX_PREC, traps=[decimal.Inexact, decimal.InvalidOperation])
_INT64_BITS = 64
_BITS = ((3, Type.INT8), (5, Type.INT16), (10, Type.INT32), (19, Type.INT64))

NUMERIC_MAPPINGS = ("none", "precision_only", "best_fit", "best_fit_eager_double")
GRANULARITIES = (
    "connect_logical",
    "micros_long",
    "micros_string",
    "micros_iso_datetime_string",
    "nanos_long",
    "nanos_string",
    "nanos_iso_datetime_string",
)


@dataclass(frozen=True, slots=True)
class Mapping:
    """How the config wants types mapped."""

    numeric: str
    granularity: str
    zone: ZoneInfo
    wide_integers: bool = False  # SQLite's INTEGER holds 64 bits


class Bits(sql.LargeBinary):
    """So many bits, which the driver gives as bytes."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table or of a query's result.

    The type None: only its values can tell, and there was none but null. Its field is a text.
    """

    name: str
    type: sql.TypeEngine[Any] | None
    nullable: bool


@dataclass(frozen=True, slots=True)
class RowReader:
    """Makes values of rows. `value(row)` is a struct under `schema`."""

    schema: Schema
    value: Callable[[Sequence[Any]], dict[str, Any]]


def row_reader(name: str, columns: Sequence[TableColumn], mapping: Mapping) -> RowReader:
    builder = Schema.struct(name)
    converts: list[tuple[str, Convert]] = []
    for column in columns:
        field, convert = _field(column.type, mapping)
        builder.field(column.name, field.optional().build() if column.nullable else field.build())
        if convert is not None:
            converts.append((column.name, convert))
    names = [column.name for column in columns]

    def value(row: Sequence[Any]) -> dict[str, Any]:
        made = dict(zip(names, row, strict=True))
        for column, convert in converts:
            if made[column] is not None:
                try:
                    made[column] = convert(made[column])
                except (DataError, ValueError, TypeError, ArithmeticError) as error:
                    raise DataError(
                        f"Column {column} of {name} has the value {made[column]!r}, which does not "
                        f"fit its type: {error}"
                    ) from error
        return made

    return RowReader(builder.build(), value)


def _field(
    kind: sql.TypeEngine[Any] | None, mapping: Mapping
) -> tuple[SchemaBuilder, Convert | None]:
    match kind:
        case sql.Boolean():
            return Schema.builder(Type.BOOLEAN), bool
        case sql.SmallInteger():
            wide = getattr(kind, "unsigned", False)
            return Schema.builder(Type.INT32 if wide else Type.INT16), None
        case sql.BigInteger():
            return Schema.builder(Type.INT64), None
        case sql.Integer():
            return Schema.builder(Type.INT64 if mapping.wide_integers else _integer(kind)), None
        case sql.REAL():
            return Schema.builder(Type.FLOAT32), float
        case sql.Float():
            return Schema.builder(Type.FLOAT64), float
        case sql.Numeric():
            return _numeric(kind.precision, kind.scale, mapping.numeric)
        case sql.DateTime():
            return _timestamp(mapping)
        case sql.Date():
            return Schema.date(), _date
        case sql.Time():
            return Schema.time(), _time
        case Bits(length=1):
            return Schema.builder(Type.BOOLEAN), any
        case Bits(length=int(length)) if length < _INT64_BITS:
            return Schema.builder(Type.INT64), int.from_bytes
        case sql.LargeBinary() | sql._Binary():
            return Schema.builder(Type.BYTES), bytes
        case sql.ARRAY() if kind.dimensions in (None, 1):
            item, convert = _field(kind.item_type, mapping)
            each = convert or (lambda value: value)
            return (
                Schema.array(item.optional().build()),
                lambda items: [None if i is None else each(i) for i in items],
            )
        case sql.String():
            return Schema.builder(Type.STRING), _text
    # UUIDs, JSON, enums, addresses, intervals and whatever else there is: its text.
    return Schema.builder(Type.STRING), _text


def _integer(kind: sql.Integer) -> Type:
    name = type(kind).__name__
    if name == "TINYINT":
        return Type.INT8 if not getattr(kind, "unsigned", False) else Type.INT16
    if name == "MEDIUMINT" or not getattr(kind, "unsigned", False):
        return Type.INT32
    return Type.INT64


def _numeric(
    precision: int | None, scale: int | None, mapping: str
) -> tuple[SchemaBuilder, Convert | None]:
    if precision is not None:
        places = scale or 0
        fits = next((type_ for digits, type_ in _BITS if precision < digits), None)
        if places <= 0 and fits is not None and mapping != "none":
            return Schema.builder(fits), int
        if places > 0 and (
            mapping == "best_fit_eager_double" or (mapping == "best_fit" and fits is not None)
        ):
            return Schema.builder(Type.FLOAT64), float
    elif mapping == "best_fit_eager_double":
        return Schema.builder(Type.FLOAT64), float
    places = _OPEN_SCALE if precision is None else scale or 0
    quantum = decimal.Decimal(1).scaleb(-places, decimal.Context(prec=100))

    def exact(value: Any) -> decimal.Decimal:
        number = value if isinstance(value, decimal.Decimal) else decimal.Decimal(str(value))
        try:
            return number.quantize(quantum, context=_EXACT)
        except decimal.DecimalException:
            raise DataError(
                f"it has more than {places} digits behind the point, or is no number; cast the "
                "column to a DECIMAL with a scale in a query, or set numeric.mapping"
            ) from None

    return Schema.decimal(places), exact


def _timestamp(mapping: Mapping) -> tuple[SchemaBuilder, Convert]:
    zone, granularity = mapping.zone, mapping.granularity
    if granularity == "connect_logical":
        return Schema.timestamp(), lambda value: _to_millis(to_utc(value, zone))
    unit = 1 if granularity.startswith("micros") else 1000
    if granularity.endswith("iso_datetime_string"):
        digits = "" if unit == 1 else "000"
        return (
            Schema.builder(Type.STRING),
            lambda value: (
                to_utc(value, zone).replace(tzinfo=None).isoformat(timespec="microseconds") + digits
            ),
        )
    kind, shown = (Type.INT64, int) if granularity.endswith("long") else (Type.STRING, str)
    return Schema.builder(kind), lambda value: shown(to_micros(to_utc(value, zone)) * unit)


def to_utc(value: Any, zone: ZoneInfo) -> dt.datetime:
    """A timestamp of the database as a moment. One without a zone is of `zone`."""
    if isinstance(value, str):  # SQLite's
        value = dt.datetime.fromisoformat(value)
    if isinstance(value, (int, float)):  # SQLite's, as JVM drivers write them
        return _EPOCH + dt.timedelta(milliseconds=value)
    if not isinstance(value, dt.datetime):
        raise DataError("it is no timestamp")
    if value.tzinfo is None:
        value = value.replace(tzinfo=zone)
    moment: dt.datetime = value.astimezone(dt.UTC)
    return moment


def to_micros(moment: dt.datetime) -> int:
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)


def _to_millis(moment: dt.datetime) -> dt.datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def _date(value: Any) -> dt.date:
    if isinstance(value, dt.datetime):
        return value.date()
    return dt.date.fromisoformat(value) if isinstance(value, str) else value


def _time(value: Any) -> dt.time:
    if isinstance(value, str):
        value = dt.time.fromisoformat(value)
    if isinstance(value, dt.timedelta):  # MySQL's, which may be more than a day
        if not dt.timedelta() <= value < dt.timedelta(days=1):
            raise DataError("it is no time of day")
        value = (_EPOCH + value).time()
    if value.tzinfo is not None:
        moment = dt.datetime.combine(dt.date(1970, 1, 2), value).astimezone(dt.UTC)
        value = moment.time()
    return value.replace(microsecond=value.microsecond // 1000 * 1000)  # type: ignore[no-any-return]


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case dict() | list() | tuple() | bool():
            return to_json(value)
        case bytes() | memoryview():
            return bytes(value).decode()  # what is no text is an error, rather than mangled
        case uuid.UUID():
            return str(value)
    return str(value)


def typed_by(
    columns: Sequence[TableColumn], rows: Sequence[Sequence[Any]]
) -> tuple[TableColumn, ...]:
    """The columns, where they have no type with that of their first value that is not null."""
    found = []
    for place, column in enumerate(columns):
        if column.type is None:
            first = next((row[place] for row in rows if row[place] is not None), None)
            column = replace(column, type=_inferred_type(first))  # noqa: PLW2901
        found.append(column)
    return tuple(found)


def _inferred_type(value: Any) -> sql.TypeEngine[Any] | None:
    """The type of a column that only has a value to go by, as in SQLite's query results."""
    match value:
        case None:
            return None
        case bool():
            return sql.Boolean()
        case int():
            return sql.BigInteger()
        case float():
            return sql.Double()
        case bytes() | memoryview():
            return sql.LargeBinary()
        case decimal.Decimal():
            return sql.Numeric()
        case dt.datetime():
            return sql.DateTime()
        case dt.date():
            return sql.Date()
        case dt.time() | dt.timedelta():
            return sql.Time()
    return sql.String()
