"""What differs between databases: column types, statements, values."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection
from sqlalchemy.engine import Dialect as AlchemyDialect

from connect import Schema, UnsupportedError
from connectors.jdbc.kinds import Convert, Kind, kind_of, to_json
from connectors.jdbc.shapes import Column, Shape, TableName

Row = tuple[Any, ...]
# Begins to write rows, and gives what is left to do: the wait, which another thread may do.
Rest = Callable[[], object]
Write = Callable[[Connection, Sequence[Row]], Rest]


class Dialect:
    """Any database that SQLAlchemy can reach, with standard SQL: inserts, updates and deletes."""

    types: dict[str, str] = {  # noqa: RUF012
        "int8": "SMALLINT",
        "int16": "SMALLINT",
        "int32": "INTEGER",
        "int64": "BIGINT",
        "float32": "REAL",
        "float64": "DOUBLE PRECISION",
        "boolean": "BOOLEAN",
        "string": "VARCHAR(4000)",
        "bytes": "BLOB",
        "decimal": "DECIMAL(38,{scale})",
        "numeric": "DECIMAL(38,10)",
        "date": "DATE",
        "time": "TIME",
        "timetz": "VARCHAR(64)",
        "timestamp": "TIMESTAMP",
        "timestamptz": "VARCHAR(64)",
        "json": "VARCHAR(4000)",
        "uuid": "VARCHAR(36)",
    }
    # What a key column of a kind must be where it can't be what another column is.
    key_types: dict[str, str] = {}  # noqa: RUF012
    # Statements that go before one that makes or alters a table, in its transaction.
    before_ddl: tuple[str, ...] = ()

    def __init__(self, alchemy: AlchemyDialect, zone: ZoneInfo) -> None:
        self._quote = alchemy.identifier_preparer.quote_identifier
        self._mark = {"format": "%s", "pyformat": "%s", "qmark": "?"}.get(alchemy.paramstyle, "?")
        self._zone = zone
        self._in_utc = zone.key in {"UTC", "Etc/UTC"}

    # -- names and types --------------------------------------------------------------------

    def quote(self, name: str) -> str:
        return self._quote(name)

    def table(self, table: TableName) -> str:
        return ".".join(self.quote(part) for part in table.parts)

    def column_type(self, schema: Schema, *, is_key: bool = False) -> str:
        kind = kind_of(schema)
        return self._type(kind, is_key=is_key)

    def _type(self, kind: Kind, *, is_key: bool) -> str:
        name = "json" if kind.name == "array" else kind.name
        text = (is_key and self.key_types.get(name)) or self.types[name]
        return text.format(scale=kind.scale)

    def literal(self, value: Any) -> str | None:
        """A column's default as SQL, None if it has no simple form."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, (int, float, decimal.Decimal)):
            return str(value)
        if isinstance(value, str):
            return "'" + value.replace("'", "''") + "'"
        return None

    def create_table(self, table: TableName, keys: Sequence[Column], rest: Sequence[Column]) -> str:
        lines = [self._column(column, is_key=True) for column in keys]
        lines += [self._column(column, is_key=False) for column in rest]
        if keys:
            lines.append(f"PRIMARY KEY({self._names(keys)})")
        return f"CREATE TABLE {self.table(table)} (\n  " + ",\n  ".join(lines) + "\n)"

    def add_column(self, table: TableName, column: Column) -> str:
        return f"ALTER TABLE {self.table(table)} ADD COLUMN {self._column(column, is_key=False)}"

    def _column(self, column: Column, *, is_key: bool) -> str:
        schema = column.schema
        text = f"{self.quote(column.name)} {self.column_type(schema, is_key=is_key)}"
        default = None if schema.default is None else self.literal(schema.default)
        if default is not None:
            text += f" DEFAULT {default}"
        nullable = schema.optional and not is_key
        return text if nullable else text + " NOT NULL"

    def _names(self, columns: Sequence[Column]) -> str:
        return ", ".join(self.quote(column.name) for column in columns)

    # -- values -----------------------------------------------------------------------------

    def converter(self, column: Column, is_array: bool) -> Convert | None:  # noqa: ARG002
        """What a value of this column is put through before the driver gets it; None: nothing.

        `is_array` says whether the table's column is an array of the database's own.
        """
        kind = kind_of(column.schema)
        if kind.name == "array":
            return to_json
        return _then(kind.convert, self._native(kind.name))

    def _native(self, kind: str) -> Convert | None:
        return self._local if kind == "timestamp" else None

    def _local(self, value: Any) -> Any:
        """A timestamp as the wall clock of the database's zone showed it."""
        if self._in_utc and type(value) is dt.datetime and value.tzinfo is dt.UTC:
            return value.replace(tzinfo=None)  # ten times as fast as asking the zone
        if isinstance(value, dt.datetime) and value.tzinfo is not None:
            return value.astimezone(self._zone).replace(tzinfo=None)
        return value

    # -- statements -------------------------------------------------------------------------

    def insert(self, shape: Shape) -> Write:
        return self._many(self._insert_sql(shape))

    def upsert(self, shape: Shape) -> Write:  # noqa: ARG002
        raise UnsupportedError(
            "insert.mode=upsert is not possible with this database: use insert or update"
        )

    def update(self, shape: Shape) -> Write:
        """Rows come as keys, then columns; the statement wants it the other way around."""
        sets = ", ".join(f"{self.quote(c.name)} = {self._mark}" for c in shape.rest)
        where = " AND ".join(f"{self.quote(c.name)} = {self._mark}" for c in shape.keys)
        write = self._many(f"UPDATE {self.table(shape.table)} SET {sets} WHERE {where}")  # noqa: S608
        count = len(shape.keys)
        return lambda connection, rows: write(
            connection, [row[count:] + row[:count] for row in rows]
        )

    def delete(self, shape: Shape) -> Write:
        """Rows are keys only."""
        where = " AND ".join(f"{self.quote(c.name)} = {self._mark}" for c in shape.keys)
        return self._many(f"DELETE FROM {self.table(shape.table)} WHERE {where}")  # noqa: S608

    def _insert_sql(self, shape: Shape) -> str:
        names, marks = self._names(shape.columns), ", ".join([self._mark] * len(shape.columns))
        return f"INSERT INTO {self.table(shape.table)} ({names}) VALUES ({marks})"  # noqa: S608

    def _many(self, sql: str) -> Write:
        return lambda connection, rows: partial(connection.exec_driver_sql, sql, list(rows))


