from __future__ import annotations

import datetime as dt
import decimal
import io
import json
import subprocess
import sys

import fastavro
import pytest
from confluent_kafka.schema_registry import Rule, RuleKind, RuleMode, RuleSet, SchemaReference
from confluent_kafka.schema_registry import Schema as Sent

from connect import ConnectError, DataError, Schema, Type
from converters.avro import AvroConverter
from tests.unit.converters.test_avro_round_trip import converter


def register(made: AvroConverter, subject: str, schema: object) -> int:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    found = made._registry.register(subject, "AVRO", text)
    assert found.id is not None
    return found.id


def framed(schema_id: int, schema: object, value: object) -> bytes:
    out = io.BytesIO()
    out.write(b"\0" + schema_id.to_bytes(4, "big"))
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def read(scope: str, schema: object, value: object, **config: str):
    """A value written by fastavro under a schema of the registry, read by the converter."""
    made = converter(scope, **config)
    schema_id = register(made, "t-value", schema)
    return made.to_connect("t", framed(schema_id, schema, value))


def record(*fields: dict, **more: object) -> dict:
    return {"type": "record", "name": "R", "namespace": "n", "fields": list(fields), **more}


ORDER = (
    Schema.struct("com.x.Order")
    .field("id", Schema.INT64)
    .field("small", Schema.INT8)
    .field("note", Schema.OPTIONAL_STRING)
    .field("price", Schema.decimal(2).build())
    .field("at", Schema.timestamp().optional().build())
    .field("by_number", Schema.map(Schema.INT32, Schema.STRING).build())
    .field("counts", Schema.map(Schema.STRING, Schema.OPTIONAL_INT32).optional().build())
    .field("seven", Schema.builder(Type.INT32).default(7).build())
    .field("maybe", Schema.builder(Type.STRING).optional().default("x").build())
    .field("inner", Schema.struct("com.x.In").field("a", Schema.STRING).optional().build())
    .field("unnamed", Schema.struct().field("a", Schema.STRING).build())
    .field("again", Schema.struct().field("a", Schema.STRING).build())
    .field("same", Schema.struct("com.x.In").field("a", Schema.STRING).build())
    .version(3)
    .doc("hi")
    .parameter("p", "q")
    .build()
)

# As the JVM's converter writes it, to the letter: a registry may compare texts.
ORDER_TEXT = (
    '{"type":"record","name":"Order","namespace":"com.x","fields":['
    '{"name":"id","type":"long"},'
    '{"name":"small","type":{"type":"int","connect.type":"int8"}},'
    '{"name":"note","type":["null","string"],"default":null},'
    '{"name":"price","type":{"type":"bytes","scale":2,"precision":64,"connect.version":1,'
    '"connect.parameters":{"scale":"2"},"connect.name":"org.apache.kafka.connect.data.Decimal",'
    '"logicalType":"decimal"}},'
    '{"name":"at","type":["null",{"type":"long","connect.version":1,'
    '"connect.name":"org.apache.kafka.connect.data.Timestamp",'
    '"logicalType":"timestamp-millis"}],"default":null},'
    '{"name":"by_number","type":{"type":"array","items":{"type":"record","name":"MapEntry",'
    '"namespace":"io.confluent.connect.avro","fields":[{"name":"key","type":"int"},'
    '{"name":"value","type":"string"}]}}},'
    '{"name":"counts","type":["null",{"type":"map","values":["null","int"]}],"default":null},'
    '{"name":"seven","type":{"type":"int","connect.default":7},"default":7},'
    '{"name":"maybe","type":[{"type":"string","connect.default":"x"},"null"],"default":"x"},'
    '{"name":"inner","type":["null",{"type":"record","name":"In","fields":[{"name":"a",'
    '"type":"string"}],"connect.name":"com.x.In"}],"default":null},'
    '{"name":"unnamed","type":{"type":"record","name":"ConnectDefault",'
    '"namespace":"io.confluent.connect.avro","fields":[{"name":"a","type":"string"}]}},'
    '{"name":"again","type":"io.confluent.connect.avro.ConnectDefault"},'
    '{"name":"same","type":"In"}],'
    '"connect.doc":"hi","connect.version":3,"connect.parameters":{"p":"q"},'
    '"connect.name":"com.x.Order"}'
)


