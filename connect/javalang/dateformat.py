"""java.text.SimpleDateFormat in English and UTC, as Kafka Connect uses it."""

import functools
import operator
import re
import time
from collections.abc import Callable

from connect.javalang import date_pattern
from connect.javalang.calendar import MILLIS_PER_DAY, SUNDAY, Date, WeekRules, date_of, day_of
from connect.javalang.date_fields import CalendarField, DateFields, eighty_years_before
from connect.javalang.date_pattern import Field
from connect.javalang.errors import DatePatternError, UnparseableDateError
from connect.javalang.zone_names import read_iso_zone, read_zone

__all__ = ["DatePatternError", "SimpleDateFormat", "UnparseableDateError", "WeekRules"]

_NUMBER = re.compile(r"(-?)(\d+)(?:E(-?\d{1,3}))?")


class SimpleDateFormat:
    """Writes and reads moments by a pattern. Safe to share between threads, unlike Java's.

    Moments are milliseconds from the epoch. Reading is lenient: it begins at the start of the
    text, ignores what follows, and lets numbers run over. created, the moment in whose eighty
    years before and twenty years after a two-digit year is sought, is now by default.
    """

    def __init__(
        self, pattern: str, *, weeks: WeekRules | None = None, created: int | None = None
    ) -> None:
        """Raise DatePatternError, with Java's text, for a pattern Java refuses."""
        self.pattern = pattern
        self._weeks = weeks or WeekRules()
        self._parts = date_pattern.split(pattern)
        now = time.time_ns() // 1_000_000 if created is None else created
        self._century_start = eighty_years_before(now, self._weeks)
        self._century_year = date_of(self._century_start // MILLIS_PER_DAY, self._weeks).year
        self._time_values = _time_values(self._parts)
        self._plain_numbers = _plain_numbers(self._parts)
        # The day last written and its text, with places for the time of day: most moments fall
        # on the day of the one before.
        self._last_day: tuple[int | None, str] = (None, "")

    def __repr__(self) -> str:
        return f"SimpleDateFormat({self.pattern!r})"

    def format(self, millis: int) -> str:
        """Write a moment."""
        day, time_of_day = divmod(millis, MILLIS_PER_DAY)
        last_day, text = self._last_day
        if day != last_day:
            text = self._text_of_day(day)
            self._last_day = (day, text)
        if self._time_values is None:
            return text
        seconds, milli = divmod(time_of_day, 1000)
        minutes, second = divmod(seconds, 60)
        hour, minute = divmod(minutes, 60)
        half = hour % 12
        afternoon = date_pattern.HALF_DAYS[hour // 12]
        # In the order of _TIME_LETTERS.
        values = (hour, hour or 24, half, half or 12, minute, second, milli, afternoon)
        return text % self._time_values(values)

    def parse(self, text: str) -> int:
        """Read a moment, or raise UnparseableDateError."""
        if self._plain_numbers:
            quick = self._plain_numbers(text)
            if quick is not None:
                return quick
        fields = DateFields()
        at = 0
        in_doubt = False
        for part in self._parts:
            if isinstance(part, str):
                if not text.startswith(part, at):
                    raise UnparseableDateError(text, at)
                at += len(part)
                continue
            if not part.is_number:
                at = _TEXT_READERS[part.letter](fields, text, at, part.count)
                continue
            start = at
            value, at = _read_number(part, text, at)
            if part.letter in "yY" and part.count <= 2 and _is_two_digits(text, start, at):
                in_doubt = value == self._century_year % 100
                value = self._in_century(value)
            _set_number(fields, part.letter, value)
        if at == 0:
            raise UnparseableDateError(text, 0)
        millis = fields.millis(self._weeks)
        if in_doubt and millis < self._century_start:
            fields.add_years(100)
            millis = fields.millis(self._weeks)
        return millis

    def _in_century(self, value: int) -> int:
        century, first = divmod(self._century_year, 100)
        return century * 100 + value + (100 if value < first else 0)

    def _text_of_day(self, day: int) -> str:
        date = date_of(day, self._weeks)
        pieces: list[str] = []
        for part in self._parts:
            if isinstance(part, Field) and part.letter in _TIME_LETTERS:
                pieces.append("%s" if part.letter == "a" else f"%0{part.count}d")
                continue
            text = part if isinstance(part, str) else _DATE_WRITERS[part.letter](date, part.count)
            pieces.append(text if self._time_values is None else text.replace("%", "%%"))
        return "".join(pieces)


# Writing

_TIME_LETTERS = "HkKhmsSa"


def _time_values(
    parts: list[Field | str],
) -> Callable[[tuple[int | str, ...]], object] | None:
    letters = (part.letter for part in parts if isinstance(part, Field))
    wanted = [_TIME_LETTERS.index(letter) for letter in letters if letter in _TIME_LETTERS]
    return operator.itemgetter(*wanted) if wanted else None


def _padded(value: int, count: int) -> str:
    return f"{value:0{count + (value < 0)}d}"


def _year(value: int, count: int) -> str:
    if count != 2:
        return _padded(value, count)
    return ("-" if value < 0 else "") + f"{abs(value) % 100:02d}"


def _month(date: Date, count: int) -> str:
    if count <= 2:
        return _padded(date.month + 1, count)
    name = date_pattern.MONTHS[date.month]
    return name if count > 3 else name[:3]


def _weekday(date: Date, count: int) -> str:
    name = date_pattern.WEEKDAYS[date.day_of_week - SUNDAY]
    return name if count > 3 else name[:3]


_DATE_WRITERS: dict[str, Callable[[Date, int], str]] = {
    "G": lambda date, _: date_pattern.ERAS[date.year > 0],
    "y": lambda date, count: _year(date.year if date.year > 0 else 1 - date.year, count),
    "Y": lambda date, count: _year(date.week_year, count),
    "M": _month,
    "L": _month,
    "w": lambda date, count: _padded(date.week_of_year, count),
    "W": lambda date, count: _padded(date.week_of_month, count),
    "D": lambda date, count: _padded(date.day_of_year, count),
    "d": lambda date, count: _padded(date.day_of_month, count),
    "F": lambda date, count: _padded(date.day_of_week_in_month, count),
    "E": _weekday,
    "u": lambda date, count: _padded((date.day_of_week + 5) % 7 + 1, count),
    "z": lambda _, count: "Coordinated Universal Time" if count > 3 else "UTC",
    "Z": lambda _, __: "+0000",
    "X": lambda _, __: "Z",
}


# Reading

_NUMBER_FIELDS = {
    "y": CalendarField.YEAR,
    "Y": CalendarField.WEEK_YEAR,
    "M": CalendarField.MONTH,
    "L": CalendarField.MONTH,
    "w": CalendarField.WEEK_OF_YEAR,
    "W": CalendarField.WEEK_OF_MONTH,
    "D": CalendarField.DAY_OF_YEAR,
    "d": CalendarField.DAY_OF_MONTH,
    "F": CalendarField.DAY_OF_WEEK_IN_MONTH,
    "u": CalendarField.DAY_OF_WEEK,
    "H": CalendarField.HOUR_OF_DAY,
    "k": CalendarField.HOUR_OF_DAY,
    "K": CalendarField.HOUR,
    "h": CalendarField.HOUR,
    "m": CalendarField.MINUTE,
    "s": CalendarField.SECOND,
    "S": CalendarField.MILLISECOND,
}


def _read_number(part: Field, text: str, start: int) -> tuple[int, int]:
    at = _skip_blanks(text, start)
    if part.abuts:
        # Next to another field it is the count that ends a number.
        end = start + part.count
        if end > len(text):
            raise UnparseableDateError(text, start)
        match = _NUMBER.match(text, at, end)
    else:
        match = _NUMBER.match(text, at)
    if not match:
        raise UnparseableDateError(text, at)
    sign, digits, exponent = match.groups()
    value = int(digits)
    if exponent:
        power = int(exponent)
        value = value * 10**power if power >= 0 else value // 10**-power
    return _int32(-value if sign else value), match.end()


def _skip_blanks(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t"):
        at += 1
    return at


def _int32(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        return 2**31 - 1 if value > 0 else -(2**31)
    return (value + 2**31) % 2**32 - 2**31


def _is_two_digits(text: str, start: int, end: int) -> bool:
    digits = text[start:end].lstrip(" \t")
    return len(digits) == 2 and digits.isdecimal()


def _set_number(fields: DateFields, letter: str, value: int) -> None:
    if letter in "ML":
        value -= 1
    elif (letter, value) in (("k", 24), ("h", 12)):
        value = 0
    elif letter == "u" and 1 <= value <= 7:
        value = value % 7 + 1
    fields.set(_NUMBER_FIELDS[letter], value)


def _read_name(
    field: CalendarField, first: int, *lists: tuple[str, ...]
) -> Callable[[DateFields, str, int, int], int]:
    """A reader of names in any case, the longest that fits. first is the value of the first."""
    values = {name.lower(): first + n for names in lists for n, name in enumerate(names)}
    form = re.compile("|".join(sorted(values, key=len, reverse=True)), re.IGNORECASE)

    def read(fields: DateFields, text: str, at: int, _: int) -> int:
        match = form.match(text, at)
        if not match:
            raise UnparseableDateError(text, at)
        fields.set(field, values[match.group().lower()])
        return match.end()

    return read


def _read_time_zone(fields: DateFields, text: str, at: int, _: int) -> int:
    at = _skip_blanks(text, at)
    return _set_zone(fields, text, at, read_zone(text, at) if at < len(text) else None)


def _read_iso_time_zone(fields: DateFields, text: str, at: int, count: int) -> int:
    at = _skip_blanks(text, at)
    return _set_zone(fields, text, at, read_iso_zone(text, at, count) if at < len(text) else None)


def _set_zone(fields: DateFields, text: str, at: int, found: tuple[int, int] | None) -> int:
    if found is None:
        raise UnparseableDateError(text, at)
    fields.set(CalendarField.ZONE_OFFSET, found[0])
    return found[1]


def _short(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name[:3] for name in names)


_read_month = _read_name(CalendarField.MONTH, 0, date_pattern.MONTHS, _short(date_pattern.MONTHS))
_TEXT_READERS: dict[str, Callable[[DateFields, str, int, int], int]] = {
    "G": _read_name(CalendarField.ERA, 0, date_pattern.ERAS, date_pattern.LONG_ERAS),
    "M": _read_month,
    "L": _read_month,
    "E": _read_name(
        CalendarField.DAY_OF_WEEK, SUNDAY, date_pattern.WEEKDAYS, _short(date_pattern.WEEKDAYS)
    ),
    "a": _read_name(CalendarField.AM_PM, 0, date_pattern.HALF_DAYS),
    "z": _read_time_zone,
    "Z": _read_time_zone,
    "X": _read_iso_time_zone,
}


# What the fast reader knows, and what each means when the pattern lacks it.
_PLAIN = {"y": "1970", "M": "1", "d": "1", "H": "0", "m": "0", "s": "0", "S": "0"}
_PLAIN_ZONES = {1: "(Z|[+-][0-9]{2})", 2: "(Z|[+-][0-9]{4})", 3: "(Z|[+-][0-9]{2}:[0-9]{2})"}

_recent_day_of = functools.lru_cache(maxsize=256)(day_of)


def _plain_numbers(parts: list[Field | str]) -> Callable[[str], int | None] | None:
    """A fast reader for patterns such as `yyyy-MM-dd'T'HH:mm:ss.SSSX`, None for all others.

    It answers None for a text with anything but ASCII digits where it expects a number, and
    leaves that to the slow way.
    """
    letters: list[str] = []
    source = ""
    zone_length = 0
    for part in parts:
        if isinstance(part, str):
            source += re.escape(part)
            continue
        letters.append(part.letter)
        if part.letter == "X":
            source += _PLAIN_ZONES[part.count]
            zone_length = part.count
        elif part.count > 8 or (part.letter, part.count < 3) in (("y", True), ("M", False)):
            return None
        elif part.abuts:
            source += f"([0-9]{{{part.count}}})"
        else:
            source += r"([0-9]{1,8})(?![\dE])"
    if not letters or not set(letters) <= {*_PLAIN, "X"} or len(set(letters)) < len(letters):
        return None
    match = re.compile(source).match
    defaults = tuple(_PLAIN.values())
    order = [*letters, *_PLAIN]
    pick = operator.itemgetter(*(order.index(letter) for letter in _PLAIN))
    zone = letters.index("X") if "X" in letters else None

    def read(text: str) -> int | None:
        found = match(text)
        if found is None:
            return None
        groups = found.groups()
        year, month, day, hour, minute, second, milli = map(int, pick(groups + defaults))
        millis = _recent_day_of(year, month - 1, day) * MILLIS_PER_DAY
        millis += ((hour * 60 + minute) * 60 + second) * 1000 + milli
        if zone is None or groups[zone] == "Z":
            return millis
        offset = read_iso_zone(groups[zone], 0, zone_length)
        return None if offset is None else millis - offset[0]

    return read
