"""The data source `penstock` in batch: exact ranges, columns, failures as rows."""

import json
from decimal import Decimal

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.errors import PySparkException

from tests.support.secured import make_stores, secured_broker, security
from tests.support.topics import Out, Topics
from tests.support.waiting import wait_for

JSON = "org.apache.kafka.connect.json.JsonConverter"
DDL = "n BIGINT, name STRING"


@pytest.fixture
def read(spark, kafka):
    """read(topic, **options) gives the DataFrame of a topic of JSON values."""

    def read(topic, **options):
        return (
            spark.read.format("penstock")
            .option("bootstrap.servers", kafka)
            .option("topics", topic)
            .option("value.converter", JSON)
            .option("value.converter.schemas.enable", "false")
            .options(**{k.replace("__", "."): v for k, v in options.items()})
            .load()
        )

    return read


def numbered(count, partitions=1):
    return [
        Out(json.dumps({"n": n, "name": f"name {n}"}), b"key", partition=n % partitions)
        for n in range(count)
    ]


def test_every_record_of_every_partition_is_a_row(read, make_topic, produce):
    """3000 records in three partitions, cut into six ranges, are 3000 rows with their places."""
    topic = make_topic("spark", 3)
    produce(topic, numbered(3000, 3))
    rows = read(topic, spark__schema=DDL, minPartitions="6")
    assert rows.rdd.getNumPartitions() == 6
    found = rows.select("n", "name", "_kafka.*", "_error").collect()
    assert sorted(row.n for row in found) == list(range(3000))
    assert all(row.name == f"name {row.n}" and row._error is None for row in found)
    assert {(row.topic, row.partition, row.offset) for row in found} == {
        (topic, n % 3, n // 3) for n in range(3000)
    }
    assert {bytes(row.key) for row in found} == {b"key"}


def test_offsets_say_what_is_read(read, topic, produce):
    """Explicit offsets, and times, cut out exactly the records between."""
    produce(topic, [Out(json.dumps({"n": n}), timestamp=1000 * (n + 1)) for n in range(10)])

    def numbers(**options):
        return sorted(row.n for row in read(topic, spark__schema=DDL, **options).collect())

    places = lambda n: json.dumps({topic: {"0": n}})  # noqa: E731
    assert numbers(startingOffsets=places(3), endingOffsets=places(7)) == [3, 4, 5, 6]
    assert numbers(startingOffsets="timestamp:5500") == [5, 6, 7, 8, 9]
    assert numbers(endingOffsets="timestamp:5500") == [0, 1, 2, 3, 4]
    assert numbers(startingOffsets=places(-2), endingOffsets=places(-1)) == list(range(10))


def test_a_range_ends_by_position_where_records_are_missing(read, kafka, topic):
    """Aborted transactions and markers leave gaps, also at the end, and no range waits for them."""
    producer = Producer({"bootstrap.servers": kafka, "transactional.id": topic})
    producer.init_transactions()
    for n in range(6):
        producer.begin_transaction()
        producer.produce(topic, json.dumps({"n": n}))
        producer.flush()
        if n % 2:
            producer.abort_transaction()
        else:
            producer.commit_transaction()
    rows = read(topic, spark__schema=DDL, minPartitions="3").collect()
    assert sorted(row.n for row in rows) == [0, 2, 4]
    dirty = {"consumer__override__isolation__level": "read_uncommitted"}
    rows = read(topic, spark__schema=DDL, **dirty).collect()
    assert sorted(row.n for row in rows) == list(range(6))


@pytest.mark.slow
def test_a_compacted_topic_is_read_to_its_end(read, make_topic, produce, consume_all):
    """Whole ranges may be compacted away, and so may what lies before a range's end."""
    topic = make_topic(
        "compacted",
        config={
            "cleanup.policy": "compact",
            "min.cleanable.dirty.ratio": "0.001",
            "min.compaction.lag.ms": "0",
            "segment.ms": "1",
        },
    )
    numbers = [Out(json.dumps({"n": n}), b"%d" % (n % 7)) for n in range(3000)]
    produce(topic, numbers)
    produce(topic, [Out(json.dumps({"n": 3000}), b"last")])  # the newest segment stays as it is
    newest = [*range(2993, 3001)]
    wait_for(lambda: len(consume_all(topic, 1)) == len(newest), "Kafka to compact the topic", 120)
    rows = read(topic, spark__schema=DDL, minPartitions="5")
    assert rows.rdd.getNumPartitions() == 5
    assert sorted(row.n for row in rows.collect()) == newest
    places = lambda n: json.dumps({topic: {"0": n}})  # noqa: E731
    middle = {"startingOffsets": places(1000), "endingOffsets": places(2995)}
    assert sorted(row.n for row in read(topic, spark__schema=DDL, **middle).collect()) == [
        2993, 2994,
    ]  # fmt: skip
    gone = {"startingOffsets": places(10), "endingOffsets": places(2000)}
    assert read(topic, spark__schema=DDL, **gone).collect() == []


def test_what_fails_is_a_row_that_says_why(read, topic, produce):
    """With tolerance a poison record keeps its bytes, place, stage and cause; others pass."""
    produce(
        topic,
        [
            Out('{"n": 1}', b"a", [("h", b"1")]),
            Out(b"\xff broken", b"b", [("h", b"2")]),
            Out('{"n": 1.5}', b"c"),
            Out('{"n": "2"}', b"d"),
            Out("[1]", b"e"),
            Out(None, b"f"),
        ],
    )
    rows = read(topic, spark__schema=DDL, errors__tolerance="all").collect()
    by_key = {bytes(row._kafka.key): row for row in rows}
    assert len(rows) == 6
    assert by_key[b"a"].n == 1
    assert by_key[b"f"].n is None
    assert by_key[b"f"]._error is None
    error = by_key[b"b"]._error
    assert error.stage == "VALUE_CONVERTER"
    assert error["class"] == JSON
    assert bytes(error.value) == b"\xff broken"
    assert [(h.key, bytes(h.value)) for h in by_key[b"b"]._kafka.headers] == [("h", b"2")]
    assert "1.5" in by_key[b"c"]._error.message
    assert "Field n with '2' does not fit" in by_key[b"d"]._error.message
    assert "no struct" in by_key[b"e"]._error.message


def test_without_tolerance_a_poison_record_fails_the_read(read, topic, produce):
    """The error names stage, topic, partition and offset."""
    produce(topic, ['{"n": 1}', "{broken"])
    with pytest.raises(PySparkException, match=rf"VALUE_CONVERTER.*{topic}-0 offset 1"):
        read(topic, spark__schema=DDL).collect()


def test_offsets_that_are_gone_are_an_error_unless_allowed(read, kafka, topic, produce):
    """A start before the topic's beginning fails; with failOnDataLoss=false reading goes on."""
    produce(topic, [json.dumps({"n": n}) for n in range(10)])
    place = TopicPartition(topic, 0, 4)
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.delete_records([place])[place].result(30)
    start = {"startingOffsets": json.dumps({topic: {"0": 0}})}
    with pytest.raises(PySparkException, match="begins at offset 4, not 0"):
        read(topic, spark__schema=DDL, **start).collect()
    rows = read(topic, spark__schema=DDL, failOnDataLoss="false", **start).collect()
    assert sorted(row.n for row in rows) == list(range(4, 10))


def test_transforms_run_on_the_executors(read, topic, produce):
    """Transforms and predicates change and drop records before they become rows."""
    produce(topic, ['{"n": 1, "name": "x"}', None])
    rows = read(
        topic,
        spark__schema="number BIGINT, site STRING",
        transforms="Rename,Drop,Add",
        transforms__Rename__type="org.apache.kafka.connect.transforms.ReplaceField$Value",
        transforms__Rename__renames="n:number",
        transforms__Drop__type="org.apache.kafka.connect.transforms.Filter",
        transforms__Drop__predicate="Gone",
        predicates="Gone",
        predicates__Gone__type="org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
        transforms__Add__type="org.apache.kafka.connect.transforms.InsertField$Value",
        transforms__Add__static__field="site",
        transforms__Add__static__value="north",
    ).collect()
    assert [(row.number, row.site) for row in rows] == [(1, "north")]


def test_columns_are_found_in_a_sample(read, topic, produce):
    """Without spark.schema the newest records show the columns, nested ones too."""
    produce(topic, ['{"n": 1}', '{"n": 2, "at": {"lat": 1.5}, "tags": ["a"]}'])
    rows = read(topic)
    assert rows.drop("_kafka", "_error").schema.simpleString() == (
        "struct<n:bigint,at:struct<lat:double>,tags:array<string>>"
    )
    assert [row.at and row.at.lat for row in rows.orderBy("n").collect()] == [None, 1.5]


def test_schemas_of_records_become_columns(read, topic, produce):
    """Records that bring their schema give typed columns: decimals, dates, times, maps."""
    schema = {
        "type": "struct",
        "fields": [
            {"field": "id", "type": "int32"},
            {
                "field": "price", "type": "bytes",
                "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"},
            },
            {"field": "day", "type": "int32", "name": "org.apache.kafka.connect.data.Date"},
            {"field": "at", "type": "int32", "name": "org.apache.kafka.connect.data.Time"},
            {"field": "ts", "type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"},
            {
                "field": "m", "type": "map",
                "keys": {"type": "string"}, "values": {"type": "int16"},
            },
        ],
    }  # fmt: skip
    payload = {"id": 1, "price": "MDk=", "day": 1, "at": 61_000, "ts": 1500, "m": {"a": 7}}
    produce(topic, [json.dumps({"schema": schema, "payload": payload})])
    rows = read(topic, value__converter__schemas__enable="true")
    assert rows.drop("_kafka", "_error").schema.simpleString() == (
        "struct<id:int,price:decimal(38,2),day:date,at:int,ts:timestamp,m:map<string,smallint>>"
    )
    row = rows.selectExpr("*", "CAST(ts AS DOUBLE) AS seconds").collect()[0]
    assert (row.id, row.price, row.at, row.m) == (1, Decimal("123.45"), 61_000, {"a": 7})
    assert row.seconds == 1.5


@pytest.mark.slow
def test_a_broker_with_certificates_and_passwords(read, say, tmp_path):
    """The settings of Java's clients let driver and executors in."""
    stores = make_stores(tmp_path)
    with secured_broker(say, stores) as broker:
        topic = Topics(broker.plain).create()
        producer = Producer({"bootstrap.servers": broker.plain})
        producer.produce(topic, '{"n": 1}')
        producer.flush(30)
        settings = security(stores, "SCRAM-SHA-512", "trusts-broker.jks")
        address = {"bootstrap.servers": broker.secure}
        assert [row.n for row in read(topic, **address, **settings).collect()] == [1]
