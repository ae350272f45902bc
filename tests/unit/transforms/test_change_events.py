"""Debezium's transforms, where the JVM's vectors end: without a schema, older configs, bad rows."""

from __future__ import annotations

import datetime as dt
import logging

import pytest

from connect import ConfigError, ConnectError, DataError, Schema, Type
from connect.errors import class_name_of
from tests.unit.transforms.records import configured, source
from transforms.event_router import EventRouter
from transforms.extract_new_record_state import ExtractNewRecordState


def event(op="u", before=None, after=None):
    return {"before": before, "after": after, "op": op, "source": {"table": "orders", "lsn": 7}}


def unwrap(*records, **settings):
    return configured(ExtractNewRecordState, **settings).apply_batch(list(records))


def test_events_without_a_schema_are_unwrapped():
    """JSON without schemas is what many topics hold; the JVM leaves such events as they are."""
    record = source(event(after={"id": 1}))
    (result,) = unwrap(record, add_fields="op,table", add_headers="lsn")
    assert result.value == {"id": 1, "__op": "u", "__table": "orders"}
    assert result.value_schema is None
    assert [(h.name, h.value) for h in result.headers] == [("__lsn", 7)]


def test_deletes_without_a_schema_can_be_rewritten():
    """A rewritten delete has the last row and says that it is gone."""
    (result,) = unwrap(
        source(event("d", before={"id": 1})), delete_tombstone_handling_mode="rewrite"
    )
    assert result.value == {"id": 1, "__deleted": "true"}


def test_what_is_no_event_goes_through():
    """Heartbeats, schema changes and plain records are none of its business."""
    for value in ({"id": 1}, {"op": "c"}, "text", 5):
        assert unwrap(source(value))[0].value == value


@pytest.mark.parametrize(
    ("settings", "delete", "tombstone"),
    [
        ({"drop_tombstones": "false"}, "dropped", "kept"),
        ({"drop_tombstones": "true"}, "dropped", "dropped"),
        ({"delete_handling_mode": "rewrite"}, "rewritten", "dropped"),
        ({"delete_handling_mode": "rewrite", "drop_tombstones": "false"}, "rewritten", "kept"),
        ({"delete_handling_mode": "none", "drop_tombstones": "false"}, "null", "kept"),
        (
            {"delete_handling_mode": "rewrite", "delete_tombstone_handling_mode": "drop"},
            "dropped",
            "dropped",
        ),
    ],
)
def test_the_keys_of_older_releases_still_mean_what_they_meant(settings, delete, tombstone):
    """drop.tombstones and delete.handling.mode work as they did; the new key wins over both."""
    deleted, after = unwrap(source(event("d", before={"id": 1})), source(None), **settings)
    found = "dropped" if deleted is None else "null" if deleted.value is None else "rewritten"
    assert (found, "dropped" if after is None else "kept") == (delete, tombstone)


def test_a_path_too_deep_is_refused():
    """Fields are named as field or struct.field; the JVM fails at every record instead."""
    with pytest.raises(ConfigError, match=r"add\.fields: a field of the event is named as"):
        unwrap(add_fields="a.b.c")


ROW = {"id": "u1", "aggregatetype": "Order", "aggregateid": "9", "type": "New", "payload": "x"}
COLUMNS = Schema.struct("outbox.Value").optional()
for _name in ROW:
    COLUMNS.field(_name, Schema.STRING)
COLUMNS.field("at", Schema.timestamp().optional().build())
ENVELOPE = (
    Schema.struct("outbox.Envelope")
    .field("after", COLUMNS.build())
    .field("op", Schema.STRING)
    .field("ts_ms", Schema.OPTIONAL_INT64)
    .build()
)


def outbox(op="c", *, schema=ENVELOPE, **columns):
    return source({"after": {**ROW, **columns}, "op": op, "ts_ms": 5}, schema)


def test_outbox_rows_without_a_schema_are_routed():
    """The outbox works without schemas as well."""
    result = configured(EventRouter).apply(outbox(schema=None))
    assert (result.topic, result.key, result.value) == ("outbox.event.Order", "9", "x")
    assert (result.key_schema, result.value_schema, result.timestamp) == (None, None, 5)
    assert [(h.name, h.value) for h in result.headers] == [("id", "u1")]


def test_a_json_list_is_expanded():
    """The JVM gives the list's schema to the text and then can't write it."""
    router = configured(EventRouter, table_expand_json_payload="true")
    result = router.apply(outbox(payload='[{"a": 1}, {"a": 2.5, "b": null}]'))
    assert result.value == [{"a": 1.0}, {"a": 2.5}]
    assert result.value_schema.type is Type.ARRAY
    assert result.value_schema.value_schema.field("a").schema is Schema.OPTIONAL_FLOAT64


def test_equal_payloads_get_one_schema():
    """Schemas inferred from payloads of one shape are one object."""
    router = configured(EventRouter, table_expand_json_payload="true")
    one, two = router.apply_batch([outbox(payload='{"a": 1}'), outbox(payload='{"a": 2}')])
    assert one.value_schema is two.value_schema


@pytest.mark.parametrize("payload", ["not json", "5", '{"a": [1, "x"]}', "[]"])
def test_what_cannot_be_expanded_stays_text(payload, caplog):
    """The record goes on as it is, and the log says why."""
    router = configured(EventRouter, table_expand_json_payload="true")
    assert router.apply(outbox(payload=payload)).value == payload
    assert "can't be expanded" in caplog.text


def test_connect_timestamps_are_taken_for_the_record():
    """A column of Connect's own Timestamp type sets the record's time; the JVM can't cast it."""
    router = configured(EventRouter, table_field_event_timestamp="at")
    moment = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    assert router.apply(outbox(at=moment)).timestamp == 1577836800000
    assert router.apply(outbox(at=None)).timestamp == 5


def test_updates_of_the_outbox_are_reported(caplog):
    """An update is dropped with a line in the log, or fails the task if it is told to."""
    with caplog.at_level(logging.WARNING):
        assert configured(EventRouter).apply(outbox("u")) is None
    assert "Unexpected update message received" in caplog.text
    with pytest.raises(ConnectError) as error:
        configured(EventRouter, table_op_invalid_behavior="fatal").apply(outbox("u"))
    assert class_name_of(error.value) == "java.lang.IllegalStateException"


def test_a_placement_nobody_knows_is_refused():
    """The JVM accepts it and fails at the first record."""
    with pytest.raises(ConfigError, match="column:header, column:envelope or column:partition"):
        configured(EventRouter, table_fields_additional_placement="a:moon")


def test_a_schemaless_timestamp_must_be_a_number():
    """The error names the column and what it holds."""
    router = configured(EventRouter, table_field_event_timestamp="type")
    with pytest.raises(DataError, match="Field 'type' is no number"):
        router.apply(outbox(schema=None))
