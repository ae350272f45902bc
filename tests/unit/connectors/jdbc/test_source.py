"""The JDBC source, over SQLite."""

import datetime as dt
import sqlite3
from decimal import Decimal

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from connect import ConfigError, ConnectError, Schema
from connect.testing import SourceHarness, SourceTaskSuite
from connect.testing.running import checked_config
from connectors.jdbc.source import JdbcSourceConnector

ORDERS = """CREATE TABLE orders (
    id INTEGER PRIMARY KEY, name TEXT, price DECIMAL(10,2) NOT NULL,
    changed TIMESTAMP NOT NULL DEFAULT '2024-01-01 00:00:00')"""


def config(place, mode="incrementing", **more):
    return {
        "connection.url": f"jdbc:sqlite:{place / 'in.db'}",
        "mode": mode,
        "topic.prefix": "db-",
        "poll.interval.ms": "10",
        **({"timestamp.column.name": "changed"} if "timestamp" in mode else {}),
        **{k.replace("_", "."): str(v) for k, v in more.items()},
    }


def run(place, *statements):
    with sqlite3.connect(place / "in.db") as db:
        for statement in statements:
            db.execute(*statement) if isinstance(statement, tuple) else db.execute(statement)


def fill(place, count, changed="2024-01-01 00:00:00", first=1):
    insert = "INSERT INTO orders VALUES (?, ?, ?, ?)"
    run(
        place,
        *[(insert, (n, f"order {n}", "1.50", changed)) for n in range(first, first + count)],
    )


def ids(records):
    return [record.value["id"] for record in records]


class _Suite(SourceTaskSuite):
    connector = JdbcSourceConnector
    mode = ""

    def config(self, place):
        if not (place / "in.db").exists():
            run(place, ORDERS)
        return config(place, self.mode, batch_max_rows="7")

    def fill(self, place, count):
        self.config(place)
        fill(place, count)


class TestIncrementing(_Suite):
    mode = "incrementing"


class TestTimestampIncrementing(_Suite):
    """All rows are of one moment, and none is lost or read twice."""

    mode = "timestamp+incrementing"


class TestTimestamp(_Suite):
    mode = "timestamp"

    def fill(self, place, count):
        self.config(place)
        for number in range(count):
            fill(place, 1, f"2024-01-01 00:00:{number:02d}.5", first=number + 1)


def test_rows_have_the_types_of_their_columns(tmp_path):
    """Numbers, decimals, texts and timestamps keep their types; the schema has the table's name."""
    run(tmp_path, ORDERS)
    fill(tmp_path, 1, "2024-05-06 07:08:09.123456")
    with SourceHarness(JdbcSourceConnector, config(tmp_path, "timestamp+incrementing")) as source:
        (record,) = source.poll(1)
    assert record.topic == "db-orders"
    assert record.value_schema == (
        Schema.struct("orders")
        .field("id", Schema.INT64)
        .field("name", Schema.OPTIONAL_STRING)
        .field("price", Schema.decimal(2).build())
        .field("changed", Schema.timestamp().build())
        .build()
    )
    assert record.value == {
        "id": 1,
        "name": "order 1",
        "price": Decimal("1.50"),
        "changed": dt.datetime(2024, 5, 6, 7, 8, 9, 123000, tzinfo=dt.UTC),
    }
    assert record.source_partition == {"protocol": "1", "table": "orders"}
    assert record.source_offset == {
        "incrementing": 1,
        "timestamp": 1714979289123,
        "timestamp_nanos": 123456000,
    }


def test_rows_of_one_moment_are_read_again_unless_all_were_safe(tmp_path):
    """In timestamp mode the offset moves on only behind the last row of a moment."""
    run(tmp_path, ORDERS)
    fill(tmp_path, 3, "2024-01-01 00:00:01")
    fill(tmp_path, 5, "2024-01-01 00:00:02", first=4)
    source = SourceHarness(JdbcSourceConnector, config(tmp_path, "timestamp", batch_max_rows="2"))
    source.start()
    records = source.poll(8)
    assert [r.source_offset and r.source_offset["timestamp"] % 60000 for r in records] == [
        *(None, None, 1000),
        *(1000, 1000, 1000, 1000, 2000),
    ]
    source.commit(5)
    source.crash()
    with source:
        assert ids(source.poll(5)) == [4, 5, 6, 7, 8]
        source.commit()
        fill(tmp_path, 1, "2024-01-01 00:00:02.000001", first=9)
        assert ids(source.poll(1)) == [9]


