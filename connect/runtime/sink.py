"""The sink task's loop: consume, convert, transform, put, flush, commit."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from itertools import chain
from typing import Any, NoReturn

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from connect.errors import ConnectError, RetriableError, may_blame_record
from connect.pipeline import Failure, Interrupted, SinkPipeline, Stage
from connect.plugin import SinkTask, TopicPartition
from connect.records import SinkBatch, SinkRecord
from connect.runtime.control import Control, StoppedError
from connect.runtime.measures import furthest_behind
from connect.runtime.sink_context import SinkContext
from connect.runtime.tolerance import Tolerance
from connect.runtime.topics import Subscription

log = logging.getLogger(__name__)

# How long an idle loop sleeps in the consumer before it looks at its control line again.
IDLE_SECONDS = 0.25
LAG_SECONDS = 1.0  # between two looks at how far behind the task is
# A put that asks to be tried again waits this long at first, then twice as long each time.
RETRY_SECONDS = 0.1
RETRY_MAX_SECONDS = 10.0

_Place = tuple[str, int, int]  # topic, partition, offset

PUT_CLASS = "org.apache.kafka.connect.sink.SinkTask"


class SinkLoop:
    """Drives one sink task from its partitions' messages to committed offsets.

    Offsets are committed when the task has flushed and every dead letter before them is safe.
    """

    def __init__(
        self,
        *,
        name: str,
        task: SinkTask,
        context: SinkContext,
        consumer: Consumer,
        pipeline: SinkPipeline,
        tolerance: Tolerance,
        control: Control,
        config: Mapping[str, str],
        commit_before_put: bool,
        commit_interval: float,
        batch: int,
        cooperative: bool,
        on_state: Callable[[bool], None],
        on_topics: Callable[[set[str]], None],
        on_member: Callable[[str], None],
    ) -> None:
        self._name = name
        self._task = task
        self._context = context
        self._consumer = consumer
        self._run = pipeline.run_records
        if type(task).put_batch is not SinkTask.put_batch:
            self._run = pipeline.run_batch
        self._tolerance = tolerance
        self._control = control
        self._config = config
        self._commit_before_put = commit_before_put
        self._commit_interval = commit_interval
        self._batch = batch
        self._cooperative = cooperative
        self._on_state = on_state
        self._on_topics = on_topics
        self._on_member = on_member
        self._member: str | None = None
        self._positions: dict[TopicPartition, int] = {}  # taken by the task
        self._committed: dict[TopicPartition, int] = {}
        self._begin: dict[TopicPartition, int] = {}  # where to read again from if flush fails
        self._some_gone = False  # partitions, since the last batch that was committed first
        self._pending: list[SinkRecord] = []  # to be put again
        self._messages: list[Any] = []  # the batch under way, for reports
        self._earlier: list[Any] = []  # the one before: a task may be writing it still
        self._alone = False  # whether the last message came without others
        self._reported: dict[_Place, Future[None]] = {}  # of that batch, by the task itself
        self._retry_at = 0.0
        self._retry_delay = RETRY_SECONDS
        self._next_commit = time.monotonic() + commit_interval
        self._shown_paused = control.paused
        self._seen_topics: set[str] = set()
        self._next_look = 0.0
        self.lag: int | None = None  # how many records the furthest partition is behind
        self.busy_since: float | None = None  # when the call of put() under way began
        self.counts = {
            "read": 0, "sent": 0, "batches": 0, "put_seconds": 0.0, "put_seconds_max": 0.0,
            "commits": 0, "commit_failures": 0, "commit_seconds": 0.0, "commit_seconds_max": 0.0,
            "batch_max": 0,
        }  # fmt: skip
        if tolerance.reports:
            context.errant_record_reporter = self

    # -- life -------------------------------------------------------------------------------

    def run(self) -> None:
        """Run until told to stop. The caller stops the task and closes the consumer."""
        subscription = Subscription(
            self._consumer,
            self._config,
            on_assign=self._assigned,
            on_revoke=self._revoked,
            on_lost=self._lost,
        )
        with suppress(StoppedError):
            while not self._control.stopping:
                subscription.refresh()
                if subscription.empty:
                    self._show_pause()
                    self._control.wait(IDLE_SECONDS)
                else:
                    self._turn()

    def finish(self) -> None:
        """Commit what is safe and give the partitions back. After an error: commit nothing new."""
        if self._context.assignment:
            partitions = sorted(self._context.assignment)
            if not self._pending:
                self._commit(closing=True)
            self._task.close(partitions)
            self._context.assignment.clear()

    def close_after_failure(self) -> None:
        if self._context.assignment:
            self._task.close(sorted(self._context.assignment))
            self._context.assignment.clear()

    def _tell_member(self) -> None:
        """Say who this is in the group, so that the worker can take it out if it has to be killed.

        It is a member as soon as it begins to join, which may take long when others are slow.
        """
        member = self._consumer.memberid()
        if member and member != self._member:
            self._member = member
            self._on_member(member)

    def _turn(self) -> None:
        self._show_pause()
        self._apply_pauses()
        messages = self._consume()
        if not self._context.assignment:
            self._tell_member()
        if self._pending:
            if time.monotonic() >= self._retry_at:
                self._put(SinkBatch.of(self._pending), again=True)
        elif messages:
            self._take(messages)
        elif self._may_idle():
            self._put(SinkBatch.of([]), again=False)
        if self._context.rewinds:
            self._rewind()
        if self._context.commit_requested or time.monotonic() >= self._next_commit:
            self._context.commit_requested = False
            self._commit()
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LAG_SECONDS
            self.lag = furthest_behind(self._consumer, self._positions)

    def _may_idle(self) -> bool:
        """Whether it is time for a sign of life, with no record in it."""
        active = self._context.assignment and not self._control.paused
        return bool(active) and time.monotonic() >= self._retry_at

    # -- consuming --------------------------------------------------------------------------

    def _consume(self) -> list[Any]:
        now = time.monotonic()
        wait = min(IDLE_SECONDS, max(0.0, self._next_commit - now))
        if self._pending:
            wait = min(wait, max(0.0, self._retry_at - now))
        messages: list[Any] = self._consumer.consume(self._batch, 0) if self._alone else []
        if not messages:
            first = self._consumer.poll(wait)
            if first is None:
                return []
            messages = [first]
            if not self._alone:  # who comes alone need not wait until others are looked for
                messages += self._consumer.consume(self._batch - 1, 0)
        self._alone = len(messages) == 1
        if any(map(type(messages[0]).error, messages)):
            for message in messages:
                if (error := message.error()) is not None:
                    _raise_unless_passing(error)
            messages = [m for m in messages if m.error() is None]
        return messages

    def _take(self, messages: list[Any]) -> None:
        self._earlier, self._messages = self._messages, messages
        if len(self._begin) < len(self._context.assignment):
            for m in messages:
                self._begin.setdefault(TopicPartition(m.topic(), m.partition()), m.offset())
        self._reported.clear()
        self.counts["read"] += len(messages)
        try:
            batch, failures = self._run(messages)
        except Interrupted:
            raise StoppedError from None
        topics = {batch.topic} if batch.topic else set(map(type(messages[0]).topic, messages))
        if not topics <= self._seen_topics:
            self._seen_topics |= topics
            self._on_topics(self._seen_topics)
        self._tolerance.handle(failures, len(messages))
        if self._commit_before_put:
            if not self._commit_first(messages):
                return
            if self._some_gone:  # perhaps while this was fetched: others get what is theirs now
                self._some_gone = False
                batch = SinkBatch.of(_of(self._context.assignment, batch.records))
        self._put(batch, again=False)

    def _put(self, batch: SinkBatch, *, again: bool) -> None:
        started = time.perf_counter()
        try:
            self._call_put(batch)
        except RetriableError as error:
            self._put_later(batch.records, error, again=again)
            return
        except Exception as error:  # noqa: BLE001 - raised again unless a record is to blame
            if not batch:
                _give_up(error)
            self._narrow(batch.records, error)
        took = time.perf_counter() - started
        if count := len(batch):
            self.counts["sent"] += count
            self.counts["batches"] += 1
            self.counts["batch_max"] = max(count, self.counts["batch_max"])
            self.counts["put_seconds"] += took
            self.counts["put_seconds_max"] = max(took, self.counts["put_seconds_max"])
            log.debug("put() took %d records in %.1f ms", count, took * 1000)
        self._pending = []
        self._retry_delay = RETRY_SECONDS
        if again:
            self._apply_pauses(force=True)
        self._positions.update(self._consumed())  # where the task went back to has none yet

    def _call_put(self, batch: SinkBatch) -> None:
        self.busy_since = time.monotonic()
        try:
            if batch.columns is None:
                self._task.put(batch.records)
            else:
                self._task.put_batch(batch)
        finally:
            self.busy_since = None

    def _consumed(self) -> dict[TopicPartition, int]:
        """Where the consumer stands: behind everything that was taken."""
        return {
            TopicPartition(p.topic, p.partition): p.offset
            for p in self._consumer.position(_kafka(self._context.assignment))
            if p.offset >= 0
        }

    def _put_later(self, records: list[SinkRecord], error: Exception, *, again: bool) -> None:
        """Keep the batch, fetch nothing more, and try again after a while."""
        wait = self._retry_delay
        if self._context.timeout_ms is not None:
            wait = self._context.timeout_ms / 1000
            self._context.timeout_ms = None
        else:
            self._retry_delay = min(2 * self._retry_delay, RETRY_MAX_SECONDS)
        log.warning("put() is tried again in %.1f s: %s", wait, error)
        self._retry_at = time.monotonic() + wait
        self._pending = records
        if records and not again:
            self._apply_pauses(force=True)

    def _narrow(self, records: list[SinkRecord], error: Exception) -> None:
        """Halve a batch that the task refuses until the records it refuses stand alone.

        Records beside a guilty one may reach the task twice, as after any retry. Those that the
        task has reported itself do not. An outage, in whichever part it shows, fails the task: it
        would make dead letters of all that comes, and none is to blame.
        """
        if not self._tolerance.tolerates or not may_blame_record(error):
            _give_up(error)
        records = [r for r in records if _place(r) not in self._reported]
        if not records:
            return
        if len(records) == 1:
            record = records[0]
            self._tolerance.handle(
                [Failure(self._message(record), Stage.TASK_PUT, PUT_CLASS, error)]
            )
            return
        middle = len(records) // 2
        for half in (records[:middle], records[middle:]):
            while half:
                try:
                    self._call_put(SinkBatch.of(half))
                except RetriableError as retriable:
                    told, self._context.timeout_ms = self._context.timeout_ms, None
                    wait = RETRY_SECONDS if told is None else told / 1000
                    log.warning("put() is tried again in %.1f s: %s", wait, retriable)
                    if self._control.wait(wait):
                        raise StoppedError from None
                    continue
                except Exception as narrower:  # noqa: BLE001 - ends as a failure's cause
                    self._narrow(half, narrower)
                break

    def report(self, record: SinkRecord, error: Exception) -> Future[None]:
        """Dead-letter a record for the task; once, however often a retry makes it do so."""
        place = _place(record)
        if place not in self._reported:
            failure = Failure(self._message(record), Stage.TASK_PUT, PUT_CLASS, error)
            self._reported[place] = self._tolerance.report_one(failure)
        return self._reported[place]

    def _message(self, record: SinkRecord) -> Any:
        """The message a record was made from."""
        place = _place(record)
        for message in chain(self._messages, self._earlier):
            if (message.topic(), message.partition(), message.offset()) == place:
                return message
        raise ConnectError(f"A record was reported that is not of the last two batches: {place}")

    # -- committing -------------------------------------------------------------------------

    def _commit(self, *, closing: bool = False) -> None:
        self._next_commit = time.monotonic() + self._commit_interval
        offsets = {p: o for p, o in self._positions.items() if p in self._context.assignment}
        if not offsets or (offsets == self._committed and not closing):
            return
        started = time.perf_counter()
        try:
            told = self._task.pre_commit(dict(offsets))
        except Exception as error:
            self.counts["commit_failures"] += 1
            if closing:
                log.exception("Offsets are not committed: flush failed while closing")
                return
            log.warning("Offsets are not committed and records are read again: %s", error)
            self._back_to_committed(offsets)
            return
        self._tolerance.settle()
        if self._commit_offsets(_taken(told, offsets)):
            took = time.perf_counter() - started
            self.counts["commit_seconds"] += took
            self.counts["commit_seconds_max"] = max(took, self.counts["commit_seconds_max"])

    def _commit_offsets(self, safe: Mapping[TopicPartition, int]) -> bool:
        if not safe:
            return False
        try:
            self._consumer.commit(
                offsets=[KafkaPartition(p.topic, p.partition, o) for p, o in safe.items()],
                asynchronous=False,
            )
        except KafkaException as error:
            self.counts["commit_failures"] += 1
            log.warning("Offsets could not be committed, will try again: %s", error.args[0].str())
            return False
        log.debug("Committed offsets: %s", safe)
        self._committed.update(safe)
        self._begin.update(safe)
        self.counts["commits"] += 1
        return True

    def _commit_first(self, messages: list[Any]) -> bool:
        """Commit a batch that is about to be put; if that fails, have it come again instead.

        What is put without being committed would be put once more after a crash.
        """
        positions = self._consumed()
        if self._commit_offsets(positions):
            self._positions.update(positions)
            return True
        first = {TopicPartition(m.topic(), m.partition()): m.offset() for m in reversed(messages)}
        for p, offset in first.items():
            if p in self._context.assignment:
                self._consumer.seek(KafkaPartition(p.topic, p.partition, offset))
        self._control.wait(RETRY_SECONDS)
        return False

    def _back_to_committed(self, offsets: Iterable[TopicPartition]) -> None:
        for p in offsets:
            if p in self._begin:  # or nothing of it was read
                self._consumer.seek(KafkaPartition(p.topic, p.partition, self._begin[p]))
        self._positions = {}

    def _rewind(self) -> None:
        for partition, offset in self._context.rewinds.items():
            if partition in self._context.assignment:
                self._consumer.seek(KafkaPartition(partition.topic, partition.partition, offset))
                self._positions[partition] = self._begin[partition] = offset
                self._committed.pop(partition, None)  # what comes again is to be flushed again
        self._context.rewinds.clear()

    # -- partitions come and go -------------------------------------------------------------

    def _assigned(self, consumer: Consumer, partitions: list[KafkaPartition]) -> None:
        new = [TopicPartition(p.topic, p.partition) for p in partitions]
        self._tell_member()
        self._context.assignment.update(new)
        log.info("Assigned %s", ", ".join(f"{p.topic}-{p.partition}" for p in new) or "nothing new")
        if new:
            self._task.open(new)
        # A sink that keeps its own offsets says in open() where to begin.
        begin = [
            KafkaPartition(p.topic, p.partition, self._context.rewinds.pop(p))
            if p in self._context.rewinds
            else known
            for p, known in zip(new, partitions, strict=True)
        ]
        if self._cooperative:
            consumer.incremental_assign(begin)
        else:
            consumer.assign(begin)
        self._apply_pauses(force=True)

    def _revoked(self, consumer: Consumer, partitions: list[KafkaPartition]) -> None:
        if not self._pending:
            self._commit(closing=True)
        self._lost(consumer, partitions)

    def _lost(self, consumer: Consumer, partitions: list[KafkaPartition]) -> None:
        self._drop([TopicPartition(p.topic, p.partition) for p in partitions])
        # librdkafka would remember that they are paused, and bring nothing if they come back.
        consumer.resume(partitions)
        if self._cooperative:
            consumer.incremental_unassign(partitions)
        else:
            consumer.unassign()

    def _drop(self, gone: list[TopicPartition]) -> None:
        # When the loop has finished, the task has closed them already.
        gone = [p for p in gone if p in self._context.assignment]
        if gone:
            self._task.close(gone)
            self._some_gone = True
        lost = set(gone)
        self._context.assignment -= lost
        self._context.paused -= lost
        for partition in gone:
            self._positions.pop(partition, None)
            self._committed.pop(partition, None)
            self._begin.pop(partition, None)
        if self._pending:
            self._pending = _of(self._context.assignment, self._pending)
            self._apply_pauses(force=True)  # nothing may be left to be put again

    # -- pausing ----------------------------------------------------------------------------

    def _show_pause(self) -> None:
        if self._control.paused != self._shown_paused:
            self._shown_paused = self._control.paused
            self._apply_pauses(force=True)
            if self._shown_paused:
                self._commit()
            self._on_state(self._shown_paused)

    def _apply_pauses(self, *, force: bool = False) -> None:
        if not (force or self._context.pause_changed):
            return
        self._context.pause_changed = False
        assigned = self._context.assignment
        all_held = self._control.paused or self._pending
        held = assigned if all_held else assigned & self._context.paused
        if held:
            self._consumer.pause(_kafka(held))
        if assigned - held:
            self._consumer.resume(_kafka(assigned - held))


def _give_up(error: Exception) -> NoReturn:
    raise ConnectError("Exiting WorkerSinkTask due to unrecoverable exception.") from error


def _place(record: SinkRecord) -> _Place:
    return record.original_topic, record.original_partition, record.offset


def _of(partitions: set[TopicPartition], records: list[SinkRecord]) -> list[SinkRecord]:
    """The records that were read from these partitions."""
    return [
        r for r in records if TopicPartition(r.original_topic, r.original_partition) in partitions
    ]


def _taken(
    told: Mapping[TopicPartition, int], positions: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Of the offsets that a task tells, those of records that it has taken.

    A task may count on records in a put that it has raised from, and that is to come again.
    """
    known = {p: offset for p, offset in told.items() if p in positions}
    if beyond := [f"{p.topic}-{p.partition} at {o}" for p, o in known.items() if o > positions[p]]:
        log.warning("Offsets of records that are not yet taken are not committed: %s", beyond)
    return {p: offset for p, offset in known.items() if offset <= positions[p]}


def _kafka(partitions: Iterable[TopicPartition]) -> list[KafkaPartition]:
    return [KafkaPartition(p.topic, p.partition) for p in partitions]


def _raise_unless_passing(error: KafkaError) -> None:
    """Errors that librdkafka mends by itself are logged; the others fail the task."""
    if error.code() == KafkaError._MAX_POLL_EXCEEDED or error.retriable():
        log.warning("Kafka: %s", error.str())
    elif error.code() in {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC}:
        log.warning("Kafka: %s. Waiting for the topic to be created.", error.str())
    elif error.code() in {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN}:
        log.warning("Kafka is out of reach: %s", error.str())
    else:
        raise ConnectError(f"Kafka: {error.str()}") from KafkaException(error)
