"""Batches into a table of a database, with the batch's number in the same transaction."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import islice
from typing import Any

from connect import ConfigError, ConnectError, MissingExtraError
from spark_sink.settings import Output

log = logging.getLogger(__name__)

# Rows of one INSERT: round trips cost, memory does too.
CHUNK = 2000
BATCHES = "penstock_spark_batches"


def write_jdbc(output: Output, rows: Any, query: str, batch: int) -> None:
    """Insert a batch's rows and its number, or nothing if the number is there.

    With mode=complete the rows are in place of all that were there before.

    The driver does it, partition after partition, because only one connection can have one
    transaction. For more than some ten thousand rows a second, write files or Delta.
    """
    try:
        import sqlalchemy as sql  # noqa: PLC0415 - needs the extra
    except ImportError as error:
        raise MissingExtraError("jdbc", "spark.output.format=jdbc") from error
    engine = sql.create_engine(_url(output, sql))
    try:
        batches = sql.Table(
            BATCHES,
            sql.MetaData(),
            sql.Column("query", sql.String(100), primary_key=True),
            sql.Column("output", sql.String(100), primary_key=True),
            sql.Column("batch", sql.BigInteger, primary_key=True, autoincrement=False),
        )
        batches.create(engine, checkfirst=True)
        table = _table(output, engine, sql)
        mark = {"query": query, "output": output.name, "batch": batch}
        with engine.begin() as transaction:
            done = sql.select(batches.c.batch).filter_by(**mark)
            if transaction.execute(done).first() is not None:
                log.info("Batch %d was written before and is left out", batch)
                return
            transaction.execute(batches.insert(), mark)
            if output.mode == "complete":
                transaction.execute(table.delete())
            local = (row.asDict() for row in rows.toLocalIterator(prefetchPartitions=True))
            for chunk in _chunks(local):
                transaction.execute(table.insert(), chunk)
            last = batches.delete().where(
                batches.c.query == query, batches.c.output == output.name, batches.c.batch < batch
            )
            transaction.execute(last)
    except sql.exc.SQLAlchemyError as error:
        raise ConnectError(f"Writing batch {batch} to {output.table} failed: {error}") from error
    finally:
        engine.dispose()


def _url(output: Output, sql: Any) -> Any:
    given = output.options.get("url")
    if not given:
        raise ConfigError("spark.output.option.url", given, "is not set: where is the database?")
    url = sql.make_url(given.removeprefix("jdbc:"))
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+psycopg")
    user, password = output.options.get("user"), output.options.get("password")
    return url.set(username=user or url.username, password=password or url.password)


def _table(output: Output, engine: Any, sql: Any) -> Any:
    assert output.table is not None
    schema, _, name = output.table.rpartition(".")
    try:
        return sql.Table(name, sql.MetaData(), schema=schema or None, autoload_with=engine)
    except sql.exc.NoSuchTableError as error:
        raise ConfigError(
            "spark.output.table", output.table, "there is no such table: create it"
        ) from error


def _chunks(rows: Iterator[Any]) -> Iterator[list[Any]]:
    while chunk := list(islice(rows, CHUNK)):
        yield chunk
