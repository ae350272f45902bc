"""The JDBC source against a real PostgreSQL, and tables copied through a real Kafka."""

import datetime as dt
import decimal
import uuid

import psycopg
import pytest

from connect.testing import SourceHarness
from connectors.jdbc.source import JdbcSourceConnector
from tests.support.topics import consume_all
from tests.support.waiting import wait_for
from tests.support.worker import standalone

JSON = "org.apache.kafka.connect.json.JsonConverter"


def config(url, mode="incrementing", **more):
    return {
        "connection.url": url,
        "mode": mode,
        "topic.prefix": "pg-",
        "poll.interval.ms": "10",
        **({"timestamp.column.name": "changed"} if "timestamp" in mode else {}),
        **{k.replace("_", "."): str(v) for k, v in more.items()},
    }


def execute(url, *statements):
    with psycopg.connect(url, autocommit=True) as db:
        for statement in statements:
            db.execute(statement)


def rows(url, sql):
    with psycopg.connect(url) as db:
        return db.execute(sql).fetchall()


def test_every_type_is_read_as_it_is(database):
    """PostgreSQL's types become Connect's, with nothing lost."""
    execute(
        database,
        """CREATE TABLE things (
            id bigserial PRIMARY KEY, small smallint, i int, r real, d double precision,
            money numeric(30,4) NOT NULL, yes boolean, text text, raw bytea, day date, clock time,
            at timestamp, moment timestamptz, doc jsonb, ref uuid, tags text[], open numeric)""",
        """INSERT INTO things VALUES (
            9007199254740993, -7, 70000, 0.1, 1e300, 12345678901234567890.1234, true, 'ünï',
            '\\x00ff', '2024-02-29', '23:59:59.999', '2024-07-06 05:04:03.21',
            '2024-07-06 05:04:03.21+02', '{"a": [1, null]}',
            '6b8f2c1e-9a51-4c52-8f6a-2f1f6a5b7c3d', '{a,NULL}', 1.5)""",
    )
    with SourceHarness(JdbcSourceConnector, config(database)) as source:
        (record,) = source.poll(1)
    at = dt.datetime(2024, 7, 6, 5, 4, 3, 210000, tzinfo=dt.UTC)
    assert record.value == {
        "id": 9007199254740993,
        "small": -7,
        "i": 70000,
        "r": 0.1,
        "d": 1e300,
        "money": decimal.Decimal("12345678901234567890.1234"),
        "yes": True,
        "text": "ünï",
        "raw": b"\x00\xff",
        "day": dt.date(2024, 2, 29),
        "clock": dt.time(23, 59, 59, 999000),
        "at": at,
        "moment": at - dt.timedelta(hours=2),
        "doc": '{"a":[1,null]}',
        "ref": "6b8f2c1e-9a51-4c52-8f6a-2f1f6a5b7c3d",
        "tags": ["a", None],
        "open": decimal.Decimal("1.5"),
    }
    types = [field.schema.type.value for field in record.value_schema.fields]
    assert types == [
        *("int64", "int16", "int32", "float32", "float64", "bytes", "boolean", "string", "bytes"),
        *("int32", "int32", "int64", "int64", "string", "string", "array", "bytes"),
    ]
    assert record.source_partition == {"protocol": "1", "table": "public.things"}


def test_query_results_are_typed_by_the_server(database):
    """A query's columns have their types even where the first row has nulls."""
    execute(
        database,
        "CREATE TABLE a (id int PRIMARY KEY, n numeric(6,2), at timestamptz)",
        "INSERT INTO a VALUES (1, NULL, NULL), (2, 1.5, '2024-01-01 00:00+00')",
    )
    settings = config(
        database, query="SELECT * FROM (SELECT id, n, at, id::text AS t FROM a) x",
        incrementing_column_name="id",
    )  # fmt: skip
    with SourceHarness(JdbcSourceConnector, settings) as source:
        _, record = source.poll(2)
    assert record.value == {
        "id": 2,
        "n": decimal.Decimal("1.50"),
        "at": dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
        "t": "2",
    }


