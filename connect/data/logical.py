"""Logical types: between the Python value and the plain one that formats store.

    Decimal    decimal.Decimal     unscaled number, two's complement, big end first
    Date       datetime.date       days since 1970-01-01
    Time       datetime.time       milliseconds since midnight
    Timestamp  datetime.datetime   milliseconds since 1970-01-01T00:00Z

Python's dates end where theirs go on: a Date or Timestamp outside the years 1 to 9999, or the
Time 24:00:00.000, is a DataError that names the number. Where a schema has one of the names above
on another type than its own, the name says nothing here.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from connect.data.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, Type
from connect.errors import DataError

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EPOCH_DAY = _EPOCH.toordinal()
_MILLISECOND = dt.timedelta(milliseconds=1)
_DAY_MS = 24 * 60 * 60 * 1000
# Arithmetic on decimals rounds to 28 digits unless told otherwise. Nothing here may round.
_EXACT = decimal.Context(
    prec=decimal.MAX_PREC, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=[]
)
_from_ordinal = dt.date.fromordinal


@lru_cache(64)
def decimal_reader(scale: int) -> Callable[[bytes], decimal.Decimal]:
    """What makes decimals of this scale of their bytes."""
    exponent, decimal_of = -scale, decimal.Decimal

    def read(data: bytes) -> decimal.Decimal:
        if not data:
            raise DataError("Invalid Decimal: its bytes are empty, a zero is one byte 0x00")
        return decimal_of(int.from_bytes(data, "big", signed=True)).scaleb(exponent, _EXACT)

    return read


def decimal_from_bytes(data: bytes, scale: int) -> decimal.Decimal:
    return decimal_reader(scale)(data)


def decimal_to_bytes(value: decimal.Decimal, scale: int) -> bytes:
    """The bytes of a decimal that has just this scale; any other scale is an error."""
    exponent = value.as_tuple().exponent
    if exponent != -scale:
        shown = -exponent if isinstance(exponent, int) else f"{value}"
        raise DataError(
            "Decimal value has mismatching scale for given Decimal schema. "
            f"Schema has scale {scale}, value has scale {shown}."
        )
    return integer_to_bytes(int(value.scaleb(scale, _EXACT)))


def integer_to_bytes(number: int) -> bytes:
    """The shortest two's complement of a whole number, at least one byte."""
    size = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return number.to_bytes(size, "big", signed=True)


def date_from_days(days: int) -> dt.date:
    try:
        return _from_ordinal(_EPOCH_DAY + days)
    except (ValueError, OverflowError):
        raise DataError(f"Date of {days} days since 1970 is outside the years 1 to 9999") from None


def date_to_days(value: dt.date) -> int:
    if isinstance(value, dt.datetime) or not isinstance(value, dt.date):
        raise _wrong_type("Date", "datetime.date", value)
    return value.toordinal() - _EPOCH_DAY


def time_from_millis(millis: int) -> dt.time:
    if not 0 <= millis < _DAY_MS:
        error = DataError(
            "Time values must use number of milliseconds greater than 0 and less than 86400000"
        )
        error.add_note(f"the value is {millis}")
        raise error
    seconds, millis = divmod(millis, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return dt.time(hour, minute, second, millis * 1000)


def time_to_millis(value: dt.time) -> int:
    if not isinstance(value, dt.time):
        raise _wrong_type("Time", "datetime.time", value)
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 1000 + value.microsecond // 1000


def datetime_from_millis(millis: int) -> dt.datetime:
    try:
        return _EPOCH + millis * _MILLISECOND
    except OverflowError:
        raise DataError(
            f"Timestamp of {millis} ms since 1970 is outside the years 1 to 9999"
        ) from None


def datetime_to_millis(value: dt.datetime) -> int:
    """Milliseconds since 1970. What is below a millisecond is cut off, towards the past."""
    if not isinstance(value, dt.datetime):
        raise _wrong_type("Timestamp", "datetime.datetime", value)
    try:
        return (value - _EPOCH) // _MILLISECOND
    except TypeError:
        raise DataError(
            f"Timestamp value {value.isoformat()} has no time zone: "
            "give it one, such as datetime.UTC"
        ) from None


def from_base(schema: Schema) -> Callable[[Any], Any] | None:
    """What makes this schema's Python value of its plain one; None where they are the same."""
    match schema.name, schema.type:
        case (str() as name, Type.BYTES) if name == DECIMAL:
            return decimal_reader(schema.scale)
        case (str() as name, Type.INT32) if name == DATE:
            return date_from_days
        case (str() as name, Type.INT32) if name == TIME:
            return time_from_millis
        case (str() as name, Type.INT64) if name == TIMESTAMP:
            return datetime_from_millis
    return None


def to_base(schema: Schema) -> Callable[[Any], Any] | None:
    """What makes the plain value of this schema's Python one; None where they are the same."""
    match schema.name, schema.type:
        case (str() as name, Type.BYTES) if name == DECIMAL:
            return decimal_writer(schema.scale)
        case (str() as name, Type.INT32) if name == DATE:
            return date_to_days
        case (str() as name, Type.INT32) if name == TIME:
            return time_to_millis
        case (str() as name, Type.INT64) if name == TIMESTAMP:
            return datetime_to_millis
    return None


def decimal_writer(scale: int) -> Callable[[Any], bytes]:
    """`decimal_to_bytes` for one scale, quicker."""
    quantum = decimal.Decimal(1).scaleb(-scale, _EXACT)

    def write(value: Any) -> bytes:
        if not isinstance(value, decimal.Decimal):
            raise _wrong_type("Decimal", "decimal.Decimal", value)
        if not value.same_quantum(quantum) or not value.is_finite():
            return decimal_to_bytes(value, scale)  # raises, and says why
        return integer_to_bytes(int(value.scaleb(scale, _EXACT)))

    return write


def _wrong_type(logical: str, expected: str, value: object) -> DataError:
    kind = type(value)
    name = (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )
    return DataError(f"Invalid type for {logical}, expected {expected} but was {name}")
