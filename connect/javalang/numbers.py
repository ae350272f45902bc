"""Java's numbers: how they print, how they are read, and what casts make of them.

Doubles and floats print as in Java 19 and later, with the fewest digits that tell a number from
its neighbours. Java 17 wrote a digit too many now and then, as 2.04764909482264064E17 for what is
2.0476490948226406E17 here; both read back as the same number.
"""

import decimal
import math
import re
import struct
from fractions import Fraction

from connect.javalang.errors import JavaNumberFormatError

__all__ = [
    "JavaNumberFormatError",
    "big_decimal_plain_str",
    "big_decimal_str",
    "double_to_int",
    "java_double_str",
    "java_float_str",
    "parse_big_decimal",
    "parse_double",
    "parse_float",
    "parse_integer",
    "shortest_float32",
    "to_float32",
    "wrap_int",
]

_FLOAT32 = struct.Struct("<f")
_UINT32 = struct.Struct("<I")
_SMALLEST_NORMAL_FLOAT32 = 2.0**-126

_INTEGER = re.compile(r"[+-]?\d+")
_DECIMAL_FLOAT = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_HEX_FLOAT = re.compile(
    r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?"
)
_NAMED_FLOATS = {
    sign + name: value
    for sign, factor in (("", 1.0), ("+", 1.0), ("-", -1.0))
    for name, value in (("NaN", math.nan), ("Infinity", factor * math.inf))
}
_BIG_DECIMAL = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?")
# What String.trim() takes off, which is more than blanks.
_TRIMMED = "".join(map(chr, range(0x21)))


# Printing


def java_double_str(value: float) -> str:
    """Double.toString."""
    if 1e-3 <= abs(value) < 1e7:
        return repr(value)
    if value == 0 or not math.isfinite(value):
        return _special(value)
    text = repr(value)
    digits, exponent = _scientific(text)
    if len(digits) == 1:
        # Java writes two digits at least, and so may come closer with the second.
        digits, exponent = _scientific(f"{value:.1e}")
    return _java_form(value < 0, digits, exponent)


def java_float_str(value: float) -> str:
    """Float.toString of the float32 nearest to value."""
    value = to_float32(value)
    if value == 0 or not math.isfinite(value):
        return _special(value)
    digits, exponent = _float32_digits(abs(value))
    return _java_form(value < 0, digits, exponent)


def shortest_float32(value: float) -> float:
    """The double that prints as the float32 nearest to value does: 0.1, not 0.10000000149."""
    value = to_float32(value)
    if value == 0 or not math.isfinite(value):
        return value
    digits, exponent = _float32_digits(abs(value))
    return math.copysign(float(f"{digits[0]}.{digits[1:]}e{exponent}"), value)


