from __future__ import annotations

import decimal
import itertools
import json
import subprocess
import sys

import jsonschema
import pytest
from confluent_kafka.schema_registry import Schema as Sent
from confluent_kafka.schema_registry import SchemaReference
from hypothesis import given, settings

from connect import DataError, Schema, Type
from converters.json_schema import JsonSchemaConverter
from tests.support.registry_data import records

_topics = (f"topic{n}" for n in itertools.count())


def converter(scope: str, **config: str) -> JsonSchemaConverter:
    made = JsonSchemaConverter()
    given_ = {k.replace("_", "."): v for k, v in config.items()}
    made.configure({"schema.registry.url": f"mock://js-{scope}", **given_}, is_key=False)
    return made


def register(made: JsonSchemaConverter, schema: object) -> bytes:
    found = made._registry.register("t-value", "JSON", json.dumps(schema))
    assert found.id is not None
    return b"\0" + found.id.to_bytes(4, "big")


def read(scope: str, schema: object, value: object, **config: str):
    made = converter(scope, **config)
    return made.to_connect("t", register(made, schema) + json.dumps(value).encode())


WRITERS = {
    name: converter("round-trip", decimal_format=name, json_fail_invalid_schema="true")
    for name in ("BASE64", "NUMERIC")
}
READER = converter("round-trip", json_fail_invalid_schema="true")


@pytest.mark.parametrize("decimals", ["BASE64", "NUMERIC"])
@settings(max_examples=80, deadline=None)
@given(records(map_keys=(Type.STRING, Type.INT32)))
def test_schema_and_value_come_back(decimals, record):
    """Whatever is written is valid under its schema and comes back with schema and value."""
    schema, value = record
    topic = next(_topics)
    data = WRITERS[decimals].from_connect(topic, schema, value)
    got = READER.to_connect(topic, data)
    expected = schema if schema.version is not None else schema.to_builder().version(1).build()
    assert got.schema == expected
    assert got.value == value
    text = WRITERS[decimals].describe(schema)[0]
    jsonschema.Draft7Validator.check_schema(json.loads(text))


@settings(max_examples=40, deadline=None)
@given(records(struct_only=True))
def test_batches_are_the_same_as_single_records(record):
    """The batch methods give what the single ones give, nulls included."""
    schema, value = record
    topic = next(_topics)
    optional = schema.as_optional()
    made = WRITERS["BASE64"]
    data = made.from_connect_batch(topic, [optional] * 3, [value, None, value], [[], [], []])
    assert data == [made.from_connect(topic, optional, v) for v in (value, None, value)]
    schemas, values = READER.to_connect_batch(topic, data, [(), (), ()])
    assert values == [value, None, value]
    assert schemas[0] is schemas[2]


def test_schema_is_described_as_the_jvm_describes_it():
    """Types, order, names, versions, docs and defaults are where the JVM's converter has them."""
    schema = (
        Schema.struct("com.x.Order")
        .field("id", Schema.INT64)
        .field("note", Schema.OPTIONAL_STRING)
        .field("tags", Schema.array(Schema.STRING).build())
        .field("counts", Schema.map(Schema.STRING, Schema.INT32).build())
        .field("by_number", Schema.map(Schema.INT32, Schema.STRING).build())
        .field("price", Schema.decimal(2).build())
        .field("seven", Schema.builder(Type.INT32).default(7).doc("lucky").build())
        .version(3)
        .build()
    )
    assert json.loads(converter("text").describe(schema)[0]) == {
        "type": "object",
        "title": "com.x.Order",
        "connect.version": 3,
        "properties": {
            "id": {"type": "integer", "connect.type": "int64", "connect.index": 0},
            "note": {"oneOf": [{"type": "null"}, {"type": "string"}], "connect.index": 1},
            "tags": {"type": "array", "items": {"type": "string"}, "connect.index": 2},
            "counts": {
                "type": "object",
                "connect.type": "map",
                "additionalProperties": {"type": "integer", "connect.type": "int32"},
                "connect.index": 3,
            },
            "by_number": {
                "type": "array",
                "connect.type": "map",
                "items": {
                    "type": "object",
                    "properties": {
                        "key": {"type": "integer", "connect.type": "int32", "connect.index": 0},
                        "value": {"type": "string", "connect.index": 1},
                    },
                },
                "connect.index": 4,
            },
            "price": {
                "type": "string",
                "connect.type": "bytes",
                "title": "org.apache.kafka.connect.data.Decimal",
                "connect.version": 1,
                "connect.parameters": {"scale": "2"},
                "connect.index": 5,
            },
            "seven": {
                "type": "integer",
                "connect.type": "int32",
                "description": "lucky",
                "default": 7,
                "connect.index": 6,
            },
        },
    }


