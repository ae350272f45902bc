"""SinkHarness: runs a sink task in memory, with redelivery, rebalances and crashes at will."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from connect.data.headers import NO_HEADERS, Headers
from connect.data.schema import Schema
from connect.errors import RetriableError
from connect.plugin import SinkConnector, SinkTask, TopicPartition
from connect.records import SinkRecord, TimestampType
from connect.testing.running import Deadline, RunningConnector

DEFAULT_TIMEOUT = 10.0
# A task may ask for minutes between attempts; a test has no time for that.
_LONGEST_BACKOFF_SECONDS = 0.05


class ReporterInMemory:
    """Takes the records that a task could not deliver."""

    def __init__(self) -> None:
        self.reported: list[tuple[SinkRecord, Exception]] = []

    def report(self, record: SinkRecord, error: Exception) -> Future[None]:
        self.reported.append((record, error))
        done: Future[None] = Future()
        done.set_result(None)
        return done


class SinkContextInMemory:
    """A sink task's context that remembers what was asked of it."""

    def __init__(
        self, config: Mapping[str, str], errant_record_reporter: ReporterInMemory | None
    ) -> None:
        self.config = config
        self.errant_record_reporter = errant_record_reporter
        self.replays = False
        self.assignment: set[TopicPartition] = set()
        self.paused: set[TopicPartition] = set()
        self.rewinds: dict[TopicPartition, int] = {}
        self.backoff_ms: int | None = None
        self.commit_requested = False

    def offset(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.rewinds.update(offsets)

    def pause(self, *partitions: TopicPartition) -> None:
        self.paused.update(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        self.paused.difference_update(partitions)

    def timeout(self, milliseconds: int) -> None:
        self.backoff_ms = milliseconds

    def request_commit(self) -> None:
        self.commit_requested = True


class SinkHarness(RunningConnector[SinkTask]):
    """Runs one sink task over topics kept in memory.

        with SinkHarness(MyConnector, {"file": "out"}) as sink:
            sink.put("a", "b")      # two records, delivered
            sink.flush()            # safe, offsets committed
            sink.put("c")
            sink.crash()
            sink.start()            # "c" is delivered again

    The topic is "test" and it has one partition, unless records say otherwise.
    """

    def __init__(
        self,
        connector_class: type[SinkConnector],
        config: Mapping[str, str],
        *,
        tasks_max: int = 1,
        task: int = 0,
        with_reporter: bool = True,
    ) -> None:
        props = {"topics": "test", **config}
        super().__init__(connector_class, props, tasks_max=tasks_max, task=task)
        self.log: dict[TopicPartition, list[SinkRecord]] = {}
        self.committed: dict[TopicPartition, int] = {}
        self.positions: dict[TopicPartition, int] = {}
        self.reporter = ReporterInMemory() if with_reporter else None
        self.retries = 0
        self._context: SinkContextInMemory | None = None

    # ---- the life of a task -------------------------------------------------------------------

    @property
    def context(self) -> SinkContextInMemory:
        assert self._context is not None, "the task was never started"
        return self._context

    def start(self) -> None:
        """Start a new task, open its partitions, deliver what is not committed yet."""
        config = self._own_config()
        connector = self.connector
        assert isinstance(connector, SinkConnector)
        self._context = SinkContextInMemory(config.raw, self.reporter)
        kind = connector.task_class
        assert issubclass(kind, SinkTask), "a task whose records are read elsewhere gets none here"
        task = kind()
        task.context = self._context
        self._begin(task, config)
        self.positions = {}
        self.open(*self.log or [TopicPartition("test", 0)])
        self.deliver()

    def open(self, *partitions: TopicPartition) -> None:
        """Give the task partitions, to be read from their committed offsets."""
        for partition in partitions:
            self.log.setdefault(partition, [])
            self.positions[partition] = self.committed.get(partition, 0)
        self.context.assignment |= set(partitions)
        self._running().open(list(partitions))

    def close(self, *partitions: TopicPartition) -> None:
        """Take partitions away: what the task has of them is committed first."""
        self.flush()
        self._running().close(list(partitions))
        self.context.assignment -= set(partitions)
        self.context.paused -= set(partitions)
        for partition in partitions:
            self.positions.pop(partition, None)

    def rebalance(self, *partitions: TopicPartition) -> None:
        """Close everything and open these partitions, as after a rebalance of the group."""
        self.close(*self.context.assignment)
        self.open(*partitions)
        self.deliver()

    def _leave(self, task: SinkTask) -> None:
        self.task = task
        try:
            self.close(*self.context.assignment)
        finally:
            self.task = None
            task.stop()

    # ---- records ------------------------------------------------------------------------------

    def record(
        self,
        value: Any,
        *,
        schema: Schema | None = None,
        key: Any = None,
        key_schema: Schema | None = None,
        topic: str = "test",
        partition: int = 0,
        headers: Headers = NO_HEADERS,
        timestamp: int | None = None,
    ) -> SinkRecord:
        """Append a record to a topic in memory. `deliver` brings it to the task."""
        log = self.log.setdefault(TopicPartition(topic, partition), [])
        record = SinkRecord(
            topic,
            partition,
            key_schema,
            key,
            schema,
            value,
            headers,
            timestamp,
            offset=len(log),
            timestamp_type=(
                TimestampType.NO_TIMESTAMP_TYPE if timestamp is None else TimestampType.CREATE_TIME
            ),
            original_topic=topic,
            original_partition=partition,
        )
        log.append(record)
        return record

    def put(self, *values: Any, schema: Schema | None = None) -> list[SinkRecord]:
        """Append one record a value and deliver them."""
        records = [self.record(value, schema=schema) for value in values]
        self.deliver()
        return records

    def deliver(self, *, timeout: float = DEFAULT_TIMEOUT) -> None:
        """Bring the task everything it has not had. After a RetriableError, the same again."""
        self._rewind()
        batch = [
            record
            for partition in sorted(self.context.assignment - self.context.paused)
            for record in self.log[partition][self.positions[partition] :]
        ]
        deadline = Deadline(timeout)
        while not self._put(batch):
            deadline.check("put to take a batch without a RetriableError")
        for record in batch:
            partition = TopicPartition(record.original_topic, record.original_partition)
            self.positions[partition] = record.offset + 1

    def _put(self, batch: list[SinkRecord]) -> bool:
        self.context.backoff_ms = None
        try:
            self._running().put(batch)
        except RetriableError:
            self.retries += 1
            time.sleep(min((self.context.backoff_ms or 0) / 1000, _LONGEST_BACKOFF_SECONDS))
            return False
        return True

    def _rewind(self) -> None:
        for partition, offset in self.context.rewinds.items():
            if partition not in self.context.assignment:
                raise AssertionError(f"asked to go to an offset of {partition}, not assigned to it")
            self.positions[partition] = offset
        self.context.rewinds = {}

    def flush(self) -> dict[TopicPartition, int]:
        """Commit offsets the way a worker does; gives those that the task agreed to."""
        asked = dict(self.positions)
        agreed = dict(self._running().pre_commit(dict(asked)))
        for partition, offset in agreed.items():
            if partition not in asked:
                raise AssertionError(f"pre_commit returned {partition}, which is not assigned")
            if not 0 <= offset <= asked[partition]:
                raise AssertionError(
                    f"pre_commit returned offset {offset} for {partition}, but the task was given "
                    f"records up to {asked[partition]}"
                )
        self.committed.update(agreed)
        self.context.commit_requested = False
        return agreed

    @property
    def reported(self) -> list[tuple[SinkRecord, Exception]]:
        """The records that the task gave to the errant record reporter, with their errors."""
        return [] if self.reporter is None else self.reporter.reported