def test_schema_text_is_the_jvms():
    """A Connect schema becomes the very text that the JVM's converter registers."""
    assert converter("text").describe(ORDER) == (ORDER_TEXT, "com.x.Order")


def test_without_metadata_only_avro_is_written():
    """connect.meta.data=false leaves out every connect.* attribute."""
    made = converter("text", connect_meta_data="false")
    assert "connect." not in made.describe(ORDER)[0].replace("io.confluent.connect.", "")


def test_two_maps_with_keys_of_different_types_can_stand_in_one_schema():
    """Entries of the second such map get a name of their own and are still read as a map."""
    schema = (
        Schema.struct("M")
        .field("a", Schema.map(Schema.INT32, Schema.STRING).build())
        .field("b", Schema.map(Schema.INT64, Schema.STRING).build())
        .field("c", Schema.map(Schema.INT32, Schema.STRING).build())
        .build()
    )
    made = converter("maps")
    value = {"a": {1: "x"}, "b": {2: "y"}, "c": {3: "z"}}
    data = made.from_connect("t", schema, value)
    fastavro.parse_schema(json.loads(made.describe(schema)[0]))
    assert made.to_connect("t", data).value == value


def test_same_name_for_different_structs_is_refused():
    """Avro can't have two types of one name, and the error says which."""
    schema = (
        Schema.struct("Outer")
        .field("a", Schema.struct("In").field("x", Schema.STRING).build())
        .field("b", Schema.struct("In").field("y", Schema.STRING).build())
        .build()
    )
    with pytest.raises(DataError, match="Two different schemas have the name In"):
        converter("twice").from_connect("t", schema, {"a": {"x": ""}, "b": {"y": ""}})


# ---- unions, enums, fixed, recursion --------------------------------------------------------

MIXED = ["null", "int", "string", {"type": "record", "name": "n.S", "fields": [
    {"name": "a", "type": "long"}]}, {"type": "enum", "name": "n.E", "symbols": ["A", "B"]},
    {"type": "fixed", "name": "n.F", "size": 2}, {"type": "array", "items": "double"},
]  # fmt: skip


@pytest.mark.parametrize(
    ("written", "member", "value"),
    [
        (("int", 5), "int", 5),
        (("string", "A"), "string", "A"),
        (("n.E", "A"), "E", "A"),
        (("n.S", {"a": 1}), "S", {"a": 1}),
        (("n.F", b"xy"), "F", b"xy"),
        ([1.5], "array", [1.5]),
    ],
)
def test_union_is_a_struct_with_one_member_set(written, member, value):
    """Each member of a union arrives in its own field, even where a value fits several."""
    result = read(f"union-{member}", record({"name": "u", "type": MIXED}), {"u": written})
    union = result.schema.field("u").schema
    assert union.name == "io.confluent.connect.avro.Union"
    assert union.optional
    assert [f.name for f in union.fields] == ["int", "string", "S", "E", "F", "array"]
    assert {k: v for k, v in result.value["u"].items() if v is not None} == {member: value}


def test_union_survives_the_way_back():
    """A record with unions is written with the branch it was read from."""
    made = converter("union-back", enhanced_avro_schema_support="true")
    schema = record({"name": "u", "type": MIXED}, {"name": "v", "type": ["int", "long"]})
    schema_id = register(made, "t-value", schema)
    data = framed(schema_id, schema, {"u": ("n.E", "B"), "v": ("long", 3)})
    got = made.to_connect("t", data)
    written = made.from_connect("copy", got.schema, got.value)
    assert written[5:] == data[5:]
    assert made.to_connect("copy", written).value == got.value
    null = made.from_connect("copy", got.schema, {**got.value, "u": None})
    assert made.to_connect("copy", null).value["u"] is None


