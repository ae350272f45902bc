from __future__ import annotations

import base64
import datetime as dt
import decimal
import itertools
import subprocess
import sys

import pytest
from confluent_kafka.schema_registry import Schema as Sent
from confluent_kafka.schema_registry import SchemaReference
from hypothesis import given, settings

from connect import DataError, Schema
from converters.protobuf import ProtobufConverter
from converters.protobuf.compiling import ProtoFile, message_class
from tests.support.registry_data import as_protobuf_keeps, protobuf_records

_topics = (f"topic{n}" for n in itertools.count())


def converter(scope: str, **config: str) -> ProtobufConverter:
    made = ProtobufConverter()
    given_ = {k.replace("_", "."): v for k, v in config.items()}
    made.configure({"schema.registry.url": f"mock://pb-{scope}", **given_}, is_key=False)
    return made


def register(made: ProtobufConverter, text: str, subject: str = "t-value") -> bytes:
    found = made._registry.register(subject, "PROTOBUF", text)
    assert found.id is not None
    return b"\0" + found.id.to_bytes(4, "big")


def read(scope: str, text: str, message: str, indexes: bytes = b"\0", *, given=None, **config: str):
    """A message made by the Protobuf library under a schema, read by the converter."""
    made = converter(scope, **config)
    proto = message_class(ProtoFile(text, {}).descriptor(message))(**(given or {}))
    return made.to_connect("t", register(made, text) + indexes + proto.SerializeToString())


ROUND_TRIP = converter("round-trip", optional_for_nullables="true")


@settings(max_examples=15, deadline=None)
@given(protobuf_records())
def test_values_come_back(record):
    """What is written comes back, nulls included where Protobuf can express them."""
    schema, value = record
    topic = next(_topics)
    data = ROUND_TRIP.from_connect(topic, schema, value)
    got = ROUND_TRIP.to_connect(topic, data)
    assert got.value == as_protobuf_keeps(schema, value)
    # What was read is written in the same way, so nothing more is lost.
    again = ROUND_TRIP.from_connect(f"{topic}-again", got.schema, got.value)
    assert ROUND_TRIP.to_connect(f"{topic}-again", again).value == got.value


@pytest.mark.parametrize(
    ("schema", "value", "index"),
    [
        (Schema.FLOAT64, 1.5, b"\0"),
        (Schema.FLOAT32, 0.1, b"\x02\x02"),
        (Schema.INT64, -5, b"\x02\x04"),
        (Schema.INT32, 5, b"\x02\x08"),
        (Schema.INT8, 5, b"\x02\x08"),
        (Schema.BOOLEAN, True, b"\x02\x0c"),
        (Schema.STRING, "x", b"\x02\x0e"),
        (Schema.BYTES, b"x", b"\x02\x10"),
    ],
)
def test_single_values_travel_in_wrapper_messages(schema, value, index):
    """A record that is a string or number is Google's wrapper message, at its message index."""
    made = converter("single")
    data = made.from_connect("t", schema, value)
    assert data[5 : 5 + len(index)] == index
    assert made.to_connect("t", data).value == value


def test_connect_schema_becomes_a_proto_file():
    """Types, numbers, nesting, logical types and small integers are as the JVM writes them."""
    schema = (
        Schema.struct("com.x.Order")
        .field("id", Schema.INT64)
        .field("small", Schema.INT16)
        .field("price", Schema.decimal(2).build())
        .field("at", Schema.timestamp().optional().build())
        .field("tags", Schema.array(Schema.STRING).build())
        .field("counts", Schema.map(Schema.STRING, Schema.INT32).build())
        .field("line", Schema.struct("com.x.Line").field("sku", Schema.STRING).build())
        .build()
    )
    text, name = converter("text").describe(schema)
    assert name == "com.x.Order"
    assert text == (
        'syntax = "proto3";\n'
        "package com.x;\n"
        "\n"
        'import "confluent/meta.proto";\n'
        'import "confluent/type/decimal.proto";\n'
        'import "google/protobuf/timestamp.proto";\n'
        "\n"
        "message Order {\n"
        "  int64 id = 1;\n"
        "  int32 small = 2 [(confluent.field_meta) = "
        '{ params: [ { key: "connect.type", value: "int16" } ] }];\n'
        "  confluent.type.Decimal price = 3 [(confluent.field_meta) = "
        '{ params: [ { key: "scale", value: "2" } ] }];\n'
        "  google.protobuf.Timestamp at = 4;\n"
        "  repeated string tags = 5;\n"
        "  map<string, int32> counts = 6;\n"
        "  Line line = 7;\n"
        "  message Line {\n"
        "    string sku = 1;\n"
        "  }\n"
        "}\n"
    )


