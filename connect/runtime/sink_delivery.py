"""A connector's sink task, run once more over records given by hand: replays straight into a sink.

The task gets the connector's config and records with the places they came from. Its context says
that they are replayed: the offsets of its partitions belong to the connector's own tasks.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Self, TypeVar

from connect.errors import ConnectError, RetriableError, may_blame_record
from connect.pipeline import PipelineSpec, RawMessage, SinkPipeline
from connect.plugin import SinkConnector, SinkTask, TopicPartition
from connect.plugins.registry import load_plugin
from connect.records import SinkRecord
from connect.runtime.host import find_connector, resolve
from connect.runtime.sink import RETRY_MAX_SECONDS, RETRY_SECONDS
from connect.runtime.sink_context import SinkContext
from connect.runtime.spec import ConnectorSpec, Kind

log = logging.getLogger(__name__)

# A put that asks to be tried again is, for so long.
PATIENCE_SECONDS = 60.0

_NOT_WRITTEN = "it has not written the record yet"

_T = TypeVar("_T")


class SinkDelivery:
    """A context manager around one task. Runs plugin code in this process."""

    def __init__(self, spec: ConnectorSpec) -> None:
        self._spec = spec
        [config] = resolve(spec.plugins, spec.worker_config, spec.config)
        found = load_plugin(find_connector(spec.plugins, Kind.SINK, config))
        if not issubclass(found, SinkConnector):
            raise ConnectError(f"{config['connector.class']} is no sink connector.")
        connector = found()
        connector.config = found.config_def.parse(config)
        configs = connector.task_configs(1)
        if not configs:
            raise ConnectError(f"Connector '{spec.connector}' has no tasks to run now.")
        task_config = {**config, **configs[0]}
        task = found.task_class()
        if not isinstance(task, SinkTask):
            raise ConnectError(
                f"Connector '{spec.connector}' reads Kafka by itself and can't be handed records: "
                "replay them to the original topic."
            )
        self._task = task
        self._context = SinkContext(task_config)
        self._context.errant_record_reporter = self
        self._context.replays = True
        self._task.context = self._context
        self._config = found.config_def.parse(task_config)
        made = PipelineSpec(spec.connector, 0, config, spec.worker_config, spec.plugins)
        self._pipeline = SinkPipeline(made, made.retry())
        self._failed: dict[int, str] = {}
        self._position: dict[tuple[str, int, int], int] = {}

    def __enter__(self) -> Self:
        try:
            self._task.start(self._config)
        except BaseException:
            self._task.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._close()
        finally:
            self._task.stop()
            self._pipeline.close()

    def deliver(self, messages: Sequence[RawMessage]) -> dict[int, str]:
        """Convert, transform, put and commit; the positions of those that failed, and why."""
        failed: dict[int, str] = {}
        for some in _without_repetitions(messages):
            # A task may take what lies before the last record for one that it has already.
            in_order = sorted(some, key=lambda i: _place(messages[i]))
            failed |= self._deliver({i: messages[i] for i in in_order})
        # Requests a task makes of its consumer make no sense here.
        self._context.rewinds.clear()
        return failed

    def _deliver(self, messages: Mapping[int, RawMessage]) -> dict[int, str]:
        """One part. The next may begin before it, so its partitions are opened for it alone."""
        self._position = {_place(m): i for i, m in messages.items()}
        records, failures = self._pipeline.run(list(messages.values()))
        self._failed = {self._position[_place(f.record)]: f"{f.stage}: {f.error}" for f in failures}
        ends = _ends(messages.values())
        self._context.assignment |= ends.keys()
        self._task.open(sorted(ends))
        self._put(records)
        if self._unwritten(records, ends):
            # A task may see to what went wrong meanwhile in its next put.
            self._patiently(lambda: self._task.put([]))
            self._failed |= dict.fromkeys(self._unwritten(records, ends), _NOT_WRITTEN)
        self._close()
        return self._failed

    def _unwritten(
        self, records: Sequence[SinkRecord], ends: Mapping[TopicPartition, int]
    ) -> list[int]:
        """The positions of records that the task has taken, but does not call safe."""
        told = self._patiently(lambda: self._task.pre_commit(dict(ends)))
        late = [
            self._place(r)
            for r in records
            if r.offset >= told.get(TopicPartition(r.original_topic, r.original_partition), 0)
        ]
        return [position for position in late if position not in self._failed]

    def _close(self) -> None:
        if self._context.assignment:
            self._task.close(sorted(self._context.assignment))
            self._context.assignment.clear()

    def _put(self, records: list[SinkRecord]) -> None:
        """Halve a batch that the task refuses until the records it refuses stand alone.

        Where none is to blame, as with a target that is out of reach, all are left as they are.
        """
        records = [r for r in records if self._place(r) not in self._failed]
        if not records:
            return
        try:
            self._patiently(lambda: self._task.put(records))
        except Exception as error:
            if not may_blame_record(error):
                raise
            if len(records) == 1:
                self._failed[self._place(records[0])] = f"TASK_PUT: {error}"
                return
            middle = len(records) // 2
            self._put(records[:middle])
            self._put(records[middle:])

    def _patiently(self, call: Callable[[], _T]) -> _T:
        deadline = time.monotonic() + PATIENCE_SECONDS
        delay = RETRY_SECONDS
        while True:
            try:
                return call()
            except RetriableError as error:
                if time.monotonic() + delay > deadline:
                    raise
                log.warning("The task is asked again in %.1f s: %s", delay, error)
                time.sleep(delay)
                delay = min(2 * delay, RETRY_MAX_SECONDS)

    def report(self, record: SinkRecord, error: Exception) -> Future[None]:
        """What the task itself reports stays a dead letter."""
        self._failed[self._place(record)] = f"TASK_PUT: {error}"
        done: Future[Any] = Future()
        done.set_result(None)
        return done

    def _place(self, record: SinkRecord) -> int:
        return self._position[record.original_topic, record.original_partition, record.offset]


def _place(message: RawMessage) -> tuple[str, int, int]:
    return message.topic(), message.partition(), message.offset()


def _ends(messages: Iterable[RawMessage]) -> dict[TopicPartition, int]:
    """The offsets behind the last message of each partition."""
    ends: dict[TopicPartition, int] = {}
    for message in messages:
        partition = TopicPartition(message.topic(), message.partition())
        ends[partition] = max(message.offset() + 1, ends.get(partition, 0))
    return ends


def _without_repetitions(messages: Sequence[RawMessage]) -> list[list[int]]:
    """Positions, cut where a record comes again: a record is found by its place alone."""
    parts: list[list[int]] = [[]]
    seen: set[tuple[str, int, int]] = set()
    for i, message in enumerate(messages):
        if _place(message) in seen:
            parts.append([])
            seen.clear()
        seen.add(_place(message))
        parts[-1].append(i)
    return parts
