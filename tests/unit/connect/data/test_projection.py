"""Values that move to another schema."""

from hypothesis import given

from connect import Schema
from connect.data.projection import project
from tests.support import vectors
from tests.support.cases import every
from tests.support.strategies import schemas_and_values


@every(vectors.load("projections"), vectors.short)
def test_values_are_projected_as_by_kafka_connect(vector):
    """Every pair of number types, defaults, fields that come and go, and the errors' texts."""
    vectors.agrees(vector)


@given(schemas_and_values())
def test_a_value_projects_to_an_equal_schema_unchanged(schema_and_value):
    """An equal schema takes the value as it is, but for the defaults of null fields."""
    schema, value = schema_and_value
    twin = schema.to_builder().build()
    projected = project(schema, value, twin)
    if schema.type.is_primitive:
        assert projected == value
    twin.validate(projected)


def test_the_same_schema_costs_nothing():
    """Source and target being one object, the value is not even looked at."""
    value = {"anything": object()}
    assert project(Schema.INT32, value, Schema.INT32) is value
