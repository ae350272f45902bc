"""From the fields that were read of a date to the moment they name, as a lenient Calendar does.

Fields may contradict each other: where two ways lead to a day, the one whose field was set last
is taken. Numbers beyond their range count on: 30 February is 1 or 2 March.
"""

import enum
from collections.abc import Callable

from connect.javalang.calendar import (
    MILLIS_PER_DAY,
    WeekRules,
    date_of,
    day_of,
    on_or_before,
)


class CalendarField(enum.Enum):
    ERA = enum.auto()
    YEAR = enum.auto()
    WEEK_YEAR = enum.auto()
    MONTH = enum.auto()
    WEEK_OF_YEAR = enum.auto()
    WEEK_OF_MONTH = enum.auto()
    DAY_OF_MONTH = enum.auto()
    DAY_OF_YEAR = enum.auto()
    DAY_OF_WEEK = enum.auto()
    DAY_OF_WEEK_IN_MONTH = enum.auto()
    AM_PM = enum.auto()
    HOUR = enum.auto()
    HOUR_OF_DAY = enum.auto()
    MINUTE = enum.auto()
    SECOND = enum.auto()
    MILLISECOND = enum.auto()
    ZONE_OFFSET = enum.auto()


_F = CalendarField

BC = 0


class DateFields:
    """Values of calendar fields in the order in which they were set."""

    def __init__(self) -> None:
        self._values: dict[CalendarField, int] = {}
        self._stamps: dict[CalendarField, int] = {}
        self._clock = 0

    def set(self, field: CalendarField, value: int) -> None:
        self._values[field] = value
        self._clock += 1
        self._stamps[field] = self._clock

    def add_years(self, years: int) -> None:
        for field in (_F.YEAR, _F.WEEK_YEAR):
            if field in self._values:
                self._values[field] += years

    def millis(self, weeks: WeekRules) -> int:
        """Milliseconds from the epoch, in 64 bits as Java's long has them."""
        get = self._values.get
        time = self._hour()
        time = time * 60 + get(_F.MINUTE, 0)
        time = time * 60 + get(_F.SECOND, 0)
        time = time * 1000 + get(_F.MILLISECOND, 0)
        total = self._day(weeks) * MILLIS_PER_DAY + time - get(_F.ZONE_OFFSET, 0)
        return (total + 2**63) % 2**64 - 2**63

    def _hour(self) -> int:
        stamp = self._stamps.get
        twelve = max(stamp(_F.HOUR, 0), stamp(_F.AM_PM, 0))
        twelve_is_whole = _F.HOUR in self._stamps and _F.AM_PM in self._stamps
        by_day = stamp(_F.HOUR_OF_DAY, 0)
        if by_day and not (twelve_is_whole and twelve > by_day):
            return self._values[_F.HOUR_OF_DAY]
        return self._values.get(_F.HOUR, 0) + 12 * self._values.get(_F.AM_PM, 0)

    def _day(self, weeks: WeekRules) -> int:
        if self._stamps.get(_F.WEEK_YEAR, 0) > self._stamps.get(_F.YEAR, 0):
            return self._day_of_week_date(weeks)
        year = self._values.get(_F.YEAR, 1970)
        if self._values.get(_F.ERA) == BC:
            year = 1 - year
        return self._way_to_day()(year, weeks)

    def _day_of_week_date(self, weeks: WeekRules) -> int:
        """A week year overrides month and day: Java's `YYYY-MM-dd` gives days around New Year."""
        year = self._values[_F.WEEK_YEAR]
        if self._values.get(_F.ERA) == BC:
            year = 1 - year
        start = weeks.first_week(day_of(year, 0, 1))
        week = self._values.get(_F.WEEK_OF_YEAR, 1)
        weekday = self._values.get(_F.DAY_OF_WEEK, weeks.first_day)
        if not 1 <= weekday <= 7:
            # Only `u`, which counts from Monday, can have set it so.
            more, from_monday = divmod(weekday - 1, 7)
            week += more
            weekday = (from_monday + 1) % 7 + 1
        return start + 7 * (week - 1) + (weekday - weeks.first_day) % 7

    def _way_to_day(self) -> Callable[[int, WeekRules], int]:
        """Choose among the ways that the fields allow by which was completed last."""
        stamp = self._stamps.get
        weekday = stamp(_F.DAY_OF_WEEK, 0)
        week_of_month = stamp(_F.WEEK_OF_MONTH, 0)
        in_month = stamp(_F.DAY_OF_WEEK_IN_MONTH, 0)
        week_of_year = stamp(_F.WEEK_OF_YEAR, 0)

        def with_weekday(week: int) -> int:
            return max(week, weekday) if week and weekday else 0

        by_month = stamp(_F.DAY_OF_MONTH, 0)
        by_year = stamp(_F.DAY_OF_YEAR, 0)
        by_week_of_month = with_weekday(week_of_month)
        by_weekday_in_month = with_weekday(in_month)
        by_week_of_year = with_weekday(week_of_year)
        last = max(by_month, by_year, by_week_of_month, by_weekday_in_month, by_week_of_year)
        if not last:
            # No way is complete. A week alone means its first day, a weekday alone the first
            # one of the month.
            by_week_of_month, by_week_of_year = week_of_month, week_of_year
            by_weekday_in_month = max(in_month, weekday)
            last = max(by_week_of_month, by_weekday_in_month, by_week_of_year)
        if last == by_month:
            return self._from_day_of_month
        if last == by_year:
            return self._from_day_of_year
        # A weekday that was set last completes every week at once: the latest week wins.
        ways = [
            (by_week_of_month, week_of_month, 2, self._from_week_of_month),
            (by_weekday_in_month, in_month, 1, self._from_weekday_in_month),
            (by_week_of_year, week_of_year, 0, self._from_week_of_year),
        ]
        return max((way for way in ways if way[0] == last), key=lambda way: way[1:3])[3]

    def _from_day_of_month(self, year: int, _: WeekRules) -> int:
        get = self._values.get
        return day_of(year, get(_F.MONTH, 0), get(_F.DAY_OF_MONTH, 1))

    def _from_day_of_year(self, year: int, _: WeekRules) -> int:
        return day_of(year, 0, 1) + self._values[_F.DAY_OF_YEAR] - 1

    def _from_week_of_month(self, year: int, weeks: WeekRules) -> int:
        first = day_of(year, self._values.get(_F.MONTH, 0), 1)
        return self._from_week(weeks.first_week(first), self._values[_F.WEEK_OF_MONTH])

    def _from_week_of_year(self, year: int, weeks: WeekRules) -> int:
        first = day_of(year, 0, 1)
        return self._from_week(weeks.first_week(first), self._values[_F.WEEK_OF_YEAR])

    def _from_week(self, first_week: int, week: int) -> int:
        weekday = self._values.get(_F.DAY_OF_WEEK)
        start = first_week if weekday is None else on_or_before(first_week + 6, weekday)
        return start + 7 * (week - 1)

    def _from_weekday_in_month(self, year: int, weeks: WeekRules) -> int:
        month = self._values.get(_F.MONTH, 0)
        weekday = self._values.get(_F.DAY_OF_WEEK, weeks.first_day)
        number = self._values.get(_F.DAY_OF_WEEK_IN_MONTH, 1)
        if number >= 0:
            return on_or_before(day_of(year, month, 1) + 7 * number - 1, weekday)
        # Counted from the last of the month.
        return on_or_before(day_of(year, month + 1, 1) + 7 * (number + 1) - 1, weekday)


def eighty_years_before(millis: int, weeks: WeekRules) -> int:
    """Where the hundred years begin that a two-digit year is looked for in."""
    day, time = divmod(millis, MILLIS_PER_DAY)
    date = date_of(day, weeks)
    earlier = min(
        day_of(date.year - 80, date.month, date.day_of_month),
        day_of(date.year - 80, date.month + 1, 1) - 1,  # 29 February of a common year
    )
    return earlier * MILLIS_PER_DAY + time