@pytest.mark.parametrize("type_", ["timestamp", "timestamptz"])
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize("server", ["UTC", "Asia/Tokyo"])
@pytest.mark.parametrize("what", [{}, {"query": "SELECT * FROM t"}], ids=["table", "query"])
def test_microseconds_tell_rows_apart(database, type_, zone, server, what):
    """Rows a microsecond apart are read once each, whatever the zone of config, column, server."""
    execute(database, f"ALTER DATABASE {database.rpartition('/')[2]} SET TimeZone = '{server}'")
    execute(
        database,
        f"CREATE TABLE t (id serial PRIMARY KEY, changed {type_} NOT NULL)",
        "INSERT INTO t(changed) SELECT timestamp '2024-03-10 06:59:59.999990' + "
        "n * interval '1 microsecond' FROM generate_series(1, 20) n",
    )
    settings = config(database, "timestamp", db_timezone=zone, batch_max_rows=3, **what)
    source = SourceHarness(JdbcSourceConnector, settings)
    seen = []
    for _ in range(4):
        with source:
            seen += [record.value["id"] for record in source.poll(5)[:5]]
            source.commit(5)
    assert seen == list(range(1, 21))


@pytest.mark.parametrize("what", [{}, {"query": "SELECT * FROM t"}], ids=["table", "query"])
def test_hour_that_a_clock_shows_twice_is_read_once(database, what):
    """Wall clocks are compared with wall clocks, so no moment behind the last is a guess."""
    execute(database, "CREATE TABLE t (id int, changed timestamp NOT NULL)")
    execute(database, "INSERT INTO t VALUES (1, '2024-11-03 01:30:00'), (2, '2024-11-03 01:30:01')")
    settings = config(database, "timestamp", db_timezone="America/New_York", **what)
    with SourceHarness(JdbcSourceConnector, settings) as source:
        seen = source.poll(2)
        execute(database, "INSERT INTO t VALUES (3, '2024-11-03 01:30:02')")
        seen += source.poll(1)
    assert [record.value["id"] for record in seen] == [1, 2, 3]


def test_columns_with_and_without_a_zone_are_compared_as_moments(database):
    """Of two timestamp columns the one without a zone is of db.timezone, whatever the server's."""
    execute(
        database,
        "CREATE TABLE t (id int, made timestamp NOT NULL, changed timestamptz)",
        "INSERT INTO t VALUES (1, '2024-07-01 08:00', NULL), (2, '2024-07-01 08:01', NULL)",
    )
    settings = config(database, "timestamp", db_timezone="America/New_York", batch_max_rows=1)
    settings["timestamp.column.name"] = "changed,made"
    source = SourceHarness(JdbcSourceConnector, settings)
    with source:
        source.poll(2)
        source.commit(1)
    with source:
        (record,) = source.poll(1)
        source.commit()
        execute(database, "INSERT INTO t VALUES (3, '2024-07-01 08:02', NULL)")
        (after,) = source.poll(1)
    assert (record.value["id"], after.value["id"]) == (2, 3)


def test_lost_connection_loses_no_row(database):
    """The server ends the connection in the middle of a result; reading goes on behind it."""
    execute(
        database,
        "CREATE TABLE t (id int PRIMARY KEY, pad text)",
        "INSERT INTO t SELECT n, repeat('x', 500) FROM generate_series(1, 30000) n",
    )
    settings = config(database, incrementing_column_name="id")
    with SourceHarness(JdbcSourceConnector, settings) as source:
        records = source.poll(3000)
        execute(
            database,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        records += source.poll(30000 - len(records), timeout=30)
    assert [record.value["id"] for record in records] == list(range(1, 30001))


def test_new_table_is_read_while_the_connector_runs(database, kafka, tmp_path):
    """A table made later is found and read without anybody's doing."""
    prefix = f"found-{uuid.uuid4().hex[:8]}-"
    execute(database, "CREATE TABLE one (id serial PRIMARY KEY)", "INSERT INTO one DEFAULT VALUES")
    with standalone(kafka, tmp_path) as worker:
        settings = {**config(database, table_poll_interval_ms=200), "topic.prefix": prefix}
        worker.create("tables", {"connector.class": "JdbcSource", "tasks.max": "2", **settings})
        worker.wait_running("tables", 1)
        execute(
            database, "CREATE TABLE two (id serial PRIMARY KEY)", "INSERT INTO two DEFAULT VALUES"
        )
        worker.wait_running("tables", 2)
        assert (
            len(wait_for(lambda: _messages(kafka, prefix + "two"), "a row of the new table")) == 1
        )


def _messages(kafka, topic):
    try:
        return consume_all(kafka, topic, 1)
    except (AssertionError, KeyError):
        return []
