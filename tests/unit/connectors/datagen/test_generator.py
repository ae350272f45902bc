import datetime as dt
import decimal
import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import Schema
from connectors.datagen.generator import GeneratorError, generator


def of(*fields, **more):
    """A record schema of fields f0, f1, … with the given types."""
    named = [{"name": f"f{n}", "type": type_} for n, type_ in enumerate(fields)]
    return generator(json.dumps({"type": "record", "name": "R", "fields": named, **more}))


def make(type_, count=50, first=0, seed=1):
    made = of(type_)
    rows = made.column(Random(seed), first, count)
    for row in rows:
        made.schema.validate(row)
    return [row["f0"] for row in rows]


def arg(type_, **properties):
    return {"type": type_, "arg.properties": properties}


@pytest.mark.parametrize("type_", ["boolean", "int", "long", "float", "double", "string", "bytes"])
def test_primitives_without_arguments_fit_their_schema(type_):
    """Every primitive can be made without being told how."""
    assert len(set(make(type_))) > 1


def test_the_schema_is_connects():
    """Names, namespaces, docs and types become a Connect schema."""
    made = of("int", ["null", "string"], namespace="shop", doc="A thing.")
    assert made.schema == (
        Schema.struct("shop.R")
        .doc("A thing.")
        .field("f0", Schema.INT32)
        .field("f1", Schema.OPTIONAL_STRING)
        .build()
    )


def test_options_are_chosen_from():
    """Values come from the options, and from nothing else."""
    assert set(make(arg("string", options=["a", "b"]))) == {"a", "b"}
    assert set(make(arg("double", options=[1, 2.5]))) == {1.0, 2.5}
    assert set(make(arg("bytes", options=["ä"]))) == {"ä".encode()}


def test_options_of_records_keep_fields_together():
    """An option of a record is a whole record, so that city and country belong together."""
    pairs = [{"city": "Oslo", "land": "NO"}, {"city": "Graz", "land": "AT"}]
    place = {
        "type": "record",
        "name": "P",
        "fields": [{"name": "city", "type": "string"}, {"name": "land", "type": "string"}],
        "arg.properties": {"options": pairs},
    }
    assert all(value in pairs for value in make(place))


def test_options_can_be_in_a_file(tmp_path):
    """A JSON file of options is read."""
    file = tmp_path / "names.json"
    file.write_text('["x", "y"]')
    by_file = {"file": str(file), "encoding": "json"}
    assert set(make(arg("string", options=by_file))) == {"x", "y"}


@given(
    start=st.integers(-50, 50),
    span=st.integers(1, 20),
    down=st.booleans(),
    step=st.integers(1, 30),
    ahead=st.integers(0, 19),
    first=st.integers(0, 49),
)
def test_iteration_counts_and_begins_again(*, start, span, down, step, ahead, first):
    """From initial by step, wrapping at restart to start; and it can begin at any record."""
    sign = -1 if down else 1
    initial = start + sign * (ahead % span)
    rule = {
        "start": start, "restart": start + sign * span, "step": sign * step, "initial": initial
    }  # fmt: skip
    value, expected = initial, []
    for number in range(first + 10):
        if number >= first:
            expected.append(value)
        value = start + sign * ((abs(value - start) + step) % span)
    assert make(arg("int", iteration=rule), count=10, first=first) == expected


def test_iteration_of_other_types():
    """Strings and floats count too, booleans take turns, and numbers without end wrap."""
    assert make(arg("string", iteration={"start": 7}, prefix="n"), 2) == ["n7", "n8"]
    assert make(arg("double", iteration={"start": 0.5, "step": 0.25}), 3) == [0.5, 0.75, 1.0]
    assert make(arg("boolean", iteration={"start": True}), 3) == [True, False, True]
    assert make(arg("int", iteration={"start": 2**31 - 1}), 2) == [2**31 - 1, -(2**31)]
    assert make(arg("int", iteration={"start": 3, "restart": 1}), 3) == [3, 2, 3]


def test_ranges_include_min_and_leave_out_max():
    """Numbers are at least min and below max."""
    assert set(make(arg("int", range={"min": -1, "max": 2}))) == {-1, 0, 1}
    assert all(0 <= x < 5 for x in make(arg("double", range={"min": 0, "max": 5})))
    assert min(make(arg("long", range={"min": 2**62}))) >= 2**62


def test_floats_can_be_rounded():
    """`decimals` says how many digits follow the point."""
    assert all(x == round(x, 2) for x in make(arg("double", range={"max": 9}, decimals=2)))


def test_lengths():
    """A number is the length; of min and max, max is left out."""
    assert set(map(len, make(arg("string", length=5)))) == {5}
    assert set(map(len, make(arg("bytes", length={"min": 1, "max": 3})))) == {1, 2}
    items = {"type": "array", "items": "int", "arg.properties": {"length": 2}}
    assert set(map(len, make(items))) == {2}
    assert all(8 <= len(text) < 16 for text in make("string"))


def test_maps_have_keys_of_their_own_making():
    """Keys follow `keys`, values the type of the map."""
    given_ = {
        "type": "map",
        "values": arg("int", options=[0]),
        "arg.properties": {"length": 3, "keys": {"options": ["a"]}},
    }
    assert all(value == {"a": 0} for value in make(given_))


