"""Dates and times in text, read as generously as Java's SimpleDateFormat reads them.

It takes any number of digits, spaces in front of them and minus signs, lets 25 months be two years
and one, and looks no further than its pattern goes. The calendar before October 1582 is Julian.
Only what Python's types can't hold is refused: years before 1 or after 9999, 24 hours and more.
"""

from __future__ import annotations

import datetime as dt
import re

_NUMBER = r"[ \t]*(-?\d+)"
_DATE = rf"{_NUMBER}-{_NUMBER}-{_NUMBER}"
_TIME = rf"{_NUMBER}:{_NUMBER}:{_NUMBER}\.{_NUMBER}Z"
_DATE_PATTERN = re.compile(_DATE)
_TIME_PATTERN = re.compile(_TIME)
_TIMESTAMP_PATTERN = re.compile(f"{_DATE}T{_TIME}")

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
# Days are counted as Python's ordinals: 1 is the first of January of the year 1.
_FIRST_GREGORIAN_DAY = dt.date(1582, 10, 15).toordinal()
_JULIAN_TO_GREGORIAN_AT_YEAR_1 = -2
_LENGTHS = {10: "date", 13: "time", 24: "timestamp"}


def parse_temporal(text: str) -> dt.date | dt.time | dt.datetime | None:
    """A date, a time or a timestamp, told apart by the length of the text; None if it is none."""
    text = text.replace("\\:", ":")
    try:
        match _LENGTHS.get(len(text)):
            case "date" if found := _DATE_PATTERN.match(text):
                return dt.date.fromordinal(_ordinal(*map(int, found.groups())))
            case "time" if found := _TIME_PATTERN.match(text):
                moment = _EPOCH + _duration(*map(int, found.groups()))
                return moment.time() if moment.date() == _EPOCH.date() else None
            case "timestamp" if found := _TIMESTAMP_PATTERN.match(text):
                year, month, day, *clock = map(int, found.groups())
                midnight = dt.datetime.combine(
                    dt.date.fromordinal(_ordinal(year, month, day)), dt.time(), dt.UTC
                )
                return midnight + _duration(*clock)
    except (ValueError, OverflowError):
        pass  # beyond what Python's types hold
    return None


def _duration(hours: int, minutes: int, seconds: int, millis: int) -> dt.timedelta:
    return dt.timedelta(hours=hours, minutes=minutes, seconds=seconds, milliseconds=millis)


def _ordinal(year: int, month: int, day: int) -> int:
    years, month = divmod(month - 1, 12)
    year += years
    if not 1 <= year <= 9999:
        raise ValueError(f"year {year}")
    gregorian = dt.date(year, month + 1, 1).toordinal() + day - 1
    if gregorian >= _FIRST_GREGORIAN_DAY and year >= 1582:
        return gregorian
    before = year - 1
    leap = year % 4 == 0
    days = before * 365 + before // 4 + _DAYS_BEFORE_MONTH[month] + (leap and month > 1)
    return days + day + _JULIAN_TO_GREGORIAN_AT_YEAR_1


_DAYS_BEFORE_MONTH = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
