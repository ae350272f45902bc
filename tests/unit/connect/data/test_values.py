"""Texts that become values, and values that become texts or change their type."""

import datetime as dt
import decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import DataError, Schema
from connect.data.values import convert_to_string, infer_schema, parse_string
from tests.support import vectors
from tests.support.cases import every


@every(vectors.load("value_texts"), vectors.short)
def test_texts_mean_what_they_mean_to_kafka_connect(vector):
    """Numbers, dates, arrays, maps and everything that only looks like them."""
    vectors.agrees(vector)


@every(vectors.load("value_conversions"), vectors.short)
def test_values_are_converted_as_by_kafka_connect(vector):
    """Numbers wrap and are cut, texts are parsed, and what can't be converted is an error."""
    vectors.agrees(vector)


@given(st.text())
def test_any_text_has_a_value(text):
    """Parsing never fails; what fits nothing is a string, unchanged."""
    found = parse_string(text)
    if found.schema == Schema.STRING and text.strip():
        assert found.value == text


@pytest.mark.parametrize(
    "text",
    ["12:30", "8080:tcp", "1,2,3", "[1] and more", "{}x", "2001:db8::1", "24:00:00.000Z"],
)
def test_a_text_that_only_begins_with_a_value_is_a_string(text):
    """Nothing is dropped: the JVM reads 12:30 as 12."""
    assert parse_string(text) == (Schema.STRING, text)


def test_no_text_is_no_value():
    """None has neither schema nor value."""
    assert parse_string(None) == (None, None)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (dt.date(2019, 8, 23), "2019-08-23"),
        (dt.date(1969, 1, 1), "1969-01-01"),
        (dt.time(14, 34, 54, 346000), "14:34:54.346Z"),
        (dt.datetime(2019, 8, 23, 14, 34, 54, 346000, tzinfo=dt.UTC), "2019-08-23T14:34:54.346Z"),
        (dt.datetime(1960, 1, 2, 3, 4, 5, tzinfo=dt.UTC), "1960-01-02T03:04:05.000Z"),
        (dt.datetime(33, 1, 2, 3, 4, 5, tzinfo=dt.UTC), "0033-01-02T03:04:05.000Z"),
        (dt.datetime(2019, 8, 23, tzinfo=dt.UTC), "2019-08-23"),
        (decimal.Decimal("1.50"), "1.50"),
        ([dt.date(2019, 8, 23)], "[2019-08-23]"),
    ],
)
def test_dates_and_decimals_have_texts(value, text):
    """Dates before 1970 too; the JVM writes those as times."""
    assert convert_to_string(None, value) == text


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("x", Schema.STRING),
        (True, Schema.BOOLEAN),
        (1, Schema.INT64),
        (1.5, Schema.FLOAT64),
        (b"x", Schema.BYTES),
        ([1, 2], Schema.array(Schema.INT64).build()),
        ([1, None], Schema.array(Schema.OPTIONAL_INT64).build()),
        ({"a": 1.5}, Schema.map(Schema.STRING, Schema.FLOAT64).build()),
        ([], None),
        ({}, None),
        ([1, "x"], None),
        ([None], None),
        ([[1], []], None),
        (None, None),
        (dt.date(2020, 1, 1), None),
    ],
)
def test_schemas_are_inferred_where_there_is_just_one(value, schema):
    """Mixed and empty lists have none."""
    assert infer_schema(value) == schema


def test_values_of_unknown_types_are_errors():
    """What has no text is named."""
    with pytest.raises(DataError, match="unexpected value type object"):
        convert_to_string(None, [object()])
