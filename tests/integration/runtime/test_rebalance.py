"""What is paused when partitions come and go: whoever gets one reads it, unless it is held back."""

import json
import logging
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer

from tests.integration.runtime.test_task_contracts import puts
from tests.support.waiting import wait_for
from tests.support.worker import json_lines

JAVA = "org.apache.kafka.clients.consumer."
STRATEGIES = {
    "cooperative-sticky": JAVA + "CooperativeStickyAssignor",
    "range": JAVA + "RangeAssignor",
}
log = logging.getLogger(__name__)


def value(n, do=None):
    return json.dumps({"n": n, "do": do}).encode()


class Sink:
    """A ScriptedSink of two topics with a partition each, the first of which others may take."""

    def __init__(self, kafka, worker, name, topics, path, strategy):
        self.kafka, self.worker, self.name, self.path = kafka, worker, name, path
        self.first, self.second = topics
        self.strategy = strategy

    def puts(self):
        return puts(self.path)

    def waits_for_puts(self, *numbers):
        wait_for(
            lambda: self.puts() == [*numbers],
            lambda: f"{numbers} to be put; {json_lines(self.path)}",
            60,
        )

    @contextmanager
    def first_topic_taken(self):
        """Another member of the group has the first topic's partition for so long."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.kafka,
                "group.id": f"connect-{self.name}",
                "client.id": "another",  # comes before the task in the order of names
                "partition.assignment.strategy": self.strategy,
                "enable.auto.commit": False,
            },
            logger=log,
        )
        try:
            consumer.subscribe([self.first])
            wait_for(
                lambda: consumer.poll(0.1) or consumer.assignment(), "a partition for another", 60
            )
            yield
        finally:
            consumer.close()


@pytest.fixture(params=STRATEGIES)
def sink(request, kafka, worker, connect, make_topic, tmp_path):
    topics = make_topic("first"), make_topic("second")
    path, name = tmp_path / "events.jsonl", f"moves-{topics[0]}"
    connect(
        name,
        {
            "connector.class": "ScriptedSink",
            "topics": ",".join(topics),
            "file": path,
            "consumer.override.partition.assignment.strategy": STRATEGIES[request.param],
        },
    )
    return Sink(kafka, worker, name, topics, path, request.param)


def test_what_is_to_be_put_again_holds_nothing_up_when_it_is_gone(sink, produce):
    """All wait for a record that is to be put again, but not when it is another task's."""
    produce(sink.first, [value(0, "wait for close")])
    wait_for(lambda: {"waits": 0} in json_lines(sink.path), "the record that is not taken", 60)
    with sink.first_topic_taken():
        produce(sink.second, [value(1)])
        sink.waits_for_puts(1)
    sink.waits_for_puts(1, 0)


def test_partition_that_left_while_the_connector_was_paused_flows_when_it_is_back(sink, produce):
    """A pause holds the partitions of its time, and none that comes after it."""
    sink.worker.wait_running(sink.name)
    produce(sink.first, [value(0)])
    sink.waits_for_puts(0)
    sink.worker.rest.put(f"/connectors/{sink.name}/pause")
    sink.worker.wait_states(sink.name, ["PAUSED"])
    with sink.first_topic_taken():
        sink.worker.rest.put(f"/connectors/{sink.name}/resume")
        sink.worker.wait_running(sink.name)
        produce(sink.second, [value(1)])
        sink.waits_for_puts(0, 1)
    produce(sink.first, [value(2)])
    sink.waits_for_puts(0, 1, 2)


def test_partition_that_the_task_has_paused_flows_when_it_is_back(sink, produce):
    """A task that holds a partition back is asked anew when it is opened again."""
    produce(sink.first, [value(0, "pause")])
    sink.waits_for_puts(0)
    produce(sink.first, [value(1)])
    with sink.first_topic_taken():
        produce(sink.second, [value(2)])
        sink.waits_for_puts(0, 2)
    sink.waits_for_puts(0, 2, 1)
