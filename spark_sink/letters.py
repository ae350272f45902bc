"""Rows with `_error` become dead letters, once for each batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from connect import ConnectError
from connect.pipeline import PipelineSpec
from connect.runtime import clients
from dlq import letter
from dlq.reporter import ensure_topic

TIMEOUT_SECONDS = 60.0


@dataclass
class LetterBox:
    """The dead-letter topic of one query. Plain data until it is used: it travels to Spark.

    The letters of a batch and the batch's number are written in one transaction: a batch that
    comes again after a crash finds its number and writes nothing. The transactional id shuts out
    a driver that was taken for dead and is not.
    """

    spec: PipelineSpec
    topic: str
    replication_factor: int
    with_headers: bool
    _producer: Producer | None = field(default=None, init=False, repr=False)
    _group: Consumer | None = field(default=None, init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_producer": None, "_group": None}

    @classmethod
    def of(cls, spec: PipelineSpec, settings: Mapping[str, Any]) -> LetterBox | None:
        """None when the connector has no dead-letter topic."""
        topic = settings["errors.deadletterqueue.topic.name"].strip()
        if not topic:
            return None
        return cls(
            spec,
            topic,
            settings["errors.deadletterqueue.topic.replication.factor"],
            settings["errors.deadletterqueue.context.headers.enable"],
        )

    def write(self, rows: Iterable[Any], query: str, batch: int) -> int:
        """Write the letters of a batch unless that was done before; how many there were."""
        try:
            producer, group = self._open(query)
            if self._written(group) > batch:
                return 0
            producer.begin_transaction()
            try:
                count = 0
                for row in rows:
                    self._send(producer, row)
                    count += 1
                mark = [TopicPartition(self.topic, 0, batch + 1)]
                producer.send_offsets_to_transaction(
                    mark, group.consumer_group_metadata(), TIMEOUT_SECONDS
                )
                producer.commit_transaction(TIMEOUT_SECONDS)
            except BaseException:
                clients.abort_transaction(producer, TIMEOUT_SECONDS)
                raise
        except KafkaException as error:
            self.close()
            raise ConnectError(
                f"Dead letters could not be written to topic '{self.topic}': "
                f"{error.args[0].str()}. The batch is not committed, so nothing is lost."
            ) from error
        return count

    def close(self) -> None:
        if self._group is not None:
            self._group.close()
        self._producer = self._group = None

    def _open(self, query: str) -> tuple[Producer, Consumer]:
        spec = self.spec
        if self._producer is None or self._group is None:
            admin = clients.admin_client(f"spark-dlq-{spec.connector}", spec.worker, spec.config)
            ensure_topic(admin, self.topic, self.replication_factor)
            name = f"connect-{spec.connector}-letters"
            # A new checkpoint counts its batches from 0 again, so its numbers are kept apart.
            self._group = Consumer(
                clients.range_consumer_settings(
                    name, f"{name}-{query[:8]}", spec.worker, spec.config
                )
            )
            producer = clients.transactional_producer(name, spec.worker, spec.config)
            producer.init_transactions(TIMEOUT_SECONDS)
            self._producer = producer
        return self._producer, self._group

    def _written(self, group: Consumer) -> int:
        [mark] = group.committed([TopicPartition(self.topic, 0)], TIMEOUT_SECONDS)
        return int(mark.offset)

    def _send(self, producer: Producer, row: Any) -> None:
        place, error = row["_kafka"], row["_error"]
        headers = [(h["key"], _bytes(h["value"])) for h in place["headers"] or ()]
        if self.with_headers:
            headers += self._told(place, error)
        stamp = place["timestamp"]
        while True:
            try:
                producer.produce(
                    self.topic,
                    value=_bytes(error["value"]),
                    key=_bytes(place["key"]),
                    headers=headers,  # type: ignore[arg-type] # an invariant list
                    timestamp=0 if stamp is None else int(stamp.timestamp() * 1000),
                )
            except BufferError:
                producer.poll(0.1)
            else:
                return

    def _told(self, place: Any, error: Any) -> list[letter.RawHeader]:
        """The headers that a task of the worker would write."""
        texts = (
            (letter.TOPIC, place["topic"]),
            (letter.PARTITION, str(place["partition"])),
            (letter.OFFSET, str(place["offset"])),
            (letter.CONNECTOR, self.spec.connector),
            (letter.TASK, str(self.spec.task)),
            (letter.STAGE, error["stage"]),
            (letter.CLASS, error["class"]),
            (letter.EXCEPTION, error["exception"]),
            (letter.MESSAGE, error["message"]),
            (letter.STACKTRACE, error["stacktrace"]),
        )
        return [(name, None if text is None else text.encode()) for name, text in texts]


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
