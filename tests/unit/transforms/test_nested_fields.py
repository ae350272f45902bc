"""Fields inside of fields, in every transform that names one: field.syntax.version=V2."""

from __future__ import annotations

import datetime as dt

import pytest

from connect import ConfigError, DataError, Schema, Type
from tests.unit.transforms.records import configured, sink, source
from transforms.cast import CastValue
from transforms.extract_field import ExtractFieldValue
from transforms.field_path import split_path
from transforms.header_from import HeaderFromValue
from transforms.hoist_field import HoistFieldValue
from transforms.insert_field import InsertFieldValue
from transforms.mask_field import MaskFieldKey, MaskFieldValue
from transforms.replace_field import ReplaceFieldValue
from transforms.timestamp_converter import TimestampConverterValue
from transforms.value_to_key import ValueToKey

V2 = {"field_syntax_version": "V2"}

ADDRESS = (
    Schema.struct("Address")
    .optional()
    .field("city", Schema.STRING)
    .field("zip", Schema.builder(Type.STRING).optional().default("0000").build())
    .build()
)
PERSON = (
    Schema.struct("Person")
    .version(2)
    .field("id", Schema.INT64)
    .field("address", ADDRESS)
    .field("past", Schema.array(ADDRESS).optional().build())
    .field("tags", Schema.map(Schema.STRING, Schema.STRING).optional().build())
    .build()
)


def person():
    return {
        "id": 7,
        "address": {"city": "Delft", "zip": "2611"},
        "past": [{"city": "Gouda", "zip": None}, None],
        "tags": {"ssn": "123", "colour": "red"},
    }


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("foo.bar.baz", ("foo", "bar", "baz")),
        ("`foo.bar`.baz", ("foo.bar", "baz")),
        ("foo.``bar.baz`", ("foo", "`bar.baz")),
        ("..", ("", "", "")),
        ("a.b`", ("a", "b`")),
        ("`a`b`", ("a`b",)),
        ("`a``.b", ("a`", "b")),
        ("`a\\`.b`", ("a`.b",)),
        ("\\`a", ("\\`a",)),
        ("`a\\`b`", ("a\\`b",)),
        ("```", ("`",)),
        ("`a.b`.`c.d`", ("a.b", "c.d")),
        ("`foo.b\\`ar.ba`.z", ("foo.b\\`ar.ba", "z")),
        ("`a`..b", ("a", "", "b")),
        ("a b. c", ("a b", " c")),
    ],
)
def test_paths_are_read_as_by_the_jvm(text, steps):
    """Dots part a path, backticks quote a step, and a backslash keeps a backtick from closing."""
    assert split_path(text) == steps


@pytest.mark.parametrize(
    ("text", "position"),
    [("`a", 0), ("a.`b", 2), ("`a`b.c", 0), ("`a\\`", 0), ("`a\\\\`.b", 0), ("a.`.b", 2)],
)
def test_an_open_backtick_is_an_error_with_its_place(text, position):
    """A quoted step that never ends is refused with the JVM's words."""
    with pytest.raises(ConfigError) as error:
        split_path(text)
    assert str(error.value) == (
        f"Incomplete backtick pair in path: [{text}], consider adding a backslash before "
        f"backtick at position {position} to escape it"
    )


def test_without_v2_a_dotted_name_is_one_name():
    """V1 is the default, so that a field called a.b goes on meaning that field."""
    masked = configured(MaskFieldValue, fields="a.b").apply(sink({"a.b": 1, "a": {"b": 2}}))
    assert masked.value == {"a.b": 0, "a": {"b": 2}}


def test_mask_reaches_structs_lists_and_map_entries():
    """A masked path goes through structs, every item of a list, and into single map entries."""
    mask = configured(MaskFieldValue, fields="address.city,past.city,tags.ssn", **V2)
    value = person()
    record = mask.apply(sink(value, PERSON))
    assert record.value["address"] == {"city": "", "zip": "2611"}
    assert record.value["past"] == [{"city": "", "zip": "0000"}, None]
    assert record.value["tags"] == {"ssn": "", "colour": "red"}
    assert record.value_schema is PERSON
    assert value == person(), "the record's old value was changed in place"


def test_mask_reaches_inside_schemaless_values():
    """Without a schema, a path goes through maps and lists; where it leads nowhere nothing is."""
    mask = configured(MaskFieldValue, fields="a.b.c", **V2)
    assert mask.apply(sink({"a": [{"b": {"c": "x", "d": 1}}, 5]})).value == {
        "a": [{"b": {"c": "", "d": 1}}, 5]
    }
    assert mask.apply(sink({"z": 1})).value == {"z": 1}


def test_the_key_variant_takes_paths_too():
    """MaskField$Key with V2 masks inside of the key and leaves the value alone."""
    record = sink({"a": {"b": 2}}, key={"a": {"b": 1}})
    masked = configured(MaskFieldKey, fields="a.b", **V2).apply(record)
    assert (masked.key, masked.value) == ({"a": {"b": 0}}, {"a": {"b": 2}})


def test_one_path_through_another_is_refused():
    """Masking a field and a field of it contradict each other."""
    with pytest.raises(ConfigError, match=r"fields: names a field and another one inside of it"):
        configured(MaskFieldValue, fields="a,a.b", **V2)
    with pytest.raises(ConfigError, match="names a field and another one inside of it"):
        configured(MaskFieldValue, fields="a.b,a", **V2)


