"""The records that every transform is fed: with and without schema, nulls, other types."""

from __future__ import annotations

import json

from tests.conformance.scenarios import envelope, messages

_PREFIX = "org.apache.kafka.connect.data."


def field(called, type, *, optional=False, **more):
    return {"field": called, "type": type, "optional": optional, **more}


def logical(name, kind, *, optional=False, **parameters):
    types = {"Decimal": "bytes", "Date": "int32", "Time": "int32", "Timestamp": "int64"}
    found = field(name, types[kind], optional=optional, name=_PREFIX + kind, version=1)
    return {**found, "parameters": parameters} if parameters else found


GEO = {
    "type": "struct",
    "name": "Geo",
    "fields": [field("lat", "double"), field("lon", "double", optional=True)],
}
ADDRESS = {
    "type": "struct",
    "name": "Address",
    "fields": [
        field("street", "string"),
        field("zip", "string", optional=True, default="00000"),
        {**GEO, "field": "geo", "optional": True},
    ],
}
ORDER = {
    "type": "struct",
    "name": "Order",
    "version": 2,
    "doc": "What was ordered",
    "optional": False,
    "fields": [
        field("id", "int64", doc="who"),
        field("name", "string", optional=True),
        field("note", "string", optional=True, default="none"),
        field("small", "int8"),
        field("count", "int16", optional=True),
        field("total", "int32", default=7),
        field("ratio", "float"),
        field("exact", "double", optional=True),
        field("ok", "boolean"),
        logical("price", "Decimal", scale="2"),
        logical("when", "Timestamp", optional=True),
        logical("day", "Date", optional=True),
        logical("tod", "Time", optional=True),
        field("raw", "bytes", optional=True),
        field("text", "string", optional=True),
        field("tags", "array", optional=True, items={"type": "string"}),
        {**ADDRESS, "field": "address", "optional": True},
    ],
}
FULL = {
    "id": 42,
    "name": "Ann",
    "note": "call",
    "small": 7,
    "count": -300,
    "total": 100000,
    "ratio": 0.1,
    "exact": 2.5,
    "ok": True,
    "price": "BNI=",
    "when": 1577934245678,
    "day": 18000,
    "tod": 3723004,
    "raw": "AP8=",
    "text": "2020-01-02 03:04:05",
    "tags": ["a", "b"],
    "address": {"street": "Main", "zip": "12345", "geo": {"lat": 1.5, "lon": -2.25}},
}
BARE = {
    **dict.fromkeys(FULL),
    "id": -1,
    "small": -128,
    "ratio": -0.0,
    "ok": False,
    "price": "AA==",
}
EXTREME = {
    **FULL,
    "id": -(2**63),
    "name": "",
    "small": 127,
    "total": 2**31 - 1,
    "ratio": 3.4028234663852886e38,
    "exact": 1e300,
    "text": "17",
    "tags": [],
    "address": {"street": "ü\n", "zip": None, "geo": None},
}
FEW = {"type": "struct", "optional": True, "fields": [field("id", "int32"), field("x", "string")]}
PLAIN = {
    "id": 42,
    "name": "Ann",
    "small": 7,
    "total": 100000,
    "ratio": 0.1,
    "ok": True,
    "when": 1577934245678,
    "text": "2020-01-02 03:04:05",
    "tags": ["a", 1, None],
    "address": {"street": "Main", "geo": {"lat": 1.5, "lon": None}},
}
VALUES = [
    envelope(ORDER, FULL),
    envelope(ORDER, BARE),
    envelope(ORDER, EXTREME),
    envelope(None, PLAIN),
    envelope(None, {"name": None, "text": "1.5", "ok": "yes", "id": "12"}),
    envelope(None, {}),
    None,
    envelope(FEW, {"id": 1, "x": "y"}),
    envelope(FEW, None),
    envelope({"type": "string", "optional": False}, "2020-01-02"),
    envelope({"type": "int64", "optional": True}, 1577934245678),
    envelope(None, "plain"),
    envelope(None, 17.5),
    envelope({"type": "array", "items": FEW, "optional": False}, [{"id": 1, "x": "y"}]),
]
KEY = {
    "type": "struct",
    "name": "Key",
    "optional": False,
    "fields": [
        field("id", "int32"),
        field("region", "string", optional=True),
        logical("when", "Timestamp", optional=True),
    ],
}
KEYS = [
    envelope(KEY, {"id": 1, "region": "eu", "when": 1577934245678}),
    envelope(None, {"id": 2, "region": None}),
    envelope({"type": "string", "optional": False}, "k"),
    None,
    envelope(KEY, {"id": 3, "region": None, "when": None}),
]
HEADERS = [
    [("app", b"web"), ("n", b"1"), ("n", b"2.5")],
    None,
    [("trace", b'{"a": [1, 2]}'), ("app", None), ("when", b"2020-01-02T03:04:05.006Z")],
]


def samples():
    """Every kind of value, each with another kind of key and headers."""
    return messages(VALUES, KEYS, HEADERS)


def schemaless_samples():
    """JSON without schemas."""
    values = [json.dumps(v) for v in (PLAIN, {}, {"id": None}, [1, "a"], "text", 5, 1.5, True)]
    return messages([*values, "null", None], [json.dumps({"id": 1}), '"k"', None], HEADERS)