def test_additional_properties_can_be_forbidden():
    """object.additional.properties=false closes every object."""
    schema = Schema.struct("S").field("a", Schema.STRING).build()
    text = converter("closed", object_additional_properties="false").describe(schema)[0]
    assert json.loads(text)["additionalProperties"] is False


# ---- schemas of others ----------------------------------------------------------------------


def test_plain_json_schema_is_read_by_its_types():
    """A schema without Connect's attributes: integers are int64, numbers float64, in order."""
    got = read(
        "plain",
        {
            "title": "User",
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "age": {"type": "integer"},
                "height": {"type": "number"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "nick": {"type": ["string", "null"]},
            },
            "required": ["name"],
        },
        {"name": "Ann", "age": 30, "height": 1, "extra": True},
    )
    assert got.schema.name == "User"
    assert [(f.name, f.schema.type, f.schema.optional) for f in got.schema.fields] == [
        ("name", Type.STRING, False),
        ("age", Type.INT64, False),
        ("height", Type.FLOAT64, False),
        ("tags", Type.ARRAY, False),
        ("nick", Type.STRING, True),
    ]
    assert got.value == {"name": "Ann", "age": 30, "height": 1.0, "tags": None, "nick": None}
    assert isinstance(got.value["height"], float)


def test_properties_that_are_not_required_can_be_optional():
    """use.optional.for.nonrequired takes JSON Schema's word for what may be missing."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "required": ["a"],
    }
    got = read("optional", schema, {"a": "x"}, use_optional_for_nonrequired="true")
    assert [f.schema.optional for f in got.schema.fields] == [False, True]


UNION = {
    "type": "object",
    "properties": {
        "u": {
            "oneOf": [
                {"type": "null"},
                {"type": "integer"},
                {"type": "string"},
                {"type": "object", "properties": {"a": {"type": "string"}}},
                {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                },
            ]
        }
    },
}


@pytest.mark.parametrize(
    ("value", "member", "expected"),
    [
        (5, 0, 5),
        ("x", 1, "x"),
        ({"a": "x"}, 2, {"a": "x"}),
        ({"a": "x", "b": "y"}, 3, {"a": "x", "b": "y"}),
    ],
)
def test_union_is_a_struct_with_the_member_that_fits_best(value, member, expected):
    """A oneOf becomes a struct; objects go to the member that knows most of their properties."""
    got = read("union", UNION, {"u": value})
    union = got.schema.field("u").schema
    assert union.optional
    assert union.name == "io.confluent.connect.json.OneOf"
    name = f"io.confluent.connect.json.OneOf.field.{member}"
    assert {k: v for k, v in got.value["u"].items() if v is not None} == {name: expected}
    made = converter("union")
    data = made.from_connect("copy", got.schema, got.value)
    assert json.loads(data[5:]) == {"u": value}
    assert made.to_connect("copy", data).value == got.value


def test_union_without_a_fitting_member_is_a_data_error():
    """A value that no member takes is refused."""
    with pytest.raises(DataError, match="Did not find matching oneof field for data at u"):
        read("union-bad", UNION, {"u": True})


def test_generalized_sum_types_are_marked_for_all_formats():
    """generalized.sum.type.support numbers the members and names the union."""
    got = read("general", UNION, {"u": "x"}, generalized_sum_type_support="true")
    union = got.schema.field("u").schema
    assert union.parameters == {"org.apache.kafka.connect.data.Union": "connect_union_0"}
    assert got.value["u"]["connect_union_field_1"] == "x"


def test_enum_is_a_string_with_its_symbols():
    """An enum's symbols are parameters, and are written as an enum again."""
    schema = {"type": "object", "properties": {"e": {"enum": ["A", "B"]}}}
    got = read("enum", schema, {"e": "B"})
    assert got.schema.field("e").schema.parameters == {
        "io.confluent.connect.json.Enum": "",
        "io.confluent.connect.json.Enum.A": "A",
        "io.confluent.connect.json.Enum.B": "B",
    }
    text = json.loads(converter("enum").describe(got.schema)[0])
    assert text["properties"]["e"]["enum"] == ["A", "B"]


