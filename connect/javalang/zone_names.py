"""Time zones in the text of a date: offsets, and the names Java reads in English.

A name stands for one offset, winter or summer by its own words. Where a short name is used in
several countries, this is the one Java takes: IST is Israel's, CST America's.
"""

import re

_HOUR = 3_600_000

_NAMES = {
    "UTC": 0,
    "Coordinated Universal Time": 0,
    "GMT": 0,
    "Greenwich Mean Time": 0,
    "WET": 0,
    "Western European Standard Time": 0,
    "WEST": 1,
    "Western European Summer Time": 1,
    "BST": 1,
    "British Summer Time": 1,
    "CET": 1,
    "Central European Standard Time": 1,
    "CEST": 2,
    "Central European Summer Time": 2,
    "EET": 2,
    "Eastern European Standard Time": 2,
    "EEST": 3,
    "Eastern European Summer Time": 3,
    "MSK": 3,
    "Moscow Standard Time": 3,
    "IST": 2,
    "India Standard Time": 5.5,
    "PKT": 5,
    "WIB": 7,
    "HKT": 8,
    "China Standard Time": 8,
    "Singapore Standard Time": 8,
    "AWST": 8,
    "JST": 9,
    "Japan Standard Time": 9,
    "KST": 9,
    "Korean Standard Time": 9,
    "ACST": 9.5,
    "AEST": 10,
    "Australian Eastern Standard Time": 10,
    "AEDT": 11,
    "Australian Eastern Daylight Time": 11,
    "NZST": 12,
    "New Zealand Standard Time": 12,
    "NZDT": 13,
    "New Zealand Daylight Time": 13,
    "SAST": 2,
    "South Africa Standard Time": 2,
    "CAT": 2,
    "EAT": 3,
    "WAT": 1,
    "NST": -3.5,
    "NDT": -2.5,
    "Brasilia Standard Time": -3,
    "AST": -4,
    "Atlantic Standard Time": -4,
    "ADT": -3,
    "Atlantic Daylight Time": -3,
    "EST": -5,
    "Eastern Standard Time": -5,
    "EDT": -4,
    "Eastern Daylight Time": -4,
    "CST": -6,
    "Central Standard Time": -6,
    "CDT": -5,
    "Central Daylight Time": -5,
    "MST": -7,
    "Mountain Standard Time": -7,
    "MDT": -6,
    "Mountain Daylight Time": -6,
    "PST": -8,
    "Pacific Standard Time": -8,
    "PDT": -7,
    "Pacific Daylight Time": -7,
    "AKST": -9,
    "Alaska Standard Time": -9,
    "AKDT": -8,
    "Alaska Daylight Time": -8,
    "HST": -10,
    "Hawaii-Aleutian Standard Time": -10,
}
_OFFSETS = {name.lower(): int(hours * _HOUR) for name, hours in _NAMES.items()}
_NAME = re.compile(
    "|".join(re.escape(name) for name in sorted(_OFFSETS, key=len, reverse=True)), re.IGNORECASE
)
_GMT_OFFSET = re.compile(r"GMT([+-])([0-9]{1,2}):([0-9]{2})", re.IGNORECASE)
_RFC_822 = re.compile(r"([+-])([0-9]{2})([0-9]{2})")
_ISO_8601 = {
    1: re.compile(r"([+-])([0-9]{2})()"),
    2: _RFC_822,
    3: re.compile(r"([+-])([0-9]{2}):([0-9]{2})"),
}


def read_zone(text: str, at: int) -> tuple[int, int] | None:
    """Read what `z` and `Z` stand for: the offset in milliseconds and where it ends."""
    if text[at] in "+-":
        return _numeric(_RFC_822, text, at)
    if text[at : at + 3].upper() == "GMT" and text[at + 3 : at + 4] in ("+", "-"):
        return _numeric(_GMT_OFFSET, text, at)
    name = _NAME.match(text, at)
    return (_OFFSETS[name.group().lower()], name.end()) if name else None


def read_iso_zone(text: str, at: int, count: int) -> tuple[int, int] | None:
    """Read what `X`, `XX` or `XXX` stands for."""
    if text[at] == "Z":
        return 0, at + 1
    return _numeric(_ISO_8601[count], text, at)


def _numeric(form: re.Pattern[str], text: str, at: int) -> tuple[int, int] | None:
    match = form.match(text, at)
    if not match:
        return None
    sign, hours, minutes = match.groups()
    if int(hours) > 23 or int(minutes or 0) > 59:
        return None
    offset = int(hours) * _HOUR + int(minutes or 0) * 60_000
    return (-offset if sign == "-" else offset), match.end()
