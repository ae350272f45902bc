"""What MySQL's and MariaDB's types become."""

from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import types as sql
from sqlalchemy.dialects import mysql

from connect import Schema
from connectors.jdbc.columns import Mapping, TableColumn, row_reader, typed_by
from connectors.jdbc.mysql_types import declared, reflected


def read(type_, *values):
    """The schema and the values of a column's field."""
    (column,) = typed_by([TableColumn("c", type_, nullable=False)], [[value] for value in values])
    reader = row_reader("t", [column], Mapping("none", "connect_logical", ZoneInfo("UTC")))
    return reader.schema.field("c").schema, *[reader.value([value])["c"] for value in values]


def described(number, length=0, scale=0):
    """A result's column as drivers describe it."""
    return ("c", number, None, length, length, scale, True)


@pytest.mark.parametrize(
    ("type_", "value", "schema", "expected"),
    [
        (mysql.BIT(), b"\x01", Schema.BOOLEAN, True),
        (mysql.BIT(1), b"\x00", Schema.BOOLEAN, False),
        (mysql.BIT(12), b"\x0f\xa0", Schema.INT64, 4000),
        (mysql.BIT(63), b"\x7f" + b"\xff" * 7, Schema.INT64, 2**63 - 1),
        (mysql.BIT(64), b"\xff" * 8, Schema.BYTES, b"\xff" * 8),
        (mysql.SMALLINT(), -7, Schema.INT16, -7),
        (mysql.SMALLINT(unsigned=True), 65535, Schema.INT32, 65535),
        (sql.NullType(), b"\x00\xff", Schema.BYTES, b"\x00\xff"),
        (sql.NullType(), "::1", Schema.STRING, "::1"),
    ],
)
def test_columns_of_tables_hold_all_their_values(type_, value, schema, expected):
    """Bits are a boolean, a number or bytes; types that nobody knows are what their values are."""
    assert read(reflected(type_), value) == (schema, expected)


@pytest.mark.parametrize(
    ("column", "value", "schema", "expected"),
    [
        (described(3, 11), None, Schema.INT64, None),
        (described(8, 20), 7, Schema.INT64, 7),
        (described(4, 12, 31), 0.5, Schema.FLOAT64, 0.5),
        (described(246, 12, 2), Decimal("1.5"), Schema.decimal(2).build(), Decimal("1.50")),
        (described(16, 1), b"\x01", Schema.BOOLEAN, True),
        (described(16, 16), b"\x01\x00", Schema.INT64, 256),
        (described(12, 26, 6), None, Schema.timestamp().build(), None),
        (described(11, 10), None, Schema.time().build(), None),
        (described(10, 10), None, Schema.date().build(), None),
        (described(245, 99), None, Schema.STRING, None),
        (described(252, 99), b"\xff", Schema.BYTES, b"\xff"),
        (described(253, 99), "text", Schema.STRING, "text"),
    ],
)
def test_querys_columns_have_their_types_before_there_is_a_value(column, value, schema, expected):
    """By the driver's numbers; only texts and bytes are told apart by their values."""
    assert read(declared(column), value) == (schema, expected)


@pytest.mark.parametrize(("length", "scale", "precision"), [(12, 2, 11), (3, 0, 3)])
def test_decimals_of_queries_have_room_for_their_digits(length, scale, precision):
    """The length counts the point, and a sign that may not be there."""
    type_ = declared(described(246, length, scale))
    assert (type_.precision, type_.scale) == (precision, scale)