def test_union_fields_are_numbered_with_generalized_sum_types():
    """generalized.sum.type.support names members by place and marks union and enum for all."""
    result = read(
        "general", record({"name": "u", "type": MIXED}), {"u": ("n.E", "B")},
        generalized_sum_type_support="true",
    )  # fmt: skip
    union = result.schema.field("u").schema
    assert union.parameters == {"org.apache.kafka.connect.data.Union": "connect_union_0"}
    assert result.value["u"]["connect_union_field_4"] == "B"
    enum = union.field("connect_union_field_4").schema
    assert enum.parameters["org.apache.kafka.connect.data.Enum.B"] == "1"


def test_enum_stays_an_enum_only_with_enhanced_support():
    """An enum is a string with parameters; written again it is an enum only if that is asked."""
    schema = record({"name": "e", "type": {"type": "enum", "name": "n.E", "symbols": ["A", "B"]}})
    for enhanced, kind in (("true", "enum"), ("false", "string")):
        scope = f"enum-{enhanced}"
        made = converter(scope, enhanced_avro_schema_support=enhanced)
        got = read(scope, schema, {"e": "B"})
        text = json.loads(made.describe(got.schema)[0])
        assert text["fields"][0]["type"]["type"] == kind
        data = made.from_connect("copy", got.schema, got.value)
        assert made.to_connect("copy", data).value == {"e": "B"}
    with pytest.raises(DataError, match=r"e is no symbol of the enum n\.E: 'C'"):
        converter("enum-true", enhanced_avro_schema_support="true").from_connect(
            "copy", got.schema, {"e": "C"}
        )


def test_fixed_keeps_its_size():
    """A fixed is bytes with its size as parameter, and is written as a fixed of that size."""
    schema = record({"name": "f", "type": {"type": "fixed", "name": "n.F", "size": 3}})
    made = converter("fixed")
    got = read("fixed", schema, {"f": b"abc"})
    assert got.schema.field("f").schema.parameters == {"connect.fixed.size": "3"}
    assert made.from_connect("copy", got.schema, {"f": b"abc"})[5:] == b"abc"
    with pytest.raises(DataError, match=r"f has 2 bytes, and the fixed n\.F has 3"):
        made.from_connect("copy", got.schema, {"f": b"ab"})


def test_decimal_in_a_fixed_is_filled_up_with_its_sign():
    """A decimal shorter than its fixed keeps its value."""
    schema = record({"name": "d", "type": {"type": "fixed", "name": "n.D", "size": 4,
                     "logicalType": "decimal", "precision": 9, "scale": 2}})  # fmt: skip
    made = converter("fixed-decimal", auto_register_schemas="false", use_latest_version="true")
    register(made, "t-value", schema)
    connect_schema = Schema.struct("n.R").field("d", Schema.decimal(2).build()).build()
    for text in ("-0.01", "0.00", "99999.99"):
        data = made.from_connect("t", connect_schema, {"d": decimal.Decimal(text)})
        assert len(data) == 9
        assert made.to_connect("t", data).value == {"d": decimal.Decimal(text)}


TREE = {"type": "record", "name": "n.Tree", "fields": [
    {"name": "value", "type": "int"},
    {"name": "left", "type": ["null", "n.Tree"]},
    {"name": "more", "type": {"type": "array", "items": "n.Tree"}},
]}  # fmt: skip


def test_recursive_schema_is_read_and_written():
    """A type that contains itself becomes a schema that contains itself, and back."""
    leaf = {"value": 1, "left": None, "more": []}
    tree = {"value": 2, "left": {**leaf, "value": 3}, "more": [leaf, leaf]}
    got = read("tree", TREE, tree)
    assert got.value == tree
    left = got.schema.field("left").schema
    assert left.optional
    assert left.field("left").schema is left
    made = converter("tree")
    data = made.from_connect("copy", got.schema, tree)
    assert made.to_connect("copy", data) == (got.schema, tree)


