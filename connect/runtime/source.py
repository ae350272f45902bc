"""The source task's loop: poll, transform, convert, produce, store offsets."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import repeat, starmap
from operator import length_hint
from typing import Any, NamedTuple, Protocol

import orjson
from confluent_kafka import TIMESTAMP_CREATE_TIME, KafkaError, KafkaException, Producer

from connect.errors import RetriableError
from connect.pipeline import Failure, Interrupted, Outgoing, RawMessage, SourcePipeline, Stage
from connect.plugin import Partition, SourceTask, TopicPartition, TransactionContext
from connect.records import SourceBatch, SourceRecord
from connect.runtime.control import Control, StoppedError
from connect.runtime.express import Express, Terms
from connect.runtime.tolerance import Tolerance
from connect.runtime.topics import SourceTopics

log = logging.getLogger(__name__)

# A poll() that finds nothing and returns at once must not turn into a busy loop.
EMPTY_POLL_SECONDS = 0.05
IDLE_SECONDS = 0.25
RETRY_SECONDS = 0.1
# How soon a stop is seen while Kafka acknowledges nothing.
DRAIN_SECONDS = 1.0


PRODUCER_CLASS = "org.apache.kafka.clients.producer.KafkaProducer"


class OffsetStore(Protocol):
    """Where source offsets are kept."""

    def read(self, partitions: list[Partition]) -> list[dict[str, Any] | None]: ...

    def write(self, offsets: list[tuple[Partition, dict[str, Any] | None]]) -> None: ...


class SourceContext:
    """The SourceTaskContext of a running task."""

    transaction: TransactionContext | None = None

    def __init__(self, config: Mapping[str, str], store: OffsetStore) -> None:
        self.config = config
        self._store = store

    def offset(self, partition: Partition) -> dict[str, Any] | None:
        return self._store.read([partition])[0]

    def offsets(self, partitions: Iterable[Partition]) -> list[dict[str, Any] | None]:
        return self._store.read(list(partitions))


class _Refused(NamedTuple):
    """A record that Kafka did not take."""

    error: KafkaError
    message: Any  # RawMessage
    record: SourceRecord | None  # where the task wants to hear of it


class SourceLoop:
    """Drives one source task from `poll` to stored offsets.

    Offsets are stored at intervals, and only when everything produced before is acknowledged:
    the loop lets the producer drain first. So what is stored is always a prefix without gaps.
    """

    def __init__(
        self,
        *,
        task: SourceTask,
        make_producer: Callable[..., Producer],
        pipeline: SourcePipeline,
        tolerance: Tolerance,
        control: Control,
        store: OffsetStore,
        commit_interval: float,
        commit_timeout: float,
        topics: SourceTopics,
        most_bytes: int,
        on_state: Callable[[bool], None],
        on_topics: Callable[[set[str]], None],
        express: Terms | None = None,
    ) -> None:
        self._task = task
        # Only a task that wants to hear of every record's delivery pays for being told.
        self._acknowledge = type(task).commit_record is not SourceTask.commit_record
        self._plainly_delivered = partial(self._delivered, None, 0, None)
        self._make_producer = partial(
            make_producer, self._plainly_delivered, every_delivery=self._acknowledge
        )
        self._most_bytes = most_bytes  # of a record batch
        self._express_terms = None if self._acknowledge else express
        self._pipeline = pipeline
        self._tolerance = tolerance
        self._control = control
        self._store = store
        self._topics = topics
        self._commit_interval = commit_interval
        self._commit_timeout = commit_timeout
        self._on_state = on_state
        self._on_topics = on_topics
        self._offsets: dict[bytes, tuple[Partition, dict[str, Any] | None]] = {}
        self._undelivered: list[_Refused] = []
        self._next_commit = time.monotonic() + commit_interval
        self._shown_paused = control.paused
        self._gave_up = False
        self._seen_topics: set[str] = set()
        self.busy_since: float | None = None  # when the call of poll() under way began
        self.counts = {
            "polled": 0, "written": 0, "batches": 0, "poll_seconds": 0.0,
            "poll_seconds_max": 0.0, "commits": 0, "commit_failures": 0, "commit_seconds": 0.0,
            "commit_seconds_max": 0.0, "batch_max": 0,
        }  # fmt: skip
        self._start_producer()

    def _start_producer(self) -> None:
        """Make it, and the short way past it."""
        self._producer = self._make_producer(most_bytes=self._most_bytes)
        self._express: Express | None = None
        if (terms := self._express_terms) is not None:
            terms = replace(terms, most_bytes=min(terms.most_bytes, self._most_bytes))
            self._express = Express(
                terms, self._producer, self._queue, lambda: self._control.stopping
            )

    # -- life -------------------------------------------------------------------------------

    def run(self) -> None:
        """Run until told to stop. The caller stops the task."""
        with self._stoppable():
            while not self._control.stopping:
                self._turn()

    @contextmanager
    def _stoppable(self) -> Iterator[None]:
        try:
            yield
        except StoppedError:
            self._gave_up = True
            log.warning("Stopped with records in hand; they are read again next time")

    def _turn(self) -> None:
        self._show_pause()
        if self._control.paused:
            self._commit_if_due()
            self._control.wait_while_paused(IDLE_SECONDS)
            return
        records = self._poll()
        if records:
            self._send(records)
        self._producer.poll(0)
        self._see_to_undelivered()
        self._commit_if_due()

    def finish(self) -> None:
        """Let the producer drain and store what is safe, unless Kafka is known to take nothing."""
        if not self._gave_up:
            with self._stoppable():
                self._commit()
        self._leave_express()

    def abandon(self) -> None:
        """After a failure: nothing more is stored."""
        self._leave_express()

    def _leave_express(self) -> None:
        if self._express is not None:
            self._express.close()

    @property
    def active(self) -> int:
        """Records produced and not yet acknowledged."""
        return len(self._producer) + (0 if self._express is None else self._express.pending)

    def _poll(self) -> Sequence[SourceRecord]:
        started = time.perf_counter()
        self.busy_since = time.monotonic()
        try:
            records = self._task.poll()
        except RetriableError as error:
            log.warning("poll() is tried again: %s", error)
            self._control.wait(RETRY_SECONDS)
            return []
        finally:
            self.busy_since = None
        took = time.perf_counter() - started
        if not records:
            if took < EMPTY_POLL_SECONDS:
                self._control.wait(EMPTY_POLL_SECONDS - took)
            return []
        self.counts["polled"] += len(records)
        self.counts["batches"] += 1
        self.counts["batch_max"] = max(len(records), self.counts["batch_max"])
        self.counts["poll_seconds"] += took
        self.counts["poll_seconds_max"] = max(took, self.counts["poll_seconds_max"])
        log.debug("poll() gave %d records in %.1f ms", len(records), took * 1000)
        return records

    # -- producing --------------------------------------------------------------------------

    def _send(self, records: Sequence[SourceRecord]) -> None:
        try:
            outgoing, dropped, failures = self._pipeline.run(records)
        except Interrupted:
            raise StoppedError from None
        self._tolerance.handle(failures, len(records))
        for topic in {batch.topic for batch in outgoing} - self._seen_topics:
            self._meet(topic)
            self._seen_topics.add(topic)
            self._on_topics(self._seen_topics)
        for batch in outgoing:
            self._produce(batch)
        for record in dropped:
            self._task.commit_record(record, None)
        for failure in failures:
            self._task.commit_record(failure.record, None)
        self._note_offsets(records)

    def _meet(self, topic: str) -> None:
        """Create it if need be, and from now on send no larger batches than it takes.

        It would refuse one as a whole, and what is behind would overtake the records in it.
        """
        self._topics.ensure(topic)
        most = self._topics.most_bytes(topic)
        if most is not None and most < self._most_bytes:
            log.info("Record batches have %d bytes at most, as topic %s wants it", most, topic)
            self._most_bytes = most
            self._fit_producer()

    def _fit_producer(self) -> None:
        """Go on with one that makes smaller batches."""
        self._drain()
        self._leave_express()
        self._start_producer()

    def _produce(self, batch: Outgoing) -> None:
        self.counts["written"] += len(batch.values)
        if self._express is None or not self._express.send(batch):
            self._queue(batch)

    def _queue(self, batch: Outgoing) -> None:
        """Give all to the producer. produce_batch() is no quicker, and knows no headers."""
        count = len(batch.values)
        nothing: Sequence[None] = [None] * count
        times = _with(batch.timestamps, 0)
        headers = [raw or None for raw in batch.headers] if any(batch.headers) else nothing
        columns: list[Sequence[Any]] = [
            [batch.topic] * count,
            [*batch.values],
            batch.keys,
            _with(batch.partitions, -1),
            self._listeners(batch, times, headers) or nothing,
            nothing,
            times,
            headers,
        ]
        while True:
            places = iter(columns[0])  # tells how far it came
            try:
                deque(starmap(self._producer.produce, zip(places, *columns[1:], strict=True)), 0)
            except BufferError:
                # The one that raised is tried again.
                done = len(columns[0]) - length_hint(places) - 1
                self._wait_for_room()
            except KafkaException as error:
                done = len(columns[0]) - length_hint(places)
                topic, value, key, partition, heard, *_ = (column[done - 1] for column in columns)
                refused = RawMessage(topic, value, key, partition=partition)
                (heard or self._plainly_delivered)(error.args[0], refused)
            else:
                return
            columns = [column[done:] for column in columns]

    def _wait_for_room(self) -> None:
        """The producer's queue is full: let it drain. This is the back-pressure on poll()."""
        self._producer.poll(0.05)
        self._see_to_undelivered()
        if self._control.stopping:
            raise StoppedError

    def _listeners(
        self, batch: Outgoing, times: Sequence[int | None], headers: Sequence[Any]
    ) -> Sequence[Callable[..., None]]:
        """What hears of each record's delivery; none where a message can tell all there is to know.

        One that was refused has lost its time and its headers, and must not go again without them.
        """
        if self._acknowledge:
            return [*map(partial, repeat(self._delivered), batch.records, times, headers)]
        if any(times) or any(headers):
            return [*map(partial, repeat(self._delivered), repeat(None), times, headers)]
        return []

    def _delivered(
        self,
        record: SourceRecord | None,
        timestamp: int,
        headers: list[tuple[str, bytes | None]] | None,
        error: KafkaError | None,
        message: Any,
    ) -> None:
        partition = message.partition()
        if error is not None:
            refused = RawMessage(
                message.topic(),
                message.value(),
                message.key(),
                # Where it asked for none, the one that was chosen: its batch stays in order there.
                partition=-1 if partition is None else partition,
                headers=headers,
                timestamp=(TIMESTAMP_CREATE_TIME, timestamp) if timestamp else (0, -1),
            )
            self._undelivered.append(_Refused(error, refused, record))
        elif record is not None:
            self._task.commit_record(record, TopicPartition(message.topic(), partition))

    def _see_to_undelivered(self) -> None:
        """Find out which records Kafka refuses, and fail or skip them as errors.tolerance says.

        A broker refuses a whole batch for one record that is too large, so each is sent again
        alone first: the innocent ones get through.
        """
        while self._undelivered:
            self._drain()  # nothing else may be on its way, or it would not be alone
            refused, self._undelivered = self._undelivered, []
            if len(refused) > 1:
                refused = [again for one in refused for again in self._send_alone(one)]
            self._tolerance.handle(
                [
                    Failure(message, Stage.KAFKA_PRODUCE, PRODUCER_CLASS, KafkaException(error))
                    for error, message, _ in refused
                ]
            )
            for _, _, record in refused:
                if record is not None:
                    self._task.commit_record(record, None)

    def _send_alone(self, refused: _Refused) -> list[_Refused]:
        """Nothing, if Kafka takes it this time."""
        _, message, record = refused
        timestamp = max(0, message.timestamp()[1])
        headers = message.headers()
        heard = partial(self._delivered, record, timestamp, headers)
        try:
            self._producer.produce(
                message.topic(),
                message.value(),
                message.key(),
                message.partition(),
                on_delivery=heard,
                timestamp=timestamp,
                headers=headers,
            )
        except KafkaException as error:
            heard(error.args[0], message)
        self._drain()
        again, self._undelivered = self._undelivered, []
        return again

    def _drain(self) -> None:
        """Wait until everything that was produced is acknowledged or refused."""
        if self._express is not None:
            self._express.settle()
        while self._producer.flush(DRAIN_SECONDS):
            if self._control.stopping:
                raise StoppedError

    def _settle(self, seconds: float) -> int:
        """Wait for acknowledgements. How many have not come."""
        deadline = time.monotonic() + seconds
        left = 0 if self._express is None else self._express.settle(seconds)
        return left + self._producer.flush(max(0, deadline - time.monotonic()))

    # -- offsets ----------------------------------------------------------------------------

    def _note_offsets(self, records: Sequence[SourceRecord]) -> None:
        """Remember the last offset of each source partition in the batch."""
        if isinstance(records, SourceBatch):
            self._note_offset(records.source_partition, records.last_offset)
            return
        last = records[0]
        for record in records:
            # Most batches come from one partition, often under one and the same dict.
            if (
                record.source_partition is not last.source_partition
                and record.source_partition != last.source_partition
            ):
                self._note_offset(last.source_partition, last.source_offset)
            last = record
        self._note_offset(last.source_partition, last.source_offset)

    def _note_offset(
        self, partition: Mapping[str, Any] | None, offset: Mapping[str, Any] | None
    ) -> None:
        if partition is not None:
            key = orjson.dumps(partition, option=orjson.OPT_SORT_KEYS)
            self._offsets[key] = (dict(partition), None if offset is None else dict(offset))

    def _commit_if_due(self) -> None:
        if time.monotonic() >= self._next_commit:
            self._commit()

    def _commit(self) -> None:
        started = time.perf_counter()
        self._next_commit = time.monotonic() + self._commit_interval
        left = self._settle(self._commit_timeout)
        self._see_to_undelivered()
        if left:
            self.counts["commit_failures"] += 1
            log.warning(
                "Offsets are not stored yet: Kafka has not acknowledged %d records within "
                "offset.flush.timeout.ms (%.1f s)",
                left,
                self._commit_timeout,
            )
            return
        self._tolerance.settle()
        if self._offsets:
            self._store.write(list(self._offsets.values()))
            log.debug("Stored offsets: %s", list(self._offsets.values()))
            self._offsets = {}
            self.counts["commits"] += 1
            took = time.perf_counter() - started
            self.counts["commit_seconds"] += took
            self.counts["commit_seconds_max"] = max(took, self.counts["commit_seconds_max"])
        self._task.commit()

    def _show_pause(self) -> None:
        if self._control.paused != self._shown_paused:
            self._shown_paused = self._control.paused
            if self._shown_paused:
                self._commit()
            self._on_state(self._shown_paused)


def _with(column: Sequence[int | None], default: int) -> Sequence[int | None]:
    """The column with a default in place of None."""
    if None not in column:
        return column
    return [default if value is None else value for value in column]
