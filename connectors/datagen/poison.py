"""Records that are broken on purpose, to see what dead-letter queues and alerts do with them.

A source hands values to a converter, and a converter writes what it is given. So what can be broken
depends on who writes the text:

- with `format=json` it is this connector, and the text can be cut, or be no JSON at all;
- with `format=struct` it is the converter, and what can be wrong is the type.

Each poisoned record says so in the header `datagen.poison`, so that a test can count them.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from connect import Headers, Schema

HEADER = "datagen.poison"

# What a service in trouble answers, and a collector writes down as if it were data.
_NO_JSON = "<html><body><h1>502 Bad Gateway</h1></body></html>"

# A word where a record should be: good JSON, but no transform or table can use it.
WRONG_TYPE = "n/a"


def _truncated(text: str) -> str:
    return text[: len(text) * 2 // 3]


_KINDS: dict[str, Callable[[str], str]] = {
    "truncated": _truncated,
    "not_json": lambda _: _NO_JSON,
    "wrong_type": lambda _: f'"{WRONG_TYPE}"',
}
TEXT_KINDS = tuple(_KINDS)


def broken(text: str, kind: str) -> str:
    """A JSON document spoilt in one of the ways of TEXT_KINDS."""
    return _KINDS[kind](text)


def headers_for(kind: str) -> Headers:
    return Headers().with_(HEADER, kind, Schema.STRING)


def poisoned(random: Random, ratio: float, count: int) -> list[str | None]:
    """For each of `count` records, how it is to be broken; None for most."""
    if ratio <= 0:
        return [None] * count
    return [random.choice(TEXT_KINDS) if random.random() < ratio else None for _ in range(count)]
