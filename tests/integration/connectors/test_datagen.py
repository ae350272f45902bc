"""Datagen in a real worker on a real Kafka, its poison into a dead-letter queue."""

import pytest

from tests.support.topics import consume_all
from tests.support.waiting import wait_for
from tests.support.worker import read_lines, standalone

COUNT = 1000


@pytest.fixture
def worker(kafka, tmp_path):
    with standalone(kafka, tmp_path) as running:
        yield running


def test_poison_is_dead_lettered_and_the_rest_delivered(worker, kafka, make_topic, tmp_path):
    """Each poisoned record becomes a dead letter, every other one reaches the sink's file."""
    topic, letters, out = make_topic("orders"), make_topic("letters"), tmp_path / "out.txt"
    worker.create(
        "made-up",
        {
            "connector.class": "io.confluent.kafka.connect.datagen.DatagenConnector",
            "kafka.topic": topic,
            "quickstart": "orders",
            "max.interval": "0",
            "iterations": str(COUNT),
            "random.seed": "3",
            "format": "json",
            "poison.ratio": "0.05",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        },
    )
    worker.create(
        "out",
        {
            "connector.class": "FileStreamSink",
            "topics": topic,
            "file": str(out),
            "transforms": "stamp",
            "transforms.stamp.type": "org.apache.kafka.connect.transforms.InsertField$Value",
            "transforms.stamp.static.field": "seen",
            "transforms.stamp.static.value": "yes",
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": letters,
            "errors.deadletterqueue.topic.replication.factor": "1",
            "errors.deadletterqueue.context.headers.enable": "true",
        },
    )
    records = consume_all(kafka, topic, COUNT)
    assert len(records) == COUNT
    poisoned = [r for r in records if "datagen.poison" in dict(r.headers() or [])]
    assert poisoned
    good = COUNT - len(poisoned)
    wait_for(lambda: len(read_lines(out)) >= good, f"{good} lines in the sink's file")
    dead = consume_all(kafka, letters, len(poisoned))
    assert len(read_lines(out)) == good
    assert sorted(d.value() for d in dead) == sorted(r.value() for r in poisoned)
    stages = {}
    for letter in dead:
        headers = dict(letter.headers())
        kind = headers["datagen.poison"].decode()
        stages.setdefault(kind, set()).add(headers["__connect.errors.stage"].decode())
    assert stages == {
        "truncated": {"VALUE_CONVERTER"},
        "not_json": {"VALUE_CONVERTER"},
        "wrong_type": {"TRANSFORMATION"},
    }
    worker.wait_running("made-up")