def test_references_are_resolved_to_any_depth():
    """A schema that uses types of other subjects, which use others, is read with them."""
    made = converter("references")
    client = made._registry._client
    city = {"type": "record", "name": "n.City", "fields": [{"name": "name", "type": "string"}]}
    home = {"type": "record", "name": "n.Home", "fields": [{"name": "city", "type": "n.City"}]}
    user = {"type": "record", "name": "n.User", "fields": [{"name": "home", "type": "Home"}]}
    client.register_schema("city", Sent(json.dumps(city)))
    client.register_schema(
        "home", Sent(json.dumps(home), references=[SchemaReference("n.City", "city", 1)])
    )
    schema_id = client.register_schema(
        "t-value", Sent(json.dumps(user), references=[SchemaReference("n.Home", "home", 1)])
    )
    data = b"\0" + schema_id.to_bytes(4, "big") + b"\x08Bern"
    assert made.to_connect("t", data).value == {"home": {"city": {"name": "Bern"}}}


# ---- values ---------------------------------------------------------------------------------


def test_only_the_four_logical_types_are_logical():
    """Micros, uuid and local timestamps come as the plain numbers and strings they are."""
    schema = record(
        {"name": "us", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-millis"}},
        {"name": "tus", "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "ms", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    )
    value = {"us": 1_700_000_000_000_001, "local": 5, "tus": 6, "id": "not a uuid", "ms": -1}
    plain = json.loads(json.dumps(schema).replace("logicalType", "x"))
    made = converter("micros")
    got = made.to_connect("t", framed(register(made, "t-value", schema), plain, value))
    stamp = dt.datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=dt.UTC)
    assert got.value == {**value, "ms": stamp}
    assert got.schema.field("us").schema.type is Type.INT64


def test_decimal_keeps_digits_beyond_its_precision():
    """A decimal with more digits than its schema promises is read whole, as on the JVM."""
    schema = record({"name": "d", "type": {"type": "bytes", "logicalType": "decimal",
                     "precision": 4, "scale": 2}})  # fmt: skip
    plain = record({"name": "d", "type": "bytes"})
    made = converter("digits")
    data = framed(register(made, "t-value", schema), plain, {"d": (10**40).to_bytes(17, "big")})
    assert made.to_connect("t", data).value["d"] == decimal.Decimal(10**40).scaleb(-2)


def test_defaults_fill_nulls_unless_told_otherwise():
    """A null in a field with a default is written as the default, as Struct.get gives it."""
    schema = (
        Schema.struct("D")
        .field("must", Schema.builder(Type.INT32).default(7).build())
        .field("may", Schema.builder(Type.INT32).optional().default(8).build())
        .build()
    )
    plain = converter("defaults")
    data = plain.from_connect("t", schema, {"must": None})
    assert plain.to_connect("t", data).value == {"must": 7, "may": 8}
    keeping = converter("defaults", ignore_default_for_nullables="true")
    data = keeping.from_connect("t", schema, {"must": None})
    assert keeping.to_connect("t", data).value == {"must": 7, "may": None}


def test_avro_defaults_and_docs_become_parameters():
    """What Avro says about fields is kept: defaults on the schema, docs as parameters."""
    schema = record(
        {"name": "n", "type": "int", "default": 5, "doc": "a number"},
        {"name": "x", "type": "double", "default": 0},
        doc="a record",
    )
    got = read("docs", schema, {"n": 1, "x": 2.0})
    assert got.schema.field("n").schema.default == 5
    assert got.schema.field("x").schema.default == 0.0
    assert got.schema.parameters == {
        "io.confluent.connect.avro.record.doc": "a record",
        "io.confluent.connect.avro.field.doc.n": "a number",
    }
    text = json.loads(converter("docs").describe(got.schema)[0])
    assert text["doc"] == "a record"
    assert text["fields"][0] == {
        "name": "n", "type": "int", "doc": "a number", "default": 5,
    }  # fmt: skip


def test_bytes_alone_have_no_length_before_them():
    """A record that is nothing but bytes is framed and otherwise bare, as on the JVM."""
    made = converter("bytes")
    data = made.from_connect("t", Schema.BYTES, b"\x01\x02")
    assert data[5:] == b"\x01\x02"
    assert made.to_connect("t", data).value == b"\x01\x02"


# ---- bad input ------------------------------------------------------------------------------


def one_string(made: AvroConverter) -> bytes:
    data = made.from_connect(
        "t", Schema.struct("S").field("a", Schema.STRING).build(), {"a": "abc"}
    )
    assert data is not None
    return data


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda d: d[:-1], "ends too early"),
        (lambda d: d[:5], "ends too early"),
        (lambda d: d[:3], "ends too early for a schema id: 3 bytes"),
        (lambda _: b"", "0 bytes"),
        (lambda d: b"{" + d[1:], "Unknown magic byte 123"),
        (lambda d: d[:5] + b"\x01", "schema id"),
        (lambda d: d[:5] + b"\x06\xff\xff\xff", "UnicodeDecodeError"),
        (lambda d: b"\0\0\0\x27\x0f" + d[5:], "schema id 9999"),
    ],
)
def test_data_that_can_not_be_read_is_a_data_error(spoil, message):
    """Truncated or foreign data is refused as DataError that names topic, schema and reason."""
    made = converter("bad")
    data = spoil(one_string(made))
    with pytest.raises(DataError, match=message) as caught:
        made.to_connect("t", data)
    assert "topic t" in str(caught.value)
    with pytest.raises(DataError, match=message):
        made.to_connect_batch("t", [one_string(made), data], [(), ()])


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (Schema.INT8, 128, "a is too large for INT8: 128"),
        (Schema.INT32, 2**31, "a is too large for INT32"),
        (Schema.INT64, 2**63, "a is too large for INT64"),
        (Schema.FLOAT32, 1e39, "a is too large for FLOAT32"),
        (Schema.INT32, 1.5, 'float 1.5 for field: "a"'),
        (Schema.INT32, True, 'bool True for field: "a"'),
        (Schema.BOOLEAN, 1, 'int 1 for field: "a"'),
        (Schema.STRING, b"x", 'for field: "a"'),
        (Schema.STRING, None, 'null used for required field: "a"'),
        (Schema.STRING, "\ud800", "surrogates"),
        (Schema.decimal(2).build(), decimal.Decimal("1.0"), "mismatching scale"),
        (Schema.timestamp().build(), dt.datetime(2020, 1, 1), "time zone"),  # noqa: DTZ001
        (Schema.array(Schema.INT32).build(), {"x": 1}, 'for field: "a"'),
        (Schema.array(Schema.INT32).build(), [1, None], "null used for required"),
        (Schema.map(Schema.STRING, Schema.INT32).build(), {1: 1}, "key that is no string: 1"),
    ],
)
def test_value_that_does_not_fit_its_schema_is_a_data_error(schema, value, message):
    """Nothing is silently truncated: the error names the field and the value."""
    outer = Schema.struct("S").field("a", schema).build()
    with pytest.raises(DataError, match=message):
        converter("misfit").from_connect("t", outer, {"a": value})


