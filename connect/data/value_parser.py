"""The parser behind `connect.data.values.parse_string`.

A text is cut into tokens at the characters : , { } [ ] and ", unless a backslash stands before
them. Values are tried in order: null, true and false, arrays and maps, dates, numbers. What is
none of these is a string, and inside an array or map only quoted strings are, so that a text with
anything else in brackets is a string as a whole.

Numbers get the smallest type that holds them. Items of an array, keys and values of a map share
the widest of their number types; where they have no type in common there is no schema for them.
"""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import math
import re
from collections.abc import Callable
from typing import Any

from connect.data.floats import exact_float32, nearest_float64
from connect.data.schema import Schema, SchemaAndValue, Type
from connect.data.temporal_text import parse_temporal
from connect.errors import DataError

DATE_SCHEMA = Schema.date().build()
TIME_SCHEMA = Schema.time().build()
TIMESTAMP_SCHEMA = Schema.timestamp().build()

_NULL = SchemaAndValue(None, None)
_WORDS = {
    "null": _NULL,
    "true": SchemaAndValue(Schema.BOOLEAN, value=True),
    "false": SchemaAndValue(Schema.BOOLEAN, value=False),
}
_TOKEN = re.compile(r'[:,{}\[\]"]|(?:\\.|[^:,{}\[\]"\\])+\\?|\\', re.DOTALL)
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,10})?")
_INTEGERS = ((8, Schema.INT8), (16, Schema.INT16), (32, Schema.INT32), (64, Schema.INT64))
_WIDTH = {
    Type.INT8: 1, Type.INT16: 2, Type.INT32: 3, Type.INT64: 4, Type.FLOAT32: 5, Type.FLOAT64: 6,
}  # fmt: skip
# What Java's trim() takes away: every control character, but no space beyond ASCII.
_JAVA_SPACE = "".join(map(chr, range(0x21)))
# 10 to this power is no number that a header means, and Java needs minutes to find out.
_MAX_EXPONENT = 100_000


class Parser:
    """Reads one text. `convert` brings a value to a schema, or raises DataError."""

    def __init__(self, text: str, convert: Callable[[Schema, Any], Any]) -> None:
        self._text = text
        self._convert = convert
        self._tokens: list[str] = _TOKEN.findall(text)
        self._next = 0

    def parse(self) -> SchemaAndValue:
        """The value of the whole text. Where something is left over, the text is a string.

        The JVM drops what is left: it reads the header `12:30` as the number 12.
        """
        found = self._value(embedded=False)
        if any(token.strip(_JAVA_SPACE) for token in self._tokens[self._next :]):
            return SchemaAndValue(Schema.STRING, self._text)
        return found

    # -- tokens -----------------------------------------------------------------------------

    def _more(self) -> bool:
        return self._next < len(self._tokens)

    def _peek(self) -> str:
        """The next token, trimmed. Blank tokens before it are dropped."""
        tokens, last = self._tokens, len(self._tokens) - 1
        while not (word := tokens[self._next].strip(_JAVA_SPACE)) and self._next < last:
            self._next += 1
        return word

    def _took(self, expected: str) -> bool:
        """Step over the next token if it is the expected one."""
        if not self._more() or self._peek() != expected:
            return False
        self._next += 1
        return True

    # -- values -----------------------------------------------------------------------------

    def _value(self, *, embedded: bool) -> SchemaAndValue:
        if not self._more():
            return _NULL
        word = self._peek()
        start, self._next = self._next, self._next + 1
        if not word:
            return SchemaAndValue(Schema.STRING, self._tokens[start])
        if embedded and word == '"':
            return self._quoted()
        # At the top nothing may follow, so that `true}` stays a string.
        if word in _WORDS and (embedded or not self._more()):
            return _WORDS[word]
        try:
            if word == "[":
                return self._array()
            if word == "{":
                return self._map()
        except DataError:
            self._next = start + 1
        found = self._temporal_or_number(word)
        if found is not None:
            return found
        if embedded:
            raise DataError("Failed to parse embedded value")
        return SchemaAndValue(Schema.STRING, self._text)

    def _temporal_or_number(self, token: str) -> SchemaAndValue | None:
        if token[0].isdecimal():
            # The colons of a time cut it into five tokens.
            rest = self._tokens[self._next : self._next + 4]
            if len(rest) == 4:
                found = _temporal(token + "".join(rest))
                if found is not None:
                    self._next += 4
                    return found
            found = _temporal(token)
            if found is not None:
                return found
        if token[0].isdecimal() or token[0] in "+-":
            return _number(token)
        return None

    def _quoted(self) -> SchemaAndValue:
        parts = []
        while self._more() and not self._took('"'):
            parts.append(self._tokens[self._next])
            self._next += 1
        content = "".join(parts)
        return _temporal(content) or SchemaAndValue(Schema.STRING, content)

    def _array(self) -> SchemaAndValue:
        items: list[Any] = []
        common = _CommonSchema()
        while self._more():
            if self._took("]"):
                if common.schema is None:
                    return SchemaAndValue(Schema(Type.ARRAY), items)
                schema = common.schema
                return SchemaAndValue(
                    _array_of(schema), [self._convert(schema, item) for item in items]
                )
            if self._took(","):
                raise DataError(f"Unable to parse an empty array element: {self._text}")
            found = self._value(embedded=True)
            common.include(found.schema)
            items.append(found.value)
            after = self._next
            if self._took("]"):
                self._next = after
            elif not self._took(","):
                raise DataError("Array elements missing ',' delimiter")
        raise DataError(f"Array is missing terminating ']': {self._text}")

    def _map(self) -> SchemaAndValue:
        entries: dict[Any, Any] = {}
        keys, values = _CommonSchema(), _CommonSchema()
        while self._more():
            if self._took("}"):
                return self._finished_map(entries, keys.schema, values.schema)
            if self._took(","):
                raise DataError(f"Unable to parse a map entry with no key or value: {self._text}")
            key = self._value(embedded=True)
            if key.value is None:
                raise DataError(f"Map entry may not have a null key: {self._text}")
            if not self._took(":"):
                raise DataError(f"Map entry is missing ':' in {self._text}")
            value = self._value(embedded=True)
            try:
                entries[key.value] = value.value
            except TypeError:
                raise DataError(f"Map key can't be an array or a map: {self._text}") from None
            self._took(",")
            keys.include(key.schema)
            values.include(value.schema)
        raise DataError(f"Map is missing terminating '}}': {self._text}")

    def _finished_map(
        self, entries: dict[Any, Any], keys: Schema | None, values: Schema | None
    ) -> SchemaAndValue:
        if keys is None:
            return SchemaAndValue(Schema(Type.MAP), entries)
        return SchemaAndValue(
            _map_of(keys, values),
            {
                self._convert(keys, k): v if values is None else self._convert(values, v)
                for k, v in entries.items()
            },
        )


