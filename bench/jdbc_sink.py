"""Rows a second of the JDBC sink into PostgreSQL, without Kafka and converters.

    python -m bench.jdbc_sink [rows]

Starts a PostgreSQL of its own. For each mode it prints rows a second in all, and the processor time
of the sink by phase: making rows of records, and handing them to the database.
"""

from __future__ import annotations

import datetime as dt
import gc
import sys
import time
from decimal import Decimal

from connect import Schema
from connect.testing import SinkHarness
from connectors.jdbc.sink import JdbcSinkConnector, JdbcSinkTask
from penstock.stack import throwaway

KEY = Schema.struct("Key").field("id", Schema.INT64).build()
ROW = (
    Schema.struct("Order")
    .field("id", Schema.INT64)
    .field("customer", Schema.STRING)
    .field("item", Schema.OPTIONAL_STRING)
    .field("quantity", Schema.INT32)
    .field("price", Schema.decimal(2).build())
    .field("weight", Schema.FLOAT64)
    .field("paid", Schema.BOOLEAN)
    .field("at", Schema.timestamp().build())
    .build()
)
BATCH = 5000


def value(n: int) -> dict[str, object]:
    return {
        "id": n,
        "customer": f"customer {n % 1000}",
        "item": None if n % 7 == 0 else f"item {n % 50} of the catalogue",
        "quantity": n % 9,
        "price": Decimal(n % 10_000).scaleb(-2),
        "weight": n / 3,
        "paid": n % 2 == 0,
        "at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=n),
    }


def run(url: str, mode: str, count: int, *, again: bool = False) -> None:
    """`again`: every row is there already."""
    by_key = {"pk.mode": "record_key"} if mode == "upsert" else {"pk.mode": "none"}
    settings = {
        "connection.url": url, "table.name.format": f"bench_{mode}", "insert.mode": mode,
        "auto.create": "true", "batch.size": str(BATCH), **by_key,
    }  # fmt: skip
    spent = {"rows": 0.0, "database": 0.0}
    with SinkHarness(JdbcSinkConnector, settings) as sink:
        task = sink.task
        assert isinstance(task, JdbcSinkTask)
        _time(task, "_items", spent, "rows")
        _time(task, "_write", spent, "database")
        records = [
            sink.record(value(n), schema=ROW, key={"id": n}, key_schema=KEY) for n in range(count)
        ]
        task.put(records[:1])
        gc.freeze()  # as in a task's process
        gc.set_threshold(100_000, 20, 100)
        begin, cpu = time.perf_counter(), time.process_time()
        for at in range(1, count, BATCH):
            task.put(records[at : at + BATCH])
        took, cpu = time.perf_counter() - begin, time.process_time() - cpu
    named = f"{mode} of rows that are there" if again else mode
    print(
        f"{named:28} {count / took:9,.0f} rows/s   {cpu / count * 1e6:5.2f} µs of CPU a row: "
        + ", ".join(f"{name} {seconds / count * 1e6:.2f}" for name, seconds in spent.items())
    )


def _time(task: object, name: str, spent: dict[str, float], phase: str) -> None:
    called = getattr(task, name)

    def timed(*args: object) -> object:
        begin = time.thread_time()
        try:
            return called(*args)
        finally:
            spent[phase] += time.thread_time() - begin

    setattr(task, name, timed)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    with throwaway.postgres() as url:
        run(url, "insert", count)
        run(url, "upsert", count)
        run(url, "upsert", count, again=True)


if __name__ == "__main__":
    main()
