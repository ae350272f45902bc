"""Which settings of a producer let batches take the short way."""

import pytest

from connect.runtime.clients import express_terms
from connect.runtime.record_batch import MOST_RECORDS

WORKER = {"bootstrap.servers": "localhost:9092", "group.id": "workers"}


def terms(connector=None, **worker):
    return express_terms("orders", 3, {**WORKER, **worker}, connector or {})


def test_a_worker_that_sets_nothing_has_them():
    found = terms()
    assert found.client_id == "connector-producer-orders-3"
    assert found.acks == -1
    assert found.answer_seconds == 30
    assert found.most_bytes == 1_000_000
    assert found.most_records == 16_666


def test_brokers_to_start_from():
    """As librdkafka and Java take them."""
    servers = "one:9092, two,[::1]:9094 ,PLAINTEXT://four:9095"
    expected = (("one", 9092), ("two", 9092), ("::1", 9094), ("four", 9095))
    assert terms(**{"bootstrap.servers": servers}).servers == expected
    assert terms(**{"bootstrap.servers": "one:first"}) is None


@pytest.mark.parametrize(
    "settings",
    [
        {"producer.linger.ms": "100", "producer.batch.size": "262144"},
        {"producer.compression.type": "none", "producer.max.request.size": "2000000"},
        {"security.protocol": "PLAINTEXT", "producer.enable.metrics.push": "true"},
        {"retry.backoff.ms": "200", "producer.reconnect.backoff.max.ms": "100"},
        {"producer.key.serializer": "x.Y", "producer.interceptor.classes": ""},
    ],
)
def test_what_makes_no_difference(settings):
    assert terms(**settings) is not None


@pytest.mark.parametrize(
    "settings",
    [
        {"security.protocol": "SSL"},
        {"producer.compression.type": "lz4"},
        {"producer.acks": "0"},
        {"producer.enable.idempotence": "true"},
        {"producer.retries": "0"},
        {"producer.partitioner.class": "org.apache.kafka.clients.producer.RoundRobinPartitioner"},
        {"producer.batch.num.messages": "10"},
        {"producer.statistics.interval.ms": "1000"},
    ],
)
def test_what_forbids_it(settings):
    """Whatever this way can't do, or was not thought of, is the producer's business."""
    assert terms(**settings) is None


def test_a_connector_has_the_last_word():
    assert terms({"producer.override.compression.type": "zstd"}) is None
    assert terms({"producer.override.acks": "1"}).acks == 1
    assert terms({"producer.override.client.id": "mine"}).client_id == "mine"
    assert terms({"producer.override.request.timeout.ms": "5000"}).answer_seconds == 5


def test_a_request_is_no_larger_than_a_batch_may_be():
    assert terms(**{"producer.batch.size": "16384"}).most_bytes == 16384
    assert terms(**{"producer.max.request.size": "5000"}).most_bytes == 5000


def test_what_comes_back_finds_room_in_the_producer():
    """All requests under way and the next one together."""
    assert terms(**{"producer.buffer.memory": str(100 * 1024)}).most_bytes == 100 * 1024 // 6
    few = {"producer.queue.buffering.max.messages": "1000"}
    assert terms(**few).most_records == 166
    many = {"producer.queue.buffering.max.messages": "10000000"}
    assert terms(**many).most_records == MOST_RECORDS
