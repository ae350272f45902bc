"""What is special about the types of MySQL and MariaDB, in tables and in results of queries."""

from __future__ import annotations

from typing import Any

from sqlalchemy import types as sql
from sqlalchemy.dialects import mysql

from connectors.jdbc.columns import Bits

# By the protocol's numbers. Those of texts are missing, as they stand for bytes just as well. None
# tells whether a number is unsigned, so each has room for it.
_BY_NUMBER: dict[int, sql.TypeEngine[Any]] = {
    **dict.fromkeys((1, 2, 3, 8, 9, 13), sql.BigInteger()),  # TINY to LONGLONG, YEAR
    **dict.fromkeys((4, 5), sql.Double()),
    **dict.fromkeys((7, 12), sql.DateTime()),  # TIMESTAMP, DATETIME
    **dict.fromkeys((10, 14), sql.Date()),
    11: sql.Time(),
    245: sql.String(),  # JSON
}
_DECIMALS = (0, 246)
_BIT = 16


def reflected(type_: sql.TypeEngine[Any]) -> sql.TypeEngine[Any] | None:
    """The type of a table's column, by what SQLAlchemy finds; None: its values have to tell."""
    match type_:
        case mysql.BIT():
            return Bits(type_.length or 1)
        case sql.NullType():  # SQLAlchemy does not know it: a POINT, which is bytes, or what not
            return None
    return type_


def declared(described: Any) -> sql.TypeEngine[Any] | None:
    """The type of a column as a cursor describes it; None: its values have to tell."""
    _, number, _, _, length, scale, *_ = described
    if number in _DECIMALS and length is not None and scale is not None:
        # The length counts the point and, unless it is unsigned, the sign: so this is never too
        # small for the values.
        return sql.Numeric(length - (scale > 0), scale)
    if number == _BIT and length is not None:
        return Bits(length)
    return _BY_NUMBER.get(number)
