"""The JDBC sink, over SQLite."""

import datetime as dt
import sqlite3
import time
from decimal import Decimal

import pytest
from sqlalchemy import event

from connect import (
    ConfigError,
    ConnectError,
    DataError,
    Headers,
    RetriableError,
    Schema,
    TopicPartition,
)
from connect.testing import SinkHarness, SinkTaskSuite
from connect.testing.running import checked_config
from connectors.jdbc.sink import JdbcSinkConnector
from tests.support.waiting import wait_for

ORDER = (
    Schema.struct("Order")
    .field("id", Schema.INT64)
    .field("name", Schema.OPTIONAL_STRING)
    .field("price", Schema.decimal(2).optional().build())
    .build()
)
KEY = Schema.struct().field("id", Schema.INT64).build()


def config(place, **more):
    return {
        "connection.url": f"jdbc:sqlite:{place / 'out.db'}",
        "auto.create": "true",
        **{k.replace("_", "."): str(v) for k, v in more.items()},
    }


def upserting(place, **more):
    return config(place, insert_mode="upsert", pk_mode="record_key", **more)


def rows(place, sql="SELECT * FROM test"):
    with sqlite3.connect(place / "out.db") as db:
        return list(db.execute(sql))


def order(number, name="x", price="1.50"):
    return {"id": number, "name": name, "price": Decimal(price)}


class TestJdbcSink(SinkTaskSuite):
    """With upserts by topic, partition and offset, each record is there once."""

    connector = JdbcSinkConnector
    exactly_once = True
    schema = ORDER

    def config(self, place):
        return config(place, insert_mode="upsert", pk_mode="kafka")

    def values(self, count):
        return [order(number) for number in range(count)]

    def written(self, place):
        found = rows(place, "SELECT id, name, price FROM test ORDER BY rowid")
        return [order(number, name, f"{price:.2f}") for number, name, price in found]


def test_created_table_has_the_schemas_types(tmp_path):
    """auto.create makes columns of fitting types, with defaults, nullability and primary key."""
    schema = (
        Schema.struct()
        .field("id", Schema.INT32)
        .field("state", Schema.builder(Schema.STRING.type).default("it's new").build())
        .field("at", Schema.timestamp().optional().build())
        .field("tags", Schema.array(Schema.STRING).optional().build())
        .build()
    )
    with SinkHarness(
        JdbcSinkConnector, config(tmp_path, pk_mode="record_value", pk_fields="id")
    ) as sink:
        at = dt.datetime(2024, 5, 6, 7, 8, 9, 123000, tzinfo=dt.UTC)
        sink.put({"id": 1, "state": None, "at": at, "tags": ["a", "b"]}, schema=schema)
    ((ddl,),) = rows(tmp_path, "SELECT sql FROM sqlite_master WHERE name='test'")
    assert " ".join(ddl.split()) == (
        'CREATE TABLE "test" ( "id" INTEGER NOT NULL, "state" TEXT DEFAULT \'it\'\'s new\' NOT '
        'NULL, "at" TIMESTAMP, "tags" TEXT, PRIMARY KEY("id") )'
    )
    assert rows(tmp_path) == [(1, "it's new", "2024-05-06 07:08:09.123000", '["a","b"]')]


def test_upsert_keeps_the_last_row_of_a_key(tmp_path):
    """Within one batch and over batches, the newest record of a key is what stays."""
    with SinkHarness(JdbcSinkConnector, upserting(tmp_path)) as sink:
        for number, name in [(1, "a"), (2, "b"), (1, "c")]:
            sink.record(order(number, name), schema=ORDER, key={"id": number}, key_schema=KEY)
        sink.deliver()
        sink.record(order(2, "d"), schema=ORDER, key={"id": 2}, key_schema=KEY)
        sink.deliver()
    assert rows(tmp_path, "SELECT id, name FROM test ORDER BY id") == [(1, "c"), (2, "d")]


def test_tombstones_delete_in_the_order_of_the_records(tmp_path):
    """A row deleted and written again in one batch is there; one deleted last is gone."""
    with SinkHarness(JdbcSinkConnector, upserting(tmp_path, delete_enabled="true")) as sink:
        for number, name in [(1, "a"), (2, "b"), (1, None), (1, "again"), (2, None), (3, None)]:
            value = None if name is None else order(number, name)
            schema = None if name is None else ORDER
            sink.record(value, schema=schema, key={"id": number}, key_schema=KEY)
        sink.deliver()
    assert rows(tmp_path, "SELECT id, name FROM test") == [(1, "again")]


