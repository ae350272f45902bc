"""Logical values and their plain ones."""

import datetime as dt
import decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import DataError, Schema
from connect.data import logical
from tests.support.strategies import values

SCHEMAS = [
    Schema.decimal(0).build(),
    Schema.decimal(7).build(),
    Schema.decimal(-3).build(),
    Schema.date().build(),
    Schema.time().build(),
    Schema.timestamp().build(),
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
@given(data=st.data())
def test_values_come_back_from_their_plain_form(schema, data):
    """To the base type and back, nothing is lost."""
    value = data.draw(values(schema))
    back = logical.from_base(schema)(logical.to_base(schema)(value))
    assert back == value
    assert str(back) == str(value) or value == 0


@pytest.mark.parametrize(
    ("number", "data"),
    [(0, "00"), (127, "7f"), (128, "0080"), (-128, "80"), (-129, "ff7f"), (156, "009c")],
)
def test_decimals_are_shortest_twos_complement(number, data):
    """The bytes are those of Java's BigInteger."""
    assert logical.integer_to_bytes(number).hex() == data
    assert logical.decimal_from_bytes(bytes.fromhex(data), 2) == decimal.Decimal(number) / 100


def test_decimals_of_any_length_are_exact():
    """A hundred digits stay a hundred digits, whatever the context of the thread says."""
    value = decimal.Decimal("1" * 100 + "." + "2" * 50)
    assert logical.decimal_from_bytes(logical.decimal_to_bytes(value, 50), 50) == value


@pytest.mark.parametrize("value", ["1.5", "1.500", "NaN", "Infinity", "1E+2"])
def test_another_scale_is_an_error(value):
    """A decimal that does not have its schema's scale is refused in Kafka Connect's words."""
    write = logical.to_base(Schema.decimal(2).build())
    with pytest.raises(DataError, match=r"mismatching scale.*Schema has scale 2"):
        write(decimal.Decimal(value))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (Schema.date().build(), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
        (Schema.date().build(), 5),
        (Schema.time().build(), "12:00"),
        (Schema.timestamp().build(), dt.date(2020, 1, 1)),
        (Schema.timestamp().build(), 0),
        (Schema.decimal(2).build(), 1.25),
    ],
)
def test_values_of_other_types_are_errors(schema, value):
    """A date with a time of day is no date, and a number is none either."""
    with pytest.raises(DataError, match=f"Invalid type for {schema.name.split('.')[-1]}"):
        logical.to_base(schema)(value)


def test_a_timestamp_needs_a_time_zone():
    """A naive datetime could mean anything, and the error says what to do."""
    with pytest.raises(DataError, match=r"no time zone: give it one, such as datetime\.UTC"):
        logical.datetime_to_millis(dt.datetime(2020, 1, 1))  # noqa: DTZ001


def test_time_zones_do_not_matter():
    """The same moment in another zone is the same number."""
    there = dt.timezone(dt.timedelta(hours=5))
    moment = dt.datetime(2020, 1, 1, 5, tzinfo=there)
    assert logical.datetime_to_millis(moment) == 1577836800000


def test_microseconds_are_cut_off_towards_the_past():
    """Kafka Connect counts milliseconds."""
    moment = dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC)
    assert logical.datetime_to_millis(moment) == -1


@pytest.mark.parametrize(
    ("read", "number"),
    [
        (logical.date_from_days, 2932897),
        (logical.date_from_days, -719163),
        (logical.date_from_days, 2**31),
        (logical.datetime_from_millis, 253402300800000),
        (logical.datetime_from_millis, -(2**63)),
    ],
)
def test_numbers_beyond_pythons_dates_are_errors_that_name_them(read, number):
    """The first day after 9999 and the last before year 1 are refused."""
    with pytest.raises(DataError, match=f"{number} .* outside the years 1 to 9999"):
        read(number)


def test_other_schemas_have_no_logical_form():
    """A plain schema, or a logical name on a type that is not its own, is left alone."""
    assert logical.from_base(Schema.INT32) is None
    odd = Schema.builder(Schema.STRING.type).name("org.apache.kafka.connect.data.Date").build()
    assert logical.to_base(odd) is None
