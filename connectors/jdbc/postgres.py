"""PostgreSQL: rows go in by COPY.

Inserts are copied into the table itself, everything else into a temporary table from which one
statement does the rest. That is three times as fast as statements with parameters, and the server
reads each value as the column's own type: a text such as 2024-01-01 fits a date column.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from sqlalchemy import Connection, RootTransaction

from connectors.jdbc.copy_text import copy_text
from connectors.jdbc.dialects import Dialect, Rest, Row, Write, on_conflict
from connectors.jdbc.kinds import Convert, Kind, kind_of, to_json
from connectors.jdbc.shapes import Column, Shape


class PostgresDialect(Dialect):
    types = {  # noqa: RUF012
        **Dialect.types,
        "string": "TEXT",
        "bytes": "BYTEA",
        "decimal": "DECIMAL",
        "numeric": "DECIMAL",
        "timetz": "TIMETZ",
        "timestamptz": "TIMESTAMPTZ",
        "json": "JSONB",
        "uuid": "UUID",
    }

    # A reader that never ends must not hold up a task, and all who queue behind it, for good: the
    # lock is asked for again with the batch's next attempt.
    before_ddl = ("SET LOCAL lock_timeout = '5s'",)

    def _type(self, kind: Kind, *, is_key: bool) -> str:
        if kind.name == "array" and kind.item is not None:
            return self._type(kind.item, is_key=False) + "[]"
        return super()._type(kind, is_key=is_key)

    def converter(self, column: Column, is_array: bool) -> Convert | None:
        kind = kind_of(column.schema)
        if kind.name == "array" and is_array:
            each = kind.item.convert if kind.item is not None else None
            return None if each is None else lambda items: [each(item) for item in items]
        if kind.name == "array":
            return to_json
        return super().converter(column, is_array)

    def quote(self, name: str) -> str:
        # SQLAlchemy's would double percent signs, for statements with parameters.
        return '"' + name.replace('"', '""') + '"'

    def insert(self, shape: Shape) -> Write:
        into = f"{self.table(shape.table)} ({self._names(shape.columns)})"
        return lambda connection, rows: _copy(connection, into, rows)

    def upsert(self, shape: Shape) -> Write:
        names = self._names(shape.columns)
        insert = f"INSERT INTO {self.table(shape.table)} ({names}) SELECT {names} FROM"
        conflict = on_conflict(self, shape)
        return self._by_stage(shape, shape.columns, lambda stage: f"{insert} {stage} {conflict}")

    def update(self, shape: Shape) -> Write:
        sets = ", ".join(f"{q} = s.{q}" for q in (self.quote(c.name) for c in shape.rest))
        update = f"UPDATE {self.table(shape.table)} AS t SET {sets} FROM"  # noqa: S608
        where = self._matching(shape)
        return self._by_stage(shape, shape.columns, lambda stage: f"{update} {stage} AS s {where}")

    def delete(self, shape: Shape) -> Write:
        delete = f"DELETE FROM {self.table(shape.table)} AS t USING"  # noqa: S608
        where = self._matching(shape)
        return self._by_stage(shape, shape.keys, lambda stage: f"{delete} {stage} AS s {where}")

    def _matching(self, shape: Shape) -> str:
        keys = (self.quote(column.name) for column in shape.keys)
        return "WHERE " + " AND ".join(f"t.{q} = s.{q}" for q in keys)

    def _by_stage(
        self, shape: Shape, columns: Sequence[Column], statement: Callable[[str], str]
    ) -> Write:
        """Copy rows into a temporary table, then run the statement over it.

        The stage lasts as long as the connection and is emptied by each commit. Within one
        transaction a second batch empties it itself.
        """
        names = self._names(columns)
        # A name of its own, so that a table that was altered gets a stage of its new types.
        stage = f"penstock_{uuid.uuid4().hex[:16]}"
        select = f"SELECT {names} FROM {self.table(shape.table)} LIMIT 0"  # noqa: S608
        create = f"CREATE TEMPORARY TABLE IF NOT EXISTS {stage} ON COMMIT DELETE ROWS AS {select}"
        run = statement(stage)
        last: RootTransaction | None = None

        def write(connection: Connection, rows: Sequence[Row]) -> Rest:
            nonlocal last
            raw = _driver(connection)
            raw.execute(create)
            transaction = connection.get_transaction()
            if last is transaction:
                raw.execute(f"TRUNCATE {stage}")
            last = transaction
            _copy(connection, f"{stage} ({names})", rows)()
            return lambda: raw.execute(run)

        return write


def _driver(connection: Connection) -> Any:
    """The psycopg connection below SQLAlchemy's."""
    return connection.connection.driver_connection


def _copy(connection: Connection, into: str, rows: Sequence[Row]) -> Rest:
    """Send them; what is left is the server's word that it has them."""
    raw = _driver(connection)
    text = copy_text(rows)
    data = None if text is None else text.encode(raw.info.encoding)
    with ExitStack() as opened:
        cursor = opened.enter_context(raw.cursor())
        copy = opened.enter_context(cursor.copy(f"COPY {into} FROM STDIN"))
        if data is not None:
            copy.write(data)  # faster than row by row through the driver
        else:
            for row in rows:
                copy.write_row(row)
        return opened.pop_all().close