def test_update_changes_only_rows_that_are_there(tmp_path):
    """insert.mode=update adds nothing."""
    with sqlite3.connect(tmp_path / "out.db") as db:
        db.execute("CREATE TABLE test (id INTEGER PRIMARY KEY, name TEXT, price NUMERIC)")
        db.execute("INSERT INTO test VALUES (1, 'old', 1)")
    with SinkHarness(
        JdbcSinkConnector, config(tmp_path, insert_mode="update", pk_mode="record_key")
    ) as sink:
        for number in (1, 2):
            sink.record(order(number, "new"), schema=ORDER, key={"id": number}, key_schema=KEY)
        sink.deliver()
    assert rows(tmp_path, "SELECT id, name FROM test") == [(1, "new")]


def test_single_key_goes_to_the_column_pk_fields_names(tmp_path):
    """A key that is a number or text becomes the column named in pk.fields."""
    with SinkHarness(JdbcSinkConnector, upserting(tmp_path, pk_fields="ref")) as sink:
        sink.record(order(1), schema=ORDER, key="k1", key_schema=Schema.STRING)
        sink.deliver()
    assert rows(tmp_path, "SELECT ref, id FROM test") == [("k1", 1)]


def test_header_can_be_the_key(tmp_path):
    """pk.mode=record_header takes the newest header of the name."""
    keys = config(tmp_path, insert_mode="upsert", pk_mode="record_header", pk_fields="ref")
    with SinkHarness(JdbcSinkConnector, keys) as sink:
        headers = Headers().with_("ref", "old").with_("ref", "new")
        sink.record(order(1), schema=ORDER, headers=headers)
        sink.deliver()
    assert rows(tmp_path, "SELECT ref, id FROM test") == [("new", 1)]


def test_missing_column_is_added_when_wanted(tmp_path):
    """auto.evolve adds optional columns; rows before have null there."""
    small = Schema.struct().field("id", Schema.INT64).build()
    with SinkHarness(JdbcSinkConnector, config(tmp_path, auto_evolve="true")) as sink:
        sink.put({"id": 1}, schema=small)
        sink.put(order(2, "b"), schema=ORDER)
        sink.put({"id": 3}, schema=small)
    found = rows(tmp_path, "SELECT id, name, price FROM test")
    assert found == [(1, None, None), (2, "b", 1.5), (3, None, None)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"auto_create": "false"}, "Table test does not exist in sqlite:"),
        ({}, "Table test has no column name, price: add it, set auto.evolve=true"),
        ({"auto_evolve": "true"}, "it can't be added because the field is neither optional"),
    ],
)
def test_tables_that_do_not_fit_are_reported_with_the_way_out(tmp_path, settings, message):
    """Records that a table has no place for are reported, and the message says what to do."""
    place = config(tmp_path, **settings)
    if not settings.get("auto_create"):
        with sqlite3.connect(tmp_path / "out.db") as db:
            db.execute("CREATE TABLE test (id INTEGER)")
    schema = ORDER
    if "auto_evolve" in settings:
        schema = Schema.struct().field("id", Schema.INT64).field("must", Schema.STRING).build()
    with SinkHarness(JdbcSinkConnector, place) as sink:
        sink.put({**order(1), "must": "x"}, schema=schema)
    ((_, error),) = sink.reported
    assert isinstance(error, DataError)
    assert message in str(error)


def test_only_the_guilty_rows_of_a_batch_are_reported(tmp_path):
    """Rows that the database refuses are reported with its message, the others are written."""
    with sqlite3.connect(tmp_path / "out.db") as db:
        db.execute("CREATE TABLE test (id INTEGER PRIMARY KEY CHECK (id < 90), name, price)")
    with SinkHarness(JdbcSinkConnector, config(tmp_path)) as sink:
        sink.put(*[order(number) for number in [*range(50), 95, 7, *range(50, 60)]], schema=ORDER)
    assert [r.value["id"] for r, _ in sink.reported] == [95, 7]
    assert "CHECK constraint failed" in str(sink.reported[0][1])
    assert "UNIQUE constraint failed" in str(sink.reported[1][1])
    assert [row[0] for row in rows(tmp_path)] == list(range(60))


