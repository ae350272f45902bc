"""Writes dead letters, and knows when they are safe."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from connect.errors import ConnectError
from connect.pipeline import Failure
from dlq.letter import error_headers, letter_of

log = logging.getLogger(__name__)

_DELIVERED = 4  # where a letter has whom to tell


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

    `make_producer(heard, every_delivery=…)` gives a producer that calls `heard` for what could not
    be written, or for all: which takes time, so there is one of that kind only if `report_one` is
    called.
    """

    def __init__(
        self,
        make_producer: Callable[..., Producer],
        topic: str,
        connector: str,
        task: int,
        *,
        with_headers: bool,
    ) -> None:
        self.topic = topic
        self.requests = 0
        self.failures = 0
        self._make_producer = make_producer
        self._producers = [make_producer(self._delivered, every_delivery=False)]
        self._connector = connector
        self._task = task
        self._with_headers = with_headers
        self._error: KafkaError | None = None
        self._closed = threading.Event()

    def report(self, failures: Iterable[Failure]) -> None:
        producer = self._producers[0]
        self._send(producer, [self._letter(failure, self._delivered) for failure in failures])
        producer.poll(0)

    def report_one(self, failure: Failure) -> Future[None]:
        """The same for one letter, with a future that is done when it is safe."""
        future: Future[None] = Future()

        def delivered(error: KafkaError | None, message: Any) -> None:
            self._delivered(error, message)
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(KafkaException(error))

        if len(self._producers) == 1:
            self._producers.append(self._make_producer(self._delivered, every_delivery=True))
            threading.Thread(target=self._listen, name="dead-letters", daemon=True).start()
        self._send(self._producers[1], [self._letter(failure, delivered)])
        return future

    def _listen(self) -> None:
        """Hear of deliveries: the task's thread may wait for one and do nothing else."""
        while not self._closed.is_set():
            try:
                self._producers[1].poll(0.5)
            except Exception:
                # A login is refused: the other producer hears of it too, and fails the task.
                log.exception("Dead letters for %s are not written", self.topic)

    def settle(self, timeout: float) -> None:
        """Wait until every letter is safe. Raises ConnectError if one is not."""
        left = sum(producer.flush(timeout) for producer in self._producers)
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
        for producer in self._producers:
            producer.flush(5)
        self._closed.set()

    def _letter(self, failure: Failure, delivered: Callable[..., None]) -> tuple[Any, ...]:
        """What `produce` takes, in its order."""
        key, value, headers, timestamp = letter_of(failure.record)
        if self._with_headers:
            headers += error_headers(failure, self._connector, self._task)
        return self.topic, value, key, -1, delivered, None, timestamp or 0, headers  # 0: now

    def _send(self, producer: Producer, letters: Sequence[tuple[Any, ...]]) -> None:
        self.requests += len(letters)
        for letter in letters:
            while True:
                try:
                    producer.produce(*letter)
                except BufferError:
                    # The producer's queue is full: let it drain, then try again.
                    producer.poll(0.1)
                except KafkaException as error:
                    letter[_DELIVERED](error.args[0], None)
                    break
                else:
                    break

    def _delivered(self, error: KafkaError | None, _message: Any) -> None:
        if error is not None:
            self.failures += 1
            self._error = error
            log.error("A dead letter could not be written to %s: %s", self.topic, error.str())
