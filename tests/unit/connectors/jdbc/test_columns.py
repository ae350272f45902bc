"""What database types become."""

import datetime as dt
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import types as sql

from connect import DataError, Schema
from connectors.jdbc.columns import Mapping, TableColumn, row_reader

UTC = ZoneInfo("UTC")


def field(type_, numeric="none", granularity="connect_logical", zone=UTC, nullable=False):
    column = TableColumn("c", type_, nullable)
    reader = row_reader("t", [column], Mapping(numeric, granularity, zone))
    return reader.schema.field("c").schema, lambda value: reader.value([value])["c"]


@pytest.mark.parametrize(
    ("mapping", "precision", "scale", "expected"),
    [
        ("none", 5, 0, Schema.decimal(0).build()),
        ("none", 30, 4, Schema.decimal(4).build()),
        ("precision_only", 2, 0, Schema.INT8),
        ("precision_only", 4, 0, Schema.INT16),
        ("precision_only", 9, 0, Schema.INT32),
        ("precision_only", 18, 0, Schema.INT64),
        ("precision_only", 19, 0, Schema.decimal(0).build()),
        ("precision_only", 9, 2, Schema.decimal(2).build()),
        ("best_fit", 9, 0, Schema.INT32),
        ("best_fit", 18, 2, Schema.FLOAT64),
        ("best_fit", 20, 2, Schema.decimal(2).build()),
        ("best_fit_eager_double", 20, 2, Schema.FLOAT64),
        ("best_fit_eager_double", 20, 0, Schema.decimal(0).build()),
    ],
)
def test_numbers_are_mapped_as_asked(mapping, precision, scale, expected):
    """numeric.mapping decides between Decimal, whole numbers and doubles."""
    schema, _ = field(sql.Numeric(precision, scale), mapping)
    assert schema == expected


def test_decimals_are_exact_or_an_error():
    """A decimal has the column's scale; digits that would be lost are an error that says so."""
    _, value = field(sql.Numeric(10, 2))
    assert value(Decimal("1.5")) == Decimal("1.50")
    assert str(value(Decimal("1.5"))) == "1.50"
    with pytest.raises(DataError, match=r"Column c of t .* more than 2 digits"):
        value(Decimal("1.555"))


def test_bytes_in_a_column_of_texts_are_not_mangled():
    """They are read as UTF-8, and what is none is an error."""
    _, value = field(sql.Text())
    assert value("ü".encode()) == "ü"
    with pytest.raises(DataError, match="Column c of t has the value"):
        value(b"\xff")


def test_timestamps_without_a_zone_are_of_the_configs():
    """db.timezone says when a wall clock's time was; one with a zone is what it is."""
    _, value = field(sql.DateTime(), zone=ZoneInfo("Europe/Berlin"))
    moment = dt.datetime(2024, 7, 1, 12, tzinfo=dt.UTC)
    assert value(moment.replace(tzinfo=None)) == moment - dt.timedelta(hours=2)
    assert value(moment) == moment


@pytest.mark.parametrize(
    ("granularity", "schema", "expected"),
    [
        ("connect_logical", Schema.timestamp().build(), dt.datetime(1970, 1, 1, 0, 0, 1, 123000,
                                                                  tzinfo=dt.UTC)),
        ("micros_long", Schema.INT64, 1123456),
        ("nanos_long", Schema.INT64, 1123456000),
        ("micros_string", Schema.STRING, "1123456"),
        ("nanos_string", Schema.STRING, "1123456000"),
        ("micros_iso_datetime_string", Schema.STRING, "1970-01-01T00:00:01.123456"),
        ("nanos_iso_datetime_string", Schema.STRING, "1970-01-01T00:00:01.123456000"),
    ],
)  # fmt: skip
def test_timestamps_are_as_fine_as_asked(granularity, schema, expected):
    """timestamp.granularity keeps what is below a millisecond."""
    found, value = field(sql.DateTime(), granularity=granularity)
    assert found == schema
    assert value(dt.datetime.fromisoformat("1970-01-01T00:00:01.123456")) == expected