def test_without_a_reporter_a_refused_batch_leaves_nothing_behind(tmp_path):
    """The put fails with the database's message and the whole batch is rolled back."""
    with sqlite3.connect(tmp_path / "out.db") as db:
        db.execute("CREATE TABLE test (id INTEGER PRIMARY KEY, name, price)")
    sink = SinkHarness(JdbcSinkConnector, config(tmp_path), with_reporter=False)
    sink.start()
    with pytest.raises(DataError, match="UNIQUE constraint failed"):
        sink.put(order(1), order(1), schema=ORDER)
    sink.task.stop()
    assert rows(tmp_path) == []


def test_table_dropped_while_running_is_made_again(tmp_path):
    """What is known of a table is checked again before records are blamed."""
    with SinkHarness(JdbcSinkConnector, config(tmp_path)) as sink:
        sink.put(order(1), schema=ORDER)
        with sqlite3.connect(tmp_path / "out.db") as db:
            db.execute("DROP TABLE test")
        sink.put(order(2), schema=ORDER)
    assert sink.reported == []
    assert rows(tmp_path, "SELECT id FROM test") == [(2,)]


def test_locked_database_is_tried_again_then_given_up(tmp_path):
    """A lock makes put wait retry.backoff.ms; after max.retries the task fails and says so."""
    settings = config(tmp_path, max_retries=1, retry_backoff_ms=70)
    settings["connection.url"] = f"sqlite:///{tmp_path / 'out.db'}?timeout=0.05"
    sink = SinkHarness(JdbcSinkConnector, settings)
    with sink:
        sink.put(order(1), schema=ORDER)
        other = sqlite3.connect(tmp_path / "out.db", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        records = [sink.record(order(2), schema=ORDER)]
        with pytest.raises(RetriableError, match="database is locked"):
            sink.task.put(records)
        assert sink.context.backoff_ms == 70
        with pytest.raises(ConnectError, match="Gave up after 1 retries") as given_up:
            sink.task.put(records)
        assert not isinstance(given_up.value, RetriableError)
        other.execute("ROLLBACK")
        other.close()
        sink.deliver()
    assert rows(tmp_path, "SELECT id FROM test") == [(1,), (2,)]
    assert sink.reported == []


def test_plain_json_needs_no_schema(tmp_path):
    """Maps without a schema are written too; types are what the values are."""
    with SinkHarness(JdbcSinkConnector, config(tmp_path, auto_evolve="true")) as sink:
        sink.put({"id": 1, "name": None, "ok": True, "more": {"a": [1, 2.5]}})
        sink.put({"id": 2, "name": "later", "ok": None})
    assert rows(tmp_path) == [(1, 1, '{"a":[1,2.5]}', None), (2, None, None, "later")]


def keyed(sink, **value):
    sink.record(value, key={"id": value["id"]}, key_schema=KEY)
    sink.deliver()


@pytest.mark.parametrize("mode", ["upsert", "update"])
def test_null_clears_a_column_that_was_added_meanwhile(tmp_path, mode):
    """A field that was null, and then had a value, and is null again, is null in the table."""
    with SinkHarness(JdbcSinkConnector, upserting(tmp_path)) as sink:
        keyed(sink, id=1, b=0)
    settings = {**upserting(tmp_path, auto_evolve="true"), "insert.mode": mode}
    with SinkHarness(JdbcSinkConnector, settings) as sink:
        for b, c in [(1, None), (2, "x"), (3, None)]:
            keyed(sink, id=1, b=b, c=c)
            if c is not None:
                assert rows(tmp_path, "SELECT id, b, c FROM test") == [(1, b, c)]
    assert rows(tmp_path, "SELECT id, b, c FROM test") == [(1, 3, None)]


def test_null_clears_a_column_that_another_task_has_added(tmp_path):
    """At once if the other's partition came here, and soon if both write to one table."""
    settings = upserting(tmp_path, auto_evolve="true")
    values = "SELECT c FROM test"
    with (
        SinkHarness(JdbcSinkConnector, settings) as sink,
        SinkHarness(JdbcSinkConnector, settings) as other,
    ):
        keyed(sink, id=1, b=1, c=None)
        keyed(other, id=1, b=1, c="x")
        assert rows(tmp_path, values) == [("x",)]
        sink.rebalance(TopicPartition("test", 0))
        keyed(sink, id=1, b=1, c=None)
        assert rows(tmp_path, values) == [(None,)]

        keyed(sink, id=1, b=1, c=None, d=None)
        keyed(other, id=1, b=1, c=None, d="x")

        def is_cleared():
            keyed(sink, id=1, b=1, c=None, d=None)
            return rows(tmp_path, "SELECT d FROM test") == [(None,)]

        wait_for(is_cleared, "the null", 20)


def test_table_is_not_looked_at_for_every_batch_of_nulls(tmp_path):
    """A field that is always null, and has no column, costs no query of the catalogue a batch."""
    statements = []
    with SinkHarness(JdbcSinkConnector, upserting(tmp_path)) as sink:
        keyed(sink, id=0, c=None)
        started = time.monotonic()
        event.listen(
            sink.task._database.engine,
            "before_cursor_execute",
            lambda *told: statements.append(told[2]),
        )
        for number in range(50):
            keyed(sink, id=number, c=None)
        took = time.monotonic() - started
    others = [text for text in statements if not text.startswith("INSERT")]
    assert len(statements) - len(others) == 50
    assert len(others) <= 5 * took


def test_change_events_are_unwrapped(tmp_path):
    """Debezium's envelopes write the row after the change, and delete it."""
    envelope = (
        Schema.struct("shop.orders.Envelope")
        .field("before", ORDER.as_optional())
        .field("after", ORDER.as_optional())
        .field("source", Schema.OPTIONAL_STRING)
        .field("op", Schema.STRING)
        .build()
    )
    settings = {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "connection.url": f"jdbc:sqlite:{tmp_path / 'out.db'}",
        "insert.mode": "upsert",
        "primary.key.mode": "record_key",
        "schema.evolution": "basic",
        "delete.enabled": "true",
        "collection.name.format": "from_${topic}",
    }
    with SinkHarness(JdbcSinkConnector, settings) as sink:
        for op, after in [("c", order(1)), ("c", order(2)), ("u", order(2, "new")), ("d", None)]:
            number = after["id"] if after else 1
            sink.record(
                {"before": None, "after": after, "source": None, "op": op},
                schema=envelope, key={"id": number}, key_schema=KEY,
                topic="server.shop.orders",
            )  # fmt: skip
        sink.open(*sink.log)
        sink.deliver()
    assert rows(tmp_path, "SELECT id, name FROM from_server_shop_orders") == [(2, "new")]


def test_fields_can_be_chosen(tmp_path):
    """fields.whitelist leaves other fields of the value out, never the key."""
    with SinkHarness(JdbcSinkConnector, upserting(tmp_path, fields_whitelist="test:name")) as sink:
        sink.record(order(1, "a"), schema=ORDER, key={"id": 1}, key_schema=KEY)
        sink.deliver()
    assert rows(tmp_path) == [(1, "a")]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"insert.mode": "upsert"}, "configuration pk.mode: insert.mode=upsert finds rows by"),
        ({"delete.enabled": "true"}, "set pk.mode=record_key"),
        ({"pk.mode": "kafka", "pk.fields": "a,b"}, "name three columns or none"),
        ({"pk.mode": "sometimes"}, "String must be one of"),
        ({"primary.key.mode": "record_header"}, "name the headers"),
        ({"db.timezone": "Mars/Olympus"}, "is no time zone"),
        ({"connection.url": "jdbc:oracel:x"}, "Invalid value"),
        ({"connection.url": "nonsense"}, "is neither a JDBC URL"),
    ],
)
def test_configs_that_do_not_fit_together_are_refused(settings, message):
    """The error names the key and the way out."""
    with pytest.raises(ConfigError, match=message):
        checked_config(
            JdbcSinkConnector, {"connection.url": "jdbc:sqlite:x.db", "topics": "t", **settings}
        )


def test_null_key_is_reported(tmp_path):
    """A record without a value for a key column is the record's fault, and named."""
    with SinkHarness(JdbcSinkConnector, upserting(tmp_path)) as sink:
        sink.record(order(1), schema=ORDER)
        sink.record(order(2), schema=ORDER, key={"id": 2}, key_schema=KEY)
        sink.deliver()
    assert ["has no key" in str(error) for _, error in sink.reported] == [True]
    assert len(rows(tmp_path)) == 1