# ---- schemas of others ----------------------------------------------------------------------

SHOP = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";

enum Color { RED = 0; BLUE = 4; }
message Other { string x = 1; }
message Order {
  message Line { string sku = 1; uint64 amount = 2; sint32 delta = 3; fixed32 f = 4; }
  int64 id = 1;
  string name = 2;
  optional string note = 3;
  repeated Line lines = 4;
  map<string, Line> by_sku = 5;
  Color color = 6;
  google.protobuf.Timestamp at = 7;
  google.protobuf.StringValue nick = 8;
  oneof payment { string card = 9; Line goods = 10; int32 cash = 11; }
  bytes from = 12;
  float rate = 13;
}
"""


def test_message_becomes_a_struct():
    """Scalars have their defaults, messages and optional fields are null, the oneof comes first."""
    got = read("shop", SHOP, "shop.Order", b"\x02\x02", given={"id": 7, "rate": 0.1})
    assert got.schema.name == "Order"
    assert got.schema.version == 1
    assert [f.name for f in got.schema.fields][:3] == ["payment_0", "id", "name"]
    assert got.schema.field("id").schema.parameters == {"io.confluent.connect.protobuf.Tag": "1"}
    assert got.value == {
        "payment_0": None, "id": 7, "name": "", "note": None, "lines": [], "by_sku": {},
        "color": "RED", "at": None, "nick": None, "from": b"", "rate": 0.1,
    }  # fmt: skip


def test_full_message_is_read_and_written_back():
    """Nested messages, maps, enums, well-known types and the oneof survive both directions."""
    line = {"sku": "a", "amount": 2**64 - 1, "delta": -3, "f": 2**32 - 1}
    got = read(
        "shop-full", SHOP, "shop.Order", b"\x02\x02",
        given={
            "id": 7, "name": "n", "note": "", "lines": [line], "by_sku": {"a": line}, "color": 4,
            "at": {"seconds": -1, "nanos": 5_000_000}, "nick": {"value": "x"}, "goods": line,
        },
    )  # fmt: skip
    # Unsigned 64 bits are signed ones in Connect, as on the JVM; unsigned 32 bits fit an INT64.
    expected = {"sku": "a", "amount": -1, "delta": -3, "f": 2**32 - 1}
    assert got.value == {
        "payment_0": {"card": None, "goods": expected, "cash": None},
        "id": 7, "name": "n", "note": "", "lines": [expected], "by_sku": {"a": expected},
        "color": "BLUE", "at": dt.datetime(1969, 12, 31, 23, 59, 59, 5000, tzinfo=dt.UTC),
        "nick": {"value": "x"}, "from": b"", "rate": 0.0,
    }  # fmt: skip
    made = converter("shop-full")
    data = made.from_connect("copy", got.schema, got.value)
    assert made.to_connect("copy", data).value == got.value


def test_message_index_selects_the_message():
    """The path before the payload names the message type, also one inside another."""
    got = read("index", SHOP, "shop.Order.Line", b"\x04\x02\x00", given={"sku": "s"})
    assert got.schema.name == "Line"
    assert got.value["sku"] == "s"
    with pytest.raises(DataError, match=r"has no message at \[9\]"):
        read("index", SHOP, "shop.Other", b"\x02\x12")


def test_first_message_has_the_short_index():
    """The first message of a file is written with a single 0 and read with [0] or 0."""
    made = converter("first")
    text = 'syntax = "proto3"; message A { string a = 1; }'
    prefix = register(made, text)
    assert made.to_connect("t", prefix + b"\0" + b"\x0a\x01x").value == {"a": "x"}
    assert made.to_connect("t", prefix + b"\x02\0" + b"\x0a\x01x").value == {"a": "x"}
    data = made.from_connect("t", Schema.struct("A").field("a", Schema.STRING).build(), {"a": "x"})
    assert data[5:6] == b"\0"


@pytest.mark.parametrize(
    ("config", "field", "schema_name", "value"),
    [
        ({}, "nick", "StringValue", {"value": "x"}),
        ({"wrapper_for_nullables": "true"}, "nick", None, "x"),
        ({"int_for_enums": "true"}, "color", "Color", 4),
        ({"enhanced_protobuf_schema_support": "true"}, "color", "shop.Color", "BLUE"),
        ({"flatten_unions": "true"}, "cash", None, 5),
        (
            {"generate_index_for_unions": "false"},
            "payment",
            "io.confluent.connect.protobuf.Union.payment",
            {"card": None, "goods": None, "cash": 5},
        ),
        (
            {"generalized_sum_type_support": "true"},
            "payment_0",
            "payment",
            {"card": None, "goods": None, "cash": 5},
        ),
        (
            {"generate_struct_for_nulls": "true"},
            "at",
            "org.apache.kafka.connect.data.Timestamp",
            dt.datetime(1970, 1, 1, tzinfo=dt.UTC),
        ),
    ],
)
def test_settings_change_how_messages_are_read(config, field, schema_name, value):
    """Each setting has the meaning it has on the JVM, and what was read can be written again."""
    scope = "-".join(config) or "plain"
    got = read(
        scope, SHOP, "shop.Order", b"\x02\x02",
        given={"nick": {"value": "x"}, "color": 4, "cash": 5}, **config,
    )  # fmt: skip
    assert got.schema.field(field).schema.name == schema_name
    assert got.value[field] == value
    made = converter(scope, **config)
    data = made.from_connect("copy", got.schema, got.value)
    assert made.to_connect("copy", data).value[field] == value


def test_optional_for_nullables_tells_null_from_default():
    """With optional.for.nullables a null stays null, and only such fields are optional."""
    schema = Schema.struct("O").field("a", Schema.OPTIONAL_STRING).field("b", Schema.STRING).build()
    made = converter("nullables", optional_for_nullables="true")
    for value in ({"a": None, "b": ""}, {"a": "", "b": "x"}):
        got = made.to_connect("t", made.from_connect("t", schema, value))
        assert got.value == value
    assert [f.schema.optional for f in got.schema.fields] == [True, False]


PROTO2 = """
syntax = "proto2";
message P {
  required string must = 1;
  optional int32 may = 2 [default = 5];
  repeated int32 many = 3 [packed = true];
}
"""


def test_proto2_presence():
    """An optional field of proto2 that is not set is null, or its default if that is asked for."""
    given_ = {"must": "x"}
    assert read("proto2", PROTO2, "P", given=given_).value == {"must": "x", "may": None, "many": []}
    got = read("proto2-default", PROTO2, "P", given=given_, optional_for_proto2="false")
    assert got.value["may"] == 5


TREE = """
syntax = "proto3";
message Tree { int32 value = 1; Tree left = 2; repeated Tree more = 3; }
"""


def test_recursive_message_is_read_and_written():
    """A message that contains itself becomes a schema that contains itself, and back."""
    leaf = {"value": 1, "left": None, "more": []}
    tree = {"value": 2, "left": leaf, "more": [leaf, {**leaf, "value": 9}]}
    got = read("tree", TREE, "Tree", given={
        "value": 2, "left": {"value": 1}, "more": [{"value": 1}, {"value": 9}]})  # fmt: skip
    assert got.value == tree
    left = got.schema.field("left").schema
    assert left.field("left").schema is left
    made = converter("tree")
    data = made.from_connect("copy", got.schema, tree)
    assert made.to_connect("copy", data).value == tree


STRUCT = """
syntax = "proto3";
import "google/protobuf/struct.proto";
import "google/type/money.proto";
message S { google.protobuf.Struct data = 1; google.type.Money price = 2; }
"""


def test_other_well_known_types_are_plain_messages():
    """Files of Google's that nobody registers are found; Struct is recursive by way of a map."""
    got = read("struct", STRUCT, "S", given={
        "data": {"a": 1.5}, "price": {"units": 5}})  # fmt: skip
    assert got.value["data"]["fields"]["a"]["kind_0"]["number_value"] == 1.5
    assert got.value["price"]["units"] == 5