@pytest.mark.parametrize("mode", ["incrementing", "timestamp", "timestamp+incrementing"])
def test_connection_lost_behind_the_last_row_loses_no_row(tmp_path, monkeypatch, mode):
    """When the server goes just as a query is ended, its rows are read again."""
    run(tmp_path, ORDERS)
    fill(tmp_path, 3)
    lost = []

    def rollback(connection):
        if connection.in_transaction() and not lost:
            lost.append(connection)
            gone = sqlite3.OperationalError("database is locked")
            raise OperationalError("ROLLBACK", {}, gone)
        return whole(connection)

    with SourceHarness(JdbcSourceConnector, config(tmp_path, mode)) as source:
        whole = Connection.rollback
        monkeypatch.setattr(Connection, "rollback", rollback)
        assert ids(source.poll(3)) == [1, 2, 3]
        assert lost


def test_changed_rows_come_again(tmp_path):
    """A row whose timestamp is new is read, with equal numbers told apart by id."""
    run(tmp_path, ORDERS)
    fill(tmp_path, 4)
    with SourceHarness(JdbcSourceConnector, config(tmp_path, "timestamp+incrementing")) as source:
        assert ids(source.poll(4)) == [1, 2, 3, 4]
        run(tmp_path, "UPDATE orders SET name='new', changed='2024-01-02 00:00:00' WHERE id = 2")
        (record,) = source.poll(1)
    assert (record.value["id"], record.value["name"]) == (2, "new")


def test_rows_of_the_future_wait(tmp_path):
    """Rows are read up to the database's clock, less the delay."""
    run(tmp_path, ORDERS)
    fill(tmp_path, 1, "2999-01-01 00:00:00")
    now = dt.datetime.now(dt.UTC).isoformat(" ").removesuffix("+00:00")
    fill(tmp_path, 1, now, first=2)
    with SourceHarness(
        JdbcSourceConnector, config(tmp_path, "timestamp", timestamp_delay_interval_ms=3_600_000)
    ) as source:
        for _ in range(5):
            assert source.poll_once() == []


def test_first_timestamp_that_is_not_null_counts(tmp_path):
    """Of several timestamp columns, COALESCE gives the one to go by."""
    run(
        tmp_path,
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, made TIMESTAMP NOT NULL, changed TIMESTAMP)",
        "INSERT INTO orders VALUES (1, '2024-01-03', NULL)",
        "UPDATE orders SET made = '2024-01-03 00:00:00'",
        "INSERT INTO orders VALUES (2, '2024-01-02 00:00:00', '2024-01-04 00:00:00')",
    )
    settings = config(tmp_path, "timestamp")
    settings["timestamp.column.name"] = "changed, made"
    with SourceHarness(JdbcSourceConnector, settings) as source:
        records = source.poll(2)
    assert ids(records) == [1, 2]


def test_bulk_reads_everything_each_time(tmp_path):
    """Bulk mode has no offsets and repeats the table."""
    run(tmp_path, ORDERS)
    fill(tmp_path, 2)
    with SourceHarness(JdbcSourceConnector, config(tmp_path, "bulk")) as source:
        records = source.poll(4)
    assert ids(records) == [1, 2, 1, 2]
    assert {r.source_offset for r in records} == {None}


def test_query_is_read_in_place_of_tables(tmp_path):
    """A query's rows go to the topic that topic.prefix names, from its own offset on."""
    run(tmp_path, ORDERS)
    fill(tmp_path, 3)
    settings = config(
        tmp_path, query="SELECT id, upper(name) AS loud FROM orders", incrementing_column_name="id"
    )
    source = SourceHarness(JdbcSourceConnector, settings)
    with source:
        records = source.poll(3)
        source.commit(2)
    assert records[0].topic == "db-"
    assert records[0].value == {"id": 1, "loud": "ORDER 1"}
    assert records[0].source_partition == {"query": "query"}
    with source:
        assert ids(source.poll(1)) == [3]


