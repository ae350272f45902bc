"""Whole batches as Java prints them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import Schema
from connect.data.java_lines import java_lines
from connect.data.java_text import java_text
from tests.support.strategies import schemaless_values, schemas, values

ORDER = (
    Schema.struct("Order")
    .field("id", Schema.INT64)
    .field("name", Schema.OPTIONAL_STRING)
    .field("amount", Schema.FLOAT64)
    .field("paid", Schema.BOOLEAN)
    .build()
)


def one_by_one(values, schemas):
    return "".join(java_text(v, s) + "\n" for v, s in zip(values, schemas, strict=True))


@given(st.lists(schemaless_values(), min_size=1, max_size=5))
def test_any_values_print_as_they_do_alone(batch):
    """A batch of whatever is printed as value by value."""
    none = [None] * len(batch)
    assert java_lines(batch, none) == one_by_one(batch, none)


@given(st.data(), schemas())
def test_values_of_one_schema_print_as_they_do_alone(data, schema):
    """A batch of one schema is printed as value by value, nulls included."""
    batch = data.draw(st.lists(values(schema), min_size=1, max_size=5))
    of_one = [schema] * len(batch)
    assert java_lines(batch, of_one) == one_by_one(batch, of_one)


@given(
    st.lists(st.text(max_size=3), min_size=1, max_size=6, unique=True).flatmap(
        lambda keys: st.lists(
            st.permutations(keys).flatmap(
                lambda some: st.fixed_dictionaries(
                    dict.fromkeys(
                        some, st.none() | st.booleans() | st.integers() | st.floats() | st.text()
                    )
                )
            ),
            min_size=1,
            max_size=6,
        )
    )
)
def test_maps_with_the_same_keys_print_as_they_do_alone(batch):
    """In whatever order keys came, and whatever kinds are in a column."""
    none = [None] * len(batch)
    assert java_lines(batch, none) == one_by_one(batch, none)


def test_equal_keys_print_by_their_type():
    """True equals 1, and is printed in another way and at another place."""
    batch = [{key: "x", "b": "y"} for key in (True, 1, 1.0, True)]
    lines = java_lines(batch, [None] * len(batch)).splitlines()
    assert lines == ["{b=y, true=x}", "{1=x, b=y}", "{1.0=x, b=y}", "{b=y, true=x}"]


@pytest.mark.parametrize("amount", [0.0, -1.5, 1e-4, 1e7, float("nan"), float("inf"), 9999999.9])
@pytest.mark.parametrize("name", ["x", None, "100 %"])
def test_structs_of_one_schema(amount, name):
    """Java's exponents, and nulls left out, in a column of plain ones."""
    batch = [
        {"id": 2**63 - 1, "name": "y", "amount": 1.5, "paid": True},
        {"id": 2**70, "name": name, "amount": amount, "paid": False},
    ]
    assert java_lines(batch, [ORDER] * 2) == one_by_one(batch, [ORDER] * 2)