def _then(first: Convert | None, second: Convert | None) -> Convert | None:
    if first is None or second is None:
        return first or second
    return lambda value: second(first(value))


class SqliteDialect(Dialect):
    """SQLite: dates and times as the ISO texts that its own functions read."""

    types = {  # noqa: RUF012
        **dict.fromkeys(("int8", "int16", "int32", "int64"), "INTEGER"),
        **dict.fromkeys(("float32", "float64"), "REAL"),
        **dict.fromkeys(("string", "json", "uuid", "timetz"), "TEXT"),
        **dict.fromkeys(("decimal", "numeric"), "NUMERIC"),
        "boolean": "BOOLEAN",
        "bytes": "BLOB",
        "date": "DATE",
        "time": "TIME",
        "timestamp": "TIMESTAMP",
        "timestamptz": "TIMESTAMP",
    }

    def upsert(self, shape: Shape) -> Write:
        return self._many(f"{self._insert_sql(shape)} {on_conflict(self, shape)}")

    def _native(self, kind: str) -> Convert | None:
        match kind:
            case "timestamp":
                return self._iso_local
            case "date" | "time":
                return _iso
            case "decimal" | "numeric":
                return str
        return None

    def _iso_local(self, value: Any) -> Any:
        local = self._local(value)
        return local.isoformat(" ") if isinstance(local, dt.datetime) else local


class MysqlDialect(Dialect):
    """MySQL and MariaDB."""

    types = {  # noqa: RUF012
        **Dialect.types,
        "int8": "TINYINT",
        "int32": "INT",
        "float32": "FLOAT",
        "float64": "DOUBLE",
        "string": "LONGTEXT",
        "bytes": "LONGBLOB",
        "decimal": "DECIMAL(65,{scale})",
        "numeric": "DECIMAL(65,20)",
        "time": "TIME(6)",
        "timestamp": "DATETIME(6)",
        "json": "JSON",
    }
    # No index over the whole of a text without end.
    key_types = {"string": "VARCHAR(255)", "bytes": "VARBINARY(255)"}  # noqa: RUF012

    def upsert(self, shape: Shape) -> Write:
        # VALUES() is what MySQL and MariaDB have in common.
        updated = shape.rest or shape.keys
        sets = ", ".join(f"{q} = VALUES({q})" for q in (self.quote(c.name) for c in updated))
        return self._many(f"{self._insert_sql(shape)} ON DUPLICATE KEY UPDATE {sets}")


def _iso(value: Any) -> Any:
    return value.isoformat() if isinstance(value, (dt.date, dt.time)) else value


def on_conflict(dialect: Dialect, shape: Shape) -> str:
    """PostgreSQL's and SQLite's way to write a row that may be there already."""
    keys = ", ".join(dialect.quote(c.name) for c in shape.keys)
    if not shape.rest:
        return f"ON CONFLICT ({keys}) DO NOTHING"
    sets = ", ".join(f"{q} = excluded.{q}" for q in (dialect.quote(c.name) for c in shape.rest))
    return f"ON CONFLICT ({keys}) DO UPDATE SET {sets}"


def dialect_of(alchemy: AlchemyDialect, zone: ZoneInfo) -> Dialect:
    match alchemy.name:
        case "postgresql":
            from connectors.jdbc.postgres import PostgresDialect  # noqa: PLC0415 - it builds on us

            return PostgresDialect(alchemy, zone)
        case "sqlite":
            return SqliteDialect(alchemy, zone)
        case "mysql" | "mariadb":
            return MysqlDialect(alchemy, zone)
    return Dialect(alchemy, zone)