def test_strings_by_regex_prefix_and_suffix():
    """The expression makes the middle."""
    assert set(make(arg("string", regex="[ab]", prefix="<", suffix=">", length=9))) == {
        "<a>",
        "<b>",
    }


def test_booleans_by_odds():
    """Odds of one are certain."""
    assert set(make(arg("boolean", odds=1))) == {True}


def test_nullable_values_are_sometimes_null():
    """A union with null gives both."""
    assert {type(v) for v in make(["null", "int"])} == {type(None), int}


def test_logical_types():
    """Timestamps, dates, times and decimals are values of Python's own types."""
    moment = {"type": "long", "logicalType": "timestamp-millis"}
    assert make({**moment, "arg.properties": {"options": [1500]}}, 1) == [
        dt.datetime(1970, 1, 1, 0, 0, 1, 500000, dt.UTC)
    ]
    day = {"type": "int", "logicalType": "date", "arg.properties": {"options": [1]}}
    assert make(day, 1) == [dt.date(1970, 1, 2)]
    hour = {"type": "int", "logicalType": "time-millis", "arg.properties": {"options": [3_600_000]}}
    assert make(hour, 1) == [dt.time(1)]
    price = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}
    assert all(0 <= p < 1000 and p.as_tuple().exponent == -2 for p in make(price))
    between = {**price, "arg.properties": {"range": {"min": 1, "max": 2}}}
    assert all(1 <= p < 2 for p in make(between))
    assert make({**price, "arg.properties": {"options": [1.5]}}, 1) == [decimal.Decimal("1.50")]


def test_enums_fixed_and_named_types():
    """Symbols are strings, fixed is bytes, and a name stands for what it named."""
    enum = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
    made = of(enum, "E", {"type": "fixed", "name": "F", "size": 4})
    (row,) = made.column(Random(1), 0, 1)
    assert row["f0"] in "AB"
    assert row["f1"] in "AB"
    assert len(row["f2"]) == 4


def test_an_unknown_logical_type_is_not_there():
    """As Avro has it."""
    assert isinstance(make({"type": "int", "logicalType": "mood"}, 1)[0], int)


@pytest.mark.parametrize(
    ("type_", "reason"),
    [
        ("strng", "schema.f0: unknown type 'strng'"),
        (None, "schema.f0: expected an Avro type, found None"),
        (["int", "string"], "schema.f0: a union must be of one type, or of null and one type"),
        ({"type": "array"}, "schema.f0.items: expected an Avro type"),
        ({"type": "record", "fields": []}, "schema.f0: a record needs a name"),
        (
            {"type": "record", "name": "X", "fields": [{"name": "a"}]},
            "schema.f0: a field needs a name and a type, found {'name': 'a'}",
        ),
        (
            {"type": "record", "name": "X", "fields": [{"name": "a", "type": "int"}] * 2},
            "schema.f0: there are two fields 'a'",
        ),
        ({"type": "enum", "name": "E"}, "schema.f0: there is nothing to choose from"),
        ({"type": "fixed", "name": "F"}, "schema.f0: a fixed needs a size, found None"),
        ({"type": "bytes", "logicalType": "decimal"}, "schema.f0: a decimal needs a precision"),
        ({"type": "int", "arg.properties": 5}, "schema.f0: arg.properties must be an object"),
        (arg("int", rnage={}), "schema.f0: arg.properties has rnage, unknown for this type"),
        (arg("int", options=[]), "schema.f0: options must be a list with something in it"),
        (arg("int", options=["x"]), "schema.f0: the option 'x' does not fit"),
        (arg("int", options={"file": "x"}), "schema.f0: options by file must be"),
        (
            arg("int", options={"file": "/no/such", "encoding": "json"}),
            "schema.f0: options could not be read from /no/such",
        ),
        (arg("int", range={"min": 5, "max": 5}), "schema.f0: range must have a min below its max"),
        (arg("int", range={"min": "a"}), "schema.f0: range must have a min below its max"),
        (arg("string", length=-1), "schema.f0: length must be a number or a min below a max"),
        (arg("string", length={"min": "x"}), "schema.f0: length must be a number or a min"),
        (arg("string", regex="("), "schema.f0: the regular expression '(' has"),
        (arg("string", regex=5), "schema.f0: regex must be str, found 5"),
        (arg("int", iteration={}), "schema.f0: iteration needs a start"),
        (arg("int", iteration={"start": 0.5}), "schema.f0: iteration must be of whole numbers"),
        (arg("int", iteration={"start": 1, "restart": "x"}), "schema.f0: iteration must be of"),
        (
            arg("int", iteration={"start": 1, "restart": 5, "step": -1}),
            "schema.f0: iteration never gets from its start to its restart",
        ),
        (arg("boolean", odds="high"), "schema.f0: odds must be int or float, found 'high'"),
    ],
)
def test_mistakes_are_found_with_their_place(type_, reason):
    """Each mistake is named with the path of the field it is in."""
    with pytest.raises(GeneratorError) as raised:
        of(type_)
    assert str(raised.value).startswith(reason)


@pytest.mark.parametrize("text", ["", "{", '"int"', "[]", '{"type": "record", "name": "R"}'])
def test_what_is_no_record_schema_is_refused(text):
    """Bad JSON, a type that is no record, a record without fields."""
    with pytest.raises(GeneratorError):
        generator(text)
