"""Connections to a database, and which of its errors pass by themselves."""

from __future__ import annotations

import logging
import re
import time
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from connect import Config, ConfigDef, ConfigType, ConnectError, Importance, Secret
from connect.config.validators import at_least
from connectors.jdbc.urls import KEY, database_url, shown

log = logging.getLogger(__name__)

CONNECTION_KEYS = (
    ConfigDef()
    .define(
        KEY,
        doc="The database: a JDBC URL, such as `jdbc:postgresql://host:5432/db`, or one of "
        "SQLAlchemy, such as `sqlite:////data/x.db`.",
        group="Database",
    )
    .define(
        "connection.user",
        default=None,
        doc="The user, if the URL does not name him.",
        group="Database",
    )
    .define(
        "connection.password",
        ConfigType.PASSWORD,
        None,
        doc="The password, if the URL does not hold it.",
        group="Database",
    )
    .define(
        "connection.attempts",
        ConfigType.INT,
        3,
        doc="How often connecting is tried before a starting task fails.",
        importance=Importance.LOW,
        validator=at_least(1),
        group="Database",
    )
    .define(
        "connection.backoff.ms",
        ConfigType.LONG,
        10_000,
        doc="How long to wait between these attempts.",
        importance=Importance.LOW,
        validator=at_least(0),
        group="Database",
    )
    .define(
        "dialect.name",
        default="",
        doc="Taken for the sake of existing configs; the URL says which database it is.",
        importance=Importance.LOW,
        group="Database",
    )
    .define(
        "db.timezone",
        default="UTC",
        doc="The zone of timestamps that the database keeps without one.",
        importance=Importance.MEDIUM,
        group="Database",
    )
)

# SQLSTATEs of failures that may be gone at the next attempt: connections, lack of resources,
# operator's intervention, serialization failures and deadlocks, locks that are not available.
_PASSING_STATES = ("08", "53", "57", "58", "40", "55P03")
# MySQL's and MariaDB's numbers: too many connections, lock wait timeout, deadlock, server gone,
# connection lost, cannot connect.
_PASSING_MYSQL = {1040, 1053, 1205, 1213, 2002, 2003, 2006, 2013}
_PASSING_SQLITE = ("database is locked", "database table is locked", "database schema has changed")
# Of class 08 and 57, these will not mend: a protocol violation, a database that was dropped.
_LASTING_STATES = ("08P01", "57P04")


def url_of(config: Config) -> URL:
    user = config["connection.user"] or config.get("connection.username")
    password: Secret | None = config["connection.password"]
    return database_url(
        config[KEY], user or None, password.reveal() if password is not None else None
    )


class Database:
    """One database and, at most, one open connection to it."""

    def __init__(self, url: URL, zone: str | None = None) -> None:
        """`zone` is what a server of PostgreSQL's kind takes timestamps for that have none."""
        self.url = url
        self.name = shown(url)
        # One connection for a task's whole life; a pool would only hide when it is lost.
        self.engine: Engine = create_engine(url, poolclass=NullPool)
        self._connection: Connection | None = None
        if zone is not None:
            event.listen(self.engine, "connect", lambda raw, _: _set_zone(raw, zone))

    @property
    def dialect(self) -> str:
        return self.engine.dialect.name

    def connection(self) -> Connection:
        """The connection, made anew if it was dropped.

        ConnectError where the database will not have us: that is no fault of what is written.
        """
        if self._connection is None or self._connection.closed or self._connection.invalidated:
            self.drop()
            try:
                self._connection = self.engine.connect()
            except SQLAlchemyError as error:
                if is_passing(error):
                    raise
                raise ConnectError(f"Cannot connect to {self.name}: {reason(error)}") from error
        return self._connection

    def connect(self, attempts: int, backoff_ms: int) -> Connection:
        """The first connection, with patience; ConnectError with the server's reason at last."""
        for attempt in range(1, attempts + 1):
            try:
                return self.connection()
            except SQLAlchemyError as error:
                if attempt == attempts:
                    raise ConnectError(f"Cannot connect to {self.name}: {reason(error)}") from error
                log.warning(
                    "Cannot connect to %s, attempt %d of %d: %s",
                    self.name,
                    attempt,
                    attempts,
                    reason(error),
                )
                time.sleep(backoff_ms / 1000)
        raise AssertionError("unreachable")

    def drop(self) -> None:
        """Let the connection go, whatever state it is in."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            connection.close()
        except Exception as error:  # noqa: BLE001 - it is lost, which is why it is dropped
            log.debug("Closing a connection to %s: %s", self.name, error)

    def close(self) -> None:
        self.drop()
        self.engine.dispose()


def _set_zone(raw: Any, zone: str) -> None:
    """Give a new connection the zone in which it reads timestamps that have none."""
    if type(raw).__module__.startswith("psycopg"):
        with raw.cursor() as cursor:
            cursor.execute("SELECT set_config('TimeZone', %s, false)", (zone,))
        raw.commit()


def is_database_error(error: BaseException) -> bool:
    """Whether the database, or its driver, refused something."""
    return isinstance(error, DBAPIError) or type(error).__module__.startswith("psycopg")


def is_passing(error: BaseException) -> bool:
    """Whether the same may work at the next attempt: lost connections, deadlocks, locks."""
    if not is_database_error(error):
        return False
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    cause: Any = error.orig if isinstance(error, DBAPIError) else error
    state = getattr(cause, "sqlstate", None)
    if state is not None:
        return state.startswith(_PASSING_STATES) and state not in _LASTING_STATES
    driver = type(cause).__module__.partition(".")[0]
    if driver == "pymysql":
        return bool(cause.args) and cause.args[0] in _PASSING_MYSQL
    if driver == "sqlite3":
        return str(cause).startswith(_PASSING_SQLITE)
    # A connection that could not be made or was cut has no SQLSTATE. A refused password has
    # none either in libpq, but trying again does not mend it.
    return type(cause).__name__ == "OperationalError" and not _is_refusal(str(cause))


# What a server that is there says to a client it will never let in.
_REFUSALS = re.compile(
    r"authentication failed|does not exist|no pg_hba.conf entry|no password supplied|"
    r"permission denied|is not permitted"
)


def _is_refusal(message: str) -> bool:
    return _REFUSALS.search(message) is not None


def reason(error: BaseException) -> str:
    """What the database said, without the statement and its values."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    if type(cause).__module__.startswith("pymysql") and len(cause.args) == 2:
        return f"{cause.args[1]} ({cause.args[0]})"
    return " ".join(str(cause).split())
