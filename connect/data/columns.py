"""Values of one shape, field by field instead of value by value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from connect.data.schema import Schema


class Columns(NamedTuple):
    """Values that are structs of one schema, or maps with the same keys: a column a field."""

    schema: Schema | None
    fields: dict[str, Sequence[Any]]


def has_null(values: Sequence[Any]) -> bool:
    """Whether one is None. That nothing is empty, as in most columns, is found out much sooner."""
    return not all(values) and None in values