def _special(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    return sign + ("0.0" if value == 0 else "Infinity")


def _scientific(text: str) -> tuple[str, int]:
    """The digits of a printed number, and the power of ten of the first."""
    mantissa, _, power = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    exponent = int(power or 0) + len(whole) - 1 - (len(whole + fraction) - len(digits))
    return digits.rstrip("0") or "0", exponent


def _java_form(negative: bool, digits: str, exponent: int) -> str:
    sign = "-" if negative else ""
    if not -3 <= exponent < 7:
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    digits = digits.ljust(exponent + 2, "0")
    return f"{sign}{digits[: exponent + 1]}.{digits[exponent + 1 :]}"


def _float32_digits(value: float) -> tuple[str, int]:
    mantissa, _ = math.frexp(value)
    # A power of two has a nearer neighbour below than above, and numbers below the normal range
    # have fewer digits: there the nearest short decimal need not be the right one.
    if value >= _SMALLEST_NORMAL_FLOAT32 and mantissa != 0.5:
        # Six digits always survive a float32, so a number with fewer shows here as well.
        for precision in range(5, 9):
            text = f"{value:.{precision}e}"
            candidate = float(text)
            if candidate != value and _may_be_midpoint(candidate):
                break
            if to_float32(candidate) == value:
                return _scientific(text)
    return _float32_digits_exactly(value)


def _may_be_midpoint(value: float) -> bool:
    """Whether a double could lie halfway between two float32, where it may hide which is near."""
    mantissa, _ = math.frexp(value)
    return (mantissa * 2**25).is_integer()


def _float32_digits_exactly(value: float) -> tuple[str, int]:
    bits = _UINT32.unpack(_FLOAT32.pack(value))[0]
    exact = Fraction(value)
    below = Fraction(_FLOAT32.unpack(_UINT32.pack(bits - 1))[0])
    above = 2 * exact - below
    if bits & 0x7FFFFF == 0 and bits > 0x800000:
        above = exact + 2 * (exact - below)
    low, high = (exact + below) / 2, (exact + above) / 2
    # A number halfway is rounded to the even of the two.
    inclusive = bits % 2 == 0
    exponent = _scientific(repr(value))[1]
    for length in range(2, 18):
        unit = Fraction(10) ** (exponent - length + 1)
        floor = exact // unit
        fitting = [
            n
            for n in (floor, floor + 1)
            if low < n * unit < high or (inclusive and n * unit in (low, high))
        ]
        if fitting:
            best = min(fitting, key=lambda n: (abs(n * unit - exact), n % 2))
            return _scientific(f"{best}e{exponent - length + 1}")
    raise AssertionError(f"no decimal of 17 digits tells {value!r} from its neighbours")


# Casting


def to_float32(value: float) -> float:
    """The cast (float) of a double."""
    try:
        return float(_FLOAT32.unpack(_FLOAT32.pack(value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def wrap_int(value: int, bits: int) -> int:
    """The cast of an integer to a narrower type: the lowest bits, the first being the sign."""
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


def double_to_int(value: float, bits: int) -> int:
    """The cast of a double to byte (8 bits), short (16), int (32) or long (64).

    NaN is 0. Int and long stop at their limits; byte and short are cut out of that int.
    """
    if math.isnan(value):
        return 0
    limit = 1 << (max(bits, 32) - 1)
    whole = limit if value >= limit else -limit if value <= -limit else int(value)
    return wrap_int(min(whole, limit - 1), bits)


# Reading


def parse_integer(text: str, bits: int) -> int:
    """Byte.valueOf (8 bits), Short.valueOf (16), Integer.valueOf (32) or Long.valueOf (64)."""
    wide = max(bits, 32)
    # Java looks at UTF-16 units and knows no digits beyond the first plane.
    if len(text) > 4000 or not _INTEGER.fullmatch(text) or max(text) > "\uffff":
        raise _not_a_number(text)
    value = int(text)
    if not -(1 << (wide - 1)) <= value < 1 << (wide - 1):
        raise _not_a_number(text)
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise JavaNumberFormatError(f'Value out of range. Value:"{text}" Radix:10')
    return value


def parse_double(text: str) -> float:
    """Double.valueOf: blanks around, a type letter behind and hexadecimal are all fine."""
    text = text.strip(_TRIMMED)
    if text in _NAMED_FLOATS:
        return _NAMED_FLOATS[text]
    if match := _DECIMAL_FLOAT.fullmatch(text):
        return float(match[1])
    if match := _HEX_FLOAT.fullmatch(text):
        try:
            return float.fromhex(match[1])
        except OverflowError:
            return -math.inf if text[0] == "-" else math.inf
    if not text:
        raise JavaNumberFormatError("empty String")
    if re.fullmatch(r"[+-]?[0-9]*\.[0-9]*\..*", text):
        raise JavaNumberFormatError("multiple points")
    raise _not_a_number(text)


def parse_float(text: str) -> float:
    """Float.valueOf: the float32 nearest to the text itself, not to the double in between."""
    value = parse_double(text)
    rounded = to_float32(value)
    if not math.isfinite(value) or value in (0, rounded) or not _may_be_midpoint(value):
        return rounded
    # The double lies halfway, so the digits that it lost decide.
    exact = _exact(text.strip(_TRIMMED))
    if exact == Fraction(value):
        return rounded
    towards = math.inf if exact > Fraction(value) else -math.inf
    return to_float32(math.nextafter(value, towards))


def _exact(text: str) -> Fraction:
    if match := _DECIMAL_FLOAT.fullmatch(text):
        return Fraction(match[1])
    mantissa, _, power = text.lower().rstrip("fd").partition("p")
    sign = -1 if mantissa[0] == "-" else 1
    whole, _, fraction = mantissa.lstrip("+-").removeprefix("0x").partition(".")
    return sign * int(whole + fraction, 16) * Fraction(2) ** (int(power) - 4 * len(fraction))


def _not_a_number(text: str) -> JavaNumberFormatError:
    return JavaNumberFormatError(f'For input string: "{text}"')


# BigDecimal


def parse_big_decimal(text: str) -> decimal.Decimal:
    """BigDecimal(text): exact, with the scale as written, and without a negative zero."""
    match = _BIG_DECIMAL.fullmatch(text)
    if not match:
        raise JavaNumberFormatError(_big_decimal_complaint(text))
    sign, whole, fraction, exponent = match.groups()
    digits = whole + (fraction or "")
    if not digits:
        raise JavaNumberFormatError("No digits found." if text else _not_a_number(text).args[0])
    power = int(exponent or 0)
    if not -(2**31) < power < 2**31:
        raise JavaNumberFormatError("Exponent overflow.")
    power -= len(fraction or "")
    if not -(2**31) < power <= 2**31:
        raise JavaNumberFormatError("Scale out of range.")
    return _unsigned_zero(decimal.Decimal(f"{sign}{digits}E{power}"))


def _big_decimal_complaint(text: str) -> str:
    mantissa = re.match(r"[+-]?\d*\.?\d*", text)
    at = mantissa.end() if mantissa else 0
    if text[at] not in "eE":
        return (
            f"Character {text[at]} is neither a decimal digit number, decimal point, "
            'nor "e" notation exponential mark.'
        )
    if re.fullmatch(r"[eE][+-]?", text[at:]):
        return f'For input string: "{text}"'
    return "Not a digit."


def big_decimal_str(value: decimal.Decimal) -> str:
    """BigDecimal.toString: with an exponent where the plain form would hide or pad the scale."""
    return str(_unsigned_zero(value))


def big_decimal_plain_str(value: decimal.Decimal) -> str:
    """BigDecimal.toPlainString: never with an exponent."""
    value = _unsigned_zero(value)
    _, _, exponent = value.as_tuple()
    if not value and isinstance(exponent, int) and exponent > 0:
        return "0"
    return f"{value:f}"


def _unsigned_zero(value: decimal.Decimal) -> decimal.Decimal:
    return value or value.copy_abs()