# The same schema object for equal ones, so that others can cache by it.


@functools.lru_cache(1000)
def _array_of(items: Schema) -> Schema:
    return Schema.array(items).build()


@functools.lru_cache(1000)
def _map_of(keys: Schema, values: Schema | None) -> Schema:
    return Schema(Type.MAP, key_schema=keys, value_schema=values)


@functools.lru_cache(1000)
def _decimal_of(scale: int) -> Schema:
    return Schema.decimal(scale).build()


class _CommonSchema:
    """What holds all the values seen so far: None before the first, and when nothing does."""

    def __init__(self) -> None:
        self.schema: Schema | None = None
        self._possible = True

    def include(self, other: Schema | None) -> None:
        if other is None or not self._possible:
            return
        if self.schema is None or self.schema.type is other.type:
            self.schema = other
            return
        ours, theirs = _WIDTH.get(self.schema.type), _WIDTH.get(other.type)
        if ours is None or theirs is None:
            self.schema, self._possible = None, False
        elif theirs > ours:
            self.schema = other


def _temporal(text: str) -> SchemaAndValue | None:
    found = parse_temporal(text)
    match found:
        case None:
            return None
        case dt.datetime():
            return SchemaAndValue(TIMESTAMP_SCHEMA, found)
        case dt.date():
            return SchemaAndValue(DATE_SCHEMA, found)
    return SchemaAndValue(TIME_SCHEMA, found)


def java_decimal(text: str) -> decimal.Decimal | None:
    """The number that Java's BigDecimal makes of a text; None if it makes none."""
    if not _DECIMAL.fullmatch(text):
        return None
    number = decimal.Decimal(text)
    # A minus zero is a zero in Java.
    return number.copy_abs() if number.is_zero() else number


def _number(token: str) -> SchemaAndValue | None:
    number = java_decimal(token)
    if number is None or abs(number.adjusted()) > _MAX_EXPONENT:
        return None
    if number.adjusted() < 19 and number == number.to_integral_value():
        whole = int(number)
        for bits, schema in _INTEGERS:
            if -(1 << (bits - 1)) <= whole < 1 << (bits - 1):
                return SchemaAndValue(schema, whole)
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    if exponent != 0:
        if math.isfinite(single := exact_float32(number)):
            return SchemaAndValue(Schema.FLOAT32, single)
        if math.isfinite(double := nearest_float64(number)):
            return SchemaAndValue(Schema.FLOAT64, double)
    return SchemaAndValue(_decimal_of(-exponent), number)