def test_query_without_new_rows_decides_no_types(tmp_path):
    """After a restart with nothing new, the rows that come later have the types of their values."""
    run(tmp_path, "CREATE TABLE t (id INTEGER PRIMARY KEY, price REAL, raw BLOB)")
    run(tmp_path, "INSERT INTO t VALUES (1, 0.5, x'ff')")
    settings = config(tmp_path, query="SELECT * FROM t", incrementing_column_name="id")
    source = SourceHarness(JdbcSourceConnector, settings)
    with source:
        (before,) = source.poll(1)
        source.commit()
    with source:
        assert source.poll_once() == []
        run(tmp_path, "INSERT INTO t VALUES (2, 1.5, x'ff00')")
        (record,) = source.poll(1)
    assert record.value == {"id": 2, "price": 1.5, "raw": b"\xff\x00"}
    assert record.value_schema == before.value_schema


def test_querys_column_has_the_type_of_its_first_value(tmp_path):
    """While a column was only null it is an optional text; the first value makes it what it is."""
    run(tmp_path, "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, raw BLOB, never TEXT)")
    run(tmp_path, "INSERT INTO t VALUES (1, NULL, NULL, NULL), (2, NULL, NULL, NULL)")
    run(tmp_path, "INSERT INTO t VALUES (3, 5, x'ff', NULL), (4, NULL, NULL, NULL)")
    settings = config(tmp_path, query="SELECT * FROM t", incrementing_column_name="id")
    with SourceHarness(JdbcSourceConnector, {**settings, "batch.max.rows": "1"}) as source:
        one, two, three, four = source.poll(4)
    with SourceHarness(JdbcSourceConnector, settings) as source:
        at_once = {id(record.value_schema) for record in source.poll(4)}
    assert one.value == {"id": 1, "n": None, "raw": None, "never": None}
    assert one.value_schema.field("n").schema == Schema.OPTIONAL_STRING
    assert one.value_schema is two.value_schema
    assert three.value == {"id": 3, "n": 5, "raw": b"\xff", "never": None}
    assert three.value_schema == (
        Schema.struct("db-")
        .field("id", Schema.OPTIONAL_INT64)
        .field("n", Schema.OPTIONAL_INT64)
        .field("raw", Schema.OPTIONAL_BYTES)
        .field("never", Schema.OPTIONAL_STRING)
        .build()
    )
    assert four.value_schema is three.value_schema
    assert len(at_once) == 1


def test_tables_are_shared_among_tasks(tmp_path):
    """Every table belongs to one task, and there are no more tasks than tables."""
    run(tmp_path, *[f"CREATE TABLE t{n} (id INTEGER PRIMARY KEY)" for n in range(5)])
    run(tmp_path, *[f"INSERT INTO t{n} VALUES (1)" for n in range(5)])
    topics = []
    for task in range(2):
        with SourceHarness(JdbcSourceConnector, config(tmp_path), tasks_max=2, task=task) as source:
            topics.append([r.topic for r in source.poll(2 + (task == 0))])
    assert topics == [["db-t0", "db-t1", "db-t2"], ["db-t3", "db-t4"]]
    for limit, tasks in ((1, 1), (9, 5)):
        harness = SourceHarness(JdbcSourceConnector, config(tmp_path), tasks_max=limit)
        assert len(harness.task_configs()) == tasks
        harness.stop()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"table.whitelist": "a,c"}, ["a", "c"]),
        ({"table.blacklist": "a"}, ["b", "c"]),
        ({"table.include.list": "[ab]"}, ["a", "b"]),
        ({"table.exclude.list": "b|c"}, ["a"]),
        ({"table.types": "TABLE,VIEW"}, ["a", "b", "c", "v"]),
    ],
)
def test_tables_can_be_chosen(tmp_path, settings, expected):
    """By name, by regular expression and by kind."""
    run(tmp_path, *[f"CREATE TABLE {n} (id INTEGER PRIMARY KEY)" for n in "abc"])
    run(tmp_path, "CREATE VIEW v AS SELECT * FROM a")
    harness = SourceHarness(JdbcSourceConnector, {**config(tmp_path), **settings}, tasks_max=9)
    tables = [each["tables"] for each in harness.task_configs()]
    harness.stop()
    assert tables == [f'[["{name}", null]]' for name in expected]


