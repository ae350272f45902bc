"""JSON as the JVM's converter reads and writes it, to the byte. Right, not quick.

The JSON converter does its daily work with msgspec, in C. This module settles what is left: input
that only Jackson takes (leading zeros, trailing text, UTF-16, a byte order mark), numbers beyond
64 bits, and output that only Jackson writes (1.0E10, "NaN", upper-case escapes).

A node is plain Python: None, bool, int, Decimal (any number with a point or exponent), str, list,
dict, or MISSING for a document without a value.
"""

from __future__ import annotations

import binascii
import codecs
import decimal
import enum
import json
import re
from base64 import b64encode
from typing import Any, Final

import msgspec

from connect.data.floats import exact_float32, java_text, nearest_float64
from connect.errors import DataError, SerializationError


class _Missing(enum.Enum):
    MISSING = "MISSING"


MISSING: Final = _Missing.MISSING

# Jackson's own limits, which keep a hostile record from holding a task for minutes.
_MAX_NUMBER_LENGTH = 1000
_MAX_EXPONENT = 2**31 - 1
# An error shows where it is, and not the whole record.
_MAX_QUOTED = 24
# What msgspec says of a document that needs more to be one.
_TRUNCATED = "Input data was truncated"
# Two bytes are too few for Jackson to take them for a mark.
_LONE_MARKS = (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE)


# ---- reading ------------------------------------------------------------------------------


def parse(data: bytes) -> Any:
    """The first JSON value of a document. What follows it is not looked at, as in the JVM."""
    try:
        return _first_value(_text(data))
    except (ValueError, RecursionError, decimal.InvalidOperation) as error:
        raise SerializationError(_cut_off(data, _said(data)) or _reason(error)) from None


def fault(data: bytes, said: str) -> str | None:
    """Why `parse` would refuse the document, of which msgspec has said this; None if it would not.

    Quick for what is plainly broken: without a number for each digit, and without raising, so that
    a batch full of errors has no frames that hold it. Quicker still for what is cut off.
    """
    # Of one that is of another shape too, it has said that.
    reason = _cut_off(data, said) or _cut_off(data, _said(data))
    if reason is not None:
        return reason
    try:
        text = _text(data)
        _scan_quickly(text, _begin(text))
    except json.JSONDecodeError as error:
        if not _is_behind_zero(error):
            return _reason(error)
    except (StopIteration, ValueError, RecursionError):
        pass
    try:
        parse(data)
    except SerializationError as error:
        return str(error)
    return None


def _cut_off(data: bytes, said: str | None) -> str | None:
    """Where an object or array breaks off; None if it is whole, or wrong in another way.

    What msgspec takes up to its end, Jackson takes too, and wants more of it as well.
    """
    if said != _TRUNCATED or not data.startswith((b"{", b"[")):
        return None
    last = data[data.rfind(b"\n") + 1 :].decode(errors="replace")
    line, shown = data.count(b"\n") + 1, _quoted(last[-_MAX_QUOTED:])
    return f"Unexpected end at line {line}, column {len(last) + 1}: behind {shown}"


def _said(data: bytes) -> str | None:
    """What msgspec says of a document that it does not take."""
    try:
        msgspec.json.decode(data)
    except (ValueError, RecursionError) as error:
        return str(error)
    return None


def _text(data: bytes) -> str:
    if data.startswith(b'{"') or data in _LONE_MARKS:
        return data.decode()
    return data.decode(json.detect_encoding(data))


def _is_behind_zero(error: json.JSONDecodeError) -> bool:
    """A number that begins with a zero ends behind it for Python: then a digit is in the way."""
    return "0" <= error.doc[error.pos : error.pos + 1] <= "9" and error.doc[error.pos - 1] == "0"


def _reason(error: Exception) -> str:
    """What is wrong and where, with the beginning of what stands there."""
    match error:
        case json.JSONDecodeError():
            here = error.doc[error.pos : error.pos + _MAX_QUOTED + 1]
            if len(here) > _MAX_QUOTED:
                here = here[:-1] + "…"
            shown = _quoted(here) if here else "the text ends"
            what = error.msg.removesuffix(" at").removesuffix(": ")
            return f"{what} at line {error.lineno}, column {error.colno}: {shown}"
        case UnicodeDecodeError():
            found = error.object[error.start : error.end].hex()
            return f"Invalid {error.encoding} at byte {error.start}: 0x{found}"
        case RecursionError():
            return "The value is nested too deeply"
    return str(error)


def _first_value(text: str) -> Any:
    if _begin(text) == len(text):
        return MISSING
    try:
        return _scan(text)
    except json.JSONDecodeError as error:
        if not _is_behind_zero(error):
            raise
        # Spaces instead, so that an error still has its place.
        return _scan(_LEADING_ZEROS.sub(lambda m: m[1] or " " * len(m[3]) + m[2], text))


def _begin(text: str) -> int:
    return _SPACE.match(text).end()  # type: ignore[union-attr]


def _scan(text: str) -> Any:
    value, end = _DECODER.raw_decode(text, _begin(text))
    if isinstance(value, (str, list, dict)) or end == len(text):
        return value
    # A number needs space behind it, a word just an end.
    next_one = text[end]
    if next_one not in " \t\r\n" and (is_number(value) or f"a{next_one}".isidentifier()):
        raise json.JSONDecodeError("Expecting space after the value", text, end)
    return value


def _whole(digits: str) -> int:
    return int(_checked(digits))


