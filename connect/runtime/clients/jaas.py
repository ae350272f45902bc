"""JAAS lines: `org…PlainLoginModule required username="alice" password="secret";`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""\s+ | //[^\n]* | /\*.*?\*/
    | (?P<double>"(?:[^"\\]|\\.)*") | (?P<single>'(?:[^'\\]|\\.)*')
    | (?P<mark>[=;]) | (?P<word>[^\s=;"']+)""",
    re.VERBOSE | re.DOTALL,
)
_FLAGS = {"required", "requisite", "sufficient", "optional"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


@dataclass(frozen=True, slots=True)
class LoginModule:
    """One login module with its options."""

    name: str
    options: dict[str, str] = field(repr=False)


def parse_jaas(line: str) -> LoginModule:
    """The one login module of a line. ValueError says what is wrong, without what is secret."""
    tokens = _tokens(line)
    if not tokens:
        raise ValueError("names no login module")
    if len(tokens) < 2 or tokens[1][1].lower() not in _FLAGS:
        raise ValueError(f"needs one of {', '.join(sorted(_FLAGS))} after the login module's name")
    options: dict[str, str] = {}
    rest = tokens[2:]
    while rest and rest[0] != _END:
        match rest[:3]:
            case [("word", name), ("mark", "="), ("word", value)]:
                options[name] = value
            case _:
                raise ValueError('has an option that is not name=value; quote values with ""')
        rest = rest[3:]
    if len(rest) > 1:
        raise ValueError("names more than one login module; a client takes one")
    return LoginModule(tokens[0][1], options)


_END = ("mark", ";")


def _tokens(line: str) -> list[tuple[str, str]]:
    """Words, with their quotes and escapes taken away, and the marks between them."""
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(line):
        match = _TOKEN.match(line, at)
        if match is None:
            raise ValueError("has a quotation mark that is not closed")
        at = match.end()
        if quoted := match["double"] or match["single"]:
            found.append(("word", _unescape(quoted[1:-1])))
        elif match["mark"]:
            found.append(("mark", match["mark"]))
        elif match["word"]:
            found.append(("word", match["word"]))
    return found


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text, flags=re.DOTALL)
