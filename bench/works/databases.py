"""The JDBC sink beside Debezium's, into PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

import psycopg

from bench import processes
from bench.runs import Bench, Row, Sample, alternate, throughput
from bench.sides import SETTINGS, Side
from bench.works import orders
from penstock.stack import throwaway

_SIZE = "2000"


def to_postgres(bench: Bench, insert: Row, upsert: Row) -> None:
    count = bench.records(400_000)
    # By mode, the orders that come. Half of the upserts are updates; the last order is a new one.
    half = count // 2
    numbers = {
        "insert": range(count),
        "upsert": [*(number % half for number in range(count - 1)), half],
    }
    bench.need("debezium")
    theirs, ours = bench.sides()
    with throwaway.postgres() as url, psycopg.connect(url, autocommit=True) as database:
        server = processes.below_us("/postgres")
        assert server is not None
        bench.watched["database"] = server
        for row, (mode, some) in zip((insert, upsert), numbers.items(), strict=True):
            topic = bench.filled(f"rows-{mode}", partial(orders.enveloped, some))
            row.settings = {**SETTINGS, "batch.size": _SIZE}

            run = partial(_run, bench, url, database, topic, mode, count, some[-1])
            alternate(bench, row, partial(run, theirs), partial(run, ours))
    del bench.watched["database"]


def _run(
    bench: Bench,
    url: str,
    database: psycopg.Connection,
    topic: str,
    mode: str,
    count: int,
    last: int,
    side: Side,
) -> Sample:
    table = bench.name("rows").replace("-", "_")
    config = {
        **_config(url), "topics": topic, "insert.mode": mode, "collection.name.format": table,
    }  # fmt: skip
    try:
        done = _progress(database, table, count, last)
        return throughput(bench, side, table, config, done, count)
    finally:
        database.execute(f'DROP TABLE IF EXISTS "{table}"')


def _config(url: str) -> dict[str, str]:
    place = urlsplit(url)
    return {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "tasks.max": "1",
        "connection.url": f"jdbc:postgresql://{place.hostname}:{place.port}{place.path}",
        "connection.username": place.username or "",
        "connection.password": "none",
        "primary.key.mode": "record_value",
        "primary.key.fields": "id",
        "schema.evolution": "basic",
        "batch.size": _SIZE,
        "value.converter": SETTINGS["value.converter"],
        "value.converter.schemas.enable": "true",
    }


def _progress(database: psycopg.Connection, table: str, count: int, last: int) -> Callable[[], int]:
    """None, those of the first look, or all: counting every time would take from the database."""
    first = 0

    def asked(condition: str) -> int:
        answer = database.execute(f'SELECT count(*) FROM "{table}" {condition}').fetchone()
        return int(answer[0]) if answer else 0

    def done() -> int:
        nonlocal first
        try:
            if asked(f"WHERE id = {orders.FIRST_ID + last}"):
                return count
            first = first or asked("")
        except psycopg.errors.UndefinedTable:
            return 0
        return first

    return done
