"""Values of one shape, field by field instead of value by value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from connect.data.schema import Schema

# Equal values look alike when they are written, but True equals 1, and 0.0 equals -0.0.
_LOOK_ALIKE = {str, type(None)}
_IF_OF_ONE_TYPE = {int, bool}


class Columns(NamedTuple):
    """Values that are structs of one schema, or maps with the same keys: a column a field.

    Sinks get one field at least: without any nobody could tell how many values there are.
    """

    schema: Schema | None
    fields: dict[str, Sequence[Any]]


class Uniform(list[Any]):
    """A column of which its reader has made sure that all values are of one type.

    Columns are never changed in place, and what others make of one is a plain list again.
    """

    __slots__ = ("kind",)

    def __init__(self, values: Iterable[Any], kind: type) -> None:
        super().__init__(values)
        self.kind = kind


def kind_of(column: Sequence[Any]) -> type | None:
    """The type of all values; None if there are several."""
    if isinstance(column, Uniform):
        return column.kind
    kinds = set(map(type, column))
    return kinds.pop() if len(kinds) == 1 else None


def is_constant(column: Sequence[Any]) -> bool:
    """Whether all values are written as the first is. False also where that is not sure."""
    first, count = column[0], len(column)
    if column[-1] != first or column[count // 2] != first:
        return False
    kind = type(first)
    if kind in _LOOK_ALIKE:
        return column.count(first) == count
    return kind in _IF_OF_ONE_TYPE and column.count(first) == count and kind_of(column) is kind


def by_columns(rows: Iterable[tuple[Any, ...]], width: int) -> list[list[Any]]:
    """Rows of that width as columns. Quicker than zip, to which each row would be an argument."""
    values = [*chain.from_iterable(rows)]
    return [values[i::width] for i in range(width)]


def has_null(values: Sequence[Any]) -> bool:
    """Whether one is None. That nothing is empty, as in most columns, is found out much sooner."""
    return not all(values) and None in values
