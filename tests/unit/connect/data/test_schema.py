"""Schemas: built, compared, pickled, and what fits them."""

import datetime as dt
import decimal
import pickle

import pytest
from hypothesis import given

from connect import DataError, Schema, SchemaBuildError, Type
from tests.support.strategies import schemas, schemas_and_values

POINT = Schema.struct("Point").field("x", Schema.INT32).field("y", Schema.OPTIONAL_INT32).build()


@given(schemas())
def test_a_copy_equals_its_original(schema):
    """By content, whether rebuilt or pickled, and with the same hash."""
    for copy in (schema.to_builder().build(), pickle.loads(pickle.dumps(schema))):
        assert copy == schema
        assert hash(copy) == hash(schema)


def test_defaults_are_compared_as_they_are_written():
    """A cache must not take -0.0 for 0.0; not a number is the same default as itself."""
    zero, below, nan, other = (
        Schema.builder(Type.FLOAT64).default(float(text)).build()
        for text in ("0.0", "-0.0", "nan", "nan")
    )
    assert zero != below
    assert nan == other


@given(schemas_and_values())
def test_generated_values_fit_their_schemas(schema_and_value):
    """What the strategies make is valid, so other tests can rely on them."""
    schema, value = schema_and_value
    schema.validate(value)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (Schema.INT8, 128), (Schema.INT16, -(2**15) - 1), (Schema.INT32, 2**31),
        (Schema.INT64, 2**63), (Schema.INT32, "1"), (Schema.INT32, True), (Schema.INT32, 1.0),
        (Schema.FLOAT64, True), (Schema.FLOAT64, "1"), (Schema.BOOLEAN, 1), (Schema.STRING, b"x"),
        (Schema.BYTES, "x"), (Schema.array(Schema.INT32).build(), ["x"]),
        (Schema.map(Schema.STRING, Schema.INT32).build(), {1: 1}),
        (Schema.date().build(), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
        (Schema.decimal(2).build(), 1.5), (Schema.timestamp().build(), 5), (POINT, {"x": "1"}),
        (POINT, [1]),
    ],
)  # fmt: skip
def test_values_that_do_not_fit_are_errors(schema, value):
    """Wrong types and numbers out of range."""
    with pytest.raises(DataError, match="Invalid Python object for schema"):
        schema.validate(value)


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (Schema.INT32, None, "null used for required value, schema type: INT32"),
        (POINT, {}, 'null used for required field: "x", schema type: INT32'),
        (Schema.array(Schema.INT32).build(), [None], "required element of array value"),
        (Schema.map(Schema.STRING, Schema.INT32).build(), {"a": None}, "required value of map"),
        (Schema(Type.ARRAY), [1], "No schema defined for element of array value"),
        (POINT, {"x": 1, "z": 2}, "z is not a valid field name"),
    ],
)
def test_errors_say_where(schema, value, text):
    """In Kafka Connect's words."""
    with pytest.raises(DataError, match=text):
        schema.validate(value)


def test_a_null_field_with_a_default_fits():
    """The default stands in for it; a value that is null by itself does not fit."""
    with_default = Schema.builder(Type.INT32).default(5).build()
    Schema.struct().field("a", with_default).build().validate({})
    with pytest.raises(DataError):
        with_default.validate(None)


def test_ints_fit_floats():
    """As everywhere in Python."""
    Schema.FLOAT64.validate(1)
    Schema.FLOAT32.validate(1)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: Schema.struct().field("", Schema.INT32), "fieldName cannot be null."),
        (lambda: POINT.to_builder().field("x", Schema.INT32), "field name duplication x"),
        (lambda: Schema.builder(Type.INT32).field("x", Schema.INT32), "fields on type INT32"),
        (lambda: Schema.builder(Type.INT32).default("x").build(), "Invalid default value"),
        (lambda: Schema.array(None), "valueSchema cannot be null."),
        (lambda: Schema.map(None, Schema.INT32), "keySchema cannot be null."),
        (lambda: Schema.map(Schema.INT32, None), "valueSchema cannot be null."),
    ],
)
def test_schemas_put_together_wrongly_are_errors(build, text):
    """In Kafka Connect's words."""
    with pytest.raises(SchemaBuildError, match=text):
        build()


def test_fields_are_found_by_name():
    """Unknown ones are None; a schema that has no fields says so."""
    assert POINT.field("y").index == 1
    assert POINT.field("z") is None
    with pytest.raises(DataError, match="non-struct"):
        Schema.INT32.field("x")


def test_a_decimal_without_scale_says_so():
    """The scale is what its bytes mean nothing without."""
    with pytest.raises(DataError, match="scale parameter not found"):
        _ = Schema.builder(Type.BYTES).name("org.apache.kafka.connect.data.Decimal").build().scale
    assert Schema.decimal(2).build().scale == 2
    Schema.decimal(2).build().validate(decimal.Decimal("1.50"))


def test_recursive_schemas_can_be_compared():
    """A schema that contains itself equals its like, and comparing them ends."""

    def node():
        made = Schema.struct("Node").field("next", Schema.OPTIONAL_INT32).build()
        made.fields[0].schema = made
        return made

    assert node() == node()
