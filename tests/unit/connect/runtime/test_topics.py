"""What a source's topics take, as a broker tells it."""

from concurrent.futures import Future
from types import SimpleNamespace

from confluent_kafka import KafkaError, KafkaException

from connect.runtime.topics import SourceTopics

GROUPS = {
    "topic.creation.default.replication.factor": "1",
    "topic.creation.default.partitions": "1",
    "topic.creation.default.max.message.bytes": "5000",
}


class Admin:
    """A broker that has not heard of a topic when it is asked for the first time."""

    def __init__(self):
        self.asked = 0

    def describe_configs(self, resources, request_timeout):
        self.asked += 1
        answer = Future()
        if self.asked == 1:
            error = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
            answer.set_exception(KafkaException(error))
        else:
            answer.set_result({"max.message.bytes": SimpleNamespace(value="5000")})
        return {resources[0]: answer}


def test_broker_that_has_not_heard_of_a_new_topic_is_asked_again():
    """The topic was just created: what it takes is known in a moment."""
    admin = Admin()
    assert SourceTopics(GROUPS, lambda: admin).most_bytes("t") == 5000


def test_topic_that_nobody_creates_is_not_waited_for():
    """The broker may create it with its first record, which would have to wait for nothing."""
    admin = Admin()
    assert SourceTopics({}, lambda: admin).most_bytes("t") is None
    assert admin.asked == 1
