"""Values as text, the way Java's `toString()` prints them.

Output that people already parse (the file sink's lines, the string converter's text) looks like
`Struct{id=1,name=x}` and `{a=1, b=2}`. This is where that comes from.

Two things of the JVM have no meaning outside it and are done better here: bytes, which it prints
as an object's address, are base64 as in JSON; and the order in a map that was copied on its way
is always the order of a map filled once, which is what its JSON converter makes.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from connect.data.floats import java_text as float_text
from connect.data.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, Type
from connect.javalang.calendar import WeekRules, date_of

Writer = Callable[[Any], str]
T = TypeVar("T")

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_EPOCH_DAY = dt.date(1970, 1, 1)
_ALL_GREGORIAN = 1583  # the first year without a day of the Julian calendar


def java_text(value: Any, schema: Schema | None = None) -> str:
    """What Java prints for this value. Without a schema a dict is a map."""
    return writer_for(schema)(value)


def writer_for(schema: Schema | None) -> Writer:
    """A function that prints values of one schema; made once and kept."""
    if schema is None:
        return _any
    # Keyed by identity, as that is the quickest; the entry holds the schema, so its id stays.
    known = _writers.get(id(schema))
    if known is None:
        if len(_writers) >= _MOST_WRITERS:
            _writers.clear()
        known = _writers[id(schema)] = (schema, _or_null(_compile(schema)))
    return known[1]


# A converter that makes a new schema for each record would otherwise fill the memory.
_MOST_WRITERS = 1000
_writers: dict[int, tuple[Schema, Writer]] = {}


def _or_null(write: Writer) -> Writer:
    return lambda value: "null" if value is None else write(value)


def _compile(schema: Schema) -> Writer:
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name]
    match schema.type:
        case Type.STRUCT:
            return _struct(schema)
        case Type.ARRAY:
            items = _later(schema.value_schema)
            return lambda value: "[" + ", ".join([items(item) for item in value]) + "]"
        case Type.MAP:
            keys, values = _later(schema.key_schema), _later(schema.value_schema)
            is_long = schema.key_schema is None or schema.key_schema.type is Type.INT64

            def write_map(value: Mapping[Any, Any]) -> str:
                order = _hash_map_order(tuple(value), longs=is_long)
                return "{" + ", ".join([f"{keys(k)}={values(value[k])}" for k in order]) + "}"

            return write_map
        case _:
            return _PRIMITIVES[schema.type]


def _fields(schema: Schema) -> list[tuple[str, Writer]]:
    """The writers of a struct's fields. Java's Struct leaves null fields out: they meet none."""
    return [
        (f.name, _compile(f.schema) if f.schema.type.is_primitive else _later(f.schema))
        for f in schema.fields
    ]


def _struct(schema: Schema) -> Writer:
    fields = _fields(schema)

    def write(value: Mapping[str, Any]) -> str:
        get = value.get
        parts = [f"{n}={text(v)}" for n, text in fields if (v := get(n)) is not None]
        return "Struct{" + ",".join(parts) + "}"

    return write


def _later(schema: Schema | None) -> Writer:
    """The writer of a part, found when first used: schemas may contain themselves."""
    if schema is not None and schema.type.is_primitive:
        return writer_for(schema)

    def write(value: Any) -> str:
        return writer_for(schema)(value)

    return write


# ---- values without a schema --------------------------------------------------------------


def _any(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if kind is float and 1e-3 <= value < 1e7:  # most are, and need not be looked up
        return repr(value)
    write = _BY_KIND.get(kind)
    if write is not None:
        return write(value)
    for known, writer in _BY_KIND.items():
        if isinstance(value, known):
            return writer(value)
    return str(value)


def _list(value: Iterable[Any]) -> str:
    return "[" + ", ".join([_any(item) for item in value]) + "]"


def _map(value: Mapping[Any, Any]) -> str:
    order, form = _layout(tuple(value))
    texts = [v if type(v := value[k]) is str else _any(v) for k in order]
    return form % tuple(texts)


def _layout(keys: tuple[Any, ...]) -> tuple[tuple[Any, ...], str]:
    """In which order a map's values are printed, and what stands around them."""
    known = _layouts.get(keys)
    if known is None:
        order = _hash_map_order(keys, longs=True)
        names = [_any(key).replace("%", "%%") for key in order]
        known = order, "{" + ", ".join([f"{name}=%s" for name in names]) + "}"
        _keep(_layouts, keys, known)
    return known


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _bytes(value: bytes | bytearray | memoryview) -> str:
    return base64.b64encode(value).decode("ascii")