def test_null_for_a_required_schema_is_a_data_error_and_otherwise_a_tombstone():
    """Null goes through as no bytes, but only where the schema allows it."""
    made = converter("null")
    assert made.from_connect("t", None, None) is None
    assert made.from_connect("t", Schema.OPTIONAL_STRING, None) is None
    assert made.to_connect("t", None) == (None, None)
    with pytest.raises(DataError, match="null value for non-optional"):
        made.from_connect("t", Schema.STRING, None)


def test_schema_of_another_type_is_refused():
    """An id that belongs to a Protobuf or JSON schema is named as such."""
    made = converter("foreign")
    found = made._registry.register("x", "JSON", '{"type":"object"}')
    with pytest.raises(DataError, match="is of type JSON, and this converter reads AVRO"):
        made.to_connect("t", b"\0" + found.id.to_bytes(4, "big") + b"{}")


# ---- which schema to write with -------------------------------------------------------------

V1 = Schema.struct("n.R").field("a", Schema.INT32).build()
V2 = record({"name": "b", "type": "string", "default": "new"}, {"name": "a", "type": "long"})


def test_latest_version_takes_records_of_an_older_schema():
    """use.latest.version writes by field name, widens numbers and fills in defaults."""
    made = converter("latest", auto_register_schemas="false", use_latest_version="true")
    schema_id = register(made, "t-value", V2)
    data = made.from_connect("t", V1, {"a": 5})
    assert data[:5] == b"\0" + schema_id.to_bytes(4, "big")
    assert made.to_connect("t", data).value == {"b": "new", "a": 5}


