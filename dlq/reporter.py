"""Writes dead letters, and knows when they are safe."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from connect.errors import ConnectError
from connect.pipeline import Failure
from dlq.letter import error_headers, letter_of

log = logging.getLogger(__name__)


def ensure_topic(admin: AdminClient, topic: str, replication_factor: int) -> None:
    """Create the dead-letter topic with one partition unless it is there."""
    try:
        if topic in admin.list_topics(timeout=30).topics:
            return
        future = admin.create_topics(
            [NewTopic(topic, num_partitions=1, replication_factor=replication_factor)]
        )[topic]
        future.result(timeout=30)
    except KafkaException as error:
        if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return
        raise ConnectError(
            f"Could not initialize dead letter queue with topic={topic}: {error.args[0].str()}. "
            "errors.deadletterqueue.topic.replication.factor must not exceed the number of "
            "brokers, and the worker must be allowed to create topics."
        ) from error


class DeadLetters:
    """The dead-letter topic of one task.

    `report` hands letters to the producer. `settle` waits until all are acknowledged and raises
    if one could not be written: offsets are committed only after it has returned.
    """

    def __init__(
        self, producer: Producer, topic: str, connector: str, task: int, *, with_headers: bool
    ) -> None:
        self.topic = topic
        self.requests = 0
        self.failures = 0
        self._producer = producer
        self._connector = connector
        self._task = task
        self._with_headers = with_headers
        self._error: KafkaError | None = None

    def report(self, failures: Iterable[Failure]) -> None:
        for failure in failures:
            self._send(failure, self._delivered)
        self._producer.poll(0)

    def report_one(self, failure: Failure) -> Future[None]:
        """The same for one letter, with a future that is done when it is safe."""
        future: Future[None] = Future()

        def delivered(error: KafkaError | None, message: Any) -> None:
            self._delivered(error, message)
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(KafkaException(error))

        self._send(failure, delivered)
        return future

    def settle(self, timeout: float) -> None:
        """Wait until every letter is safe. Raises ConnectError if one is not."""
        left = self._producer.flush(timeout)
        if self._error is not None:
            raise ConnectError(
                f"Dead letters could not be written to topic '{self.topic}': "
                f"{self._error.str()}. Their offsets are not committed, so nothing is lost; "
                "mend the topic and restart the task."
            )
        if left:
            raise ConnectError(
                f"{left} dead letters were not acknowledged by topic '{self.topic}' within "
                f"{timeout:.0f} s. Their offsets are not committed."
            )

    def close(self) -> None:
        self._producer.flush(5)

    def _send(self, failure: Failure, delivered: Callable[..., None]) -> None:
        letter = letter_of(failure.record)
        headers = letter.headers
        if self._with_headers:
            headers += error_headers(failure, self._connector, self._task)
        self.requests += 1
        while True:
            try:
                self._producer.produce(
                    self.topic,
                    value=letter.value,
                    key=letter.key,
                    headers=headers,  # type: ignore[arg-type] # an invariant list
                    timestamp=letter.timestamp or 0,  # 0: now
                    on_delivery=delivered,
                )
            except BufferError:
                # The producer's queue is full: let it drain, then try again.
                self._producer.poll(0.1)
            except KafkaException as error:
                delivered(error.args[0], None)
                return
            else:
                return

    def _delivered(self, error: KafkaError | None, _message: Any) -> None:
        if error is not None:
            self.failures += 1
            self._error = error
            log.error("A dead letter could not be written to %s: %s", self.topic, error.str())
