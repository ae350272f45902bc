"""The calendar of java.util.GregorianCalendar: Julian until October 1582, then Gregorian.

Days are counted from 1 January 1970, years astronomically (0 is 1 BC), months from 0, and days of
the week as Java does, from SUNDAY = 1. Python's datetime ends at the year 9999; Java does not.
"""

import bisect
from dataclasses import dataclass
from itertools import accumulate

SUNDAY = 1

MILLIS_PER_DAY = 86_400_000
_GREGORIAN_START = -141_427  # 15 October 1582
_EPOCH = 719_162  # days from 1 January 0001 of the Gregorian calendar to 1 January 1970
_JULIAN_LAG = 2  # the Julian year 1 began so many days before the Gregorian

_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_STARTS = (0, *accumulate(_MONTHS))[:12]
_LEAP_STARTS = tuple(start + (month > 1) for month, start in enumerate(_STARTS))


@dataclass(frozen=True, slots=True)
class Date:
    """A day in all the terms that date patterns use."""

    year: int
    month: int
    day_of_month: int
    day_of_year: int
    day_of_week: int
    day_of_week_in_month: int
    week_of_year: int
    week_of_month: int
    week_year: int


@dataclass(frozen=True, slots=True)
class WeekRules:
    """Where a week begins, and how many days make the first week of a year or month.

    The defaults are those of the United States. Java elsewhere, and Java without a country in
    its locale, begins a week on Monday.
    """

    first_day: int = SUNDAY
    minimal_days: int = 1

    def first_week(self, period_start: int) -> int:
        """The day on which the first week of the year or month that starts there begins."""
        begin = on_or_before(period_start + 6, self.first_day)
        return begin - 7 if begin - period_start >= self.minimal_days else begin


def _is_leap(year: int, *, julian: bool) -> bool:
    return year % 4 == 0 and (julian or year % 100 != 0 or year % 400 == 0)


def _year_start(year: int, *, julian: bool) -> int:
    """The first of January by one of the two calendars."""
    before = year - 1
    days = 365 * before + before // 4 - _EPOCH
    return days - _JULIAN_LAG if julian else days - before // 100 + before // 400


def _month_start(year: int, month: int, *, julian: bool) -> int:
    year += month // 12
    starts = _LEAP_STARTS if _is_leap(year, julian=julian) else _STARTS
    return _year_start(year, julian=julian) + starts[month % 12]


def day_of(year: int, month: int, day_of_month: int) -> int:
    """The day of a date, whose month and day may lie beyond the year or month.

    Ten dates of October 1582 that never were count as Julian.
    """
    if year >= 1582:
        day = _month_start(year, month, julian=False) + day_of_month - 1
        if day >= _GREGORIAN_START:
            return day
    return _month_start(year, month, julian=True) + day_of_month - 1


def on_or_before(day: int, day_of_week: int) -> int:
    """The last day up to this one that is such a day of the week."""
    return day - (day - day_of_week + 5) % 7


def date_of(day: int, weeks: WeekRules) -> Date:
    julian = day < _GREGORIAN_START
    year = _year_of(day, julian=julian)
    starts = _LEAP_STARTS if _is_leap(year, julian=julian) else _STARTS
    in_year = day - _year_start(year, julian=julian)
    month = bisect.bisect_right(starts, in_year) - 1
    day_of_month = in_year - starts[month] + 1

    # In 1582 the days are counted through, though their dates jump.
    new_year, next_year = day_of(year, 0, 1), day_of(year + 1, 0, 1)
    first = day_of(year, month, 1)
    week_of_year = (day - weeks.first_week(new_year)) // 7 + 1
    week_year = year
    if week_of_year == 0:
        week_year -= 1
        week_of_year = (day - weeks.first_week(day_of(year - 1, 0, 1))) // 7 + 1
    elif day >= weeks.first_week(next_year):
        week_year += 1
        week_of_year = 1
    return Date(
        year=year,
        month=month,
        day_of_month=day_of_month,
        day_of_year=day - new_year + 1,
        day_of_week=(day + 4) % 7 + 1,
        day_of_week_in_month=(day - first) // 7 + 1,
        week_of_year=week_of_year,
        week_of_month=(day - weeks.first_week(first)) // 7 + 1,
        week_year=week_year,
    )


def _year_of(day: int, *, julian: bool) -> int:
    # A guess from the mean length of a year is off by one at most.
    cycle, years = (1461, 4) if julian else (146_097, 400)
    year = (day - _year_start(1, julian=julian)) * years // cycle + 1
    while _year_start(year, julian=julian) > day:
        year -= 1
    while _year_start(year + 1, julian=julian) <= day:
        year += 1
    return year
