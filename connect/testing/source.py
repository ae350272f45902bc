"""SourceHarness: runs a source task in memory, with a crash and a restart at will."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from connect.errors import RetriableError
from connect.plugin import SourceConnector, SourceTask, TopicPartition
from connect.records import SourceRecord
from connect.testing.offsets import OffsetStore
from connect.testing.running import Deadline, RunningConnector

DEFAULT_TIMEOUT = 10.0


class TransactionsInMemory:
    """Remembers where a task that sets its own transactions wanted them to end."""

    def __init__(self) -> None:
        self.commits: list[SourceRecord | None] = []
        self.aborts: list[SourceRecord | None] = []

    def commit(self, record: SourceRecord | None = None) -> None:
        self.commits.append(record)

    def abort(self, record: SourceRecord | None = None) -> None:
        self.aborts.append(record)


class SourceContextInMemory:
    """A source task's context over an OffsetStore."""

    def __init__(
        self,
        config: Mapping[str, str],
        store: OffsetStore,
        transaction: TransactionsInMemory | None,
    ) -> None:
        self.config = config
        self.transaction = transaction
        self._store = store

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return self._store.offset(partition)

    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        return [self._store.offset(partition) for partition in partitions]


class SourceHarness(RunningConnector[SourceTask]):
    """Runs one source task.

        with SourceHarness(MyConnector, {"topic": "t"}) as source:
            source.poll(3)      # at least three records
            source.commit()     # they are safe in Kafka, offsets stored
            source.poll(1)
            source.crash()      # what was not committed is forgotten
            source.start()      # a new task, from the stored offsets

    `committed` holds what a reader of committed transactions would see in Kafka. It must have every
    record once, wherever the crash was: that is what `offsets` are for.
    """

    def __init__(
        self,
        connector_class: type[SourceConnector],
        config: Mapping[str, str],
        *,
        tasks_max: int = 1,
        task: int = 0,
        offsets: OffsetStore | None = None,
    ) -> None:
        super().__init__(connector_class, config, tasks_max=tasks_max, task=task)
        self.offsets = offsets if offsets is not None else OffsetStore()
        self.committed: list[SourceRecord] = []
        self.uncommitted: list[SourceRecord] = []
        self.retries = 0

    def start(self) -> None:
        """Start the connector, and a new task that finds the offsets committed before."""
        config = self._own_config()
        connector = self.connector
        assert isinstance(connector, SourceConnector)
        transaction = (
            TransactionsInMemory() if connector.can_define_transaction_boundaries() else None
        )
        self.uncommitted = []
        task = connector.task_class()
        task.context = SourceContextInMemory(config.raw, self.offsets, transaction)
        self._begin(task, config)

    def poll_once(self) -> list[SourceRecord]:
        """One call of `poll`, its records checked. A RetriableError counts as no records."""
        try:
            records = [*(self._running().poll() or ())]
        except RetriableError:
            self.retries += 1
            return []
        for record in records:
            check_source_record(record)
        self.uncommitted += records
        return records

    def poll(self, count: int = 1, *, timeout: float = DEFAULT_TIMEOUT) -> list[SourceRecord]:
        """Poll until there are `count` records or more."""
        deadline = Deadline(timeout)
        records: list[SourceRecord] = []
        while len(records) < count:
            got = self.poll_once()
            records += got
            if not got:
                deadline.check(f"{count} records, got {len(records)}")
        return records

    def commit(self, count: int | None = None) -> None:
        """Have the oldest `count` records safe in Kafka, all by default, and offsets stored."""
        task = self._running()
        done = self.uncommitted[:count]
        self.uncommitted = self.uncommitted[len(done) :]
        for number, record in enumerate(done, start=len(self.committed)):
            task.commit_record(record, TopicPartition(record.topic, number))
            if record.source_partition is not None and record.source_offset is not None:
                self.offsets.store(record.source_partition, record.source_offset)
        self.committed += done
        task.commit()

    def crash(self) -> None:
        super().crash()
        self.uncommitted = []


def check_source_record(record: SourceRecord) -> None:
    """Raise unless a worker could send this record."""
    is_record = isinstance(record, SourceRecord)
    assert is_record, f"poll gave a {type(record).__name__}, not a SourceRecord"
    named = isinstance(record.topic, str) and record.topic
    assert named, f"a record's topic must be a name, not {record.topic!r}"
    if record.key_schema is not None:
        record.key_schema.validate(record.key)
    if record.value_schema is not None:
        record.value_schema.validate(record.value)
    scratch = OffsetStore()
    if record.source_partition is not None:
        scratch.store(record.source_partition, record.source_offset)
