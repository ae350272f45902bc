"""The converters of single numbers, booleans and bytes."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import DataError, Schema
from connect.data.floats import float32
from converters.boolean import BooleanConverter
from converters.byte_array import ByteArrayConverter
from converters.numbers import (
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
from tests.support import vectors
from tests.support.cases import every
from tests.support.strategies import values

ALL = {
    ShortConverter: Schema.OPTIONAL_INT16,
    IntegerConverter: Schema.OPTIONAL_INT32,
    LongConverter: Schema.OPTIONAL_INT64,
    FloatConverter: Schema.OPTIONAL_FLOAT32,
    DoubleConverter: Schema.OPTIONAL_FLOAT64,
    BooleanConverter: Schema.OPTIONAL_BOOLEAN,
    ByteArrayConverter: Schema.OPTIONAL_BYTES,
}


def made(kind):
    converter = kind()
    converter.configure({}, is_key=True)
    return converter


@every(
    [v for v in vectors.load("plain_converters") if "StringConverter" not in v["ask"]["class"]],
    vectors.short,
)
def test_messages_are_read_and_written_as_by_kafka_connect(vector):
    """Bytes, wrong sizes, wrong types and nulls: the answers are Kafka Connect's own."""
    vectors.agrees(vector)


@pytest.mark.parametrize("kind", ALL)
@given(data=st.data())
def test_values_come_back_as_they_went(kind, data):
    """Whatever the schema allows survives, one by one, in a batch and as a header."""
    converter, schema = made(kind), ALL[kind]
    value = data.draw(values(schema))
    written = converter.from_connect("t", schema, value)
    assert converter.to_connect("t", written) == (schema, value)
    assert converter.to_connect_batch("t", [written, None], [()] * 2) == (
        [schema] * 2,
        [value, None],
    )
    header = converter.from_connect_header("t", "h", schema, value)
    assert converter.to_connect_header("t", "h", header) == (schema, value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [(ShortConverter, 2**15), (IntegerConverter, -(2**31) - 1), (LongConverter, 2**63)],
)
def test_numbers_out_of_range_are_errors(kind, value):
    """A number that has no room is refused and named, never cut."""
    with pytest.raises(DataError, match=f"{value} is out of its range"):
        made(kind).from_connect("t", None, value)


def test_a_float32_too_large_is_an_error():
    """A float64 beyond the largest float32 is refused."""
    with pytest.raises(DataError, match="Failed to serialize to float"):
        made(FloatConverter).from_connect("t", None, 1e39)


@given(st.floats(width=32, allow_nan=False))
def test_float32_is_read_with_its_own_digits(value):
    """The value read prints as the float32 does: 0.1, not 0.10000000149011612."""
    read = made(FloatConverter).to_connect("t", struct.pack(">f", value)).value
    assert read == float32(value)
    assert struct.pack(">f", read) == struct.pack(">f", value)


def test_bytes_of_other_kinds_are_written_as_bytes():
    """A bytearray or memoryview is what it holds."""
    converter = made(ByteArrayConverter)
    assert converter.from_connect("t", None, bytearray(b"ab")) == b"ab"
    assert converter.from_connect("t", None, memoryview(b"ab")) == b"ab"