def test_latest_version_that_lacks_a_default_is_refused():
    """A record that the latest version can't take is an error that names the field."""
    made = converter("latest-bad", auto_register_schemas="false", use_latest_version="true")
    register(made, "t-value", record({"name": "c", "type": "string"}))
    with pytest.raises(DataError, match="has the field c, without a default"):
        made.from_connect("t", V1, {"a": 5})


def test_strictness_is_about_values_that_might_come():
    """Strict refuses an optional field where Avro has no null; otherwise only nulls fail."""
    schema = Schema.struct("n.R").field("a", Schema.OPTIONAL_INT32).build()
    target = record({"name": "a", "type": "int"})
    strict = converter("strict", auto_register_schemas="false", use_latest_version="true")
    register(strict, "t-value", target)
    with pytest.raises(DataError, match="a is optional"):
        strict.from_connect("t", schema, {"a": 1})
    lax = converter(
        "strict", auto_register_schemas="false", use_latest_version="true",
        latest_compatibility_strict="false",
    )  # fmt: skip
    assert lax.from_connect("t", schema, {"a": 1})[5:] == b"\x02"
    with pytest.raises(DataError, match='null used for required field: "a"'):
        lax.from_connect("t", schema, {"a": None})


def test_schema_id_can_be_fixed():
    """use.schema.id writes with that schema, whatever the record brings."""
    first = converter("use-id")
    schema_id = register(first, "elsewhere", V2)
    made = converter("use-id", auto_register_schemas="false", use_schema_id=str(schema_id))
    assert made.from_connect("t", V1, {"a": 5})[:5] == b"\0" + schema_id.to_bytes(4, "big")


def test_unregistered_schema_is_refused_when_registering_is_off():
    """auto.register.schemas=false looks the schema up and names the subject if it is not there."""
    made = converter("lookup", auto_register_schemas="false", missing_id_cache_ttl_sec="0")
    with pytest.raises(DataError, match=r"subject t-value.*404"):
        made.from_connect("t", V1, {"a": 5})
    register(made, "t-value", made.describe(V1)[0])
    assert made.from_connect("t", V1, {"a": 5})[5:] == b"\x0a"


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [
        ("TopicNameStrategy", "t-value"),
        ("io.confluent.kafka.serializers.subject.RecordNameStrategy", "n.R"),
        ("io.confluent.kafka.serializers.subject.TopicRecordNameStrategy", "t-n.R"),
    ],
)
def test_subject_name_strategies(strategy, subject):
    """Schemas are registered under the subject of the strategy."""
    made = AvroConverter()
    made.configure(
        {
            "schema.registry.url": f"mock://subjects-{subject}",
            "value.subject.name.strategy": strategy,
        },
        is_key=False,
    )
    data = made.from_connect("t", V1, {"a": 5})
    assert made._registry._client.get_subjects() == [subject]
    assert made.to_connect("t", data).schema.version == 1


def test_record_name_strategy_needs_a_name():
    """A value without a record's name has no subject, and the error says what to do."""
    made = AvroConverter()
    made.configure(
        {
            "schema.registry.url": "mock://nameless",
            "key.subject.name.strategy": "RecordNameStrategy",
        },
        is_key=True,
    )
    with pytest.raises(DataError, match="needs a named record"):
        made.from_connect("t", Schema.STRING, "x")


# ---- framing by header ----------------------------------------------------------------------


