"""The data source `penstock` as a stream: batches of set size, new and lost partitions."""

import json
import uuid
from itertools import chain

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from pyspark.errors import StreamingQueryException

from tests.support.topics import Out
from tests.support.waiting import wait_for

JSON = "org.apache.kafka.connect.json.JsonConverter"


@pytest.fixture
def stream(spark, kafka, tmp_path):
    """stream(topic, **options) reads all there is and returns the batches as lists of numbers."""

    def run(topic, checkpoint="checkpoint", **options):
        batches = []

        def take(rows, _number):
            batches.append(sorted(row.n for row in rows.collect()))

        query = (
            spark.readStream.format("penstock")
            .option("bootstrap.servers", kafka)
            .option("topics", topic)
            .option("value.converter", JSON)
            .option("value.converter.schemas.enable", "false")
            .option("spark.schema", "n BIGINT")
            .option("startingOffsets", "earliest")
            .options(**options)
            .load()
            .writeStream.queryName(uuid.uuid4().hex)
            .option("checkpointLocation", str(tmp_path / checkpoint))
            .trigger(availableNow=True)
            .foreachBatch(take)
            .start()
        )
        query.awaitTermination()
        return batches

    return run


def flat(batches):
    return [*chain.from_iterable(batches)]


def numbers(start, end, partitions=1):
    return [Out(json.dumps({"n": n}), partition=n % partitions) for n in range(start, end)]


def test_batches_have_the_size_that_is_set_and_go_on_from_the_checkpoint(
    stream, kafka, make_topic, produce
):
    """100 records in batches of 40; later ones, and those of a new partition, come next time."""
    topic = make_topic("stream", 2)
    produce(topic, numbers(0, 100, 2))
    batches = stream(topic, maxOffsetsPerTrigger="40")
    assert [len(batch) for batch in batches] == [40, 40, 20]
    assert sorted(flat(batches)) == list(range(100))
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(30)
    produce(topic, numbers(100, 130, 3))
    assert sorted(flat(stream(topic))) == list(range(100, 130))
    assert stream(topic) == []


def test_a_topic_made_anew_is_noticed(stream, kafka, make_topic, produce):
    """A topic that is gone, or has less than was read, fails the query unless told to go on."""
    topic = make_topic("stream")
    produce(topic, numbers(0, 5))
    assert flat(stream(topic)) == list(range(5))
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.delete_topics([topic])[topic].result(30)
    with pytest.raises(StreamingQueryException, match=f"{topic}-0 is no longer there"):
        stream(topic)

    def made_anew():
        [done] = admin.create_topics([NewTopic(topic, 1, 1)]).values()
        return done.exception(30) is None

    wait_for(made_anew, "the name of the deleted topic to be free")
    produce(topic, numbers(5, 7))
    with pytest.raises(StreamingQueryException, match="made anew"):
        stream(topic)
    assert flat(stream(topic, failOnDataLoss="false")) == [5, 6]


def test_records_deleted_before_they_were_read_fail_the_batch(stream, kafka, topic, produce):
    """Retention that overtakes the query is an error, or is passed over when that is allowed."""
    produce(topic, numbers(0, 5))
    assert flat(stream(topic)) == list(range(5))
    produce(topic, numbers(5, 10))
    place = TopicPartition(topic, 0, 7)
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.delete_records([place])[place].result(30)
    with pytest.raises(StreamingQueryException, match=f"Offset 5 of {topic}-0 is gone"):
        stream(topic)
    assert flat(stream(topic, failOnDataLoss="false")) == [7, 8, 9]
