"""Floating point as the JVM has it: float32 values, and the digits both widths are written with.

Digits are the shortest that give the number back, which is what `Double.toString` writes since
JDK 19 (older ones add digits to a few numbers such as 2.0E-3 or 1.0E23).
"""

from __future__ import annotations

import decimal
import math
import struct

from connect.javalang import numbers
from connect.javalang.numbers import java_double_str

_FLOAT32 = struct.Struct(">f")
_FLOAT64 = struct.Struct(">d")
_FLOAT32_NORMAL = 2.0**-126
# A power of two has a nearer neighbour below than above, so the nearest decimal of few digits need
# not be the one that tells it from both.
_POWER_OF_TWO = (0.5, -0.5)
# The part of a float64 that a float32 has no room for, and that part at exactly one half.
_LOST_BITS = (1 << 29) - 1
_HALF = 1 << 28


def float32(value: float) -> float:
    """The float32 nearest to value, as the float that prints with the float32's own digits.

    0.1 stays 0.1 though the float32 is 0.100000001490116…; too large a value becomes infinite.
    """
    if _FLOAT32_NORMAL <= abs(value) < 1e38:
        # Six digits always survive a float32: a value that has no more is one already, and one
        # that is the same float32 as its first six digits prints as those.
        short = float(f"{value:.6g}")
        if short == value or _FLOAT32.pack(short) == _FLOAT32.pack(value):
            return short
    try:
        packed = _FLOAT32.pack(value)
    except OverflowError:
        return math.copysign(math.inf, value)
    return shortest_float32(packed)


def shortest_float32(packed: bytes) -> float:
    """The float with the fewest digits that is these four bytes' float32, big end first."""
    value: float = _FLOAT32.unpack(packed)[0]
    if value == 0.0 or not math.isfinite(value):
        return value
    if math.frexp(value)[0] in _POWER_OF_TWO:
        return numbers.shortest_float32(value)
    for digits in range(6 if abs(value) >= _FLOAT32_NORMAL else 2, 10):
        candidate = float(f"{value:.{digits}g}")
        try:
            if _FLOAT32.pack(candidate) == packed:
                return candidate
        except OverflowError:  # rounded up beyond the largest float32
            continue
    return value


def exact_float32(number: int | decimal.Decimal) -> float:
    """The float32 nearest to a number that may have more digits than a float64 holds."""
    value = nearest_float64(number)
    bits: int = int.from_bytes(_FLOAT64.pack(value), "big")
    # Rounding twice goes wrong where the float64 fell on the middle between two float32s.
    if bits & _LOST_BITS == _HALF and number != value:
        value = math.nextafter(value, math.inf if number > value else -math.inf)
    return float32(value)


def nearest_float64(number: int | decimal.Decimal) -> float:
    """The float64 nearest to a number, infinite where it is too large."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def java_text(value: float) -> str:
    """How Java writes a double: 1.0E10, 0.001, NaN. For a float32 give the float `float32` made."""
    return java_double_str(float(value))
