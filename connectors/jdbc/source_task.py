"""The JDBC source's task: asks its tables for new rows, one after the other."""

from __future__ import annotations

import datetime as dt
import json
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection
from sqlalchemy import types as sql

from connect import Config, ConnectError, DataError, SourceRecord, SourceTask
from connectors.jdbc.catalogue import SourceTable, describe, result_columns
from connectors.jdbc.columns import Mapping, RowReader, TableColumn, row_reader, to_utc, typed_by
from connectors.jdbc.criteria import Criteria, Position, coalesced
from connectors.jdbc.database import Database, is_database_error, is_passing, reason, url_of
from connectors.jdbc.dialects import Dialect, dialect_of
from connectors.jdbc.shapes import TableName
from connectors.jdbc.sink_config import zone_of
from connectors.jdbc.source_config import BOTH, BULK, INCREMENTING, TIMESTAMP

log = logging.getLogger(__name__)

# The task's own key: the tables it reads, as JSON.
TABLES = "tables"
# How long poll waits at most when no table is due, so that pausing and stopping are quick.
_LONGEST_WAIT_SECONDS = 0.25

_QUERY = {"query": "query"}


class JdbcSourceTask(SourceTask):
    def start(self, config: Config) -> None:
        self._config = config
        self._database = Database(url_of(config), zone_of(config["db.timezone"]).key)
        isolation = config["transaction.isolation.mode"].upper()
        if isolation != "DEFAULT":
            self._database.engine = self._database.engine.execution_options(
                isolation_level=isolation.replace("_", " ")
            )
        self._rows: int = config["batch.max.rows"]
        self._interval: float = config["poll.interval.ms"] / 1000
        self._failures = 0
        connection = self._database.connect(
            config["connection.attempts"], config["connection.backoff.ms"]
        )
        names: list[TableName | None] = [
            TableName(*parts) for parts in json.loads(config.raw.get(TABLES, "[]"))
        ]
        if config["query"]:
            names = [None]
        try:
            self._readers = [_Reader(self, connection, name) for name in names]
        finally:
            connection.rollback()
        self._current: _Reader | None = None

    def poll(self) -> list[SourceRecord] | None:
        reader = self._current or self._due()
        if reader is None:
            return None
        try:
            records = reader.read(self._database.connection(), self._rows)
        except Exception as error:
            if not is_database_error(error):
                raise
            self._failed(reader, error)
            return None
        self._failures = 0
        self._current = None if reader.done else reader
        return records

    def stop(self) -> None:
        database = getattr(self, "_database", None)
        if database is not None:
            database.close()

    def _due(self) -> _Reader | None:
        """The reader that has waited longest for its turn; None after a short wait."""
        now = time.monotonic()
        reader = min(self._readers, key=lambda each: each.due, default=None)
        wait = _LONGEST_WAIT_SECONDS if reader is None else reader.due - now
        if wait > 0:
            time.sleep(min(wait, _LONGEST_WAIT_SECONDS))
            return None
        return reader

    def _failed(self, reader: _Reader, error: Exception) -> None:
        """Go on behind the last record that was handed out, if the failure may pass."""
        self._database.drop()
        self._current = None
        reader.abandon()
        limit = self._config["query.retry.attempts"]
        self._failures += 1
        if not is_passing(error) or 0 <= limit < self._failures:
            raise ConnectError(
                f"{reader.what} of {self._database.name} can't be read: {reason(error)}"
            ) from error
        log.warning("%s can't be read now and is tried again: %s", reader.what, reason(error))


