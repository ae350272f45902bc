"""The types of columns as MySQL's and MariaDB's drivers tell them of a query's result."""

from __future__ import annotations

from typing import Any

from sqlalchemy import types as sql

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


def declared(described: Any) -> sql.TypeEngine[Any] | None:
    """The type of a column as a cursor describes it; None: its values have to tell."""
    _, number, _, _, length, scale, *_ = described
    if number in _DECIMALS and length is not None and scale is not None:
        # The length counts the point and, unless it is unsigned, the sign: so this is never too
        # small for the values.
        return sql.Numeric(length - (scale > 0), scale)
    return _BY_NUMBER.get(number)
