from __future__ import annotations

import io
import itertools
import json

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect import Schema, Type
from converters.avro import AvroConverter
from tests.support.registry_data import records

_topics = (f"topic{n}" for n in itertools.count())


def converter(scope: str, **config: str) -> AvroConverter:
    made = AvroConverter()
    settings_ = {"schema.registry.url": f"mock://{scope}"}
    settings_.update({k.replace("_", "."): v for k, v in config.items()})
    made.configure(settings_, is_key=False)
    return made


WRITER = converter("round-trip")
READER = converter("round-trip")


def with_registry_version(schema: Schema) -> Schema:
    """What comes back has the registry's version where it had none of its own.

    Not so for an optional one: the JVM loses it in the union with null.
    """
    if schema.version is not None or schema.optional:
        return schema
    return schema.to_builder().version(1).build()


@settings(max_examples=150, deadline=None)
@given(records())
def test_schema_and_value_come_back(record):
    """Whatever is written comes back with an equal schema and an equal value."""
    schema, value = record
    topic = next(_topics)
    data = WRITER.from_connect(topic, schema, value)
    read = READER.to_connect(topic, data)
    assert read.schema == with_registry_version(schema)
    assert read.value == value


@settings(max_examples=60, deadline=None)
@given(records(struct_only=True, metadata=False))
def test_fastavro_reads_the_same_under_the_registered_schema(record):
    """A plain Avro library reads our bytes under the schema that we registered."""
    schema, value = record
    topic = next(_topics)
    data = WRITER.from_connect(topic, schema, value)
    text = WRITER._registry.register(f"{topic}-value", "AVRO", WRITER.describe(schema)[0]).text
    parsed = fastavro.parse_schema(json.loads(text))
    stream = io.BytesIO(data[5:])
    plain = fastavro.schemaless_reader(stream, parsed)
    assert stream.read() == b""
    assert plain.keys() == value.keys()


@settings(max_examples=60, deadline=None)
@given(records(struct_only=True))
def test_batches_are_the_same_as_single_records(record):
    """The batch methods give what the single ones give, nulls included."""
    schema, value = record
    topic = next(_topics)
    optional = schema.as_optional()
    values = [value, None, value]
    data = WRITER.from_connect_batch(topic, [optional] * 3, values, [[], [], []])
    assert data == [WRITER.from_connect(topic, optional, v) for v in values]
    schemas, read = READER.to_connect_batch(topic, data, [(), (), ()])
    assert read == values
    assert schemas[0] is schemas[2]
    assert schemas[1] is None


_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(_values.filter(lambda v: v is not None))
def test_values_without_schema_come_back(value):
    """A value without a schema is written as Anything and read back without a schema."""
    data = WRITER.from_connect("schemaless", None, value)
    assert READER.to_connect("schemaless", data) == (None, value)


@pytest.mark.parametrize("enhanced", ["true", "false"])
@settings(max_examples=25, deadline=None)
@given(records(struct_only=True, map_keys=(Type.STRING,)))
def test_names_that_avro_does_not_allow_are_scrubbed(enhanced, record):
    """With scrub.invalid.names any field name can be written, and the values arrive in order."""
    schema, value = record
    odd = {f.name: f"0-{f.name}é" for f in schema.fields}
    builder = schema.to_builder().without_fields().name("no-good.na me")
    for field in schema.fields:
        builder = builder.field(odd[field.name], field.schema)
    scrubbing = converter(
        "scrub", scrub_invalid_names="true", enhanced_avro_schema_support=enhanced
    )
    topic = next(_topics)
    data = scrubbing.from_connect(topic, builder.build(), {odd[k]: v for k, v in value.items()})
    read = converter("scrub").to_connect(topic, data)
    assert list(read.value.values()) == [value[f.name] for f in schema.fields]
