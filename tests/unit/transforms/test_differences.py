"""Where transforms are meant to differ from the JVM's: docs/differences.md lists these."""

from __future__ import annotations

import datetime as dt
import decimal

import pytest

from connect import ConfigError, DataError, Schema
from tests.unit.transforms.records import configured, sink
from transforms.cast import CastValue
from transforms.header_from import HeaderFromValue
from transforms.mask_field import MaskFieldValue
from transforms.regex_router import RegexRouter
from transforms.replace_field import ReplaceFieldValue
from transforms.set_schema_metadata import SetSchemaMetadataValue
from transforms.timestamp_converter import TimestampConverterValue
from transforms.timestamp_router import TimestampRouter


@pytest.mark.parametrize(
    ("value", "schema", "text"),
    [
        (dt.date(1950, 6, 1), Schema.date().build(), "1950-06-01"),
        (dt.date(1970, 1, 1), Schema.date().build(), "1970-01-01"),
        (
            dt.datetime(1950, 6, 1, 1, 2, 3, tzinfo=dt.UTC),
            Schema.timestamp().build(),
            "1950-06-01T01:02:03.000Z",
        ),
    ],
)
def test_dates_before_1970_are_cast_to_dates(value, schema, text):
    """The JVM writes all of them as a time of day, and so loses the date."""
    assert configured(CastValue, spec="string").apply(sink(value, schema)).value == text


def test_casting_a_whole_logical_value_drops_the_logical_name():
    """The JVM keeps the name Date on a plain number, which no converter can write."""
    record = configured(CastValue, spec="int64").apply(
        sink(dt.date(1970, 1, 2), Schema.date().build())
    )
    assert (record.value, record.value_schema) == (1, Schema.INT64)


def test_cast_of_a_struct_with_a_default_works():
    """The JVM tries to cast the default as a whole and fails."""
    schema = Schema.struct().field("f", Schema.INT32).default({"f": 300}).build()
    record = configured(CastValue, spec="f:int8").apply(sink({"f": 301}, schema))
    assert (record.value, record.value_schema.default) == ({"f": 45}, {"f": 44})


def test_a_masked_decimal_keeps_its_scale():
    """The JVM puts a zero of scale 0 there, which does not fit the field's schema."""
    schema = Schema.struct().field("d", Schema.decimal(2).build()).build()
    value = {"d": decimal.Decimal("12.34")}
    assert (
        str(configured(MaskFieldValue, fields="d").apply(sink(value, schema)).value["d"]) == "0.00"
    )
    masked = configured(MaskFieldValue, fields="d", replacement="9").apply(sink(value, schema))
    assert str(masked.value["d"]) == "9.00"
    with pytest.raises(DataError, match=r"Unable to convert 1\.234"):
        configured(MaskFieldValue, fields="d", replacement="1.234").apply(sink(value, schema))


def test_mask_field_lets_tombstones_through():
    """There is nothing to mask in a null; the JVM fails the task."""
    assert configured(MaskFieldValue, fields="a").apply(sink(None)).value is None


def test_a_rename_does_not_disturb_a_field_that_has_the_new_name():
    """Records without the old field keep their own; the JVM fails on them."""
    schema = Schema.struct().field("b", Schema.INT32).build()
    rename = configured(ReplaceFieldValue, renames="a:b")
    assert rename.apply(sink({"b": 1}, schema)).value == {"b": 1}


def test_a_renamed_field_takes_the_place_of_one_that_has_its_new_name():
    """Without a schema the JVM keeps the one or the other, as their names hash."""
    rename = configured(ReplaceFieldValue, renames="a:b")
    assert rename.apply(sink({"a": 1, "b": 2})).value == {"b": 1}
    swap = configured(ReplaceFieldValue, renames="a:b,b:a")
    assert swap.apply(sink({"a": 1, "b": 2})).value == {"b": 1, "a": 2}


def test_set_schema_metadata_names_any_schema():
    """The JVM can name structs only."""
    record = configured(SetSchemaMetadataValue, schema_name="N").apply(sink(5, Schema.INT32))
    assert (record.value_schema.name, record.value) == ("N", 5)


def test_header_from_a_missing_field_says_which():
    """The JVM has a NullPointerException."""
    schema = Schema.struct().field("b", Schema.INT32).build()
    header = configured(HeaderFromValue, fields="a", headers="h", operation="copy")
    with pytest.raises(DataError, match="Field does not exist: a"):
        header.apply(sink({"b": 1}, schema))


def test_text_timestamps_without_a_format_are_told_what_is_missing():
    """The JVM has a NullPointerException."""
    convert = configured(TimestampConverterValue, target_type="unix")
    with pytest.raises(DataError, match="no format is set"):
        convert.apply(sink("2020", Schema.STRING))


def test_a_replacement_with_an_unknown_group_names_both():
    """The JVM says `No group 2` and nothing of where it looked."""
    with pytest.raises(DataError, match=r"No group 2: the replacement '\$2'.*pattern '\(\.\*\)'"):
        configured(RegexRouter, regex="(.*)", replacement="$2").apply(sink())


def test_config_errors_name_their_key():
    """The JVM puts exception and message into the places of value and key."""
    for transform, settings, text in (
        (
            CastValue,
            {"spec": "a:nope"},
            "Invalid value a:nope for configuration spec: Invalid type",
        ),
        (
            TimestampConverterValue,
            {"target_type": "string", "format": "bad"},
            "Invalid value bad for configuration format: ",
        ),
        (
            TimestampRouter,
            {"timestamp_format": "bad"},
            "Invalid value bad for configuration timestamp.format: Illegal pattern character 'b'",
        ),
    ):
        with pytest.raises(ConfigError) as error:
            configured(transform, **settings)
        assert str(error.value).startswith(text)


def test_a_missing_timestamp_does_not_put_the_record_into_the_log():
    """The JVM's text holds the whole record, with all that is secret in it."""
    with pytest.raises(DataError) as error:
        configured(TimestampRouter).apply(sink({"password": "hush"}, timestamp=None))
    assert "Timestamp missing on record" in str(error.value)
    assert "hush" not in str(error.value)
