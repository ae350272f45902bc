import datetime as dt
import decimal
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import Schema
from connect.data.java_text import java_text, writer_for


@pytest.fixture
def utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


# Pairs taken from a Java 17 and Kafka's own classes.
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (12, "12"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (1e-5, "1.0E-5"),
        (-1.5e300, "-1.5E300"),
        (1.2345678901234568e17, "1.2345678901234568E17"),
        (5e-324, "4.9E-324"),
        (1e-323, "9.9E-324"),
        (1.5e-323, "1.5E-323"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        ("text", "text"),
        ([], "[]"),
        ([1, 2.5, "s", None, True], "[1, 2.5, s, null, true]"),
        ({}, "{}"),
        ({"b": 1, "a": "x", "c": None}, "{a=x, b=1, c=null}"),
        ({"banana": 2, "x": 1}, "{banana=2, x=1}"),
        (decimal.Decimal("1.50"), "1.50"),
        (decimal.Decimal("1E+3"), "1E+3"),
        (decimal.Decimal("0.0000001"), "1E-7"),
        (decimal.Decimal("-0.00"), "0.00"),
        (b"\x00\x01\x02", "AAEC"),
    ],
)
def test_values_without_schema(value, text):
    """Each kind of value prints as Java prints it."""
    assert java_text(value) == text


def test_structs_leave_out_nulls_and_nest(utc):
    """A struct prints its fields that are not null, each by its schema, without blanks."""
    inner = Schema.struct("I").field("x", Schema.INT8).build()
    schema = (
        Schema.struct("N")
        .field("a", Schema.INT32)
        .field("n", Schema.OPTIONAL_STRING)
        .field("f", Schema.FLOAT32)
        .field("dec", Schema.decimal(2).build())
        .field("ts", Schema.timestamp().build())
        .field("da", Schema.date().build())
        .field("ti", Schema.time().build())
        .field("m", Schema.map(Schema.STRING, Schema.INT32).build())
        .field("l", Schema.array(Schema.OPTIONAL_STRING).build())
        .field("i", inner)
        .build()
    )
    value = {
        "a": 1,
        "n": None,
        "f": 0.1,
        "dec": decimal.Decimal("1.56"),
        "ts": dt.datetime(2096, 10, 2, 7, 6, 40, 123000, dt.UTC),
        "da": dt.date(1997, 5, 19),
        "ti": dt.time(4),
        "m": {"x": 1, "banana": 2},
        "l": ["a", None],
        "i": {"x": 3},
    }
    assert java_text(value, schema) == (
        "Struct{a=1,f=0.1,dec=1.56,ts=Tue Oct 02 07:06:40 UTC 2096,da=Mon May 19 00:00:00 UTC 1997,"
        "ti=Thu Jan 01 04:00:00 UTC 1970,m={banana=2, x=1},l=[a, null],i=Struct{x=3}}"
    )


def test_moments_print_in_the_local_time_zone(monkeypatch):
    """A Date prints in the zone of the machine, as java.util.Date does."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    try:
        moment = dt.datetime(2096, 10, 2, 7, 6, 40, tzinfo=dt.UTC)
        assert java_text(moment) == "Tue Oct 02 09:06:40 CEST 2096"
    finally:
        monkeypatch.undo()
        time.tzset()


# As java.util.HashMap lists them; the tables grow at 13 and at 25 entries.
@pytest.mark.parametrize(
    ("keys", "order"),
    [
        (["zip", "city", "state"], ["zip", "city", "state"]),
        (["id", "name", "email", "age"], ["name", "id", "email", "age"]),
        ([f"k{n}" for n in range(13)], [
            "k0", "k1", "k2", "k3", "k4", "k5", "k11", "k6", "k10", "k7", "k8", "k12", "k9",
        ]),
    ],
)  # fmt: skip
def test_maps_print_in_the_order_of_a_java_hash_map(keys, order):
    """Lines of maps equal those that the JVM wrote, key by key."""
    text = java_text(dict.fromkeys(keys, 0))
    assert text == "{" + ", ".join(f"{key}=0" for key in order) + "}"


def test_numbers_as_keys_hash_by_their_type():
    """An INT32 key has the hash of an Integer, an INT64 key that of a Long."""
    as_int = Schema.map(Schema.INT32, Schema.STRING).build()
    as_long = Schema.map(Schema.INT64, Schema.STRING).build()
    assert java_text({-7: "a", 5: "b"}, as_int) == "{5=b, -7=a}"
    assert java_text({196608: "a", 2: "b"}, as_int) == "{2=b, 196608=a}"
    assert java_text({2**32 + 2: "a", 2: "b"}, as_long) == "{2=b, 4294967298=a}"
    assert java_text({True: 1, False: 0}) == "{false=0, true=1}"


EQUAL_KEYS = [
    ("true", True, Schema.BOOLEAN), ("1", 1, Schema.INT32), ("1.0", 1.0, Schema.FLOAT64),
    ("-0.0", -0.0, Schema.FLOAT64), ("0.0", 0.0, Schema.FLOAT64), ("0", 0, Schema.INT64),
]  # fmt: skip


@pytest.mark.parametrize("keys", [EQUAL_KEYS, EQUAL_KEYS[::-1]])
def test_equal_keys_print_by_their_type(keys):
    """What another map held before changes nothing, though True equals 1."""
    for text, key, schema in keys:
        assert java_text({key: "x"}, Schema.map(schema, Schema.STRING).build()) == f"{{{text}=x}}"
        assert java_text({key: "x"}) == f"{{{text}=x}}"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_printed_numbers_read_back(number):
    """No digit is lost: the text is the same number, and always has a decimal point."""
    text = java_text(number, Schema.FLOAT64)
    assert float(text) == number
    assert "." in text


def test_writers_are_kept_by_schema():
    """The work of reading a schema is done once."""
    schema = Schema.array(Schema.INT32).build()
    assert writer_for(schema) is writer_for(schema)