def test_all_of_is_merged():
    """allOf of objects is one struct; constraints on a plain type are that type."""
    schema = {
        "definitions": {
            "base": {"type": "object", "properties": {"id": {"type": "integer"}}},
        },
        "allOf": [
            {"$ref": "#/definitions/base"},
            {
                "type": "object",
                "properties": {"n": {"allOf": [{"type": "string"}, {"minLength": 1}]}},
            },
        ],
    }
    got = read("all-of", schema, {"id": 1, "n": "x"})
    assert [(f.name, f.schema.type) for f in got.schema.fields] == [
        ("id", Type.INT64),
        ("n", Type.STRING),
    ]
    assert got.value == {"id": 1, "n": "x"}


@pytest.mark.parametrize("root", [True, False])
def test_recursive_schema_is_read_and_written(root):
    """A schema that refers to itself becomes a Connect schema that contains itself, and back."""
    node = {
        "type": "object",
        "title": "Node",
        "properties": {
            "value": {"type": "integer"},
            "next": {"oneOf": [{"type": "null"}, {"$ref": "#" if root else "#/definitions/node"}]},
        },
    }
    schema = node if root else {"definitions": {"node": node}, "$ref": "#/definitions/node"}
    value = {"value": 1, "next": {"value": 2, "next": None}}
    scope = f"recursive-{root}"
    got = read(scope, schema, value)
    assert got.value == value
    inner = got.schema.field("next").schema
    assert inner.optional
    assert inner.field("next").schema is inner
    made = converter(scope, json_fail_invalid_schema="true")
    data = made.from_connect("copy", got.schema, value)
    again = made.to_connect("copy", data)
    assert again.value == value
    assert again.schema == got.schema


def test_references_to_other_subjects():
    """A $ref to a registered document is followed, by its reference's name."""
    made = converter("references", json_fail_invalid_schema="true")
    client = made._registry._client
    city = {"type": "object", "properties": {"name": {"type": "string"}}}
    user = {"type": "object", "properties": {"home": {"$ref": "city.json"}}}
    client.register_schema("city", Sent(json.dumps(city), "JSON"))
    schema_id = client.register_schema(
        "t-value", Sent(json.dumps(user), "JSON", [SchemaReference("city.json", "city", 1)])
    )
    prefix = b"\0" + schema_id.to_bytes(4, "big")
    got = made.to_connect("t", prefix + b'{"home":{"name":"Bern"}}')
    assert got.value == {"home": {"name": "Bern"}}
    with pytest.raises(DataError, match=r"\$\.home\.name is not valid: 5 is not of type 'string'"):
        made.to_connect("t", prefix + b'{"home":{"name":5}}')


def test_schema_that_allows_anything_is_refused():
    """Connect has no type for a property without one, and the error shows where it is."""
    with pytest.raises(DataError, match="allows anything"):
        read("anything", {"type": "object", "properties": {"x": {}}}, {"x": 1})


# ---- bad input ------------------------------------------------------------------------------

SMALL = {"type": "object", "properties": {"n": {"type": "integer", "connect.type": "int8"},
         "s": {"type": "string"}, "b": {"type": "string", "connect.type": "bytes"},
         "l": {"type": "array", "items": {"type": "boolean"}}}}  # fmt: skip


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b"{", "The payload is no JSON"),
        (b"", "The payload is no JSON"),
        (b'{"s": NaN}', "The payload is no JSON"),
        (b'{"s": "\xff"}', "The payload is no JSON"),
        (b"[]", "The value should be an object"),
        (b'{"n": 128}', "n is too large for INT8: 128"),
        (b'{"n": "5"}', "n should be an integer, but is '5'"),
        (b'{"n": 1.5}', r"n should be an integer, but is 1\.5"),
        (b'{"n": null}', "Invalid null value for required INT8 field: n"),
        (b'{"s": 5}', "s should be a string"),
        (b'{"b": "###"}', "b should be base64"),
        (b'{"l": [true, 1]}', r"l\[\] should be a boolean"),
    ],
)
def test_json_that_does_not_fit_is_a_data_error(payload, message):
    """Nothing is read as 0 or cut off: the error names the field and shows the value."""
    made = converter("bad")
    with pytest.raises(DataError, match=message):
        made.to_connect("t", register(made, SMALL) + payload)


