"""Rows that are written together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection

from connect import Schema, SinkRecord
from connectors.jdbc.dialects import Rest, Write
from connectors.jdbc.kinds import Convert
from connectors.jdbc.rows import Row, RowMaker
from connectors.jdbc.shapes import TableName


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """How records of one topic and one pair of schemas are written."""

    table: TableName
    maker: RowMaker
    converts: tuple[tuple[int, Convert], ...]
    is_delete: bool
    write: Write
    # Plans are found by the identity of these, so they must not go away.
    schemas: tuple[Schema | None, Schema | None]
    # Columns that the table did not have, for fields that are always null.
    left_out: frozenset[str]


# A record, how it is written, its row, and the row's key.
Item = tuple[SinkRecord, Plan, Row, Row]


class Segment:
    """Rows of one table that can be written together without changing what comes out.

    With upsert and update the last row of a key is what counts; a delete before it still does.
    """

    def __init__(self) -> None:
        self.write: Write | None = None
        self.rows: dict[Any, Row] = {}
        self.delete: Write | None = None
        self.deleted: dict[Row, None] = {}

    @classmethod
    def of(cls, plan: Plan, rows: list[Row], keys: list[Row], by_key: bool) -> Segment:
        """Rows of one plan that writes."""
        segment = cls()
        segment.write = plan.write
        segment.rows = dict(zip(keys if by_key else range(len(rows)), rows, strict=True))
        return segment

    def parts(self, size: int) -> Iterator[tuple[Write, Sequence[Row]]]:
        """What is to be written, in order, so many rows at a time."""
        if self.delete is not None:
            yield from _in_chunks(self.delete, list(self.deleted), size)
        if self.write is not None:
            yield from _in_chunks(self.write, list(self.rows.values()), size)

    def takes(self, plan: Plan, *, by_key: bool) -> bool:
        if plan.is_delete:
            return by_key or self.write is None
        return self.write is None or self.write is plan.write

    def add(self, plan: Plan, items: Iterable[Item], *, by_key: bool) -> None:
        if plan.is_delete:
            self.delete = plan.write
            for _, _, _, key in items:
                self.deleted[key] = None
                self.rows.pop(key, None)
        elif by_key:
            self.write = plan.write
            self.rows.update([(key, row) for _, _, row, key in items])
        else:
            self.write = plan.write
            self.rows.update(enumerate([row for _, _, row, _ in items], len(self.rows)))


def in_segments(items: Sequence[Item], *, by_key: bool) -> list[Segment]:
    """The items in as few segments as keep the order of what concerns one table."""
    segments: list[Segment] = []
    current: dict[TableName, Segment] = {}
    for plan, run in groupby(items, itemgetter(1)):
        segment = current.get(plan.table)
        if segment is None or not segment.takes(plan, by_key=by_key):
            segment = current[plan.table] = Segment()
            segments.append(segment)
        segment.add(plan, run, by_key=by_key)
    return segments


def _in_chunks(
    write: Write, rows: Sequence[Row], size: int
) -> Iterator[tuple[Write, Sequence[Row]]]:
    for first in range(0, len(rows), size):
        yield write, rows[first : first + size]


def begin(connection: Connection, segments: Iterable[Segment], size: int) -> Rest:
    """Write them all, up to what is left to do at last."""
    rest: Rest = _nothing
    for segment in segments:
        for write, rows in segment.parts(size):
            rest()
            rest = write(connection, rows)
    return rest


def _nothing() -> None:
    pass
