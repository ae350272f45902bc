"""Messages of a batch, written to Kafka once however often the batch comes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from connect import ConnectError
from connect.pipeline import PipelineSpec
from connect.runtime import clients

TIMEOUT_SECONDS = 60.0


@dataclass
class BatchProducer:
    """Writes to one topic. Plain data until it is used: it travels to Spark.

    The messages of a batch and the batch's number are written in one transaction: a batch that
    comes again after a crash finds its number and writes nothing. The transactional id shuts out
    a driver that was taken for dead and is not.
    """

    spec: PipelineSpec
    topic: str
    # Tells the outputs of one connector apart.
    purpose: str
    _producer: Producer | None = field(default=None, init=False, repr=False)
    _group: Consumer | None = field(default=None, init=False, repr=False)
    _query: str | None = field(default=None, init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_producer": None, "_group": None}

    def write(self, messages: Iterable[dict[str, Any]], query: str, batch: int) -> int:
        """Write what `Producer.produce` takes unless that was done before; how many there were."""
        try:
            producer, group = self._open(query)
            [mark] = group.committed([TopicPartition(self.topic, 0)], TIMEOUT_SECONDS)
            if mark.offset > batch:
                return 0
            producer.begin_transaction()
            try:
                count = 0
                for message in messages:
                    self._send(producer, message)
                    count += 1
                producer.send_offsets_to_transaction(
                    [TopicPartition(self.topic, 0, batch + 1)],
                    group.consumer_group_metadata(),
                    TIMEOUT_SECONDS,
                )
                producer.commit_transaction(TIMEOUT_SECONDS)
            except BaseException:
                clients.abort_transaction(producer, TIMEOUT_SECONDS)
                raise
        except KafkaException as error:
            self.close()
            raise ConnectError(
                f"A batch could not be written to topic '{self.topic}': {error.args[0].str()}. "
                "It is not committed, so nothing is lost."
            ) from error
        return count

    def close(self) -> None:
        if self._group is not None:
            self._group.close()
        self._producer = self._group = None

    def _open(self, query: str) -> tuple[Producer, Consumer]:
        # A new checkpoint counts its batches from 0 again, so its numbers are kept apart.
        if query != self._query:
            self.close()
            self._query = query
        if self._producer is None or self._group is None:
            spec = self.spec
            name = f"connect-{spec.connector}-{self.purpose}"
            self._group = Consumer(
                clients.range_consumer_settings(
                    name, f"{name}-{query[:8]}", spec.worker, spec.config
                )
            )
            producer = clients.transactional_producer(name, spec.worker, spec.config)
            producer.init_transactions(TIMEOUT_SECONDS)
            self._producer = producer
        return self._producer, self._group

    def _send(self, producer: Producer, message: dict[str, Any]) -> None:
        while True:
            try:
                producer.produce(self.topic, **message)
            except BufferError:
                producer.poll(0.1)
            else:
                return
