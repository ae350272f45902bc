"""Records a second through the registry converters, beside a bare loop of the same library.

    python bench/micro_registry_converters.py [records]

The bare loop does what any program must: for Avro fastavro with the schema at hand, for Protobuf a
generated-like message class, for JSON orjson. It checks nothing, gives no Connect schema and knows
no framing, so it is the floor. Each figure is the best of three rounds over a batch of distinct
records, by the processor's time; the registry is in memory and is asked once a schema.
"""

from __future__ import annotations

import datetime as dt
import decimal
import io
import json
import platform
import sys
import time
from collections.abc import Callable
from typing import Any

import fastavro
import orjson

from connect import Schema
from converters.avro import AvroConverter
from converters.json_schema import JsonSchemaConverter
from converters.protobuf import ProtobufConverter
from converters.protobuf.compiling import ProtoFile, message_class

PLAIN = (
    Schema.struct("bench.Order")
    .field("id", Schema.INT64)
    .field("customer", Schema.STRING)
    .field("country", Schema.STRING)
    .field("note", Schema.OPTIONAL_STRING)
    .field("amount", Schema.FLOAT64)
    .field("quantity", Schema.INT32)
    .field("paid", Schema.BOOLEAN)
    .field("created_ms", Schema.INT64)
    .field("tags", Schema.array(Schema.STRING).build())
    .build()
)
LOGICAL = (
    Schema.struct("bench.Payment")
    .field("id", Schema.INT64)
    .field("price", Schema.decimal(2).build())
    .field("at", Schema.timestamp().build())
    .field("due", Schema.date().build())
    .field("rate", Schema.FLOAT32)
    .field("from", Schema.struct("bench.Party").field("name", Schema.STRING).optional().build())
    .build()
)


def plain_record(n: int) -> dict[str, Any]:
    return {
        "id": n, "customer": f"customer-{n}", "country": "CH", "note": "leave at the door",
        "amount": n * 1.25, "quantity": n % 100, "paid": n % 2 == 0,
        "created_ms": 1_700_000_000_000 + n, "tags": ["new", "web"],
    }  # fmt: skip


def logical_record(n: int) -> dict[str, Any]:
    return {
        "id": n, "price": decimal.Decimal(n).scaleb(-2),
        "at": dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=n),
        "due": dt.date(2024, 1, 1), "rate": 0.1, "from": {"name": f"party-{n}"},
    }  # fmt: skip


def rate(work: Callable[[], Any], count: int) -> float:
    best = 0.0
    for _ in range(3):
        start = time.process_time()
        work()
        best = max(best, count / (time.process_time() - start))
    return best


def show(name: str, ours: float, floor: float | None) -> None:
    beside = "" if floor is None else f"  {floor:>10,.0f}  {ours / floor:>5.0%}"
    print(f"{name:<34}{ours:>10,.0f}  {1e6 / ours:>6.2f}{beside}")


def bare(
    kind: str, made: Any, schema: Schema, values: list[dict[str, Any]]
) -> tuple[Any, Any] | None:
    """The floor: loops that write and read the same records with the library alone."""
    if kind == "Avro":
        parsed = fastavro.parse_schema(json.loads(made.describe(schema)[0]))

        def write() -> list[bytes]:
            written = []
            for value in values:
                out = io.BytesIO()
                fastavro.schemaless_writer(out, parsed, value)
                written.append(out.getvalue())
            return written

        data = write()
        return write, lambda: [fastavro.schemaless_reader(io.BytesIO(d), parsed) for d in data]
    if schema is LOGICAL:
        return None  # these libraries know no such types
    if kind == "JSON Schema":
        data = [orjson.dumps(value) for value in values]
        return (
            lambda: [orjson.dumps(value) for value in values],
            lambda: [orjson.loads(d) for d in data],
        )
    text, name = made.describe(schema)
    message = message_class(ProtoFile(text, {}).descriptor(name))
    fields = [f.name for f in schema.fields]
    data = [message(**value).SerializeToString() for value in values]
    return (
        lambda: [message(**value).SerializeToString() for value in values],
        lambda: [{f: getattr(m, f) for f in fields} for m in (message.FromString(d) for d in data)],
    )


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    print(f"Python {platform.python_version()}, {platform.machine()}, {count:,} records a round")
    print(f"{'':<34}{'records/s':>10}  {'µs':>6}  {'bare loop':>10}  {'':>5}")
    for kind, converter in (
        ("Avro", AvroConverter),
        ("JSON Schema", JsonSchemaConverter),
        ("Protobuf", ProtobufConverter),
    ):
        made: Any = converter()
        made.configure({"schema.registry.url": "mock://bench"}, is_key=False)
        for schema, record in ((PLAIN, plain_record), (LOGICAL, logical_record)):
            values = [record(n) for n in range(count)]
            schemas = [schema] * count
            headers: list[Any] = [()] * count
            topic = f"{kind}-{schema.name}"
            data = made.from_connect_batch(topic, schemas, values, headers)
            assert made.to_connect_batch(topic, data, headers)[1] == values
            floors = bare(kind, made, schema, values)
            label = f"{kind}, {'plain' if schema is PLAIN else 'logical types'}"
            ours = rate(
                lambda: made.from_connect_batch(topic, schemas, values, headers),  # noqa: B023
                count,
            )
            show(f"{label}: write", ours, floors and rate(floors[0], count))
            ours = rate(lambda: made.to_connect_batch(topic, data, headers), count)  # noqa: B023
            show(f"{label}: read", ours, floors and rate(floors[1], count))


if __name__ == "__main__":
    main()
