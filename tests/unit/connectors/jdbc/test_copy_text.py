"""Rows in the text form of COPY."""

import datetime as dt
import uuid
from decimal import Decimal

from connectors.jdbc.copy_text import copy_text


def test_each_type_has_its_form():
    """Nulls, numbers, truth, texts with what must be escaped, bytes, dates and times."""
    some = uuid.UUID(int=7)
    rows = [
        (1, "a\tb\\c\nd\re", None, 0.1, True, Decimal("1.10"), b"\x00\xff", dt.date(2024, 2, 29)),
        (None, "\\N", "x", None, False, None, None, None),
    ]
    assert copy_text(rows) == (
        "1\ta\\tb\\\\c\\nd\\re\t\\N\t0.1\tt\t1.10\t\\\\x00ff\t2024-02-29\n"
        "\\N\t\\\\N\tx\t\\N\tf\t\\N\t\\N\t\\N\n"
    )
    at = dt.datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC)
    assert copy_text([(at, some, dt.time(1, 2), float("inf"))]) == (
        f"2024-01-02T03:04:05.000006+00:00\t{some}\t01:02:00\tinf\n"
    )


def test_what_only_the_driver_knows_is_left_to_it():
    """Lists, and columns of several types, have no text here."""
    assert copy_text([([1, 2],)]) is None
    assert copy_text([(1,), ("a",)]) is None
