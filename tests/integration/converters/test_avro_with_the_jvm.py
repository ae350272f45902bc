"""Our Avro and the JVM's, through one real registry."""

from __future__ import annotations

import itertools
import json as plain
import uuid
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings

from connect import Schema, Type
from converters.avro import AvroConverter
from converters.json import JsonConverter
from tests.support.java_peer import JavaPeer, java_peer
from tests.support.registry_data import records

pytestmark = pytest.mark.stack

_RUN = uuid.uuid4().hex[:8]
_topics = (f"jvm-{_RUN}-{n}" for n in itertools.count())


@pytest.fixture(scope="module")
def peer(registry, say):
    source = Path(__file__).parent / "AvroPeer.java"
    with java_peer(source, say, registry.replace("/ccompat/v7", "/registry/v2")) as running:
        yield running


@pytest.fixture(scope="module")
def avro(registry) -> AvroConverter:
    made = AvroConverter()
    made.configure({"schema.registry.url": registry}, is_key=False)
    return made


@pytest.fixture(scope="module")
def json() -> JsonConverter:
    made = JsonConverter()
    made.configure({}, is_key=False)
    return made


SOME = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
# The JVM can't write two maps with other keys than strings in one schema, so not by chance.
RECORDS = records(struct_only=True, map_keys=(Type.STRING,))


@SOME
@given(RECORDS)
def test_what_the_jvm_writes_is_read_here(
    peer: JavaPeer, avro: AvroConverter, json: JsonConverter, record
):
    """Bytes and schema of the JVM's converter give back the very record it was given."""
    schema, value = record
    topic = next(_topics)
    written = peer.ask("write", topic, json.from_connect(topic, schema, value))
    read = avro.to_connect(topic, written)
    assert read.value == value
    assert read.schema.fields == schema.fields


@SOME
@given(RECORDS)
def test_what_is_written_here_is_read_by_the_jvm(
    peer: JavaPeer, avro: AvroConverter, json: JsonConverter, record
):
    """The JVM's converter reads our bytes to the record that we were given."""
    schema, value = record
    topic = next(_topics)
    answer = peer.ask("read", topic, avro.from_connect(topic, schema, value))
    read = json.to_connect(topic, answer)
    assert read.value == value
    assert read.schema.fields == schema.fields


@SOME
@given(RECORDS)
def test_both_register_the_same_schema(
    peer: JavaPeer, avro: AvroConverter, json: JsonConverter, record
):
    """A topic written by JVM and Python workers in turn stays at one version."""
    schema, value = record
    assume(not _has_float_default(schema))  # Java before 19 writes digits that nobody needs
    topic = next(_topics)
    theirs = peer.ask("write", topic, json.from_connect(topic, schema, value))
    ours = avro.from_connect(topic, schema, value)
    assert ours[:5] == theirs[:5], avro.describe(schema)
    assert len(ours) == len(theirs)


def test_unions_and_maps_by_number_cross_over(peer: JavaPeer, avro: AvroConverter):
    """A union and a map whose keys are numbers are read by the JVM as by us."""
    union = (
        Schema.struct("io.confluent.connect.avro.Union")
        .field("int", Schema.OPTIONAL_INT32)
        .field("string", Schema.OPTIONAL_STRING)
        .build()
    )
    numbers = Schema.map(Schema.INT32, Schema.STRING).build()
    schema = Schema.struct("test.U").field("u", union).field("m", numbers).build()
    topic = next(_topics)
    for member in ({"int": 5, "string": None}, {"int": None, "string": "x"}):
        data = avro.from_connect(topic, schema, {"u": member, "m": {1: "x"}})
        assert avro.to_connect(topic, data).value == {"u": member, "m": {1: "x"}}
        answer = peer.ask("read", topic, data)
        assert f'"payload":{{"u":{_json(member)},"m":[[1,"x"]]}}'.encode() in answer


def _has_float_default(schema: Schema) -> bool:
    parts = [f.schema for f in schema.fields] + [schema.key_schema, schema.value_schema]
    return isinstance(schema.default, float) or any(map(_has_float_default, filter(None, parts)))


def _json(value: object) -> str:
    return plain.dumps(value, separators=(",", ":"))
