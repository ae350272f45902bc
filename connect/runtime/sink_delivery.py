"""A connector's sink task, run once more over records given by hand: replays straight into a sink.

The task gets the connector's config and records with the places they came from. It is given no
offsets to keep: those of its partitions belong to the connector's own tasks.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, Self

from connect.errors import ConnectError, RetriableError
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
            if self._context.assignment:
                self._task.close(sorted(self._context.assignment))
        finally:
            self._task.stop()
            self._pipeline.close()

    def deliver(self, messages: Sequence[RawMessage]) -> dict[int, str]:
        """Convert, transform, put and flush; the positions of those that failed, and why."""
        failed: dict[int, str] = {}
        for some in _without_repetitions(messages):
            failed |= self._deliver({i: messages[i] for i in some})
        # Requests a task makes of its consumer make no sense here.
        self._context.rewinds.clear()
        return failed

    def _deliver(self, messages: dict[int, RawMessage]) -> dict[int, str]:
        self._position = {_place(m): i for i, m in messages.items()}
        records, failures = self._pipeline.run(list(messages.values()))
        self._failed = {self._position[_place(f.record)]: f"{f.stage}: {f.error}" for f in failures}
        self._open(messages.values())
        self._put(records)
        self._patiently(lambda: self._task.flush({}))
        return self._failed

    def _open(self, messages: Iterable[RawMessage]) -> None:
        new = {TopicPartition(m.topic(), m.partition()) for m in messages}
        new -= self._context.assignment
        if new:
            self._context.assignment |= new
            self._task.open(sorted(new))

    def _put(self, records: list[SinkRecord]) -> None:
        """Halve a batch that the task refuses until the records it refuses stand alone."""
        records = [r for r in records if self._place(r) not in self._failed]
        if not records:
            return
        try:
            self._patiently(lambda: self._task.put(records))
        except Exception as error:  # noqa: BLE001 - told as the reason
            if len(records) == 1:
                self._failed[self._place(records[0])] = f"TASK_PUT: {error}"
                return
            middle = len(records) // 2
            self._put(records[:middle])
            self._put(records[middle:])

    def _patiently(self, call: Callable[[], None]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        delay = RETRY_SECONDS
        while True:
            try:
                call()
            except RetriableError as error:
                if time.monotonic() + delay > deadline:
                    raise
                log.warning("The task is asked again in %.1f s: %s", delay, error)
                time.sleep(delay)
                delay = min(2 * delay, RETRY_MAX_SECONDS)
            else:
                return

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
