"""The converters against a real registry."""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import json
import uuid
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema as Sent
from confluent_kafka.schema_registry import SchemaReference, SchemaRegistryClient
from hypothesis import HealthCheck, given, settings

from connect import DataError, Schema
from converters.avro import AvroConverter
from converters.json_schema import JsonSchemaConverter
from converters.protobuf import ProtobufConverter
from converters.registry.converter import RegistryConverter
from tests.support.registry_data import as_protobuf_keeps, protobuf_records, records

pytestmark = pytest.mark.stack

_RUN = uuid.uuid4().hex[:8]
_topics = (f"real-{_RUN}-{n}" for n in itertools.count())

SOME = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def converter(kind: type[RegistryConverter], registry: str, **config: str) -> Any:
    made = kind()
    given_ = {k.replace("_", "."): v for k, v in config.items()}
    made.configure({"schema.registry.url": registry, "max.retries": "0", **given_}, is_key=False)
    return made


@pytest.mark.parametrize("kind", [AvroConverter, JsonSchemaConverter])
@SOME
@given(records(struct_only=True))
def test_records_come_back(registry, kind, record):
    """What one converter writes, another reads through the registry, to an equal record."""
    schema, value = record
    topic = next(_topics)
    data = converter(kind, registry).from_connect(topic, schema, value)
    read = converter(kind, registry).to_connect(topic, data)
    assert read.value == value
    assert read.schema.fields == schema.fields
    assert read.schema.version == (schema.version or 1)


@settings(SOME, max_examples=8)  # each has a schema to compile
@given(protobuf_records())
def test_protobuf_records_come_back(registry, record):
    """The same, as far as Protobuf can tell nulls from defaults."""
    schema, value = record
    topic = next(_topics)
    made = converter(ProtobufConverter, registry, optional_for_nullables="true")
    read = made.to_connect(topic, made.from_connect(topic, schema, value))
    assert read.value == as_protobuf_keeps(schema, value)


def test_protobuf_comes_back(registry):
    """Messages made from the registry's own text carry every kind of field."""
    topic = next(_topics)
    schema = (
        Schema.struct("com.x.Order")
        .field("id", Schema.INT64)
        .field("small", Schema.INT8)
        .field("price", Schema.decimal(2).build())
        .field("at", Schema.timestamp().build())
        .field("on", Schema.date().build())
        .field("clock", Schema.time().build())
        .field("tags", Schema.array(Schema.STRING).build())
        .field("counts", Schema.map(Schema.STRING, Schema.INT32).build())
        .field("line", Schema.struct("com.x.Line").field("sku", Schema.STRING).build())
        .build()
    )
    value = {
        "id": 1, "small": -3, "price": decimal.Decimal("12.30"),
        "at": dt.datetime(2024, 1, 2, 3, 4, 5, 6000, tzinfo=dt.UTC), "on": dt.date(2020, 1, 1),
        "clock": dt.time(1, 2, 3, 4000), "tags": ["a"], "counts": {"a": 1}, "line": {"sku": "x"},
    }  # fmt: skip
    data = converter(ProtobufConverter, registry).from_connect(topic, schema, value)
    reader = converter(ProtobufConverter, registry)
    read = reader.to_connect(topic, data)
    assert read.value == value
    assert read.schema.version == 1
    text = converter(ProtobufConverter, registry).from_connect(topic + "-s", Schema.STRING, "x")
    assert reader.to_connect(topic + "-s", text).value == "x"


def test_protobuf_references(registry):
    """Files of other subjects are imported."""
    topic = next(_topics)
    client = SchemaRegistryClient({"url": registry})
    city = f'syntax = "proto3"; package n{_RUN}; message City {{ string name = 1; }}'
    user = (
        f'syntax = "proto3"; package n{_RUN}; import "city.proto"; '
        "message User { City home = 1; }"
    )
    client.register_schema(f"city-proto-{_RUN}", Sent(city, "PROTOBUF"))
    schema_id = client.register_schema(
        f"{topic}-value",
        Sent(user, "PROTOBUF", [SchemaReference("city.proto", f"city-proto-{_RUN}", 1)]),
    )
    data = b"\0" + schema_id.to_bytes(4, "big") + b"\0" + b"\x0a\x06\x0a\x04Bern"
    read = converter(ProtobufConverter, registry).to_connect(topic, data)
    assert read.value == {"home": {"name": "Bern"}}


def test_json_schema_references(registry):
    """Documents of other subjects are followed."""
    topic = next(_topics)
    client = SchemaRegistryClient({"url": registry})
    city = {"type": "object", "properties": {"name": {"type": "string"}}}
    user = {"type": "object", "properties": {"home": {"$ref": "city.json"}}}
    client.register_schema(f"city-json-{_RUN}", Sent(json.dumps(city), "JSON"))
    schema_id = client.register_schema(
        f"{topic}-value",
        Sent(json.dumps(user), "JSON", [SchemaReference("city.json", f"city-json-{_RUN}", 1)]),
    )
    made = converter(JsonSchemaConverter, registry, json_fail_invalid_schema="true")
    data = b"\0" + schema_id.to_bytes(4, "big") + b'{"home":{"name":"Bern"}}'
    assert made.to_connect(topic, data).value == {"home": {"name": "Bern"}}


def test_incompatible_avro_schema_is_refused(registry):
    """A registry that guards compatibility refuses the change, and the record is a bad one."""
    topic = next(_topics)
    client = SchemaRegistryClient({"url": registry})
    made = converter(AvroConverter, registry)
    first = Schema.struct("R").field("a", Schema.INT32).build()
    made.from_connect(topic, first, {"a": 1})
    client.set_compatibility(f"{topic}-value", "BACKWARD")
    other = Schema.struct("R").field("a", Schema.STRING).build()
    with pytest.raises(DataError, match="409"):
        made.from_connect(topic, other, {"a": "x"})


def test_unknown_schema_id_is_a_data_error(registry):
    """An id that the registry never gave out is a bad record."""
    with pytest.raises(DataError, match="schema id 99999999"):
        converter(AvroConverter, registry).to_connect("t", b"\0" + (99999999).to_bytes(4, "big"))


def test_avro_references(registry):
    """Types of other subjects are fetched along."""
    topic = next(_topics)
    client = SchemaRegistryClient({"url": registry})
    city = {"type": "record", "name": f"n{_RUN}.City", "fields": [{"name": "c", "type": "string"}]}
    user = {"type": "record", "name": f"n{_RUN}.User", "fields": [
        {"name": "home", "type": f"n{_RUN}.City"}]}  # fmt: skip
    client.register_schema(f"city-{_RUN}", Sent(json.dumps(city)))
    schema_id = client.register_schema(
        f"{topic}-value",
        Sent(json.dumps(user), references=[SchemaReference(city["name"], f"city-{_RUN}", 1)]),
    )
    made = converter(AvroConverter, registry)
    data = b"\0" + schema_id.to_bytes(4, "big") + b"\x08Bern"
    assert made.to_connect(topic, data).value == {"home": {"c": "Bern"}}
    latest = converter(
        AvroConverter, registry, auto_register_schemas="false", use_latest_version="true"
    )
    schema = made.to_connect(topic, data).schema
    assert latest.from_connect(topic, schema, {"home": {"c": "Bern"}}) == data
