"""float32 values and the digits of floats."""

import decimal
import math
import struct
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.data.floats import exact_float32, float32, java_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (0.001, "0.001"), (9.99e-4, "9.99E-4"),
        (1e7, "1.0E7"), (9999999.999, "9999999.999"), (1e10, "1.0E10"), (1.5e-10, "1.5E-10"),
        (123456789.125, "1.23456789125E8"), (5e-324, "4.9E-324"), (1e-323, "9.9E-324"),
        (1.7976931348623157e308, "1.7976931348623157E308"), (math.nan, "NaN"),
        (math.inf, "Infinity"), (-math.inf, "-Infinity"), (1e23, "1.0E23"), (2e22, "2.0E22"),
    ],
)  # fmt: skip
def test_floats_are_written_as_by_java(value, text):
    """Point notation from a thousandth to ten million, a capital E beyond."""
    assert java_text(value) == text


@given(st.floats(allow_nan=False))
def test_texts_give_their_floats_back(value):
    """No digit is missing."""
    assert float(java_text(value)) == value


@given(st.floats(width=32, allow_nan=False))
def test_a_float32_keeps_its_bits(value):
    """The float with the short digits is the same float32."""
    short = float32(value)
    assert struct.pack(">f", short) == struct.pack(">f", value)
    assert len(repr(short)) <= len(repr(value))


@pytest.mark.parametrize(
    ("value", "short"),
    [(struct.unpack(">f", struct.pack(">f", 0.1))[0], 0.1), (16777217.0, 16777216.0),
     (1e39, math.inf), (-1e39, -math.inf), (1e-46, 0.0), (1.4e-45, 1.4e-45),
     (123456.789, 123456.79), (2.0**-96, 1.2621775e-29)],
)  # fmt: skip
def test_floats_become_float32(value, short):
    """Rounded to the nearest, too large ones to infinity."""
    assert float32(value) == short


def nearest_float32(number):
    """The definition: of all float32s the nearest, the even one of two."""
    guess = float32(float(number))
    bits = int.from_bytes(struct.pack(">f", abs(guess)), "big")
    near = [b for b in (bits - 1, bits, bits + 1) if 0 <= b < 0x7F800000]
    exact = {b: Fraction(struct.unpack(">f", b.to_bytes(4, "big"))[0]) for b in near}
    target = abs(Fraction(number))
    best = min(near, key=lambda b: (abs(exact[b] - target), b & 1))
    return math.copysign(struct.unpack(">f", best.to_bytes(4, "big"))[0], guess)


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30))
def test_long_numbers_are_rounded_once(number):
    """From all the digits, not from a float64 that was rounded before."""
    found = struct.pack(">f", exact_float32(number))
    assert found == struct.pack(">f", nearest_float32(number)) or number == 0


def test_the_middle_between_two_float32_is_decided_by_the_last_digit():
    """A float64 can't hold the digit that makes this number larger than the middle."""
    middle = 1 + 2.0**-24
    above = decimal.Decimal(f"{decimal.Decimal(middle)}0000001")
    assert exact_float32(above) == float32(1 + 2.0**-23)
    assert exact_float32(decimal.Decimal(middle)) == 1.0
