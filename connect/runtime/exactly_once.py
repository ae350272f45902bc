"""The exactly-once source loop: records and their offsets in one transaction.

Where a transaction ends is `transaction.boundary`: after each poll, at an interval, or where the
task says. An offset is stored if and only if its records are committed, and a task that was
replaced can't write any more: its transactional id belongs to the new one.

`group_commit.py` has the quicker loop for the first of these.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from connect.errors import ConnectError
from connect.pipeline import Outgoing
from connect.plugin import Partition
from connect.records import SourceRecord
from connect.runtime import clients
from connect.runtime.source import SourceLoop

log = logging.getLogger(__name__)

INIT_SECONDS = 60.0
COMMIT_SECONDS = 120.0
ABANDON_SECONDS = 10.0
# A worker has five seconds for a task to stop, and one passes before it sees that it is to.
LEAVE_SECONDS = 1.5

SourceOffsets = list[tuple[Partition, dict[str, Any] | None]]
OffsetRecords = Sequence[tuple[bytes, bytes | None]]
# Encodes offsets as records of the offsets topic; only the worker knows the keys in use.
EncodeOffsets = Callable[[SourceOffsets], OffsetRecords]


def _way_out(error: KafkaError) -> str:
    if error.code() != KafkaError.MSG_SIZE_TOO_LARGE:
        return ""
    return (
        " Raise the topic's max.message.bytes, or, if no single record is that large, set "
        "producer.override.batch.size below it."
    )


class TransactionRequests:
    """The TransactionContext of a task that sets its own boundaries."""

    def __init__(self) -> None:
        self.commit_records: set[int] = set()
        self.abort_records: set[int] = set()
        self.commit_batch = False
        self.abort_batch = False

    def commit(self, record: SourceRecord | None = None) -> None:
        if record is None:
            self.commit_batch = True
        else:
            self.commit_records.add(id(record))

    def abort(self, record: SourceRecord | None = None) -> None:
        if record is None:
            self.abort_batch = True
        else:
            self.abort_records.add(id(record))

    def clear(self) -> None:
        self.commit_records.clear()
        self.abort_records.clear()
        self.commit_batch = self.abort_batch = False


class ExactlyOnceLoop(SourceLoop):
    """A SourceLoop whose producer is transactional.

    `requests` is given for transaction.boundary=connector, `interval` for interval; with neither
    every batch that `poll` returns is a transaction. `copy_offsets` hears of committed offsets.
    """

    def __init__(
        self,
        *,
        offsets_topic: str,
        encode_offsets: EncodeOffsets,
        copy_offsets: Callable[[SourceOffsets], None] | None,
        requests: TransactionRequests | None,
        interval: float | None,
        **common: Any,
    ) -> None:
        self._fits = True  # the producer: its batches are as small as topics want them
        super().__init__(**common)
        self._offsets_topic = offsets_topic
        self._encode_offsets = encode_offsets
        self._copy_offsets = copy_offsets
        self._requests = requests
        self._interval = interval
        self._open = self._begun = False  # and whether it has records
        self._opened = 0.0
        self._unconfirmed = 0  # records
        self.counts |= {
            "transactions": 0, "aborted": 0, "transaction_records": 0, "transaction_max": 0,
            "transaction_min": math.inf,
        }  # fmt: skip

    def take_over(self) -> None:
        """Fence whoever used the transactional id before. Blocks."""
        try:
            self._producer.init_transactions(INIT_SECONDS)
        except KafkaException as error:
            raise ConnectError(
                f"The task could not begin to write in transactions: {error.args[0].str()}"
            ) from error

    def _begin_anew(self) -> None:
        """Let a new producer take over. An old one could not begin a second time."""
        self._start_producer()
        ExactlyOnceLoop.take_over(self)

    def _see_to_producer(self) -> None:
        """Have one that fits."""
        if not self._fits:
            self._begin_anew()

    def _start_producer(self) -> None:
        self._fits = True  # first: meanwhile another thread may find that it does not
        super()._start_producer()

    # -- sending ----------------------------------------------------------------------------

    def _send(self, records: Sequence[SourceRecord]) -> None:
        if self._requests is None:
            self._add(records)
            due = self._interval is None or time.monotonic() - self._opened >= self._interval
            if due:
                self._end_transaction()
            return
        self._send_by_request(self._requests, records)

    def _send_by_request(
        self, requests: TransactionRequests, records: Sequence[SourceRecord]
    ) -> None:
        """Cut the batch where the task wants a transaction to end."""
        start = 0
        for i, record in enumerate(records):
            if id(record) in requests.abort_records:
                self._add(records[start : i + 1])
                self._abort_transaction()
            elif id(record) in requests.commit_records:
                self._add(records[start : i + 1])
                self._end_transaction()
            else:
                continue
            start = i + 1
        if start < len(records):
            self._add(records[start:])
        if requests.abort_batch:
            self._abort_transaction()
        elif requests.commit_batch:
            self._end_transaction()
        requests.clear()

    def _add(self, records: Sequence[SourceRecord]) -> None:
        self._begin_transaction()
        super()._send(records)
        self._unconfirmed += len(records)

    def _produce(self, batch: Outgoing) -> None:
        self._refuse_offsets_topic(batch)
        self._begun = True
        super()._produce(batch)

    def _refuse_offsets_topic(self, batch: Outgoing) -> None:
        if batch.topic == self._offsets_topic:
            raise ConnectError(
                f"The connector writes records to topic '{batch.topic}', where its own source "
                "offsets are kept: let it write to another topic, or set offsets.storage.topic."
            )

    def _see_to_undelivered(self) -> None:
        """A record that Kafka refuses fails the task: a transaction is whole or not at all."""
        if self._undelivered:
            error, message, _ = self._undelivered[0]
            raise ConnectError(
                f"A record for topic '{message.topic()}' was refused, so its transaction can't be "
                f"committed: {error.str()}. With exactly-once, errors.tolerance does not cover "
                f"what the producer refuses.{_way_out(error)}"
            ) from KafkaException(error)

    def _fit_producer(self) -> None:
        """Begin another transaction for it; the next one, if only the task may end this one."""
        self._fits = False
        if self._open and not self._begun:
            self._open = False  # the new producer ends it
            self._begin_transaction()
        elif self._open and self._requests is None:
            self._end_transaction()  # nothing of the batch in hand is in it yet
            self._begin_transaction()

    # -- transactions -----------------------------------------------------------------------

    def _begin_transaction(self) -> None:
        if not self._open:
            self._see_to_producer()
            self._producer.begin_transaction()
            self._open, self._begun = True, False
            self._opened = time.monotonic()

    def _end_transaction(self) -> None:
        """Commit the records under way together with their offsets."""
        if self._open:
            offsets, self._offsets = list(self._offsets.values()), {}
            self._commit_with(offsets)
            self._task.commit()

    def _commit_with(self, offsets: SourceOffsets) -> None:
        started = time.perf_counter()
        self._tolerance.settle()
        self._commit_transaction(self._encode_offsets(offsets) if offsets else [])
        self.counts["commits"] += 1
        self.counts["transactions"] += 1
        size = self._unconfirmed
        log.debug("Committed a transaction of %d records, offsets: %s", size, offsets)
        self.counts["transaction_records"] += size
        self.counts["transaction_max"] = max(size, self.counts["transaction_max"])
        self.counts["transaction_min"] = min(size, self.counts["transaction_min"])
        took = time.perf_counter() - started
        self.counts["commit_seconds"] += took
        self.counts["commit_seconds_max"] = max(took, self.counts["commit_seconds_max"])
        self._unconfirmed = 0
        if offsets and self._copy_offsets is not None:
            self._copy_offsets(offsets)

    def _commit_transaction(self, records: OffsetRecords) -> None:
        """Commit the transaction with these records of offsets in it."""
        for key, value in records:
            self._produce_offset(key, value)
        try:
            self._producer.commit_transaction(COMMIT_SECONDS)
        except KafkaException as error:
            self._see_to_undelivered()
            raise ConnectError(
                f"The transaction could not be committed: {error.args[0].str()}. "
                "The task goes on from the last committed one when it is restarted."
            ) from error
        self._open = False

    def _produce_offset(self, key: bytes, value: bytes | None) -> None:
        while True:
            try:
                self._producer.produce(self._offsets_topic, value=value, key=key)
            except BufferError:
                # No room. The commit waits for all that is under way in any case.
                self._drain()
                self._see_to_undelivered()
            else:
                return

    def _abort_transaction(self) -> None:
        """Drop the records under way, but remember that they were read."""
        if self._open:
            self._abort(COMMIT_SECONDS)
        self._unconfirmed = 0
        self.counts["aborted"] += 1
        if self._offsets:
            self._begin_transaction()
            self._end_transaction()

    def _abort(self, seconds: float) -> None:
        self._open = False
        clients.abort_transaction(self._producer, seconds)
        self._undelivered.clear()

    # -- the moments at which a plain loop stores offsets -----------------------------------

    def _commit_if_due(self) -> None:
        if self._interval is not None and self._open:
            if time.monotonic() - self._opened >= self._interval:
                self._end_transaction()
        elif not self._open and self._offsets:
            # Everything of a batch was dropped or dead-lettered: its offsets still count.
            self._begin_transaction()
            self._end_transaction()

    def _commit(self) -> None:
        """On pause and at the end: what the task has finished is committed, the rest is not.

        A task that sets its own boundaries may be in the middle of one, which is dropped and read
        again.
        """
        if self._requests is None:
            self._end_transaction()
        elif self._open and not self._control.paused:
            self._abort(COMMIT_SECONDS)
        elif self._open:
            self._end_transaction()

    def finish(self) -> None:
        super().finish()
        self._leave_nothing_open(LEAVE_SECONDS)

    def abandon(self) -> None:
        self._leave_nothing_open(ABANDON_SECONDS)

    def _leave_nothing_open(self, seconds: float) -> None:
        """Readers would wait for the end of a transaction that was given up."""
        if self._open:
            try:
                self._abort(seconds)
            except KafkaException as error:
                log.warning("The open transaction was not aborted: %s", error.args[0].str())
