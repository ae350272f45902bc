"""Protobuf and JSON Schema beside Confluent's own serializers and deserializers for Python.

Each case has a record as the echo sink writes it and, beside it, what the peer is given or sees,
for Protobuf in Google's JSON mapping.
"""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc_tools
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from grpc_tools import protoc
from hypothesis import strategies as st

from connect import Schema, Type
from tests.conformance.converter_cases import S, logical
from tests.conformance.generated_cases import drawn
from tests.conformance.scenarios import line
from tests.oracle.rendering import rendered_schema, rendered_value

PROTOBUF = "io.confluent.connect.protobuf.ProtobufConverter"
JSON_SCHEMA = "io.confluent.connect.json.JsonSchemaConverter"


@dataclass(frozen=True)
class ReadCase:
    """What the peer writes with a schema, and the record that we must make of it."""

    schema: str
    given: Any
    value: Any


@dataclass(frozen=True)
class WriteCase:
    """A record, and what the peer must see of it."""

    line: dict[str, Any]
    seen: Any


# ---- the peer ------------------------------------------------------------------------------


class JsonSchemaPeer:
    """JSONSerializer and JSONDeserializer, which validates."""

    def __init__(self, registry: str) -> None:
        self._client = SchemaRegistryClient({"url": registry})
        self._read = JSONDeserializer(None, schema_registry_client=self._client)

    def write(self, topic: str, case: ReadCase) -> bytes:
        return JSONSerializer(case.schema, self._client)(case.given, _context(topic))

    def read(self, topic: str, data: bytes) -> Any:
        return self._read(data, _context(topic))


class ProtobufPeer:
    """ProtobufSerializer and ProtobufDeserializer, with types of protoc's making."""

    _SETTINGS = {"use.deprecated.format": False}  # noqa: RUF012

    def __init__(self, registry: str) -> None:
        self._client = SchemaRegistryClient({"url": registry})

    def write(self, topic: str, case: ReadCase) -> bytes:
        made = _message_types(case.schema)[-1]
        message = json_format.ParseDict(case.given, made())
        return ProtobufSerializer(made, self._client, self._SETTINGS)(message, _context(topic))

    def read(self, topic: str, data: bytes) -> Any:
        text = self._client.get_schema(int.from_bytes(data[1:5], "big")).schema_str
        read = ProtobufDeserializer(_message_types(text)[0], self._SETTINGS)
        return json_format.MessageToDict(
            read(data, _context(topic)),
            preserving_proto_field_name=True,
            always_print_fields_with_no_presence=True,
        )


