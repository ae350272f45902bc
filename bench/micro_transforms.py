"""How long each transform takes for a record, with a schema and without.

    python bench/micro_transforms.py [name …]

One thread, batches of 500, the best of five rounds, processor time, so that a busy machine does not
spoil the figures much; making the records is not counted. Give
parts of names to run only some.
"""

from __future__ import annotations

import argparse
import importlib
import time
from typing import Any

from connect import Header, Headers, Schema, SinkRecord

BATCH = 500
BATCHES = 40
ROUNDS = 5

FLAT: dict[str, Any] = {
    "id": 1234567,
    "customer": "c-000123",
    "card": "4111111111111111",
    "amount": 12.5,
    "currency": "EUR",
    "paid": True,
    "at": 1588888888123,
    "note": "a note that is long enough to be a note",
}
FLAT_SCHEMA = (
    Schema.struct("Order")
    .field("id", Schema.INT64)
    .field("customer", Schema.STRING)
    .field("card", Schema.STRING)
    .field("amount", Schema.FLOAT64)
    .field("currency", Schema.STRING)
    .field("paid", Schema.BOOLEAN)
    .field("at", Schema.INT64)
    .field("note", Schema.OPTIONAL_STRING)
    .build()
)
DEEP = {"id": 1, "order": FLAT}
DEEP_SCHEMA = Schema.struct("Deep").field("id", Schema.INT64).field("order", FLAT_SCHEMA).build()
EVENT = {"before": None, "after": FLAT, "op": "c", "ts_ms": 1, "source": {"table": "orders"}}
EVENT_SCHEMA = (
    Schema.struct("orders.Envelope")
    .field("before", FLAT_SCHEMA.as_optional())
    .field("after", FLAT_SCHEMA.as_optional())
    .field("op", Schema.STRING)
    .field("ts_ms", Schema.OPTIONAL_INT64)
    .field("source", Schema.struct().field("table", Schema.STRING).build())
    .build()
)
ROW = {"id": "1", "aggregatetype": "Order", "aggregateid": "9", "type": "t", "payload": '{"a":1}'}
ROW_SCHEMA = Schema.struct("outbox.Value").optional()
for column in ROW:
    ROW_SCHEMA.field(column, Schema.STRING)
OUTBOX = {"after": ROW, "op": "c", "ts_ms": 1}
OUTBOX_SCHEMA = (
    Schema.struct("outbox.Envelope")
    .field("after", ROW_SCHEMA.build())
    .field("op", Schema.STRING)
    .field("ts_ms", Schema.OPTIONAL_INT64)
    .build()
)
V2 = {"field.syntax.version": "V2"}

FLAT_SHAPE = (FLAT, FLAT_SCHEMA)
DEEP_SHAPE = (DEEP, DEEP_SCHEMA)

