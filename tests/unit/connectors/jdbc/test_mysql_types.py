"""What MySQL's and MariaDB's types become."""

from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from connect import Schema
from connectors.jdbc.columns import Mapping, TableColumn, row_reader, typed_by
from connectors.jdbc.mysql_types import declared


def read(type_, *values):
    """The schema and the values of a column's field."""
    (column,) = typed_by([TableColumn("c", type_, nullable=False)], [[value] for value in values])
    reader = row_reader("t", [column], Mapping("none", "connect_logical", ZoneInfo("UTC")))
    return reader.schema.field("c").schema, *[reader.value([value])["c"] for value in values]


def described(number, length=0, scale=0):
    """A result's column as drivers describe it."""
    return ("c", number, None, length, length, scale, True)


@pytest.mark.parametrize(
    ("column", "value", "schema", "expected"),
    [
        (described(3, 11), None, Schema.INT64, None),
        (described(8, 20), 7, Schema.INT64, 7),
        (described(4, 12, 31), 0.5, Schema.FLOAT64, 0.5),
        (described(246, 12, 2), Decimal("1.5"), Schema.decimal(2).build(), Decimal("1.50")),
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