def _context(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def _message_types(text: str) -> list[Any]:
    """The types of a .proto file, in its order."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "case.proto").write_text(text)
        known = Path(grpc_tools.__file__).parent / "_proto"
        out = folder / "out.pb"
        flags = ["--include_imports", f"--descriptor_set_out={out}"]
        code = protoc.main(["protoc", f"-I{folder}", f"-I{known}", *flags, "case.proto"])
        assert code == 0, text
        files = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.Add(file)
    own = files[-1]
    names = [f"{own.package}.{m.name}".lstrip(".") for m in own.message_type]
    return [message_factory.GetMessageClass(pool.FindMessageTypeByName(n)) for n in names]


# ---- reading -------------------------------------------------------------------------------


def _proto(body: str, imports: Sequence[str] = (), before: str = "") -> str:
    lines = "".join(f'import "google/protobuf/{name}.proto"; ' for name in imports)
    return f'syntax = "proto3"; package test; {lines}{before} message M {{ {body} }}'


def protobuf_read() -> list[ReadCase]:
    return [
        ReadCase(
            _proto(
                "int32 a = 1; int64 b = 2; uint32 c = 3; uint64 d = 4; sint32 e = 5; sint64 f = 6; "
                "fixed32 g = 7; fixed64 h = 8; sfixed32 i = 9; sfixed64 j = 10;"
            ),
            dict.fromkeys("abcdefghij", 7),
            {"struct": dict.fromkeys("abcdefghij", 7)},
        ),
        ReadCase(
            _proto("float a = 1; double b = 2; bool c = 3; string d = 4; bytes e = 5;"),
            {"a": 0.5, "b": 0.1, "c": True, "d": "ü😀", "e": "AP8="},
            {"struct": {
                "a": {"float32": "0.5"}, "b": {"float64": "0.1"}, "c": True, "d": "ü😀",
                "e": {"bytes": "AP8="}}},
        ),
        ReadCase(_proto("string a = 1; int32 b = 2;"), {}, {"struct": {"a": "", "b": 0}}),
        ReadCase(_proto("optional string a = 1;"), {"a": "x"}, {"struct": {"a": "x"}}),
        ReadCase(_proto("repeated string a = 1;"), {"a": ["x", ""]}, {"struct": {"a": ["x", ""]}}),
        ReadCase(
            _proto("map<string, int32> a = 1; map<int32, bool> b = 2;"),
            {"a": {"k": 1}, "b": {"5": True}},
            {"struct": {"a": {"map": [["k", 1]]}, "b": {"map": [[5, True]]}}},
        ),
        ReadCase(
            _proto("E a = 1; enum E { RED = 0; BLUE = 1; }"), {"a": "BLUE"},
            {"struct": {"a": "BLUE"}},
        ),
        ReadCase(
            _proto("oneof o { string s = 1; int32 i = 2; } string z = 3;"), {"i": 5, "z": "x"},
            {"struct": {"o_0": {"struct": {"s": None, "i": 5}}, "z": "x"}},
        ),
        ReadCase(
            _proto("google.protobuf.Timestamp at = 1;", ["timestamp"]),
            {"at": "2020-01-02T03:04:05.678Z"}, {"struct": {"at": {"epochMillis": 1577934245678}}},
        ),
        ReadCase(
            _proto("google.protobuf.StringValue s = 1; google.protobuf.Int64Value n = 2;",
                   ["wrappers"]),
            {"s": "x"}, {"struct": {"s": {"struct": {"value": "x"}}, "n": None}},
        ),
        # Not the first message of its file, and one inside another.
        ReadCase(
            _proto("A a = 1; Inner b = 2; message Inner { string t = 1; }",
                   before="message A { int32 x = 1; }"),
            {"a": {"x": 1}, "b": {"t": "u"}},
            {"struct": {"a": {"struct": {"x": 1}}, "b": {"struct": {"t": "u"}}}},
        ),
    ]  # fmt: skip


def _object(**properties: Any) -> str:
    return json.dumps({"type": "object", "title": "test.R", "properties": properties})


_BY_CONNECT = "connect.type"
_LOGICAL = "org.apache.kafka.connect.data."


def json_schema_read() -> list[ReadCase]:
    return [
        ReadCase(
            _object(a={"type": "integer"}, b={"type": "number"}, c={"type": "boolean"},
                    d={"type": "string"}),
            {"a": 2**53, "b": 0.1, "c": True, "d": "ü😀"},
            {"struct": {"a": 2**53, "b": {"float64": "0.1"}, "c": True, "d": "ü😀"}},
        ),
        ReadCase(
            _object(a={"type": "integer", _BY_CONNECT: "int8"},
                    b={"type": "number", _BY_CONNECT: "float32"},
                    c={"type": "string", _BY_CONNECT: "bytes"}),
            {"a": -128, "b": 0.5, "c": "AP8="},
            {"struct": {"a": -128, "b": {"float32": "0.5"}, "c": {"bytes": "AP8="}}},
        ),
        ReadCase(
            _object(a={"type": "array", "items": {"type": "string"}},
                    b={"type": "object", _BY_CONNECT: "map",
                       "additionalProperties": {"type": "integer"}}),
            {"a": ["x", ""], "b": {"k": 1}},
            {"struct": {"a": ["x", ""], "b": {"map": [["k", 1]]}}},
        ),
        ReadCase(
            _object(a={"oneOf": [{"type": "null"}, {"type": "string"}]}), {"a": None},
            {"struct": {"a": None}},
        ),
        ReadCase(
            _object(a={"oneOf": [{"type": "null"}, {"type": "string"}]}), {"a": "x"},
            {"struct": {"a": "x"}},
        ),
        ReadCase(
            _object(a={"enum": ["RED", "BLUE"]}), {"a": "BLUE"}, {"struct": {"a": "BLUE"}},
        ),
        ReadCase(
            _object(a={"type": "object", "properties": {"x": {"type": "integer"}}}),
            {"a": {"x": 1}}, {"struct": {"a": {"struct": {"x": 1}}}},
        ),
        ReadCase(
            _object(
                a={"type": "integer", _BY_CONNECT: "int32", "title": _LOGICAL + "Date"},
                b={"type": "integer", _BY_CONNECT: "int64", "title": _LOGICAL + "Timestamp"}),
            {"a": 18000, "b": 1577934245678},
            {"struct": {"a": {"epochMillis": 1555200000000}, "b": {"epochMillis": 1577934245678}}},
        ),
    ]  # fmt: skip


# ---- writing -------------------------------------------------------------------------------


def _one(schema: dict[str, Any], value: Any, seen: Any) -> WriteCase:
    """A record with one field."""
    fields = [{"name": "f", "schema": schema}]
    return WriteCase(line({"struct": {"f": value}}, S("STRUCT", name="test.R", fields=fields)),
                     {} if seen is None else {"f": seen})  # fmt: skip


_NESTED = S("STRUCT", name="test.In", fields=[{"name": "x", "schema": S("INT32")}])
_NUMBERS = S("MAP", keySchema=S("STRING"), valueSchema=S("INT32"))
_TIMESTAMP = logical("Timestamp", "INT64")


def protobuf_written() -> list[WriteCase]:
    return [
        _one(S("INT64"), 2**63 - 1, str(2**63 - 1)),
        _one(S("FLOAT32"), {"float32": "0.5"}, 0.5),
        _one(S("FLOAT64"), {"float64": "NaN"}, "NaN"),
        _one(S("BYTES"), {"bytes": "AP8="}, "AP8="),
        _one(S("ARRAY", valueSchema=S("STRING")), ["x", ""], ["x", ""]),
        _one(_NUMBERS, {"map": [["k", 1]]}, {"k": 1}),
        _one(_NESTED, {"struct": {"x": 1}}, {"x": 1}),
        _one(_TIMESTAMP, {"epochMillis": 1577934245678}, "2020-01-02T03:04:05.678Z"),
        *_generated(numbers_as_text=True),
    ]


def json_schema_written() -> list[WriteCase]:
    return [
        _one(S("INT64"), 2**53, 2**53),
        _one(S("FLOAT32"), {"float32": "0.5"}, 0.5),
        _one(S("BYTES"), {"bytes": "AP8="}, "AP8="),
        _one(S("INT8"), -128, -128),
        _one(S("STRING", optional=True), "x", "x"),
        _one(S("ARRAY", valueSchema=S("STRING")), ["x", ""], ["x", ""]),
        _one(_NUMBERS, {"map": [["k", 1]]}, {"k": 1}),
        _one(_NESTED, {"struct": {"x": 1}}, {"x": 1}),
        _one(_TIMESTAMP, {"epochMillis": 1577934245678}, 1577934245678),
        _one(logical("Date", "INT32"), {"epochMillis": 86400000}, 1),
        _one(
            logical("Decimal", "BYTES", parameters={"scale": "2"}), {"decimal": "12.34"}, "BNI=",
        ),
        *_generated(numbers_as_text=False),
    ]  # fmt: skip


_LEAVES: dict[Type, st.SearchStrategy[Any]] = {
    Type.INT32: st.integers(-(2**31), 2**31 - 1),
    Type.INT64: st.integers(-(2**53), 2**53),
    Type.FLOAT64: st.floats(allow_nan=False, allow_infinity=False),
    Type.BOOLEAN: st.booleans(),
    Type.STRING: st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=9),
    Type.BYTES: st.binary(max_size=9),
}


@st.composite
def _records(draw: Any, name: str = "test.Made", depth: int = 2) -> tuple[Schema, Any]:
    builder = Schema.struct(name)
    value = {}
    for field in draw(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5, unique=True)):
        if depth and draw(st.integers(0, 3)) == 0:
            schema, inner = draw(_records(f"{name}{field.upper()}", depth - 1))
        else:
            kind = draw(st.sampled_from(sorted(_LEAVES)))
            schema, inner = Schema(kind), draw(_LEAVES[kind])
            if draw(st.booleans()):
                schema = Schema.array(schema).build()
                inner = [inner, draw(_LEAVES[kind])]
        builder = builder.field(field, schema)
        value[field] = inner
    return builder.build(), value


def _generated(*, numbers_as_text: bool) -> list[WriteCase]:
    return [
        WriteCase(
            line(rendered_value(schema, value), rendered_schema(schema)),
            _as_json(schema, value, str if numbers_as_text else int),
        )
        for schema, value in drawn(_records(), 40)
    ]


def _as_json(schema: Schema, value: Any, long: Callable[[int], Any]) -> Any:
    match schema.type:
        case Type.STRUCT:
            return {f.name: _as_json(f.schema, value[f.name], long) for f in schema.fields}
        case Type.ARRAY:
            assert schema.value_schema is not None
            return [_as_json(schema.value_schema, item, long) for item in value]
        case Type.BYTES:
            return base64.b64encode(value).decode()
        case Type.INT64:
            return long(value)
    return value