def _fraction(digits: str) -> decimal.Decimal:
    number = decimal.Decimal(_checked(digits))
    if abs(number.adjusted()) > _MAX_EXPONENT:
        raise ValueError(f"An exponent is too large: {digits[:_MAX_QUOTED]}")
    return number


def _checked(digits: str) -> str:
    if len(digits) > _MAX_NUMBER_LENGTH:
        raise ValueError(f"A number has {len(digits)} digits, {_MAX_NUMBER_LENGTH} are allowed")
    return digits


def _not_json(token: str) -> None:
    raise ValueError(f"{token} is not JSON")


_quoted = json.JSONEncoder(ensure_ascii=False).encode
_scan_quickly = json.JSONDecoder().scan_once  # type: ignore[attr-defined] # not in its stubs
_DECODER = json.JSONDecoder(parse_int=_whole, parse_float=_fraction, parse_constant=_not_json)
_SPACE = re.compile(r"[ \t\r\n]*")
_LEADING_ZEROS = re.compile(r'("(?:[^"\\]|\\.)*")|(?<![\w.+])(-?)(0+)(?=[0-9])', re.DOTALL)


# ---- looking at nodes ---------------------------------------------------------------------


def kind(node: Any) -> str:
    """The word for a node's kind in error texts."""
    match node:
        case None:
            return "NULL"
        case bool():
            return "BOOLEAN"
        case int() | decimal.Decimal():
            return "NUMBER"
        case str():
            return "STRING"
        case list():
            return "ARRAY"
        case dict():
            return "OBJECT"
    return "MISSING"


def is_number(node: Any) -> bool:
    return isinstance(node, (int, decimal.Decimal)) and not isinstance(node, bool)


def is_whole(node: Any) -> bool:
    return isinstance(node, int) and not isinstance(node, bool)


def int_value(node: Any, bits: int) -> int:
    """A number cut to so many bits, wrapping round as Java does. Not a number: 0."""
    if not is_number(node):
        return 0
    if isinstance(node, decimal.Decimal) and node.adjusted() > _MAX_NUMBER_LENGTH:
        return 0  # a multiple of so high a power of two that no bit is left
    low = int(node) & ((1 << bits) - 1)
    return low - (1 << bits) if low >> (bits - 1) else low


def float64_value(node: Any) -> float:
    return nearest_float64(node) if is_number(node) else 0.0


def float32_value(node: Any) -> float:
    return exact_float32(node) if is_number(node) else 0.0


def binary_value(node: Any) -> bytes | None:
    """Base64 in a string. White space may stand between groups of four. Not a string: None."""
    if not isinstance(node, str):
        return None
    groups = _BASE64_UNIT.findall(node)
    if sum(map(len, groups)) != len(node) - len(_BASE64_SPACE.findall(node)):
        raise DataError("broken Base64: a character that has no place in it, or missing padding")
    # Padding ends a value, but Jackson goes on and appends what follows.
    return b"".join(map(binascii.a2b_base64, groups))


_BASE64_UNIT = re.compile(r"[ \t\r\n]*((?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==))")
_BASE64_SPACE = re.compile(r"[ \t\r\n]")


# ---- writing ------------------------------------------------------------------------------


def dump(node: Any) -> bytes:
    """A node as JSON. Besides the nodes that `parse` makes: float, and bytes as base64."""
    return _dump(node).encode("utf-8")


def _dump(node: Any) -> str:
    match node:
        case None:
            return "null"
        case bool():
            return "true" if node else "false"
        case str():
            return f'"{_escape(node)}"'
        case int():
            return str(node)
        case float():
            return float_text(node)
        case decimal.Decimal():
            return decimal_text(node)
        case bytes() | bytearray() | memoryview():
            return f'"{b64encode(node).decode()}"'
        case list() | tuple():
            return f"[{','.join(map(_dump, node))}]"
        case dict():
            return "{" + ",".join(f'"{_escape(k)}":{_dump(v)}' for k, v in node.items()) + "}"
    raise TypeError(f"no JSON for {type(node).__name__}")


def float_text(value: float) -> str:
    """A float as JSON; what JSON has no number for becomes a string."""
    text = java_text(value)
    return text if text[-1].isdigit() else f'"{text}"'


def decimal_text(value: decimal.Decimal) -> str:
    return str(value.copy_abs() if value.is_zero() else value)


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda m: _SHORT_ESCAPES.get(m[0]) or _hex_escape(m[0]), text)


def _hex_escape(char: str) -> str:
    code = ord(char)
    if code < 0x10000:
        return f"\\u{code:04X}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04X}\\u{0xDC00 + low:04X}"


_SHORT_ESCAPES = {
    '"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r",
}  # fmt: skip
_SPECIAL = re.compile('[\x00-\x1f"\\\\\ud800-\udfff\U00010000-\U0010ffff]')


def with_jackson_escapes(text: bytes) -> bytes:
    r"""JSON that msgspec or orjson wrote, with the escapes Jackson would have used.

    It writes \u001F with capital letters and characters beyond U+FFFF as two escapes.
    """
    if b"\\u00" in text:
        text = _LOWER_ESCAPE.sub(_upper_escape, text)
    if not text.isascii():
        text = _FOUR_BYTES.sub(lambda m: _hex_escape(m[0].decode()).encode(), text)
    return text


def _upper_escape(found: re.Match[bytes]) -> bytes:
    return b"\\u" + found[1].upper() if found[1] else found[0]


_LOWER_ESCAPE = re.compile(rb"\\(?:u([0-9a-f]{4})|.)", re.DOTALL)
_FOUR_BYTES = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{3}")
