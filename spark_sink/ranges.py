"""Exact ranges of a partition's offsets, read on an executor."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from pyspark.sql.datasource import InputPartition

from connect import ConnectError
from connect.runtime import clients
from spark_sink.options import ReadOptions

log = logging.getLogger(__name__)

# How many messages go through the pipeline at once and become one Arrow batch. Larger ones gain
# nothing and hold more memory.
BATCH = 10_000
POLL_SECONDS = 1.0


class DataLossError(ConnectError):
    """Offsets that the query has to read are no longer in Kafka."""


def bear_loss(options: ReadOptions, what: str) -> None:
    """Tell of what is gone; raises unless that is allowed."""
    if options.fail_on_data_loss:
        raise DataLossError(
            f"{what} Set failOnDataLoss=false to go on with what is there, or begin anew with "
            "another checkpoint."
        )
    log.warning("%s Going on with what is there.", what)


@dataclass(frozen=True)
class OffsetRange(InputPartition):
    """The offsets from start up to, and without, end."""

    topic: str
    partition: int
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} from {self.start} to {self.end}"


class RangeReader:
    """Reads ranges one after the other with one consumer, which belongs to no group."""

    def __init__(self, options: ReadOptions) -> None:
        spec = options.spec
        group = clients.sink_group(spec.connector, spec.worker, spec.config)
        self._options = options
        self._timeout = options.read_timeout
        self._consumer = Consumer(
            clients.range_consumer_settings(
                f"spark-executor-{spec.connector}", group, spec.worker, spec.config
            ),
            logger=log,
        )

    def read(self, wanted: OffsetRange) -> Iterator[list[Any]]:
        """The messages of a range, in batches.

        Ends when the position has reached the range's end: where records were compacted away, or
        were transaction markers, fewer come than the range is wide.
        """
        self._assign(wanted, wanted.start)
        messages: list[Any] = []
        deadline = time.monotonic() + self._timeout
        try:
            position = wanted.start
            while position < wanted.end:
                found = self._next(wanted)
                reached = position
                if found and found[-1].offset() < wanted.end and not any(m.error() for m in found):
                    messages += found
                    reached = found[-1].offset() + 1
                    found = []
                for message in found:
                    if message.error() is not None:
                        reached = self._after_event(message, wanted, reached)
                    elif message.offset() < wanted.end:
                        messages.append(message)
                        reached = message.offset() + 1
                    else:
                        reached = wanted.end
                        break
                if reached > position:
                    position = reached
                    deadline = time.monotonic() + self._timeout
                elif time.monotonic() > deadline:
                    raise ConnectError(
                        f"Reading {wanted} made no progress past offset {position} within "
                        f"{self._timeout:.0f} s (readTimeoutMs). Kafka is out of reach, or the "
                        "topic was made anew and no longer has these offsets."
                    )
                if len(messages) >= BATCH:
                    yield messages
                    messages = []
            if messages:
                yield messages
        finally:
            with contextlib.suppress(KafkaException):
                self._consumer.unassign()

    def close(self) -> None:
        self._consumer.close()

    def _assign(self, wanted: OffsetRange, offset: int) -> None:
        self._consumer.assign([TopicPartition(wanted.topic, wanted.partition, offset)])

    def _next(self, wanted: OffsetRange) -> list[Any]:
        first = self._consumer.poll(POLL_SECONDS)
        if first is None:
            return []
        room = max(1, min(BATCH, wanted.end - wanted.start))
        return [first, *self._consumer.consume(room, 0)]

    def _after_event(self, message: Any, wanted: OffsetRange, position: int) -> int:
        """Where an event that is no record leaves the position."""
        error = message.error()
        code = error.code()
        if code == KafkaError._PARTITION_EOF:
            # Behind the last record there may be markers only.
            return max(position, min(int(message.offset()), wanted.end))
        if code in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            return self._after_loss(wanted, position)
        if error.retriable() or code in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN):
            log.warning("Kafka: %s", error.str())
            return position
        raise ConnectError(f"Reading {wanted} failed: {error.str()}") from KafkaException(error)

    def _after_loss(self, wanted: OffsetRange, position: int) -> int:
        low, high = self._consumer.get_watermark_offsets(
            TopicPartition(wanted.topic, wanted.partition), timeout=self._timeout
        )
        bear_loss(
            self._options,
            f"Offset {position} of {wanted.topic}-{wanted.partition} is gone: Kafka has {low} to "
            f"{high}, the batch is to read {wanted.start} to {wanted.end}.",
        )
        if low >= wanted.end or high <= position:
            return wanted.end
        self._assign(wanted, low)
        return max(position, low)