def test_references_are_compiled_along():
    """Imports of registered files are resolved to any depth."""
    made = converter("references")
    client = made._registry._client
    city = 'syntax = "proto3"; package geo; message City { string name = 1; }'
    home = (
        'syntax = "proto3"; package geo; import "geo/city.proto"; message Home { City city = 1; }'
    )
    user = 'syntax = "proto3"; import "geo/home.proto"; message User { geo.Home home = 1; }'
    client.register_schema("city", Sent(city, "PROTOBUF"))
    client.register_schema(
        "home", Sent(home, "PROTOBUF", [SchemaReference("geo/city.proto", "city", 1)])
    )
    schema_id = client.register_schema(
        "t-value", Sent(user, "PROTOBUF", [SchemaReference("geo/home.proto", "home", 1)])
    )
    data = b"\0" + schema_id.to_bytes(4, "big") + b"\0" + b"\x0a\x08\x0a\x06\x0a\x04Bern"
    assert made.to_connect("t", data).value == {"home": {"city": {"name": "Bern"}}}


def _as_descriptor(text: str) -> str:
    """A schema as Confluent's serializer for Python registers it."""
    return base64.b64encode(ProtoFile(text, {}).main.SerializeToString()).decode()


def test_descriptors_in_base64_are_schemas_too():
    """Registries keep what Python producers register; files they refer to may be either."""
    city = 'syntax = "proto3"; package n; message City { string name = 1; }'
    user = (
        'syntax = "proto3"; package n; import "google/protobuf/timestamp.proto"; '
        "message Other {} message User { google.protobuf.Timestamp at = 1; }"
    )
    data = register(converter("base64"), _as_descriptor(user)) + b"\x02\x02\x0a\x02\x08\x05"
    at = dt.datetime(1970, 1, 1, 0, 0, 5, tzinfo=dt.UTC)
    assert converter("base64").to_connect("t", data).value == {"at": at}

    lives = 'syntax = "proto3"; package n; import "city.proto"; message Lives { City in = 1; }'
    file = ProtoFile(lives, {"city.proto": _as_descriptor(city)})
    assert file.descriptor("n.Lives").fields[0].message_type.full_name == "n.City"
    with pytest.raises(DataError, match="nor a descriptor"):
        ProtoFile("AAAA", {})


