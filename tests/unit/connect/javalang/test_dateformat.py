"""SimpleDateFormat here and in Java: the vectors were printed by Java 17 and Java 25 alike."""

import datetime as dt
import json
import pathlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect.javalang.dateformat import (
    DatePatternError,
    SimpleDateFormat,
    UnparseableDateError,
    WeekRules,
)
from tests.support.cases import every

VECTORS = json.loads((pathlib.Path(__file__).parent / "vectors" / "dates.json").read_text())
MONDAY = 2
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
LONGS = st.integers(-(2**63), 2**63 - 1)


def millis(*date):
    moment = dt.datetime(*date, tzinfo=dt.UTC)
    return (moment - EPOCH) // dt.timedelta(milliseconds=1)


@every(VECTORS["format"])
def test_writes_as_java_does(pattern, moment, text):
    """A moment is written letter by letter as Java writes it, from year 292269055 BC on."""
    assert SimpleDateFormat(pattern).format(moment) == text


@every(VECTORS["parse"])
def test_reads_as_java_does(pattern, text, moment):
    """A text gives the moment Java reads out of it, run-over fields and tails included."""
    assert SimpleDateFormat(pattern).parse(text) == moment


@every(VECTORS["unparseable"])
def test_refuses_texts_that_java_refuses(pattern, text):
    """A text that does not fit is refused with the text of Java's ParseException."""
    with pytest.raises(UnparseableDateError, match=f'^Unparseable date: "{re.escape(text)}"$'):
        SimpleDateFormat(pattern).parse(text)


@every(VECTORS["pattern"])
def test_refuses_patterns_that_java_refuses(pattern, message):
    """A bad pattern is refused with the text of Java's IllegalArgumentException."""
    with pytest.raises(DatePatternError, match=f"^{re.escape(message)}$"):
        SimpleDateFormat(pattern)


@pytest.mark.parametrize(
    ("text", "year"), [("43", 2043), ("44", 1944), ("45", 1945), ("00", 2000), ("99", 1999)]
)
def test_two_digit_years_lie_eighty_years_back_to_twenty_ahead(text, year):
    """The hundred years of a two-digit year begin eighty years before the format was made."""
    form = SimpleDateFormat("yy-MM-dd", created=millis(2024, 3, 1))
    assert form.parse(f"{text}-03-02") == millis(year, 3, 2)


def test_two_digit_year_on_the_edge_looks_at_the_day():
    """In the year where the hundred years begin, a day before that day is a century later."""
    form = SimpleDateFormat("yy-MM-dd", created=millis(2024, 3, 1))
    assert form.parse("44-02-28") == millis(2044, 2, 28)
    assert form.parse("44-03-01") == millis(1944, 3, 1)


def test_weeks_can_begin_on_monday():
    """Week numbers follow the week rules given; ISO weeks need Monday and four days."""
    form = SimpleDateFormat("YYYY-ww", weeks=WeekRules(first_day=MONDAY, minimal_days=4))
    assert form.format(millis(2021, 1, 3)) == "2020-53"
    assert form.parse("2020-53") == millis(2020, 12, 28)


def test_unparseable_date_says_where_reading_stopped():
    """The error carries the offset, as ParseException.getErrorOffset does."""
    with pytest.raises(UnparseableDateError) as error:
        SimpleDateFormat("yyyy-MM-dd").parse("2024-xx")
    assert error.value.offset == 5


def test_percent_signs_are_literal():
    """A percent sign in the pattern is nothing special, with and without a time of day."""
    assert SimpleDateFormat("%d%%s'%s'").format(0) == "%1%%0%s"
    assert SimpleDateFormat("%d%%'%s'").format(0) == "%1%%%s"


@settings(deadline=None)
@given(LONGS)
def test_every_moment_survives_writing_and_reading(moment):
    """What is written with era, date and time is read back as the same moment."""
    form = SimpleDateFormat("G yyyy-MM-dd HH:mm:ss.SSS XXX")
    assert form.parse(form.format(moment)) == moment


@settings(deadline=None)
@given(LONGS)
def test_day_of_year_names_the_same_day(moment):
    """Year and day of the year lead to the same moment as month and day."""
    form = SimpleDateFormat("G yyyy D HH:mm:ss.SSS")
    assert form.parse(form.format(moment)) == moment


@settings(deadline=None)
@given(st.datetimes(min_value=dt.datetime(1583, 1, 1)))  # noqa: DTZ001
def test_gregorian_dates_agree_with_python(moment):
    """After the change of calendars, dates are those of Python's datetime."""
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=dt.UTC)
    since = (moment - EPOCH) // dt.timedelta(milliseconds=1)
    written = SimpleDateFormat("yyyy-MM-dd'T'HH:mm:ss.SSS D u").format(since)
    iso = moment.replace(tzinfo=None).isoformat(timespec="milliseconds")
    assert written == f"{iso} {moment.timetuple().tm_yday} {moment.isoweekday()}"


@settings(deadline=None)
@given(st.text(alphabet="0123456789-: TZ+.", max_size=30))
def test_fast_and_slow_reading_agree(text):
    """A pattern that has a fast way reads every text as the slow way does, or refuses it too."""
    pattern = "yyyy-MM-dd'T'HH:mm:ss.SSSX"
    slow = SimpleDateFormat(pattern)
    slow._plain_numbers = None

    def read(form):
        try:
            return form.parse(text)
        except UnparseableDateError as error:
            return error.offset

    assert read(SimpleDateFormat(pattern)) == read(slow)


@settings(deadline=None)
@given(
    st.from_regex(
        r"[0-9]{1,5}-[0-9]{1,3}-[0-9]{1,3}T[0-9]{1,3}:[0-9]{1,3}:[0-9]{1,3}\.[0-9]{1,6}"
        r"(Z|[+-][0-9]{2}:?[0-9]{0,2})[ 0-9]?",
        fullmatch=True,
    )
)
def test_fast_and_slow_reading_agree_on_near_dates(text):
    """Texts near to ISO dates are read alike by the fast way and the slow way."""
    test_fast_and_slow_reading_agree.hypothesis.inner_test(text)
