"""Dead letters on their way to a real topic."""

from functools import partial

import pytest

from connect.errors import DataError
from connect.pipeline import Failure, RawMessage, Stage
from connect.runtime import clients
from dlq.reporter import DeadLetters


@pytest.fixture
def letters(kafka, make_topic):
    """The dead letters of a task, to a topic of this test."""
    make_producer = partial(clients.dlq_producer, "c", 0, {"bootstrap.servers": kafka}, {})
    found = DeadLetters(make_producer, make_topic("dlq"), "c", 0, with_headers=True)
    yield found
    found.close()


def test_a_task_may_wait_until_its_letter_is_safe(letters, consume_all):
    """The future is done though the one who waits for it does nothing else."""
    failure = Failure(RawMessage("t", b"bad"), Stage.TASK_PUT, "Sink", DataError("no"))
    letters.report_one(failure).result(30)
    assert [message.value() for message in consume_all(letters.topic, 1)] == [b"bad"]
