"""FilterByField: keeps or drops records by what one of their fields holds."""

from __future__ import annotations

import datetime as dt
import decimal
import operator
from collections.abc import Callable, Sequence
from typing import Any, Generic

from connect import (
    Config,
    ConfigDef,
    ConfigError,
    DataError,
    Importance,
    Transformation,
)
from connect.config.validators import one_of
from connect.javalang.regex import JavaRegexError, UnsupportedRegexError, compile_java
from connect.records import R
from transforms.field_path import define_field_syntax, parse_field_path, value_at

Test = Callable[[Any], bool]

_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
OPERATORS = ("=", "!=", *_ORDERED, "in", "matches", "contains", "is-null")
_NEEDS_VALUE = set(OPERATORS) - {"is-null"}


class FilterByField(Transformation[R], Generic[R]):
    config_def = define_field_syntax(
        ConfigDef()
        .define("field", doc="The field to look at. Empty for the whole key or value.")
        .define(
            "operator",
            default="=",
            validator=one_of(*OPERATORS),
            doc="How the field is compared with value: =, !=, <, <=, >, >=; in: it is one of the "
            "values in a list; matches: its whole text matches a regular expression in Java's "
            "dialect; contains: its text or list contains the value; is-null: it is null or "
            "missing.",
        )
        .define(
            "value",
            default=None,
            doc="What the field is compared with, read as the field's own type: a number for a "
            "number, true or false for a boolean, 2024-01-31 or 2024-01-31T12:00:00Z for dates.",
        )
        .define(
            "filter.type",
            default="include",
            validator=one_of("include", "exclude"),
            doc="include keeps the records for which it is true and drops all others; "
            "exclude drops those for which it is true.",
        )
        .define(
            "missing.or.null.behavior",
            default="fail",
            validator=one_of("fail", "include", "exclude"),
            importance=Importance.MEDIUM,
            doc="What becomes of a record whose field is null or missing: fail, include (the "
            "record is kept) or exclude (it is dropped).",
        )
    )

    def configure(self, config: Config) -> None:
        self._field: str = config["field"]
        self._path = parse_field_path(self._field, config) if self._field else ()
        self._keep_if: bool = config["filter.type"] == "include"
        self._if_null: str = config["missing.or.null.behavior"]
        self._operator: str = config["operator"]
        if self._operator in _NEEDS_VALUE and config["value"] is None:
            raise ConfigError("value", None, f"is needed for the operator {self._operator}")
        self._test = _test(self._operator, config["value"], self._field)

    def _keeps(self, whole: Any) -> bool:
        value = value_at(whole, self._path)
        if self._operator == "is-null":
            return (value is None) is self._keep_if
        if value is None:
            if self._if_null == "fail":
                raise DataError(
                    f"Field {self._field or 'value'} is null or missing. Set "
                    "missing.or.null.behavior to include or exclude to keep or drop such records"
                )
            return self._if_null == "include"
        return self._test(value) is self._keep_if


def _test(name: str, text: str | None, field: str) -> Test:
    text = text or ""
    if name == "is-null":
        return lambda _: True  # nulls are looked at before
    if name == "matches":
        try:
            matches = compile_java(text).matches
        except (JavaRegexError, UnsupportedRegexError) as error:
            raise ConfigError("value", text, f"Invalid regex: {error}") from error
        return lambda value: matches(_text(value))
    if name == "contains":
        wanted = _Wanted(text)
        return lambda value: _contains(value, text, wanted)
    if name == "in":
        choices = [_Wanted(item.strip()) for item in text.split(",")]
        return lambda value: any(choice.equals(value) for choice in choices)
    wanted = _Wanted(text)
    if name == "=":
        return wanted.equals
    if name == "!=":
        return lambda value: not wanted.equals(value)
    compare = _ORDERED[name]

    def ordered(value: Any) -> bool:
        other = wanted.like(value)
        if other is None:
            raise DataError(
                f"Field {field} holds {value!r}, which can't be compared with {text!r} by {name}"
            )
        return compare(value, other)

    return ordered


def _contains(value: Any, text: str, wanted: _Wanted) -> bool:
    if isinstance(value, str):
        return text in value
    if isinstance(value, list):
        return any(wanted.equals(item) for item in value)
    return isinstance(value, dict) and text in value


class _Wanted:
    """The text that a field is compared with, as each type of field needs it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._by_type: dict[type, Any] = {}

    def equals(self, value: Any) -> bool:
        other = self.like(value)
        return other is not None and bool(value == other)

    def like(self, value: Any) -> Any:
        """The text as a value of the same type; None if it is none."""
        kind = type(value)
        if kind is str:
            return self._text
        if kind not in self._by_type:
            self._by_type[kind] = _read(self._text, kind)
        return self._by_type[kind]


def _read(text: str, kind: type) -> Any:
    try:
        if kind is bool:
            return {"true": True, "false": False}.get(text.lower())
        if kind in (int, float, decimal.Decimal):
            # Exact: 0.1 is compared as a float with floats, as what it says with the rest.
            return float(text) if kind is float else decimal.Decimal(text)
        if kind is bytes:
            return text.encode()
        if kind is dt.datetime:
            moment = dt.datetime.fromisoformat(text)
            return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
        if kind in (dt.date, dt.time):
            return kind.fromisoformat(text)
    except (ValueError, ArithmeticError):
        pass
    return None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    return str(value)


class FilterByFieldKey(FilterByField[R]):
    """Keeps or drops records by a field of the key."""

    def apply(self, record: R) -> R | None:
        return record if self._keeps(record.key) else None

    def apply_batch(self, records: Sequence[R]) -> list[R | None]:
        keeps = self._keeps
        return [record if keeps(record.key) else None for record in records]


class FilterByFieldValue(FilterByField[R]):
    """Keeps or drops records by a field of the value."""

    def apply(self, record: R) -> R | None:
        return record if self._keeps(record.value) else None

    def apply_batch(self, records: Sequence[R]) -> list[R | None]:
        keeps = self._keeps
        return [record if keeps(record.value) else None for record in records]