def _decimal(value: decimal.Decimal) -> str:
    # Both follow the same rules of scientific notation, but Java knows no minus zero.
    return str(-value) if value.is_zero() and value.is_signed() else str(value)


def _moment(value: dt.datetime) -> str:
    """`java.util.Date`: in the local time zone, always in English, Julian before 1582."""
    local = value.astimezone()
    year, month, day = local.year, local.month, local.day
    if year < _ALL_GREGORIAN:
        found = date_of(local.toordinal() - _EPOCH_DAY.toordinal(), WeekRules())
        year, month, day = found.year, found.month + 1, found.day_of_month
    return (
        f"{_DAYS[local.weekday()]} {_MONTHS[month - 1]} {day:02} "
        f"{local:%H:%M:%S} {local.tzname()} {year}"
    )


def _date(value: dt.date) -> str:
    return _moment(dt.datetime.combine(value, dt.time(), dt.UTC))


def _time(value: dt.time) -> str:
    return _moment(dt.datetime.combine(_EPOCH_DAY, value.replace(tzinfo=dt.UTC)))


_LOGICAL: dict[str | None, Writer] = {
    DECIMAL: _decimal,
    DATE: _date,
    TIME: _time,
    TIMESTAMP: _moment,
}


def _whole(value: Any) -> str:
    # A value need not be what its schema says, and True is an int in Python.
    return str(value) if value.__class__ is int else _any(value)


_PRIMITIVES: dict[Type, Writer] = {
    Type.INT8: _whole,
    Type.INT16: _whole,
    Type.INT32: _whole,
    Type.INT64: _whole,
    Type.FLOAT32: float_text,
    Type.FLOAT64: float_text,
    Type.BOOLEAN: _boolean,
    Type.STRING: _any,
    Type.BYTES: _bytes,
}

# In this order, because bool is an int and datetime is a date.
_BY_KIND: dict[type, Writer] = {
    type(None): lambda _: "null",
    bool: _boolean,
    int: str,
    float: float_text,
    str: str,
    dict: _map,
    list: _list,
    tuple: _list,
    bytes: _bytes,
    bytearray: _bytes,
    memoryview: _bytes,
    decimal.Decimal: _decimal,
    dt.datetime: _moment,
    dt.date: _date,
    dt.time: _time,
}


# ---- the order of a Java HashMap ----------------------------------------------------------

# Most topics have few shapes of map, so the order of their keys is worked out once.
_MOST_ORDERS = 10_000
# Of texts as keys alone: see `are_texts`.
_orders: dict[tuple[Any, ...], tuple[Any, ...]] = {}
_layouts: dict[tuple[Any, ...], tuple[tuple[Any, ...], str]] = {}


def _hash_map_order(keys: tuple[Any, ...], *, longs: bool) -> tuple[Any, ...]:
    """The keys as a `java.util.HashMap` would list them, put in one by one in this order."""
    known = _orders.get(keys)
    if known is None:
        slots = 16
        while len(keys) > slots * 3 // 4:
            slots *= 2

        def slot(key: Any) -> int:
            code = _hash_code(key, longs=longs) & 0xFFFFFFFF
            return (code ^ code >> 16) & (slots - 1)

        known = tuple(sorted(keys, key=slot))
        _keep(_orders, keys, known)
    return known


def _keep(known: dict[tuple[Any, ...], T], keys: tuple[Any, ...], made: T) -> None:
    if are_texts(keys):
        if len(known) >= _MOST_ORDERS:
            known.clear()
        known[keys] = made


def are_texts(keys: Iterable[Any]) -> bool:
    """Whether equal keys are printed alike: True equals 1, and 1 equals 1.0."""
    return {*map(type, keys)} <= {str}


def _hash_code(key: Any, *, longs: bool) -> int:
    if isinstance(key, bool):
        return 1231 if key else 1237
    if isinstance(key, int):
        return (key ^ (key >> 32)) if longs else key
    if isinstance(key, str):
        code = 0
        units = key.encode("utf-16-le", "surrogatepass")
        for low, high in zip(units[::2], units[1::2], strict=True):
            code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
        return code
    # Null hashes to 0. Other kinds of key print in the order they came.
    return 0
