"""Numbers here and in Java: the vectors were printed by Java 25."""

import decimal
import json
import math
import pathlib
import re
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect.javalang.numbers import (
    JavaNumberFormatError,
    big_decimal_plain_str,
    big_decimal_str,
    double_to_int,
    java_double_str,
    java_float_str,
    parse_big_decimal,
    parse_double,
    parse_float,
    parse_integer,
    shortest_float32,
    to_float32,
    wrap_int,
)
from tests.support.cases import every

VECTORS = json.loads((pathlib.Path(__file__).parent / "vectors" / "numbers.json").read_text())


def double_of(bits):
    return struct.unpack("<d", struct.pack("<q", bits))[0]


def float_of(bits):
    return struct.unpack("<f", struct.pack("<i", bits))[0]


def expect(expected, parse, text):
    """Java's value, or Java's error text where the vector holds one."""
    if isinstance(expected, str):
        with pytest.raises(JavaNumberFormatError, match=f"^{re.escape(expected)}$"):
            parse(text)
    else:
        assert parse(text) == expected


@every(VECTORS["double"])
def test_doubles_print_as_in_java(bits, text):
    """Double.toString: the fewest digits, two at least, and E outside 1e-3 to 1e7."""
    assert java_double_str(double_of(bits)) == text


@every(VECTORS["float"])
def test_floats_print_as_in_java(bits, text):
    """Float.toString: the fewest digits that tell one float32 from the next."""
    assert java_float_str(float_of(bits)) == text


@every(VECTORS["cast"])
def test_casts_of_doubles(value, *expected):
    """(byte), (short), (int) and (long) of a double give what Java gives."""
    assert [double_to_int(float(value), bits) for bits in (8, 16, 32, 64)] == list(expected)


@every(VECTORS["integer"])
def test_integers_are_read_as_in_java(bits, text, expected):
    """Byte, Short, Integer and Long.valueOf agree in values and error texts."""
    expect(expected, lambda t: parse_integer(t, bits), text)


def test_endless_digits_are_refused():
    """A text far too long for any number is refused like one a little too long."""
    with pytest.raises(JavaNumberFormatError, match="For input string"):
        parse_integer("1" * 10_000, 64)


@every(VECTORS["parse_double"])
def test_doubles_are_read_as_in_java(text, expected):
    """Double.valueOf agrees to the bit, or in the error text."""

    def parse(text):
        return struct.unpack("<q", struct.pack("<d", parse_double(text)))[0]

    expect(expected, parse, text)


@every(VECTORS["parse_float"])
def test_floats_are_read_as_in_java(text, expected):
    """Float.valueOf agrees to the bit, also where a double in between would round twice."""

    def parse(text):
        return struct.unpack("<i", struct.pack("<f", parse_float(text)))[0]

    expect(expected, parse, text)


@every(VECTORS["big_decimal"])
def test_big_decimals_are_read_and_printed_as_in_java(text, expected):
    """Unscaled value, scale, toString and toPlainString of new BigDecimal(text)."""
    if isinstance(expected, str):
        expect(expected, parse_big_decimal, text)
        return
    unscaled, scale, printed, plain = expected
    value = parse_big_decimal(text)
    sign, digits, exponent = value.as_tuple()
    assert ("-" if sign else "") + "".join(map(str, digits)) == unscaled
    assert str(-exponent) == scale
    assert big_decimal_str(value) == printed
    if plain != "long":
        assert big_decimal_plain_str(value) == plain


@pytest.mark.parametrize("text", ["", "1e", "1E+"])
def test_big_decimal_names_the_text_where_java_says_nothing(text):
    """Java's error has no text for these; ours shows what was read."""
    with pytest.raises(JavaNumberFormatError, match=re.escape(f'For input string: "{text}"')):
        parse_big_decimal(text)


def test_big_decimal_refuses_exponents_beyond_an_int():
    """A scale that does not fit 32 bits is refused."""
    with pytest.raises(JavaNumberFormatError, match="Exponent overflow"):
        parse_big_decimal("1E2147483648")


def test_no_negative_zero_among_big_decimals():
    """BigDecimal has one zero per scale, so a negative one is printed without its sign."""
    assert big_decimal_str(decimal.Decimal("-0.00")) == "0.00"
    assert big_decimal_plain_str(decimal.Decimal("-0E+2")) == "0"


@settings(deadline=None)
@given(st.floats(allow_nan=False))
def test_printed_doubles_read_back(value):
    """What is printed reads back as the same double."""
    assert parse_double(java_double_str(value)) == value


@settings(deadline=None)
@given(st.floats(width=32, allow_nan=False))
def test_printed_floats_read_back(value):
    """What is printed reads back as the same float32, and never needs more than nine digits."""
    text = java_float_str(value)
    assert parse_float(text) == value
    assert len(re.sub(r"E.*|\D", "", text).strip("0")) <= 9


@settings(deadline=None)
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_shortest_double_of_a_float(value):
    """The double that stands for a float32 goes back to it and prints as short."""
    double = shortest_float32(value)
    assert to_float32(double) == value
    assert java_double_str(double) == java_float_str(value)


@settings(deadline=None)
@given(st.integers(), st.sampled_from([8, 16, 32, 64]))
def test_wrapping_keeps_the_low_bits(value, bits):
    """A narrowed integer has the same low bits and fits."""
    wrapped = wrap_int(value, bits)
    assert (wrapped - value) % 2**bits == 0
    assert -(2 ** (bits - 1)) <= wrapped < 2 ** (bits - 1)


@settings(deadline=None)
@given(st.floats(allow_nan=False), st.sampled_from([32, 64]))
def test_casts_stop_at_the_limits(value, bits):
    """Int and long casts cut off the fraction and stop at the ends of the type."""
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    expected = (
        (high if value > 0 else low) if math.isinf(value) else max(low, min(high, int(value)))
    )
    assert double_to_int(value, bits) == expected


@settings(deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_printed_big_decimals_read_back(value):
    """Scale and value survive toString."""
    again = parse_big_decimal(big_decimal_str(value))
    assert again == value
    assert again.as_tuple().exponent == value.as_tuple().exponent
