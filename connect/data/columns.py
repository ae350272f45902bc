"""Values of one shape, field by field instead of value by value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from connect.data.schema import Schema


class Columns(NamedTuple):
    """Values that are structs of one schema, or maps with the same keys: a column a field."""

    schema: Schema | None
    fields: dict[str, Sequence[Any]]


def by_columns(rows: Iterable[tuple[Any, ...]], width: int) -> list[list[Any]]:
    """Rows of that width as columns. Quicker than zip, to which each row would be an argument."""
    values = [*chain.from_iterable(rows)]
    return [values[i::width] for i in range(width)]


def has_null(values: Sequence[Any]) -> bool:
    """Whether one is None. That nothing is empty, as in most columns, is found out much sooner."""
    return not all(values) and None in values
