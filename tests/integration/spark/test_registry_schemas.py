"""Columns from a real registry, and what becomes of them when the topic's schema evolves."""

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from connect import Schema, Type
from converters.avro import AvroConverter
from converters.json_schema import JsonSchemaConverter
from converters.protobuf import ProtobufConverter

CLASSES = {
    AvroConverter: "io.confluent.connect.avro.AvroConverter",
    JsonSchemaConverter: "io.confluent.connect.json.JsonSchemaConverter",
    ProtobufConverter: "io.confluent.connect.protobuf.ProtobufConverter",
}


def order(number=Type.INT32, **more):
    """The schema of an order; `more` are optional fields."""
    schema = Schema.struct("Order")
    schema.field("id", Schema.builder(number).build())
    schema.field("name", Schema.builder(Type.STRING).build())
    for name, type_ in more.items():
        schema.field(name, Schema.builder(type_).optional().build())
    return schema.build()


@pytest.fixture
def write(registry, topic, produce):
    """write(converter, schema, *values) puts values and their schema into the topic."""

    def write(kind, schema, *values):
        made = kind()
        made.configure({"schema.registry.url": registry}, is_key=False)
        produce(topic, [made.from_connect(topic, schema, value) for value in values])
        client = SchemaRegistryClient({"url": registry})
        client.set_compatibility(f"{topic}-value", "NONE")

    return write


@pytest.fixture
def load(spark, kafka, registry, topic):
    def load(kind):
        return (
            spark.read.format("penstock")
            .option("bootstrap.servers", kafka)
            .option("topics", topic)
            .option("value.converter", CLASSES[kind])
            .option("value.converter.schema.registry.url", registry)
            .option("errors.tolerance", "all")
            .load()
        )

    return load


def found(rows):
    return {row._kafka.offset: row for row in rows.collect()}


@pytest.mark.parametrize("kind", CLASSES)
def test_columns_follow_the_registry_when_the_query_starts(kind, write, load):
    """A field that is added is left out until the next start; then old records have null in it."""
    write(kind, order(), {"id": 1, "name": "one"})
    before = load(kind)
    assert before.columns == ["id", "name", "_kafka", "_error"]
    assert dict(before.dtypes)["id"] in ("int", "bigint")
    write(kind, order(price=Type.FLOAT64), {"id": 2, "name": "two", "price": 1.5})
    rows = found(before)
    assert (rows[1].id, rows[1].name, rows[1]._error) == (2, "two", None)
    rows = found(load(kind))
    assert [rows[0].price, rows[1].price] == [None, 1.5]


def test_widened_and_incompatible_types(write, load):
    """What fits the column passes; what does not is a row with `_error`, until the next start."""
    kind = AvroConverter
    write(kind, order(), {"id": 1, "name": "one"})
    before = load(kind)
    large = 2**40
    write(kind, order(Type.INT64), {"id": 2, "name": "two"}, {"id": large, "name": "large"})
    write(kind, order(Type.STRING), {"id": "x", "name": "text"})
    rows = found(before)
    assert [rows[n].id for n in range(4)] == [1, 2, None, None]
    assert [rows[n]._error is None for n in range(4)] == [True, True, False, False]
    assert str(large) in rows[2]._error.message
    assert "Field id with 'x' does not fit its column" in rows[3]._error.message
