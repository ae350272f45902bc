"""Tables and rows as the sink sees them."""

from __future__ import annotations

from typing import NamedTuple

from connect import Schema


class TableName(NamedTuple):
    """A table, in a schema if it was named."""

    name: str
    schema: str | None = None

    @classmethod
    def parse(cls, text: str) -> TableName:
        """`table`, `schema.table` or `catalog.schema.table`; the catalog is the connection's."""
        schema, _, name = text.rpartition(".")
        return cls(name, schema.rpartition(".")[2] or None)

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.name,) if self.schema is None else (self.schema, self.name)

    def __str__(self) -> str:
        return ".".join(self.parts)


class Column(NamedTuple):
    name: str
    schema: Schema


class Shape(NamedTuple):
    """Rows of one table with the same columns: the key's first, then the others."""

    table: TableName
    keys: tuple[Column, ...]
    rest: tuple[Column, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.keys + self.rest
