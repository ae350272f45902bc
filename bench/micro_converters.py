"""How quick the converters are, alone: records/s and µs/record, in batches as the pipeline calls.

    python -m bench.micro_converters [--batch 500] [--seconds 0.5] [name …]

One thread, no Kafka. The best of the rounds that fit into the seconds counts, so that a busy
machine shows less. "orjson alone" is what decoding or encoding costs by itself.
"""

from __future__ import annotations

import argparse
import datetime as dt
import decimal
import time
from collections.abc import Callable
from typing import Any

import orjson

from connect import Schema
from converters.boolean import BooleanConverter
from converters.byte_array import ByteArrayConverter
from converters.json import JsonConverter
from converters.numbers import DoubleConverter, FloatConverter, LongConverter
from converters.simple_header import SimpleHeaderConverter
from converters.string import StringConverter

ORDER = {
    "id": 1234567,
    "customer": "customer-000123",
    "amount": 129.95,
    "currency": "EUR",
    "paid": True,
    "created_at": 1700000000123,
    "note": "leave it with the neighbours, please",
    "country": "DE",
    "items": ["4006381333931", "9783161484100"],
    "address": {"street": "Main Street 5", "zip": "10115"},
}
ORDER_SCHEMA = (
    Schema.struct("Order")
    .field("id", Schema.INT64)
    .field("customer", Schema.STRING)
    .field("amount", Schema.FLOAT64)
    .field("currency", Schema.OPTIONAL_STRING)
    .field("paid", Schema.BOOLEAN)
    .field("created_at", Schema.INT64)
    .field("note", Schema.OPTIONAL_STRING)
    .field("country", Schema.STRING)
    .field("items", Schema.array(Schema.STRING).build())
    .field(
        "address",
        Schema.struct("Address").field("street", Schema.STRING).field("zip", Schema.STRING).build(),
    )
    .build()
)
LOGICAL_SCHEMA = (
    Schema.struct("Payment")
    .field("id", Schema.INT64)
    .field("total", Schema.decimal(2).build())
    .field("due", Schema.date().build())
    .field("at", Schema.timestamp().build())
    .field("rate", Schema.FLOAT32)
    .field("state", Schema.builder(Schema.STRING.type).default("open").build())
    .build()
)
PAYMENT = {
    "id": 1234567,
    "total": decimal.Decimal("129.95"),
    "due": dt.date(2026, 11, 16),
    "at": dt.datetime(2026, 11, 16, 5, 0, 0, 123000, tzinfo=dt.UTC),
    "rate": 0.19,
    "state": None,
}


def made(kind: Any, **config: str) -> Any:
    converter = kind()
    converter.configure({k.replace("_", "."): v for k, v in config.items()})
    return converter


def pairs(
    name: str, converter: Any, schema: Schema | None, value: Any, batch: int
) -> list[tuple[str, Callable[[], Any]]]:
    """Reading and writing one record many times over."""
    data = [converter.from_connect("t", schema, value)] * batch
    schemas, values = [schema] * batch, [value] * batch
    read_headers: list[Any] = [()] * batch
    write_headers: list[Any] = [[]] * batch
    return [
        (f"{name} read", lambda: converter.to_connect_batch("t", data, read_headers)),
        (
            f"{name} write",
            lambda: converter.from_connect_batch("t", schemas, values, write_headers),
        ),
    ]


def cases(batch: int) -> list[tuple[str, Callable[[], Any]]]:
    order = orjson.dumps(ORDER)
    json_plain = made(JsonConverter, schemas_enable="false")
    json_envelope = made(JsonConverter)
    headers = SimpleHeaderConverter()
    large = {**ORDER, "amount": 1.5e10}  # written 1.5E10, which only the slow way can
    return [
        ("orjson alone read", lambda: [orjson.loads(d) for d in [order] * batch]),
        ("orjson alone write", lambda: [orjson.dumps(v) for v in [ORDER] * batch]),
        *pairs("Json plain", json_plain, None, ORDER, batch),
        pairs("Json plain, large float", json_plain, None, large, batch)[1],
        *pairs("Json envelope", json_envelope, ORDER_SCHEMA, ORDER, batch),
        pairs("Json envelope, large float", json_envelope, ORDER_SCHEMA, large, batch)[1],
        *pairs("Json envelope, logical", json_envelope, LOGICAL_SCHEMA, PAYMENT, batch),
        *pairs("String", made(StringConverter), Schema.STRING, order.decode(), batch),
        *pairs("String of a struct", made(StringConverter), ORDER_SCHEMA, ORDER, batch)[1:],
        *pairs("ByteArray", made(ByteArrayConverter), Schema.BYTES, order, batch),
        *pairs("Long", made(LongConverter), Schema.INT64, 1234567, batch),
        *pairs("Float", made(FloatConverter), Schema.FLOAT32, 0.1, batch),
        *pairs("Double", made(DoubleConverter), Schema.FLOAT64, 0.1, batch),
        *pairs("Boolean", made(BooleanConverter), Schema.BOOLEAN, True, batch),
        *[
            (
                f"SimpleHeader parse {text.decode()}",
                lambda text=text: [headers._parse("t", "h", text) for _ in range(batch)],
            )
            for text in (b"trace-4711", b"12345", b"[1, 2, 3]", b"2026-11-16T05:00:00.123Z")
        ],
        (
            "SimpleHeader read, seen before",
            lambda: [headers.to_connect_header("t", "h", b"[1, 2, 3]") for _ in range(batch)],
        ),
        (
            "SimpleHeader write",
            lambda: [
                headers.from_connect_header("t", "h", None, "trace-4711") for _ in range(batch)
            ],
        ),
    ]


def best_seconds(run: Callable[[], Any], seconds: float) -> float:
    run()  # caches filled, code compiled
    best, deadline = float("inf"), time.perf_counter() + seconds
    while (start := time.perf_counter()) < deadline:
        run()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("names", nargs="*", help="only cases whose name contains one of these")
    arguments.add_argument("--batch", type=int, default=500)
    arguments.add_argument("--seconds", type=float, default=0.5, help="for each case")
    chosen = arguments.parse_args()
    print(f"{'converter':<42}{'records/s':>14}{'µs/record':>12}")
    for name, run in cases(chosen.batch):
        if chosen.names and not any(word.lower() in name.lower() for word in chosen.names):
            continue
        each = best_seconds(run, chosen.seconds) / chosen.batch
        print(f"{name:<42}{1 / each:>14,.0f}{each * 1e6:>12.3f}")


if __name__ == "__main__":
    main()