# What to show, its class, its settings, its records.
CASES: list[tuple[str, str, dict[str, str], tuple[Any, Schema]]] = [
    ("Cast 2 fields", "cast:CastValue", {"spec": "amount:string,id:int32"}, FLAT_SHAPE),
    ("Cast nested", "cast:CastValue", {"spec": "order.id:int32", **V2}, DEEP_SHAPE),
    ("DropHeaders", "drop_headers:DropHeaders", {"headers": "a"}, FLAT_SHAPE),
    ("ExtractField", "extract_field:ExtractFieldValue", {"field": "id"}, FLAT_SHAPE),
    (
        "ExtractField nested",
        "extract_field:ExtractFieldValue",
        {"field": "order.id", **V2},
        DEEP_SHAPE,
    ),
    ("Filter", "filter:Filter", {}, FLAT_SHAPE),
    (
        "FilterByField",
        "filter_by_field:FilterByFieldValue",
        {"field": "amount", "operator": ">", "value": "10"},
        FLAT_SHAPE,
    ),
    ("Flatten", "flatten:FlattenValue", {}, DEEP_SHAPE),
    (
        "HeaderFrom move",
        "header_from:HeaderFromValue",
        {"fields": "id", "headers": "id", "operation": "move"},
        FLAT_SHAPE,
    ),
    ("HoistField", "hoist_field:HoistFieldValue", {"field": "line"}, FLAT_SHAPE),
    (
        "InsertField static",
        "insert_field:InsertFieldValue",
        {"static.field": "s", "static.value": "v"},
        FLAT_SHAPE,
    ),
    (
        "InsertField all 5",
        "insert_field:InsertFieldValue",
        {
            "topic.field": "_t",
            "partition.field": "_p",
            "offset.field": "_o",
            "timestamp.field": "_ts",
            "static.field": "_s",
            "static.value": "v",
        },
        FLAT_SHAPE,
    ),
    (
        "InsertHeader",
        "insert_header:InsertHeader",
        {"header": "h", "value.literal": "1"},
        FLAT_SHAPE,
    ),
    ("MaskField", "mask_field:MaskFieldValue", {"fields": "card"}, FLAT_SHAPE),
    ("MaskField nested", "mask_field:MaskFieldValue", {"fields": "order.card", **V2}, DEEP_SHAPE),
    (
        "RegexRouter",
        "regex_router:RegexRouter",
        {"regex": "(.*)", "replacement": "x-$1"},
        FLAT_SHAPE,
    ),
    ("ReplaceField exclude", "replace_field:ReplaceFieldValue", {"exclude": "note"}, FLAT_SHAPE),
    ("ReplaceField rename", "replace_field:ReplaceFieldValue", {"renames": "note:n"}, FLAT_SHAPE),
    (
        "SetSchemaMetadata",
        "set_schema_metadata:SetSchemaMetadataValue",
        {"schema.name": "N"},
        FLAT_SHAPE,
    ),
    (
        "TimestampConverter unix→Timestamp",
        "timestamp_converter:TimestampConverterValue",
        {"field": "at", "target.type": "Timestamp"},
        FLAT_SHAPE,
    ),
    (
        "TimestampConverter unix→string",
        "timestamp_converter:TimestampConverterValue",
        {"field": "at", "target.type": "string", "format": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"},
        FLAT_SHAPE,
    ),
    ("TimestampRouter", "timestamp_router:TimestampRouter", {}, FLAT_SHAPE),
    ("ValueToKey", "value_to_key:ValueToKey", {"fields": "id,customer"}, FLAT_SHAPE),
    (
        "ExtractNewRecordState",
        "extract_new_record_state:ExtractNewRecordState",
        {"add.fields": "op,table"},
        (EVENT, EVENT_SCHEMA),
    ),
    ("EventRouter", "event_router:EventRouter", {}, (OUTBOX, OUTBOX_SCHEMA)),
    (
        "EventRouter expanding JSON",
        "event_router:EventRouter",
        {"table.expand.json.payload": "true"},
        (OUTBOX, OUTBOX_SCHEMA),
    ),
    (
        "Python filter",
        "python:PythonTransform",
        {"filter": "value['amount'] > 10"},
        FLAT_SHAPE,
    ),
    (
        "Python value",
        "python:PythonTransform",
        {"value": "{**value, 'gross': value['amount'] * 1.2}", "value.schema": "none"},
        FLAT_SHAPE,
    ),
]


def records(value: Any, schema: Schema | None) -> list[SinkRecord]:
    headers = Headers([Header("a", "1", Schema.STRING), Header("b", "2", Schema.STRING)])
    return [
        SinkRecord("orders", 3, None, None, schema, value, headers, 1588888888123 + n, n)
        for n in range(BATCH)
    ]


def seconds_per_record(plugin: str, settings: dict[str, str], value: Any, schema: Any) -> float:
    module, _, name = plugin.partition(":")
    kind = getattr(importlib.import_module(f"transforms.{module}"), name)
    best = float("inf")
    for _ in range(ROUNDS):
        transform = kind()
        transform.configure(kind.config_def.parse(settings))
        batches = [records(value, schema) for _ in range(BATCHES)]
        transform.apply_batch(records(value, schema))
        start = time.process_time()
        for batch in batches:
            transform.apply_batch(batch)
        best = min(best, time.process_time() - start)
    return best / (BATCH * BATCHES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="*", help="part of a transform's name")
    names = [name.lower() for name in parser.parse_args().name]
    print(f"{'transform':36} {'schema':>10} {'µs':>7}   {'schemaless':>10} {'µs':>7}")
    print(f"{'':36} {'records/s':>10} {'':7}   {'records/s':>10}")
    for label, plugin, settings, (value, schema) in CASES:
        if names and not any(name in label.lower() for name in names):
            continue
        shown = []
        for one in (schema, None):
            if plugin.startswith("set_schema") and one is None:
                shown.append(f"{'-':>10} {'-':>7}")
                continue
            seconds = seconds_per_record(plugin, settings, value, one)
            shown.append(f"{1 / seconds:10,.0f} {seconds * 1e6:7.2f}")
        print(f"{label:36} {shown[0]}   {shown[1]}", flush=True)


if __name__ == "__main__":
    main()