def test_header_framing_leaves_the_payload_bare():
    """The GUID travels in a header; the reader looks there first and then before the payload."""
    made = AvroConverter()
    made.configure(
        {
            "schema.registry.url": "mock://header",
            "value.schema.id.serializer": (
                "io.confluent.kafka.serializers.schema.id.HeaderSchemaIdSerializer"
            ),
        },
        is_key=False,
    )
    headers: list[tuple[str, bytes | None]] = [("other", b"x")]
    data = made.from_connect("t", V1, {"a": 5}, headers)
    assert data == b"\x0a"
    name, value = headers[-1]
    assert name == "__value_schema_id"
    assert value is not None
    assert value[0] == 1
    assert len(value) == 17
    reader = converter("header")
    prefixed = reader.from_connect("t", V1, {"a": 6})
    schemas, values = reader.to_connect_batch("t", [data, prefixed], [tuple(headers), ()])
    assert values == [{"a": 5}, {"a": 6}]
    assert schemas[0] == schemas[1]
    with pytest.raises(ConnectError, match="needs a record with headers"):
        made.from_connect("t", V1, {"a": 5}, None)
    batch: list[list[tuple[str, bytes | None]]] = [[], []]
    assert made.from_connect_batch("t", [V1, V1], [{"a": 1}, {"a": 2}], batch) == [b"\x02", b"\x04"]
    assert batch[0] == batch[1] == [headers[-1]]


def test_unknown_guid_is_a_data_error():
    """A header that names no schema of the registry is a bad record, not a bad registry."""
    headers = [("__value_schema_id", b"\x01" + bytes(16))]
    with pytest.raises(DataError, match="GUID 00000000-0000-0000-0000-000000000000"):
        converter("guid").to_connect("t", b"x", headers)


# ---- caches ---------------------------------------------------------------------------------


def test_same_id_gives_the_same_schema_object():
    """Everything downstream caches by identity, so one id is one Schema."""
    made = converter("identity")
    data = one_string(made)
    first = made.to_connect("t", data).schema
    schemas, _ = made.to_connect_batch("t", [data, data], [(), ()])
    assert all(schema is first for schema in schemas)


def test_equal_schemas_built_anew_are_registered_once():
    """A source that builds its schema for every batch costs one registration."""
    made = converter("anew")
    for _ in range(3):
        one_string(made)
    client = made._registry._client
    assert client.get_versions("t-value") == [1]
    assert len(made._by_schema) == 1


def test_caches_stay_within_their_size():
    """schemas.cache.config bounds what is kept, however many schemas pass through."""
    made = converter("bounded", schemas_cache_config="5")
    for n in range(20):
        schema = Schema.struct(f"S{n}").field("a", Schema.INT32).build()
        data = made.from_connect("t", schema, {"a": n})
        assert made.to_connect("t", data).value == {"a": n}
    assert len(made._by_schema) <= 5
    assert len(made._readers["t"]) <= 5
    assert len(made._writers["t"]) <= 5


def test_library_is_imported_only_when_used():
    """Without the extra the module still imports; using it names the extra to install."""
    code = (
        "import sys\n"
        "sys.modules['fastavro'] = None\n"
        "from converters.avro import AvroConverter\n"
        "from connect import MissingExtraError\n"
        "try:\n"
        "    AvroConverter().configure({'schema.registry.url': 'mock://x'}, is_key=False)\n"
        "except MissingExtraError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "penstock[avro]" in done.stdout


def test_rules_that_would_be_passed_over_are_refused():
    """A schema whose rules encrypt or check fields is not read as if it had none."""
    made = converter("rules")
    rule = Rule("encryptPII", None, RuleKind.TRANSFORM, RuleMode.WRITEREAD, "ENCRYPT", ["PII"],
                None, None, None, None, False)  # fmt: skip
    text = json.dumps(record({"name": "a", "type": "int"}))
    schema_id = made._registry._client.register_schema(
        "t-value", Sent(text, "AVRO", [], None, RuleSet(None, [rule]))
    )
    with pytest.raises(ConnectError, match="rules encryptPII"):
        made.to_connect("t", b"\0" + schema_id.to_bytes(4, "big") + b"\x02")
