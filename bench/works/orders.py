"""The records that are moved: orders of about 220 bytes, all of one length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import orjson

Message = tuple[bytes, bytes]

FIRST_ID = 1_000_000_000

FIELDS = {
    "id": "int64",
    "customer": "string",
    "email": "string",
    "amount": "double",
    "currency": "string",
    "paid": "boolean",
    "created_at": "int64",
    "country": "string",
    "note": "string",
}
_SCHEMA = orjson.dumps(
    {
        "type": "struct",
        "name": "order",
        "optional": False,
        "fields": [
            {"field": name, "type": kind, "optional": False} for name, kind in FIELDS.items()
        ],
    }
)


def order(number: int) -> dict[str, object]:
    customer = number * 7919 % 1_000_000
    return {
        "id": FIRST_ID + number,
        "customer": f"customer-{customer:06}",
        "email": f"person-{customer:06}@example.org",
        "amount": (number * 104_729 % 90_000 * 10 + 100_001 + number % 9) / 1000,
        "currency": "EUR",
        "paid": True,
        "created_at": 1_700_000_000_000 + number,
        "country": "DE",
        "note": "leave it with the neighbours, please",
    }


def key(number: int) -> bytes:
    return b"%09d" % (number * 7919 % 1_000_000)


def plain(numbers: Iterable[int]) -> Iterator[Message]:
    """JSON without a schema."""
    for number in numbers:
        yield key(number), orjson.dumps(order(number))


def poisoned(numbers: Iterable[int]) -> Iterator[Message]:
    """The same, but every tenth is no JSON."""
    for place, (record_key, value) in enumerate(plain(numbers)):
        yield record_key, value[:-20] if place % 10 == 9 else value


def enveloped(numbers: Iterable[int]) -> Iterator[Message]:
    """JSON with its schema beside it."""
    for record_key, value in plain(numbers):
        yield record_key, b'{"schema":%b,"payload":%b}' % (_SCHEMA, value)
