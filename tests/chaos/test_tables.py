"""A table copied through Kafka while tasks, connections and the database itself are killed.

CHAOS_ROWS says how many rows; `make chaos` runs it in full.
"""

import os
import random
import signal
import threading
from contextlib import ExitStack, suppress

import psycopg
import pytest

from penstock.stack import postgres, throwaway
from tests.support.processes import descendants, is_task
from tests.support.waiting import wait_for
from tests.support.worker import standalone

ROWS = int(os.environ.get("CHAOS_ROWS", "2000"))
WRITERS = 4
TRANSACTIONS = 50 if ROWS < 20_000 else 500  # of each writer
JSON = "org.apache.kafka.connect.json.JsonConverter"
COLUMNS = "id, writer, name, price, changed"


class Server:
    """A PostgreSQL that can be killed and comes back with what was committed."""

    def __init__(self, running):
        self._running = running
        self._launch, self._process = running.enter_context(throwaway.server(postgres.prepare))
        self.url = self._launch.service.address

    def restart(self):
        self._process.stop(signal.SIGQUIT)
        again = throwaway.server(lambda _: self._launch)
        _, self._process = self._running.enter_context(again)

    def run(self, *statements):
        with psycopg.connect(self.url, autocommit=True) as db:
            for statement in statements:
                done = db.execute(statement)
            return done.fetchall() if done.description else []


@pytest.fixture
def server():
    with ExitStack() as running:
        try:
            postgres.find_binaries()
        except postgres.PostgresMissingError as missing:
            pytest.skip(str(missing))
        yield Server(running)


def test_copy_equals_original_whatever_is_killed(server, kafka, make_topic, tmp_path):
    """Several writers insert and update all the while; in the end the table at the sink equals the
    one at the source, row for row.
    """
    topic = make_topic("copy-items", partitions=2)
    server.run(
        """CREATE TABLE items (
            id bigserial PRIMARY KEY, writer int NOT NULL, name text, price numeric(12,2),
            changed timestamptz NOT NULL DEFAULT clock_timestamp())""",
        "CREATE INDEX ON items (changed)",
        "CREATE TABLE copies (LIKE items INCLUDING INDEXES)",
    )
    with standalone(kafka, tmp_path, offset__flush__interval__ms="200") as worker:
        connectors = _connectors(server.url, topic)
        for name, config in connectors.items():
            worker.create(name, config)
        worker.wait_running("from", 1)
        worker.wait_running("to", 2)
        ended = threading.Event()
        killer = threading.Thread(target=_kill, args=(worker, server, ended), daemon=True)
        writers = [
            threading.Thread(target=_write, args=(server.url, number), daemon=True)
            for number in range(WRITERS)
        ]
        for thread in (*writers, killer):
            thread.start()
        for thread in writers:
            thread.join()
        ended.set()
        killer.join()
        # Connect's Timestamp has milliseconds.
        expected = [
            (*row, changed.replace(microsecond=changed.microsecond // 1000 * 1000))
            for *row, changed in server.run(f"SELECT {COLUMNS} FROM items ORDER BY id")
        ]
        assert len(expected) >= ROWS * 0.9  # a writer whose commit was not answered goes on
        wait_for(
            lambda: server.run(f"SELECT {COLUMNS} FROM copies ORDER BY id") == expected,
            lambda: (
                f"{_differences(server, expected)} {worker.status('from')}{worker.status('to')}"
            ),
            120 + ROWS / 1000,
        )


def _differences(server, expected):
    copies = {row[0]: row for row in server.run(f"SELECT {COLUMNS} FROM copies")}
    missing = [row for row in expected if row[0] not in copies]
    stale = [(row, copies[row[0]]) for row in expected if copies.get(row[0], row) != row]
    return (
        f"{len(expected)} equal rows; {len(missing)} are missing: {missing[:3]}, "
        f"{len(stale)} are not equal: {stale[:3]};"
    )


def _connectors(url, topic):
    common = {
        "connection.url": url,
        "connection.attempts": "200",
        "connection.backoff.ms": "100",
        "errors.restart.policy": "always",
        "errors.restart.backoff.ms": "100",
        "errors.restart.backoff.max.ms": "300",
        "value.converter": JSON,
        "value.converter.schemas.enable": "true",
    }
    source = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
        "mode": "timestamp+incrementing",
        "timestamp.column.name": "changed",
        "incrementing.column.name": "id",
        # Longer than any of the writers' transactions takes.
        "timestamp.delay.interval.ms": "3000",
        "table.whitelist": "items",
        "topic.prefix": "pg-",
        "poll.interval.ms": "10",
        "transforms": "key,route",
        "transforms.key.type": "org.apache.kafka.connect.transforms.ValueToKey",
        "transforms.key.fields": "id",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": ".*",
        "transforms.route.replacement": topic,
    }
    sink = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
        "topics": topic,
        "tasks.max": "2",
        "table.name.format": "copies",
        "insert.mode": "upsert",
        "pk.mode": "record_value",
        "pk.fields": "id",
        "retry.backoff.ms": "100",
        "max.retries": "1000",
        # A killed consumer's partitions go to others after this time.
        "consumer.override.session.timeout.ms": "6000",
        "consumer.override.heartbeat.interval.ms": "1000",
    }
    return {"from": {**common, **source}, "to": {**common, **sink}}


def _write(url, writer):
    """Insert rows and update older ones, a few in each transaction, whatever becomes of it."""
    dice = random.Random(writer)
    size = max(1, ROWS // WRITERS // TRANSACTIONS)
    known, pause = [], threading.Event()
    for number in range(TRANSACTIONS):
        changed = dice.sample(known, min(len(known), size))
        with suppress(psycopg.OperationalError), psycopg.connect(url) as db:
            new = db.execute(
                "INSERT INTO items (writer, name, price) "
                "SELECT %s, %s, (random() * 1000000)::numeric(12, 2) FROM generate_series(1, %s) "
                "RETURNING id",
                (writer, f"item {number}", size),
            ).fetchall()
            db.execute(
                "UPDATE items SET name = %s, changed = clock_timestamp() WHERE id = ANY(%s)",
                (f"changed in {number}", changed),
            )
            db.commit()
            known += [row[0] for row in new]
        while not _answers(url):
            pause.wait(0.1)
        pause.wait(0.02)


def _answers(url):
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def _kill(worker, server, ended):
    """Kill task processes, the sink's connections, and the database, in turn."""
    dice = random.Random(1)
    while not ended.wait(0.7):
        if victims := [pid for pid in descendants(worker.process.pid) if is_task(pid)]:
            with suppress(ProcessLookupError):
                os.kill(dice.choice(victims), signal.SIGKILL)
        if ended.wait(0.7):
            break
        server.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
            "current_database() AND pid <> pg_backend_pid() AND query LIKE '%copies%'"
        )
        if not ended.wait(0.7):
            server.restart()