class _Reader:
    """Reads one table, or the query, from a position on."""

    def __init__(
        self, task: JdbcSourceTask, connection: Connection, name: TableName | None
    ) -> None:
        config = task._config
        self._config = config
        self._interval = task._interval
        self._name = name
        self.what = f"Table {name}" if name is not None else "The query"
        self.due = 0.0
        self.done = True
        self._mode: str = config["mode"].lower()
        self._zone = zone_of(config["db.timezone"])
        self._mapping = Mapping(
            config["numeric.mapping"].lower(),
            config["timestamp.granularity"].lower(),
            self._zone,
            wide_integers=connection.dialect.name == "sqlite",
        )
        self._dialect = dialect_of(connection.dialect, self._zone)
        self._table = describe(connection, name) if name is not None else None
        self._columns: tuple[TableColumn, ...] = ()  # of the results
        self._reader: RowReader | None = None
        self._partition: dict[str, Any] = _QUERY
        self._result: Any = None
        self._held: Any = None  # a row read ahead
        self._criteria: Criteria | None = None
        self._set_up_columns()
        self._position = self._stored(task)

    # -- where to begin -----------------------------------------------------------------------

    def _stored(self, task: JdbcSourceTask) -> Position:
        """The stored offset, under any of the names that versions have given the table."""
        if self._name is None:
            found = [task.context.offset(_QUERY)]
        else:
            fqn = str(self._name)
            database = task._database.url.database
            partitions: list[dict[str, Any]] = [
                {"protocol": "1", "table": fqn},
                {"protocol": "1", "table": f"{database}.{fqn}"},
                {"protocol": "1", "table": self._name.name},
                {"table": self._name.name},
            ]
            self._partition = partitions[0]
            found = task.context.offsets(partitions)
        for stored in found:
            if stored is not None:
                return Position.of(stored)
        initial = self._config["timestamp.initial"]
        if initial is None or not self._moments:
            return Position()
        millis = time.time_ns() // 1_000_000 if initial == -1 else initial
        return Position.of({"timestamp": millis})

    # -- columns ------------------------------------------------------------------------------

    def _set_up_columns(self) -> None:
        self._number: str | None = None
        self._moments: list[str] = []
        if self._mode in (INCREMENTING, BOTH):
            self._number = self._config["incrementing.column.name"] or self._counter()
        if self._mode in (TIMESTAMP, BOTH):
            self._moments = self._config["timestamp.column.name"]
        if self._table is not None:
            self._check(self._table)

    def _counter(self) -> str:
        counter = self._table.counter if self._table is not None else None
        if counter is None:
            raise ConnectError(
                f"{self.what} has no single autoincrement column: name the column that only grows "
                "in incrementing.column.name"
            )
        return counter

    def _check(self, table: SourceTable) -> None:
        columns = {column.name: column for column in table.columns}
        used = ([self._number] if self._number else []) + self._moments
        for name in used:
            if name not in columns:
                raise ConnectError(f"{self.what} has no column {name}: it has {', '.join(columns)}")
        if not self._config["validate.non.null"]:
            return
        numbers_null = self._number is not None and columns[self._number].nullable
        moments_null = bool(self._moments) and all(columns[m].nullable for m in self._moments)
        if numbers_null or moments_null:
            raise ConnectError(
                f"{self.what} may have nulls in {', '.join(used)}, and rows with a null there are "
                "never read. Make the column NOT NULL, or set validate.non.null=false"
            )

    def _made_criteria(self, connection: Connection) -> Criteria:
        quote = self._dialect.quote
        moment: str | None = None
        bind: Callable[[dt.datetime], Any] = _as_is
        if self._moments:
            aware = self._has_zone(connection)
            moment = coalesced([_moment_expression(self._dialect, quote(m)) for m in self._moments])
            bind = _binder(connection.dialect.name, self._zone, aware=aware)
        return Criteria(
            quote(self._number) if self._number else None,
            moment,
            "?" if connection.dialect.paramstyle == "qmark" else "%s",
            bind,
        )

    def _has_zone(self, connection: Connection) -> bool:
        """Whether the database compares the timestamp columns with moments, not wall clocks."""
        columns = (
            self._table.columns if self._table is not None else self._query_columns(connection)
        )
        types = [column.type for column in columns if column.name in self._moments]
        return any(isinstance(type_, sql.DateTime) and type_.timezone for type_ in types)

    def _query_columns(self, connection: Connection) -> tuple[TableColumn, ...]:
        """A query's columns before there are rows, from databases that declare their types."""
        if connection.dialect.name != "postgresql":
            return ()
        none = connection.exec_driver_sql(
            f"{self._config['query']} WHERE 1 = 0", execution_options={"no_parameters": True}
        )
        try:
            return result_columns(none.cursor, connection.dialect)
        finally:
            none.close()

    # -- reading ------------------------------------------------------------------------------

    def read(self, connection: Connection, limit: int) -> list[SourceRecord]:
        """Up to `limit` records. `done` says whether that was all for now."""
        if self.done:
            self._begin(connection)
        rows = self._result.fetchmany(limit)
        at_end = len(rows) < limit
        if self._held is not None:
            rows.insert(0, self._held)
            self._held = None
        if not at_end:
            # The last row waits, because only the next one shows whether more of its moment come.
            self._held = rows.pop()
        if at_end:
            # Before the position moves: if the connection is lost here, the rows are read again.
            self._end(connection)
        return self._records(rows)

    def abandon(self) -> None:
        self._result = self._held = None
        self.done = True
        self.due = time.monotonic() + self._interval

    def _begin(self, connection: Connection) -> None:
        end = None
        if self._moments:
            end = _now(connection, self._zone) - dt.timedelta(
                milliseconds=self._config["timestamp.delay.interval.ms"]
            )
        query = self._config["query"] or f"SELECT * FROM {self._dialect.table(self._named())}"  # noqa: S608
        values: list[Any] = []
        if self._mode != BULK:
            if self._criteria is None:
                self._criteria = self._made_criteria(connection)
            clause, values = self._criteria.clause(self._position, end)
            query += clause
        if self._config["query.suffix"]:
            query += " " + self._config["query.suffix"]
        options = {"stream_results": True, "max_row_buffer": 10_000}
        if not values:
            options["no_parameters"] = True
        self._result = connection.exec_driver_sql(
            query, tuple(values) or None, execution_options=options
        )
        self.done = False
        self._fit(connection)

    def _named(self) -> TableName:
        assert self._name is not None
        return self._name

    def _fit(self, connection: Connection) -> None:
        """Know the columns that the result has."""
        names = list(self._result.keys())
        if names == [column.name for column in self._columns]:
            return
        columns: tuple[TableColumn, ...]
        if self._table is not None:
            if names != [column.name for column in self._table.columns]:
                with connection.engine.connect() as other:
                    self._table = describe(other, self._named())
            columns = self._table.columns
            if names != [column.name for column in columns]:
                raise ConnectError(f"{self.what} was altered while it was read: restart the task")
        else:
            columns = result_columns(self._result.cursor, connection.dialect)
        self._columns, self._reader = columns, None

    def _reader_of(self, rows: list[Any]) -> RowReader:
        """The reader for these rows, whose values may be the first to tell a column's type."""
        if any(column.type is None for column in self._columns):
            columns = typed_by(self._columns, rows)
            if columns != self._columns:
                self._columns, self._reader = columns, None
        if self._reader is None:
            name = self._name.name if self._name is not None else self._config["topic.prefix"]
            self._reader = row_reader(name, self._columns, self._mapping)
        return self._reader

    def _end(self, connection: Connection) -> None:
        self._result.close()
        connection.rollback()  # it only read; an open transaction would hold up the server
        self._result = None
        self.done = True
        self.due = time.monotonic() + self._interval

    # -- records ------------------------------------------------------------------------------

    def _records(self, rows: list[Any]) -> list[SourceRecord]:
        if not rows:
            return []
        reader = self._reader_of(rows)
        topic = self._config["topic.prefix"] + (self._name.name if self._name is not None else "")
        schema, value = reader.schema, reader.value
        return [
            SourceRecord(
                topic, None, None, None, schema, value(row),
                source_partition=None if self._mode == BULK else self._partition,
                source_offset=offset,
            )
            for row, offset in zip(rows, self._offsets(rows), strict=True)
        ]  # fmt: skip

    def _offsets(self, rows: list[Any]) -> Iterator[dict[str, int] | None]:
        """The offset behind each row, and the reader's position behind all of them."""
        if self._mode == BULK:
            yield from [None] * len(rows)
            return
        keys = [column.name for column in self._columns]
        number = keys.index(self._number) if self._number else None
        moments = [keys.index(m) for m in self._moments]
        following = [*rows[1:], self._held]
        for row, after in zip(rows, following, strict=True):
            moment = _moment(row, moments, self._zone)
            if number is not None:
                self._position = Position(_whole(row[number]), moment)
            elif after is None or _moment(after, moments, self._zone) != moment:
                # Only now is everything of this moment read: behind it is where to go on.
                self._position = Position(None, moment)
            yield self._position.offset() or None


