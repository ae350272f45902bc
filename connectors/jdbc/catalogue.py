"""Which tables a database has, and what their columns are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, inspect
from sqlalchemy.exc import NoSuchTableError

from connect import Config, ConnectError
from connect.javalang.regex import compile_java
from connectors.jdbc.columns import TableColumn
from connectors.jdbc.shapes import TableName

_SYSTEM_SCHEMAS = {
    "information_schema",
    "pg_catalog",
    "pg_toast",
    "mysql",
    "performance_schema",
    "sys",
}


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table to read: its columns, and the one that counts up by itself if there is one."""

    name: TableName
    columns: tuple[TableColumn, ...]
    counter: str | None


def list_tables(connection: Connection, config: Config) -> list[TableName]:
    """The tables that the config wants, in order."""
    inspector = inspect(connection)
    types = {kind.upper() for kind in config["table.types"]}
    found: list[TableName] = []
    try:
        for schema in _schemas(inspector.get_schema_names(), config["schema.pattern"]):
            # SQLite's only schema is not part of a table's name.
            shown = None if connection.dialect.name == "sqlite" else schema
            names: list[str] = []
            if "TABLE" in types:
                names += inspector.get_table_names(schema)
            if "VIEW" in types:
                names += inspector.get_view_names(schema)
            found += [TableName(name, shown) for name in sorted(names)]
    finally:
        connection.rollback()
    wanted = _filter(config)
    return [table for table in found if wanted(table)]


def _schemas(names: Iterable[str], pattern: str | None) -> list[str]:
    if pattern is None:
        return [name for name in names if name not in _SYSTEM_SCHEMAS]
    matches = _like(pattern)
    return [name for name in names if matches(name)]


def _like(pattern: str) -> Callable[[str], bool]:
    """SQL's LIKE: % is any text, _ any character."""
    import re  # noqa: PLC0415 - the rest goes by Java's

    parts = {"%": ".*", "_": "."}
    compiled = re.compile("".join(parts.get(c) or re.escape(c) for c in pattern), re.DOTALL)
    return lambda name: compiled.fullmatch(name) is not None


def _filter(config: Config) -> Callable[[TableName], bool]:
    white, black = set(config["table.whitelist"]), set(config["table.blacklist"])
    include = [compile_java(pattern) for pattern in config["table.include.list"]]
    exclude = [compile_java(pattern) for pattern in config["table.exclude.list"]]

    def wanted(table: TableName) -> bool:
        names = {table.name, str(table)}
        if white and white.isdisjoint(names):
            return False
        if include and not any(p.matches(str(table)) for p in include):
            return False
        return black.isdisjoint(names) and not any(p.matches(str(table)) for p in exclude)

    return wanted


def describe(connection: Connection, name: TableName) -> SourceTable:
    """A table's columns, ConnectError when it is gone."""
    inspector = inspect(connection)
    try:
        columns = inspector.get_columns(name.name, schema=name.schema)
        keys = set(
            inspector.get_pk_constraint(name.name, schema=name.schema)["constrained_columns"]
        )
    except NoSuchTableError as error:
        raise ConnectError(f"Table {name} does not exist any more") from error
    counters = [c["name"] for c in columns if _counts(c, keys, connection.dialect.name)]
    return SourceTable(
        name,
        tuple(
            TableColumn(
                c["name"],
                _reflected(c["type"], connection.dialect.name),
                c["nullable"] and c["name"] not in keys,
            )
            for c in columns
        ),
        counters[0] if len(counters) == 1 else None,
    )


def _reflected(type_: Any, dialect: str) -> Any:
    if dialect in ("mysql", "mariadb"):
        from connectors.jdbc import mysql_types  # noqa: PLC0415 - only where it is MySQL

        return mysql_types.reflected(type_)
    return type_


def _counts(column: Any, keys: set[str], dialect: str) -> bool:
    """Whether the database gives the column the next number by itself."""
    if column.get("autoincrement") is True or column.get("identity") is not None:
        return True
    if "nextval(" in str(column.get("default") or ""):
        return True
    return dialect == "sqlite" and keys == {column["name"]} and str(column["type"]) == "INTEGER"


def result_columns(cursor: Any, dialect: Any) -> tuple[TableColumn, ...]:
    """The columns of a query's result, with their types as far as the driver tells."""
    return tuple(
        TableColumn(described[0], _declared(described, dialect), nullable=True)
        for described in cursor.description
    )


def _declared(described: Any, dialect: Any) -> Any:
    match dialect.name:
        case "postgresql":
            return _of_postgres(described, dialect)
        case "mysql" | "mariadb":
            from connectors.jdbc import mysql_types  # noqa: PLC0415 - only where it is MySQL

            return mysql_types.declared(described)
    return None


def _of_postgres(described: Any, dialect: Any) -> Any:
    import psycopg  # noqa: PLC0415 - only where PostgreSQL is the database
    from sqlalchemy import types as sql  # noqa: PLC0415

    info = psycopg.adapters.types.get(described.type_code)
    if info is None:
        return None
    is_array = info.array_oid == described.type_code
    type_ = dialect.ischema_names.get(info.regtype.removesuffix("[]"))
    if type_ is None:
        return None
    if issubclass(type_, sql.Numeric) and not issubclass(type_, sql.Float):
        made = sql.Numeric(described.precision, described.scale)
    elif issubclass(type_, sql.DateTime):
        made = type_(timezone=info.regtype.startswith("timestamp with time zone"))
    else:
        made = type_()
    return sql.ARRAY(made) if is_array else made
