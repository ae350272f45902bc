"""What the converters with a schema registry read and write: Avro beside the JVM's at work."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

import fastavro
from confluent_kafka.schema_registry import Schema as Sent
from confluent_kafka.schema_registry import SchemaRegistryClient

from connect import Schema, Type
from tests.conformance.converter_cases import DECIMAL, S, logical
from tests.conformance.generated_cases import drawn
from tests.conformance.scenarios import (
    Outcome,
    SinkScenario,
    SourceScenario,
    as_bytes,
    line,
    messages,
    timed,
)
from tests.oracle.rendering import rendered_schema, rendered_value
from tests.support.registry_data import records

AVRO = "Avro"


def theirs(registry: str) -> dict[str, dict[str, str]]:
    """Apicurio's converter, told to write what Confluent's does."""
    return {
        AVRO: {
            "": "io.apicurio.registry.utils.converter.AvroConverter",
            "apicurio.registry.url": registry.replace("/ccompat/v7", "/registry/v2"),
            "apicurio.registry.as-confluent": "true",
            "apicurio.registry.auto-register": "true",
            "apicurio.registry.headers.enabled": "false",
            "apicurio.registry.id-handler": "io.apicurio.registry.serde.Legacy4ByteIdHandler",
            "apicurio.registry.use-id": "contentId",
        }
    }


def ours(registry: str) -> dict[str, dict[str, str]]:
    return {
        AVRO: {
            "": "io.confluent.connect.avro.AvroConverter",
            "schema.registry.url": registry,
        }
    }


# ---- writing -------------------------------------------------------------------------------


def _struct(name: str, **fields: dict[str, Any]) -> dict[str, Any]:
    return S("STRUCT", name=name, fields=[{"name": n, "schema": s} for n, s in fields.items()])


def _one(schema: dict[str, Any], value: Any) -> dict[str, Any]:
    """A record with this as its only field."""
    return line({"struct": {"f": value}}, _struct("test.One", f=schema))


_PAIR = _struct("test.Pair", a=S("INT32", optional=True, default=5), b=S("STRING", optional=True))
_WRITTEN = [
    line(None, S("STRING", optional=True)),
    line("text", S("STRING")),
    line(7, S("INT32")),
    line(-(2**63), S("INT64")),
    line({"float64": "0.1"}, S("FLOAT64")),
    line(True, S("BOOLEAN")),
    line({"bytes": "AP8="}, S("BYTES")),
    _one(S("INT8"), -128),
    _one(S("INT16"), 300),
    _one(S("INT32"), -(2**31)),
    _one(S("INT64"), 2**63 - 1),
    _one(S("FLOAT32"), {"float32": "0.5"}),
    _one(S("FLOAT64"), {"float64": "1.0E100"}),
    _one(S("FLOAT64"), {"float64": "NaN"}),
    _one(S("BOOLEAN"), False),
    _one(S("STRING"), "ü€😀\0"),
    _one(S("STRING", doc="said"), ""),
    _one(S("STRING", default="d"), "x"),
    _one(S("STRING", optional=True), None),
    _one(S("STRING", optional=True), "x"),
    _one(S("STRING", optional=True, default="d"), "x"),
    _one(S("STRING", version=3, parameters={"p": "q"}), "x"),
    _one(S("STRING", name="test.Named", version=2), "x"),
    _one(S("BYTES"), {"bytes": "AQID"}),
    _one(S("BYTES", optional=True), {"bytes": ""}),
    _one(DECIMAL, {"decimal": "12.34"}),
    _one(DECIMAL, {"decimal": "-0.01"}),
    _one(DECIMAL, {"decimal": "123456789012345678901234567890.12"}),
    _one(logical("Decimal", "BYTES", parameters={"scale": "2"}, optional=True), None),
    _one(logical("Date", "INT32"), {"epochMillis": 86400000}),
    _one(logical("Date", "INT32"), {"epochMillis": -86400000}),
    _one(logical("Time", "INT32"), {"epochMillis": 14400000}),
    _one(logical("Timestamp", "INT64"), {"epochMillis": 4000000000}),
    _one(logical("Timestamp", "INT64", optional=True), None),
    _one(S("ARRAY", valueSchema=S("INT32")), [1, 2, 3]),
    _one(S("ARRAY", valueSchema=S("STRING", optional=True)), [None, "a"]),
    _one(S("ARRAY", optional=True, valueSchema=S("STRING")), None),
    _one(S("ARRAY", valueSchema=_PAIR), [{"struct": {"a": 1, "b": None}}]),
    _one(S("MAP", keySchema=S("STRING"), valueSchema=S("INT32")), {"map": [["k", 1]]}),
    _one(S("MAP", keySchema=S("INT32"), valueSchema=S("STRING")), {"map": [[1, "x"]]}),
    _one(S("MAP", keySchema=S("STRING"), valueSchema=_PAIR), {"map": []}),
    _one(_PAIR, {"struct": {"a": 1, "b": "x"}}),
    _one(_PAIR, {"struct": {"a": None, "b": None}}),
    _one({**_PAIR, "optional": True}, None),
    _one({**_PAIR, "name": None}, {"struct": {"a": 1, "b": "x"}}),
    line({"struct": {"a": 1, "b": "x"}}, {**_PAIR, "name": None}),
    line({"struct": {"a": 1, "b": "x"}}, {**_PAIR, "version": 4, "doc": "two"}),
    line([1, 2], S("ARRAY", valueSchema=S("INT64"))),
    line({"map": [["k", "v"]]}, S("MAP", keySchema=S("STRING"), valueSchema=S("STRING"))),
    line({"decimal": "1.50"}, DECIMAL),
    # Values that are not what their schema says.
    line("x", S("INT32")),
    line(5, S("STRING")),
    line(True, S("INT64")),
    line([1], S("STRING")),
    line(None, S("STRING")),
]


def _described(pair: tuple[Schema, Any]) -> dict[str, Any]:
    schema, value = pair
    return line(rendered_value(schema, value), rendered_schema(schema))


def written() -> list[SourceScenario]:
    # The JVM can't write two maps with other keys than strings in one schema, so not by chance;
    # and before Java 19 it writes digits of floats that nobody needs.
    some = drawn(records(struct_only=True, map_keys=(Type.STRING,), defaults=False), 60)
    config = {"value.converter": AVRO}
    return [
        SourceScenario("avro write", config, timed(_WRITTEN)),
        SourceScenario("avro write as keys", {"key.converter": AVRO}, timed([
            {**each, "key": each["value"], "keySchema": each["valueSchema"]} for each in _WRITTEN
        ])),
        SourceScenario("avro write generated", config, timed([_described(pair) for pair in some])),
    ]  # fmt: skip


# ---- reading -------------------------------------------------------------------------------


def _record(name: str, *fields: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": n, "type": t} for n, t in fields],
        **more,
    }


_COLOUR = {"type": "enum", "name": "test.Colour", "symbols": ["RED", "BLUE"]}
# Not here: most values that are no records, which Apicurio's converter gives without a schema, and
# references, which it does not follow.
_READ: list[tuple[Any, list[Any]]] = [
    (_COLOUR, ["RED"]),
    ({"type": "fixed", "name": "test.Four", "size": 4}, [b"abcd"]),
    ({"type": "array", "items": "long"}, [[1, 2], []]),
    (_record("test.R", ("c", _COLOUR)), [{"c": "BLUE"}]),
    (_record("test.R", ("c", ["null", _COLOUR])), [{"c": "BLUE"}, {"c": None}]),
    (_record("test.R", ("x", {"type": "fixed", "name": "F", "size": 2})), [{"x": b"ab"}]),
    (_record("test.R", ("u", ["int", "string"])), [{"u": 1}, {"u": "x"}]),
    (_record("test.R", ("u", ["null", "int", "string"])), [{"u": None}, {"u": 1}, {"u": "x"}]),
    (
        _record("test.R", (
            "u", [_record("test.A", ("a", "int")), _record("test.B", ("b", "int"))])),
        [{"u": ("test.A", {"a": 1})}, {"u": ("test.B", {"b": 1})}],
    ),
    (_record("test.R", ("d", {"type": "int", "logicalType": "date"})), [{"d": 18000}]),
    (_record("test.R", ("t", {"type": "int", "logicalType": "time-millis"})), [{"t": 3723004}]),
    (
        _record("test.R", ("t", {"type": "long", "logicalType": "timestamp-millis"})),
        [{"t": 1577934245678}],
    ),
    (
        _record("test.R", ("t", {"type": "long", "logicalType": "timestamp-micros"})),
        [{"t": 1577934245678901}],
    ),
    (
        _record("test.R", ("p", {
            "type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2})),
        [{"p": b"\x04\xd2"}, {"p": b"\xff"}],
    ),
    (_record("test.R", ("u", {"type": "string", "logicalType": "uuid"})), [{"u": "no uuid"}]),
    (
        {"type": "record", "name": "test.R", "doc": "said", "fields": [
            {"name": "a", "type": "int", "default": 5, "doc": "an a"},
            {"name": "b", "type": ["null", "string"], "default": None},
            {"name": "c", "type": ["string", "null"], "default": "x"},
            {"name": "d", "type": {"type": "array", "items": "int"}, "default": []},
        ]},
        [{"a": 1, "b": None, "c": None, "d": [1]}],
    ),
    (_record("test.R", ("m", {"type": "map", "values": ["null", "int"]})), [{"m": {"k": None}}]),
    (_record("test.R", ("l", {"type": "array", "items": {"type": "map", "values": "int"}})), [
        {"l": [{"a": 1}]}]),
    (_record("test.R", ("in", _record("test.In", ("x", "int")))), [{"in": {"x": 1}}]),
    (_record("NoNamespace", ("x", "int")), [{"x": 1}]),
    (_record("test.R", ("x", {"type": "int", "connect.type": "int8"})), [{"x": 7}]),
    (_record("test.R", ("x", {"type": "int", "connect.type": "int16"})), [{"x": 7}]),
    (
        _record("test.R", ("x", {
            "type": "string", "connect.name": "n", "connect.version": 3, "connect.doc": "d",
            "connect.parameters": {"p": "q"}, "connect.default": "z"})),
        [{"x": "v"}],
    ),
]  # fmt: skip


def read(registry: str) -> list[SinkScenario]:
    """Bytes of a third party, then bytes that nobody can read."""
    client = SchemaRegistryClient({"url": registry})
    values: list[bytes | None] = [None]
    for schema, payloads in _READ:
        schema_id = client.register_schema("conformance-avro-read-value", Sent(json.dumps(schema)))
        parsed = fastavro.parse_schema(_bare(schema))
        values += [_framed(schema_id, parsed, payload) for payload in payloads]
    good = values[-1]
    assert good is not None
    bad = [
        b"",
        b"\0",
        b"\0\0\0",
        good[:5],
        good[:-1],
        b"\1" + good[1:],
        b"{}",
        b"plain text",
        b"\0\x05\xf5\xe0\xff" + good[5:],
        b"\0\xff\xff\xff\xff" + good[5:],
    ]
    return [
        *_both_sides("avro read", values),
        *_both_sides("avro read broken", [*bad, good]),
    ]


def read_again(title: str, written: SourceScenario, outcomes: Sequence[Outcome]) -> SinkScenario:
    """What one side wrote, for both to read: the records among it."""
    values = [
        as_sent(outcome["message"]["value"])
        for each, outcome in zip(written.records, outcomes, strict=True)
        if (each["valueSchema"] or {}).get("type") == "STRUCT" and "message" in outcome
    ]
    return SinkScenario(title, {"value.converter": AVRO}, messages(values))


def _both_sides(title: str, data: list[bytes | None]) -> Iterator[SinkScenario]:
    yield SinkScenario(title, {"value.converter": AVRO}, messages(data))
    yield SinkScenario(
        f"{title} as keys", {"key.converter": AVRO}, messages([None] * len(data), data)
    )


def as_sent(shown: Any) -> bytes | None:
    """The bytes of a message's outcome."""
    return bytes.fromhex(shown["hex"]) if isinstance(shown, dict) else as_bytes(shown)


def _bare(schema: Any) -> Any:
    """The schema without logical types, so that payloads are given as they are written."""
    if isinstance(schema, dict):
        return {k: _bare(v) for k, v in schema.items() if k != "logicalType"}
    return [_bare(s) for s in schema] if isinstance(schema, list) else schema


def _framed(schema_id: int, parsed: Any, payload: Any) -> bytes:
    out = io.BytesIO(b"")
    fastavro.schemaless_writer(out, parsed, payload)
    return b"\0" + schema_id.to_bytes(4, "big") + out.getvalue()