def test_two_versions_of_one_message_live_side_by_side():
    """Each schema has its own types, so the same name may mean different things."""
    made = converter("versions")
    first = register(made, 'syntax = "proto3"; message A { string a = 1; }')
    second = register(made, 'syntax = "proto3"; message A { int32 a = 1; }', "u-value")
    assert made.to_connect("t", first + b"\0\x0a\x01x").value == {"a": "x"}
    assert made.to_connect("t", second + b"\0\x08\x05").value == {"a": 5}


def test_header_framing_carries_the_message_index():
    """The GUID and the path to the message travel in the header, the payload is bare."""
    made = ProtobufConverter()
    made.configure(
        {
            "schema.registry.url": "mock://pb-header",
            "value.schema.id.serializer": "HeaderSchemaIdSerializer",
        },
        is_key=False,
    )
    headers: list[tuple[str, bytes | None]] = []
    data = made.from_connect("t", Schema.STRING, "abc", headers)
    assert data == b"\x0a\x03abc"
    assert headers[0][1][17:] == b"\x02\x0e"
    assert made.to_connect("t", data, headers).value == "abc"


# ---- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b"", "ends too early for a schema id"),
        (b"\0\x0a\x05ab", "is no A"),
        (b"\0\xff\xff\xff", "is no A"),
        (b"\0\x0a\x01\xff", "is no A"),
        (b"\x03", "path to the message type is broken"),
    ],
)
def test_data_that_can_not_be_read_is_a_data_error(payload, message):
    """Truncated data, a broken index and invalid UTF-8 are bad records."""
    made = converter("bad")
    prefix = register(made, 'syntax = "proto3"; message A { string a = 1; }')
    with pytest.raises(DataError, match=message):
        made.to_connect("t", prefix + payload)


