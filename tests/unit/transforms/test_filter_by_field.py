"""FilterByField: which records stay, by what a field of theirs holds."""

from __future__ import annotations

import datetime as dt
import decimal

import pytest

from connect import ConfigError, DataError
from tests.unit.transforms.records import configured, sink
from transforms.filter_by_field import FilterByFieldKey, FilterByFieldValue


def keeps(held, /, **settings):
    return configured(FilterByFieldValue, **settings).apply(sink(held)) is not None


@pytest.mark.parametrize(
    ("field", "operator", "text", "expected"),
    [
        ("x", "=", "x", True),
        ("x", "=", "y", False),
        (5, "=", "5", True),
        (5, "=", "5.0", True),
        (5, "!=", "6", True),
        (5, "=", "five", False),
        (5, "!=", "five", True),
        (0.1, "=", "0.1", True),
        (decimal.Decimal("1.50"), "=", "1.5", True),
        (True, "=", "true", True),
        (True, "=", "1", False),
        (2**60 + 1, "=", str(2**60 + 1), True),
        (2**60 + 1, "=", str(2**60), False),
        (5, ">", "4.5", True),
        (5, "<", "4.5", False),
        (5, ">=", "5", True),
        (5, "<=", "5", True),
        ("b", ">", "a", True),
        (dt.date(2024, 2, 1), ">", "2024-01-31", True),
        (dt.datetime(2024, 1, 31, 12, tzinfo=dt.UTC), ">=", "2024-01-31T12:00:00Z", True),
        ("b", "in", "a, b,c", True),
        (3, "in", "1,2", False),
        ("abc", "matches", "a.c", True),
        ("abcd", "matches", "a.c", False),
        (404, "matches", "4\\d\\d", True),
        ("ÄB", "matches", "(?iu)äb", True),
        ("hello", "contains", "ell", True),
        ([1, 2], "contains", "2", True),
        ({"a": 1}, "contains", "a", True),
        (5, "contains", "5", False),
    ],
)
def test_conditions(field, operator, text, expected):
    """A field is compared as what it is: a number as a number, a date as a date."""
    settings = {"field": "f", "operator": operator, "value": text}
    assert keeps({"f": field}, **settings) is expected
    assert keeps({"f": field}, filter_type="exclude", **settings) is not expected


def test_nulls_and_missing_fields_fail_unless_told_otherwise():
    """Nothing is dropped or kept in silence: the policy has to be chosen."""
    for value in ({"f": None}, {}, None):
        with pytest.raises(DataError, match=r"Field f is null or missing.*missing\.or\.null"):
            keeps(value, field="f", value="x")
        assert keeps(value, field="f", value="x", missing_or_null_behavior="include")
        assert not keeps(value, field="f", value="x", missing_or_null_behavior="exclude")


def test_is_null_needs_no_policy():
    """is-null picks the nulls and the missing ones."""
    assert keeps({}, field="f", operator="is-null")
    assert not keeps({"f": 1}, field="f", operator="is-null")
    assert keeps({"f": 1}, field="f", operator="is-null", filter_type="exclude")


def test_order_between_what_has_none_is_an_error():
    """A text can't be less than a number; the error says what was compared."""
    with pytest.raises(DataError, match=r"Field f holds 5.*compared with 'abc' by <"):
        keeps({"f": 5}, field="f", operator="<", value="abc")


def test_config_is_checked():
    """A missing value and a bad pattern are refused before the first record."""
    with pytest.raises(ConfigError, match="value: is needed for the operator ="):
        configured(FilterByFieldValue, field="f")
    with pytest.raises(ConfigError, match="Invalid regex"):
        configured(FilterByFieldValue, field="f", operator="matches", value="[")
    with pytest.raises(ConfigError, match="String must be one of"):
        configured(FilterByFieldValue, field="f", operator="~", value="[")


def test_paths_keys_and_whole_values():
    """V2 leads inside, the key variant looks at the key, an empty field at all of it."""
    assert keeps({"a": {"b": "x"}}, field="a.b", value="x", field_syntax_version="V2")
    by_key = configured(FilterByFieldKey, field="", value="k")
    assert by_key.apply_batch([sink(1, key="k"), sink(1, key="z")])[1] is None
    assert by_key.apply(sink(1, key="k")) is not None