def test_new_table_asks_for_new_tasks(tmp_path):
    """A table that appears while the connector runs is found, and tasks are asked for anew."""
    from tests.support.waiting import wait_for  # noqa: PLC0415

    run(tmp_path, ORDERS)
    with SourceHarness(JdbcSourceConnector, config(tmp_path, table_poll_interval_ms=20)) as source:
        run(tmp_path, "CREATE TABLE more (id INTEGER PRIMARY KEY)")
        wait_for(lambda: source.connector_context.reconfigurations == 1, "a reconfiguration", 10)
        (task,) = source.connector.task_configs(1)
    assert task["tables"] == '[["more", null], ["orders", null]]'


def test_column_added_while_running_shows_up(tmp_path):
    """The schema follows the table."""
    run(tmp_path, ORDERS)
    fill(tmp_path, 1)
    with SourceHarness(JdbcSourceConnector, config(tmp_path)) as source:
        source.poll(1)
        run(tmp_path, "ALTER TABLE orders ADD COLUMN note TEXT")
        run(tmp_path, "INSERT INTO orders VALUES (2, 'x', '2.00', '2024-01-01 00:00:00', 'hello')")
        (record,) = source.poll(1)
    assert record.value["note"] == "hello"
    assert record.value_schema.field("note").schema == Schema.OPTIONAL_STRING


@pytest.mark.parametrize(
    ("table", "settings", "message"),
    [
        ("CREATE TABLE t (id INTEGER)", {}, "has no single autoincrement column"),
        ("CREATE TABLE t (id INTEGER)", {"incrementing.column.name": "nr"}, "has no column nr"),
        ("CREATE TABLE t (id INTEGER)", {"incrementing.column.name": "id"}, "may have nulls in id"),
    ],
)
def test_tables_that_do_not_fit_fail_the_task_by_name(tmp_path, table, settings, message):
    """The message names table and column, and what to do."""
    run(tmp_path, table)
    with pytest.raises(ConnectError, match=message):
        SourceHarness(JdbcSourceConnector, {**config(tmp_path), **settings}).start()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "timestamp"}, "needs the columns that tell the time"),
        ({"mode": "daily"}, "String must be one of"),
        ({"query": "SELECT 1", "table.whitelist": "t"}, "Either a query is read or tables"),
        ({"query": "SELECT 1"}, "name the column that only grows"),
        ({"table.whitelist": "a", "table.blacklist": "b"}, "not both"),
        ({"table.include.list": "["}, "Invalid regex"),
    ],
)
def test_configs_that_do_not_fit_together_are_refused(settings, message):
    """The error names the key and the way out."""
    props = {"connection.url": "jdbc:sqlite:x", "mode": "incrementing", "topic.prefix": "x"}
    with pytest.raises(ConfigError, match=message):
        checked_config(JdbcSourceConnector, {**props, **settings})


@pytest.mark.parametrize(
    ("partition", "offset"),
    [
        ({"file": "x"}, {"incrementing": 1}),
        ({"table": "t"}, {"incrementing": "1"}),
        ({"table": "t"}, {"position": 1}),
        ({"table": "t"}, {"timestamp": 1, "timestamp_nanos": -1}),
    ],
)
def test_offsets_that_make_no_sense_are_refused(tmp_path, partition, offset):
    """What a task could not have stored can't be set."""
    run(tmp_path, ORDERS)
    with (
        SourceHarness(JdbcSourceConnector, config(tmp_path)) as source,
        pytest.raises(ConnectError),
    ):
        source.connector.alter_offsets([(partition, offset)])


def test_old_offsets_without_protocol_are_found(tmp_path):
    """Offsets that the first versions of the Confluent connector stored are gone on with."""
    run(tmp_path, ORDERS)
    fill(tmp_path, 3)
    source = SourceHarness(JdbcSourceConnector, config(tmp_path))
    source.offsets.store({"table": "orders"}, {"incrementing": 2})
    with source:
        assert ids(source.poll(1)) == [3]
