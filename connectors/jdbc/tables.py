"""The sink's tables: what columns they have, made and extended when that is wanted."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import inspect
from sqlalchemy.exc import DBAPIError, NoSuchTableError
from sqlalchemy.types import ARRAY

from connect import DataError
from connectors.jdbc.database import Database, is_passing, reason
from connectors.jdbc.dialects import Dialect
from connectors.jdbc.shapes import Column, TableName

log = logging.getLogger(__name__)

# How old what is known of a table may be where a column is missed: looking takes milliseconds.
_LOOK_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Table:
    """A table as it is in the database."""

    columns: frozenset[str]
    arrays: frozenset[str]


class Tables:
    """The tables that a task writes to. What was found once is taken as given until `forget`."""

    def __init__(self, database: Database, dialect: Dialect, *, create: bool, evolve: bool) -> None:
        self._database = database
        self._dialect = dialect
        self._create = create
        self._evolve = evolve
        self._known: dict[TableName, Table] = {}
        self._looked: dict[TableName, float] = {}  # when

    def forget(self) -> None:
        self._known.clear()

    def is_old(self, name: TableName) -> bool:
        """Whether it is time to see if somebody else has altered the table."""
        return name not in self._known or time.monotonic() > self._looked[name] + _LOOK_SECONDS

    def recent(self, name: TableName) -> Table | None:
        """The table as it is, or was not long ago."""
        return self._look(name) if self.is_old(name) else self.get(name)

    def get(self, name: TableName) -> Table | None:
        """The table, None when there is none."""
        table = self._known.get(name)
        if table is None:
            table = self._inspect(name)
            if table is not None:
                self._known[name] = table
                self._looked[name] = time.monotonic()
        return table

    def ready(self, name: TableName, keys: Sequence[Column], rest: Sequence[Column]) -> Table:
        """The table with all these columns, made or extended if allowed, else DataError."""
        table = self.get(name)
        if table is None:
            table = self._made(name, keys, rest)
        missing = [column for column in (*keys, *rest) if column.name not in table.columns]
        if missing:
            # Somebody else may have altered it meanwhile.
            table = self._look(name) or table
            missing = [column for column in missing if column.name not in table.columns]
        if missing:
            table = self._extended(name, missing, {column.name for column in keys})
        return table

    def _look(self, name: TableName) -> Table | None:
        self._known.pop(name, None)
        return self.get(name)

    def _inspect(self, name: TableName) -> Table | None:
        connection = self._database.connection()
        try:
            columns = inspect(connection).get_columns(name.name, schema=name.schema)
        except NoSuchTableError:
            return None
        finally:
            connection.rollback()
        return Table(
            frozenset(column["name"] for column in columns),
            frozenset(c["name"] for c in columns if isinstance(c["type"], ARRAY)),
        )

    def _made(self, name: TableName, keys: Sequence[Column], rest: Sequence[Column]) -> Table:
        if not self._create:
            raise DataError(
                f"Table {name} does not exist in {self._database.name}: create it, or set "
                "auto.create=true to have it created"
            )
        self._alter(self._dialect.create_table(name, keys, rest), f"Table {name}")
        table = self.get(name)
        if table is None:
            raise DataError(f"Table {name} was created in {self._database.name} and is not there")
        return table

    def _extended(self, name: TableName, missing: Sequence[Column], keys: Collection[str]) -> Table:
        names = ", ".join(column.name for column in missing)
        if not self._evolve:
            raise DataError(
                f"Table {name} has no column {names}: add it, set auto.evolve=true to have it "
                "added, or leave the field out with fields.whitelist"
            )
        for column in missing:
            if column.name in keys:
                raise DataError(
                    f"Table {name} has no column {column.name}, which is of the primary key: a "
                    "key column can't be added, so add it to the table or name others in pk.fields"
                )
            if not column.schema.optional and column.schema.default is None:
                raise DataError(
                    f"Table {name} has no column {column.name}, and it can't be added because the "
                    "field is neither optional nor has it a default"
                )
            self._alter(self._dialect.add_column(name, column), f"Column {column.name} of {name}")
        table = self._look(name)
        if table is None or not {column.name for column in missing} <= table.columns:
            raise DataError(f"Column {names} was added to table {name} and is not there")
        return table

    def _alter(self, statement: str, what: str) -> None:
        """Run DDL. Other tasks may do the same now, so a refusal counts only if it lasts."""
        connection = self._database.connection()
        try:
            with connection.begin():
                for each in (*self._dialect.before_ddl, statement):
                    connection.exec_driver_sql(each, execution_options={"no_parameters": True})
            log.info("%s is made: %s", what, " ".join(statement.split()))
        except DBAPIError as error:
            if is_passing(error):
                raise
            if not self._is_there(error):
                raise DataError(f"{what} can't be made: {reason(error)}") from error

    def _is_there(self, error: DBAPIError) -> bool:
        """Whether a refusal means that another task was quicker."""
        state = getattr(error.orig, "sqlstate", None)
        # duplicate table, duplicate column, and the catalogue's own race of CREATE TABLE.
        return (
            state in {"42P07", "42701", "23505"}
            or "already exists" in str(error.orig)
            or ("duplicate column" in str(error.orig).lower())
        )
