"""The JDBC sink given columns: the same rows as of records, and the same culprits."""

import sqlite3

import pytest

from connect import Columns, Schema, SinkBatch
from connect.testing import SinkHarness
from connectors.jdbc.sink import JdbcSinkConnector
from tests.unit.connectors.jdbc.test_sink import ORDER, config, order, rows

BY_VALUE = {"pk_mode": "record_value", "pk_fields": "id"}
ALL = "SELECT id, name, price FROM test ORDER BY rowid"


def batch(sink, values, *, made, schema=ORDER, key=None):
    """The values as a worker would give them; `made` counts how often records were asked for."""
    records = [sink.record(value, schema=schema, key=key) for value in values]

    def make():
        made.append(len(records))
        return records

    fields = {field.name: [value[field.name] for value in values] for field in schema.fields}
    return SinkBatch(len(values), Columns(schema, fields), make, "test")


@pytest.mark.parametrize("mode", ["insert", "upsert"])
def test_rows_are_those_of_records_and_no_record_is_made(tmp_path, mode):
    """Nulls and logical types included."""
    values = [order(1), order(2, None), order(3, "c", "9.75")]
    made = []
    with SinkHarness(JdbcSinkConnector, config(tmp_path, insert_mode=mode, **BY_VALUE)) as sink:
        sink.task.put_batch(batch(sink, values, made=made))
    assert rows(tmp_path, ALL) == [(1, "x", 1.5), (2, None, 1.5), (3, "c", 9.75)]
    assert made == []


def test_upsert_keeps_the_last_row_of_a_key(tmp_path):
    """Within a batch and over batches."""
    made = []
    with SinkHarness(JdbcSinkConnector, config(tmp_path, insert_mode="upsert", **BY_VALUE)) as sink:
        sink.task.put_batch(batch(sink, [order(1, "a"), order(2, "b"), order(1, "c")], made=made))
        sink.task.put_batch(batch(sink, [order(2, "d")], made=made))
    assert rows(tmp_path, "SELECT id, name FROM test ORDER BY id") == [(1, "c"), (2, "d")]


def test_nulls_become_defaults(tmp_path):
    """As with records."""
    text = Schema.builder(Schema.STRING.type).optional().default("new").build()
    schema = Schema.struct().field("id", Schema.INT64).field("state", text).build()
    values = [{"id": 1, "state": None}, {"id": 2, "state": "old"}]
    with SinkHarness(JdbcSinkConnector, config(tmp_path)) as sink:
        sink.task.put_batch(batch(sink, values, made=[], schema=schema))
    assert rows(tmp_path) == [(1, "new"), (2, "old")]


@pytest.mark.parametrize(
    ("key", "settings"),
    [
        (None, {"pk_mode": "kafka"}),
        ("k", {"pk_mode": "record_value", "pk_fields": "id", "delete_enabled": "false"}),
    ],
)
def test_what_is_not_in_the_values_is_taken_of_records(tmp_path, key, settings):
    """A primary key of topic, partition and offset needs them; one of the value does not."""
    made = []
    with SinkHarness(JdbcSinkConnector, config(tmp_path, **settings)) as sink:
        sink.task.put_batch(batch(sink, [order(1), order(2)], made=made, key=key))
    assert len(rows(tmp_path)) == 2
    assert made == ([2] if settings["pk_mode"] == "kafka" else [])


def test_only_the_guilty_rows_are_reported(tmp_path):
    """Refused by the database: its records are asked for, and narrowed down."""
    with sqlite3.connect(tmp_path / "out.db") as db:
        db.execute("CREATE TABLE test (id INTEGER PRIMARY KEY CHECK (id <> 7), name, price)")
    with SinkHarness(JdbcSinkConnector, config(tmp_path)) as sink:
        sink.task.put_batch(batch(sink, [order(n) for n in range(20)], made=[]))
    assert [record.value["id"] for record, _ in sink.reported] == [7]
    assert len(rows(tmp_path)) == 19


def test_a_key_without_a_value_is_reported(tmp_path):
    """The record that lacks it, and no other."""
    schema = Schema.struct().field("id", Schema.OPTIONAL_INT64).build()
    with SinkHarness(JdbcSinkConnector, config(tmp_path, insert_mode="upsert", **BY_VALUE)) as sink:
        values = [{"id": 1}, {"id": None}, {"id": 3}]
        sink.task.put_batch(batch(sink, values, made=[], schema=schema))
    assert [record.value for record, _ in sink.reported] == [{"id": None}]
    assert rows(tmp_path) == [(1,), (3,)]
