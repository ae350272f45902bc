"""The source loop, without Kafka."""

from types import SimpleNamespace

import pytest
from confluent_kafka import Producer

from connect import SourceRecord, SourceTask
from connect.pipeline import ErrorCounts, Outgoing
from connect.runtime.source import SourceLoop
from connect.runtime.tolerance import Tolerance

TOLERANT = {
    "errors.tolerance": "all",
    "errors.log.enable": False,
    "errors.log.include.messages": False,
    "errors.guard.max": None,
}


class DeafTask(SourceTask):
    def start(self, config):
        pass

    def poll(self):
        return None


class HearingTask(DeafTask):
    def __init__(self):
        self.heard = []

    def commit_record(self, record, topic_partition):
        self.heard.append((record, topic_partition))


def make_producer(heard, *, every_delivery, most_bytes):
    return Producer(
        {
            "bootstrap.servers": "127.0.0.1:1",
            "log_level": 0,
            "message.max.bytes": 1000,
            "on_delivery": heard,
            "delivery.report.only.error": not every_delivery,
        }
    )


@pytest.fixture
def letters():
    return []


@pytest.fixture
def loop_of(letters):
    """loop_of(task) tolerates everything, and `letters` has what it would dead-letter."""

    def make(task):
        report = SimpleNamespace(report=letters.extend, settle=lambda seconds: None)
        return SourceLoop(
            task=task,
            make_producer=make_producer,
            pipeline=None,
            tolerance=Tolerance("task", TOLERANT, ErrorCounts(), report),
            control=SimpleNamespace(paused=False, stopping=False),
            store=None,
            commit_interval=60,
            commit_timeout=5,
            topics=None,
            most_bytes=1000,
            on_state=None,
            on_topics=None,
        )

    return make


def too_large(count):
    """Records that even the producer refuses."""
    records = [SourceRecord.of("t", n) for n in range(count)]
    headers = [[("n", b"%d" % n)] for n in range(count)]
    values = [b"x" * 2000] * count
    return Outgoing("t", records, [3] * count, [5000] * count, [b"k"] * count, values, headers)


@pytest.mark.parametrize("task", [HearingTask, DeafTask])
@pytest.mark.parametrize("count", [1, 2])
def test_refused_record_keeps_all_it_had(loop_of, letters, task, count):
    """Partition, time, key and headers, whether it was sent again alone or not."""
    loop = loop_of(task())
    loop._queue(too_large(count))
    loop._see_to_undelivered()
    found = [failure.record for failure in letters]
    assert [record.headers() for record in found] == [[("n", b"%d" % n)] for n in range(count)]
    for record in found:
        assert (record.topic(), record.partition(), record.key()) == ("t", 3, b"k")
        assert record.timestamp() == (1, 5000)


@pytest.mark.parametrize("count", [1, 2])
def test_task_hears_of_refused_records_that_are_tolerated(loop_of, count):
    """They have no place, so that it can forget them."""
    task = HearingTask()
    loop = loop_of(task)
    batch = too_large(count)
    loop._queue(batch)
    loop._see_to_undelivered()
    assert task.heard == [(record, None) for record in batch.records]
