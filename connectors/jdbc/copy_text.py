"""Rows as PostgreSQL's COPY reads them, a column at a time."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from collections.abc import Callable, Sequence
from typing import Any

_NULL = "\\N"
_ESCAPED = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def copy_text(rows: Sequence[tuple[Any, ...]]) -> str | None:
    """The rows' text; None if a value is of a type that only the driver has a form for."""
    columns = []
    for column in zip(*rows, strict=True):
        texts = _texts(column)
        if texts is None:
            return None
        columns.append(texts)
    return "\n".join(map("\t".join, zip(*columns, strict=True))) + "\n"


def _texts(column: Sequence[Any]) -> Sequence[str] | None:
    types = set(map(type, column))
    nullable = type(None) in types
    types.discard(type(None))
    if not types:
        return [_NULL] * len(column)
    if len(types) > 1:
        return None
    kind = types.pop()
    form = _FORMS.get(kind)
    if kind is str:
        whole = " ".join([text for text in column if text is not None])
        # One look at all of them: most texts have nothing to escape.
        if any(special in whole for special in "\\\t\n\r"):
            form = _escaped
        elif not nullable:
            return column
    if form is None:
        return None
    if nullable:
        return [_NULL if value is None else form(value) for value in column]
    return [*map(form, column)]


def _escaped(text: str) -> str:
    return text.translate(_ESCAPED)


def _hex(value: bytes) -> str:
    return "\\\\x" + value.hex()


_FORMS: dict[type, Callable[[Any], str]] = {
    str: str,
    int: str,
    float: repr,
    bool: {False: "f", True: "t"}.__getitem__,
    decimal.Decimal: str,
    bytes: _hex,
    dt.date: dt.date.isoformat,
    dt.time: dt.time.isoformat,
    dt.datetime: dt.datetime.isoformat,
    uuid.UUID: str,
}