def _moment(row: Any, columns: list[int], zone: ZoneInfo) -> dt.datetime | None:
    for place in columns:
        if row[place] is not None:
            return to_utc(row[place], zone)
    return None


def _whole(value: Any) -> int:
    if int(value) != value:
        raise DataError(f"The incrementing column has the value {value}, which is no whole number")
    return int(value)


def _as_is(value: dt.datetime) -> Any:
    return value


def _binder(dialect: str, zone: ZoneInfo, *, aware: bool) -> Callable[[dt.datetime], Any]:
    if dialect == "sqlite":
        return lambda moment: (
            moment.astimezone(zone).replace(tzinfo=None).isoformat(" ", "microseconds")
        )
    if aware:
        return _as_is
    return lambda moment: moment.astimezone(zone).replace(tzinfo=None)


def _moment_expression(dialect: Dialect, column: str) -> str:
    """SQLite compares texts, so all are brought to the form that is bound: with microseconds."""
    from connectors.jdbc.dialects import SqliteDialect  # noqa: PLC0415

    if not isinstance(dialect, SqliteDialect):
        return column
    text = f"replace({column}, 'T', ' ')"
    return f"substr({text} || iif(instr({column}, '.'), '', '.') || '000000', 1, 26)"


def _now(connection: Connection, zone: ZoneInfo) -> dt.datetime:
    """The database's clock."""
    match connection.dialect.name:
        case "sqlite":
            query, zone = "SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')", ZoneInfo("UTC")
        case "mysql" | "mariadb":
            query, zone = "SELECT UTC_TIMESTAMP(6)", ZoneInfo("UTC")
        case _:
            query = "SELECT CURRENT_TIMESTAMP"
    return to_utc(
        connection.exec_driver_sql(query, execution_options={"no_parameters": True}).scalar(), zone
    )