def test_validation_covers_what_connect_does_not_know():
    """json.fail.invalid.schema holds records to patterns, ranges and required properties."""
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "maximum": 10}},
        "required": ["n"],
    }
    assert read("lax", schema, {"n": 11}).value == {"n": 11}
    with pytest.raises(DataError, match="11 is greater than the maximum of 10"):
        read("strict", schema, {"n": 11}, json_fail_invalid_schema="true")
    with pytest.raises(DataError, match="'n' is a required property"):
        read("strict", schema, {}, json_fail_invalid_schema="true")


def test_validation_holds_for_writing_too():
    """A record that the latest version of its subject does not allow is refused."""
    made = converter(
        "write-valid",
        auto_register_schemas="false",
        use_latest_version="true",
        json_fail_invalid_schema="true",
    )
    register(made, {"type": "object", "properties": {"n": {"type": "integer", "maximum": 10}}})
    schema = Schema.struct("S").field("n", Schema.INT64).build()
    assert made.from_connect("t", schema, {"n": 10})[5:] == b'{"n":10}'
    with pytest.raises(DataError, match="greater than the maximum"):
        made.from_connect("t", schema, {"n": 11})


def test_latest_version_with_another_type_is_refused():
    """Strict compares types before any record is written."""
    made = converter("latest", auto_register_schemas="false", use_latest_version="true")
    register(made, {"type": "object", "properties": {"n": {"type": "string"}}})
    schema = Schema.struct("S").field("n", Schema.INT64).build()
    with pytest.raises(DataError, match="n is INT64, and STRING in the JSON Schema"):
        made.from_connect("t", schema, {"n": 10})


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (Schema.INT8, 128, "a is too large for INT8"),
        (Schema.FLOAT64, float("nan"), "a is nan, for which JSON has no number"),
        (Schema.FLOAT64, float("inf"), "a is inf"),
        (Schema.STRING, None, "null used for required"),
        (Schema.STRING, "\ud800", "surrogates|utf-8"),
        (Schema.decimal(2).build(), decimal.Decimal(1), "mismatching scale"),
    ],
)
def test_value_that_does_not_fit_its_schema_is_a_data_error(schema, value, message):
    """What JSON or the schema can't hold is refused, with the field's name."""
    outer = Schema.struct("S").field("a", schema).build()
    with pytest.raises(DataError, match=message):
        converter("misfit").from_connect("t", outer, {"a": value})


def test_value_without_schema_is_refused():
    """A registry format needs a schema, and the error says what else to use."""
    with pytest.raises(DataError, match=r"use JsonConverter with schemas\.enable=false"):
        converter("none").from_connect("t", None, {"a": 1})


def test_decimals_are_exact_in_both_formats():
    """Numbers with more digits than a double holds are read and written whole."""
    schema = Schema.struct("S").field("d", Schema.decimal(20).build()).build()
    value = {"d": decimal.Decimal("12345678901234567890.12345678901234567890")}
    numeric = converter("digits", decimal_format="NUMERIC")
    data = numeric.from_connect("t", schema, value)
    assert data[5:] == b'{"d":12345678901234567890.12345678901234567890}'
    assert numeric.to_connect("t", data).value == value
    short = numeric.to_connect("t", data[:5] + b'{"d":1.5}').value["d"]
    assert str(short) == "1.50000000000000000000"


def test_library_is_imported_only_when_used():
    """Without the extra the module still imports; using it names the extra to install."""
    code = (
        "import sys\n"
        "sys.modules['jsonschema'] = None\n"
        "from converters.json_schema import JsonSchemaConverter\n"
        "from connect import MissingExtraError\n"
        "try:\n"
        "    JsonSchemaConverter().configure({'schema.registry.url': 'mock://x'}, is_key=False)\n"
        "except MissingExtraError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "penstock[json-schema]" in done.stdout