def test_replace_field_drops_and_renames_nested_fields():
    """Exclude and rename work at any depth, in the schema as in the value."""
    replace = configured(
        ReplaceFieldValue, exclude="address.zip,past.zip", renames="address.city:town", **V2
    )
    record = replace.apply(sink(person(), PERSON))
    assert record.value["address"] == {"town": "Delft"}
    assert record.value["past"] == [{"city": "Gouda"}, None]
    address = record.value_schema.field("address").schema
    assert [f.name for f in address.fields] == ["town"]
    assert address.optional
    assert (address.name, record.value_schema.version) == ("Address", 2)
    items = record.value_schema.field("past").schema.value_schema
    assert [f.name for f in items.fields] == ["city"]


def test_replace_field_includes_only_what_a_path_names():
    """Including a.b keeps a with b alone; including a beside it keeps all of a."""
    only = configured(ReplaceFieldValue, include="id,address.city", **V2)
    assert only.apply(sink(person(), PERSON)).value == {"id": 7, "address": {"city": "Delft"}}
    assert only.apply(sink(person())).value == {"id": 7, "address": {"city": "Delft"}}
    whole = configured(ReplaceFieldValue, include="address,address.city", **V2)
    assert whole.apply(sink(person())).value == {"address": person()["address"]}


def test_cast_reaches_nested_fields_and_their_schema():
    """A nested field's type changes in place; its struct stays optional and named."""
    schema = Schema.struct().field("a", Schema.struct().field("n", Schema.INT64).build()).build()
    record = configured(CastValue, spec="a.n:string", **V2).apply(sink({"a": {"n": 5}}, schema))
    assert record.value == {"a": {"n": "5"}}
    assert record.value_schema.field("a").schema.field("n").schema == Schema.STRING


def test_a_map_entry_cannot_get_a_type_of_its_own():
    """Casting one entry of a map with a schema is an error that says so."""
    cast = configured(CastValue, spec="tags.ssn:int32", **V2)
    with pytest.raises(DataError, match="entry 'ssn' of a map another type"):
        cast.apply(sink(person(), PERSON))


def test_timestamp_converter_takes_a_path():
    """A timestamp inside of a struct is converted there."""
    convert = configured(TimestampConverterValue, field="a.at", target_type="Timestamp", **V2)
    schema = Schema.struct().field("a", Schema.struct().field("at", Schema.INT64).build()).build()
    record = convert.apply(sink({"a": {"at": 1000}}, schema))
    assert record.value == {"a": {"at": dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)}}
    assert record.value_schema.field("a").schema.field("at").schema.is_logical


def test_extract_field_goes_through_null_parents():
    """A null on the way to a nested field gives null, its default does not step in."""
    extract = configured(ExtractFieldValue, field="address.zip", **V2)
    assert extract.apply(sink({**person(), "address": None}, PERSON)).value is None
    assert extract.apply(sink({**person(), "address": {"city": "x"}}, PERSON)).value == "0000"


def test_value_to_key_names_nested_fields_by_their_last_step():
    """A key made of a nested field has that field's own name, with and without a schema."""
    to_key = configured(ValueToKey, fields="id,address.city", **V2)
    record = to_key.apply(sink(person(), PERSON))
    assert record.key == {"id": 7, "city": "Delft"}
    assert [f.name for f in record.key_schema.fields] == ["id", "city"]
    assert to_key.apply(sink(person())).key == {"id": 7, "city": "Delft"}
    with pytest.raises(DataError, match=r"Field does not exist: address\.nope"):
        configured(ValueToKey, fields="address.nope", **V2).apply(sink(person(), PERSON))
    with pytest.raises(ConfigError, match="two fields would be called 'x'"):
        configured(ValueToKey, fields="a.x,b.x", **V2)


def test_header_from_moves_nested_fields():
    """A moved nested field leaves its struct and the struct's schema."""
    move = configured(
        HeaderFromValue, fields="address.city", headers="city", operation="move", **V2
    )
    record = move.apply(sink(person(), PERSON))
    assert [(h.name, h.value, h.schema) for h in record.headers] == [
        ("city", "Delft", Schema.STRING)
    ]
    assert record.value["address"] == {"zip": "2611"}
    assert [f.name for f in record.value_schema.field("address").schema.fields] == ["zip"]


def test_hoist_field_makes_nested_structs():
    """A path wraps once for each of its steps."""
    hoist = configured(HoistFieldValue, field="a.b", **V2)
    record = hoist.apply(sink(5, Schema.INT32))
    assert record.value == {"a": {"b": 5}}
    assert record.value_schema.field("a").schema.field("b").schema is Schema.INT32


def test_insert_field_puts_fields_inside_and_makes_missing_parents():
    """An inserted path joins the struct that is there; a missing one is made, a null stays."""
    insert = configured(InsertFieldValue, topic_field="address.topic!", static_field="m.k",
                        static_value="v", **V2)  # fmt: skip
    record = insert.apply(sink(person(), PERSON))
    assert record.value["address"] == {**person()["address"], "topic": "t"}
    assert record.value["m"] == {"k": "v"}
    schema = record.value_schema
    assert schema.field("address").schema.field("topic").schema is Schema.STRING
    assert schema.field("m").schema.optional
    assert insert.apply(sink({"address": None})).value == {"address": None, "m": {"k": "v"}}
    with pytest.raises(DataError, match="id is INT64, not a struct"):
        configured(InsertFieldValue, topic_field="id.x", **V2).apply(sink(person(), PERSON))


def test_a_nested_offset_needs_a_sink_record():
    """The rules of a field hold for a nested one as well."""
    insert = configured(InsertFieldValue, offset_field="a.o", **V2)
    with pytest.raises(DataError, match="Only SinkRecord supported"):
        insert.apply(source({"a": {}}))