def test_text_that_protoc_does_not_take_is_a_data_error():
    """A registered schema that can't be compiled says why, in protoc's words."""
    made = converter("broken")
    prefix = register(made, 'syntax = "proto3"; message A { Unknown a = 1; }')
    with pytest.raises(DataError, match=r'"Unknown" is not defined'):
        made.to_connect("t", prefix + b"\0")


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (Schema.INT8, 128, "a is too large for INT8"),
        (Schema.INT32, 2**31, "a is too large for INT32"),
        (Schema.STRING, 5, 'int 5 for field: "a"'),
        (Schema.STRING, None, "null used for required"),
        (Schema.STRING, "\ud800", "surrogates"),
        (Schema.decimal(2).build(), decimal.Decimal(1), "mismatching scale"),
        (Schema.array(Schema.OPTIONAL_STRING).build(), ["x", None], "no null in a list"),
        (
            Schema.map(Schema.STRING, Schema.OPTIONAL_STRING).build(),
            {"x": None},
            "no null in a map",
        ),
        (Schema.array(Schema.array(Schema.STRING).build()).build(), [["x"]], "lists of lists"),
    ],
)
def test_value_that_does_not_fit_is_a_data_error(schema, value, message):
    """What Protobuf or the schema can't hold is refused, with the field's name."""
    outer = Schema.struct("S").field("a", schema).build()
    with pytest.raises(DataError, match=message):
        converter("misfit").from_connect("t", outer, {"a": value})


@pytest.mark.parametrize("schema", [None, Schema.array(Schema.STRING).build()])
def test_records_without_a_message_are_refused(schema):
    """A value without schema and a bare list have no message, and the error says what to do."""
    with pytest.raises(DataError, match=r"give it a schema|HoistField"):
        converter("bare").from_connect("t", schema, ["x"])


def test_latest_version_is_written_by_field_names():
    """use.latest.version takes numbers and types from the registry's schema."""
    made = converter("latest", auto_register_schemas="false", use_latest_version="true")
    register(made, 'syntax = "proto3"; message Z { int32 z = 1; } message A { int64 a = 7; }')
    schema = Schema.struct("A").field("a", Schema.INT32).build()
    assert made.from_connect("t", schema, {"a": 5})[5:] == b"\x02\x02" + b"\x38\x05"
    other = Schema.struct("A").field("b", Schema.INT32).build()
    with pytest.raises(DataError, match=r"The message A has no field for b"):
        made.from_connect("t", other, {"b": 5})


def test_names_that_protobuf_does_not_allow_can_be_scrubbed():
    """scrub.invalid.names writes any field name; without it the error names the setting."""
    schema = Schema.struct("S").field("a-b", Schema.STRING).build()
    with pytest.raises(DataError, match=r"scrub\.invalid\.names=true"):
        converter("names").from_connect("t", schema, {"a-b": "x"})
    made = converter("scrubbed", scrub_invalid_names="true")
    data = made.from_connect("t", schema, {"a-b": "x"})
    assert made.to_connect("t", data).value == {"a_b": "x"}


def test_library_is_imported_only_when_used():
    """Without the extra the module still imports; using it names the extra to install."""
    code = (
        "import sys\n"
        "sys.modules['grpc_tools'] = None\n"
        "from converters.protobuf import ProtobufConverter\n"
        "from connect import MissingExtraError\n"
        "try:\n"
        "    ProtobufConverter().configure({'schema.registry.url': 'mock://x'}, is_key=False)\n"
        "except MissingExtraError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "penstock[protobuf]" in done.stdout
