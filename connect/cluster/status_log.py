"""The status topic: the state of every connector and task, and which topics they use.

status-connector-<name>               {"state", "trace", "worker_id", "generation", "version"}
status-task-<name>-<n>                the same
status-topic-<topic>:connector-<name> {"topic": {"name", "connector", "task", …}}
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import orjson

from connect.cluster.herder import State, Status, TaskId
from connect.cluster.kafka_log import KafkaLog, LogTopic, Record
from connect.errors import DataError

log = logging.getLogger(__name__)

_TOPIC = re.compile(r"status-topic-(?P<topic>[^:]+):connector-(?P<connector>.+)", re.DOTALL)
_TASK = re.compile(r"status-task-(?P<connector>.+)-(?P<task>\d+)", re.DOTALL)
_CONNECTOR = re.compile(r"status-connector-(?P<connector>.+)", re.DOTALL)

# What Kafka Connect writes; anything beside it is ours, and JVM workers don't look at it.
_FIELDS = {"state", "trace", "worker_id", "generation", "version"}

# A connector instance, or one of its tasks.
Subject = str | TaskId


@dataclass(frozen=True, slots=True)
class _Entry:
    status: Status
    generation: int


class StatusState:
    """What the records of a status topic say."""

    def __init__(self) -> None:
        self._entries: dict[Subject, _Entry] = {}
        self._tasks: dict[str, set[int]] = {}
        self._topics: dict[str, set[str]] = {}

    def apply(self, record: Record) -> None:
        """Take a record in. DataError if it makes no sense."""
        key = record.key.decode()
        value = None if record.value is None else orjson.loads(record.value)
        if found := _TOPIC.fullmatch(key):
            topics = self._topics.setdefault(found["connector"], set())
            topics.discard(found["topic"]) if value is None else topics.add(found["topic"])
        elif found := _TASK.fullmatch(key):
            self._take(TaskId(found["connector"], int(found["task"])), value)
        elif found := _CONNECTOR.fullmatch(key):
            self._take(found["connector"], value)
        else:
            raise DataError(f"Key {key} is none of a status topic")

    def _take(self, subject: Subject, value: Mapping[str, Any] | None) -> None:
        if value is None:
            self._entries.pop(subject, None)
            if isinstance(subject, TaskId):
                self._tasks.get(subject.connector, set()).discard(subject.task)
            return
        status = Status(
            State(value["state"]),
            str(value["worker_id"]),
            value.get("trace"),
            value.get("version"),
            {k: v for k, v in value.items() if k not in _FIELDS},
        )
        generation = int(value["generation"])
        if self._is_late(subject, status, generation):
            return
        self._entries[subject] = _Entry(status, generation)
        if isinstance(subject, TaskId):
            self._tasks.setdefault(subject.connector, set()).add(subject.task)

    def _is_late(self, subject: Subject, status: Status, generation: int) -> bool:
        """The old owner's goodbye, which came after the new owner's first word."""
        known = self._entries.get(subject)
        return (
            known is not None
            and status.state is State.UNASSIGNED
            and known.status.state is State.RUNNING
            and known.status.worker_id != status.worker_id
            and generation <= known.generation
        )

    def get(self, subject: Subject) -> Status | None:
        entry = self._entries.get(subject)
        return None if entry is None else entry.status

    def tasks(self, connector: str) -> dict[int, Status]:
        numbers = sorted(self._tasks.get(connector, ()))
        return {n: self._entries[TaskId(connector, n)].status for n in numbers}

    def topics(self, connector: str) -> set[str]:
        return set(self._topics.get(connector, ()))

    def subjects(self) -> list[Subject]:
        return list(self._entries)

    def connectors_with_topics(self) -> list[str]:
        return [name for name, topics in self._topics.items() if topics]

    def may_overwrite(self, subject: Subject, worker_id: str, generation: int) -> bool:
        """Whether a worker that is giving something up may still say so."""
        known = self._entries.get(subject)
        return (
            known is None or known.status.worker_id == worker_id or generation >= known.generation
        )


class StatusLog:
    """The status topic. Writing does not block; a status is seen once it was read back."""

    def __init__(self, topic: LogTopic, worker: Mapping[str, str]) -> None:
        self._state = StatusState()
        self._lock = threading.Lock()
        self._log = KafkaLog(topic, worker, self._apply)

    def start(self) -> None:
        self._log.start()

    def stop(self) -> None:
        """Close, once everything written is safe."""
        self._log.stop()

    def read_to_end(self, seconds: float) -> None:
        self._log.read_to_end(seconds)

    def _apply(self, record: Record) -> None:
        with self._lock:
            self._state.apply(record)

    # -- reading ----------------------------------------------------------------------------

    def get(self, subject: Subject) -> Status | None:
        with self._lock:
            return self._state.get(subject)

    def tasks(self, connector: str) -> dict[int, Status]:
        with self._lock:
            return self._state.tasks(connector)

    def topics(self, connector: str) -> set[str]:
        with self._lock:
            return self._state.topics(connector)

    def subjects(self) -> list[Subject]:
        with self._lock:
            return self._state.subjects()

    def connectors_with_topics(self) -> list[str]:
        with self._lock:
            return self._state.connectors_with_topics()

    # -- writing ----------------------------------------------------------------------------

    def put(self, subject: Subject, status: Status, generation: int) -> None:
        value = {
            "state": status.state.value,
            "trace": status.trace,
            "worker_id": status.worker_id,
            "generation": generation,
            **({"version": status.version} if status.version else {}),
            **status.extra,
        }
        self._write(_key(subject), value)

    def put_safely(self, subject: Subject, status: Status, generation: int) -> None:
        """The same, unless another worker has had the say since."""
        with self._lock:
            allowed = self._state.may_overwrite(subject, status.worker_id, generation)
        if allowed:
            self.put(subject, status, generation)

    def remove(self, subject: Subject) -> None:
        self._write(_key(subject), None)

    def put_topic(self, connector: str, task: int, topic: str) -> None:
        if topic in self.topics(connector):
            return
        now = int(time.time() * 1000)
        value = {"name": topic, "connector": connector, "task": task, "discoverTimestamp": now}
        self._write(f"status-topic-{topic}:connector-{connector}", {"topic": value})

    def remove_topics(self, connector: str) -> None:
        for topic in self.topics(connector):
            self._write(f"status-topic-{topic}:connector-{connector}", None)

    def _write(self, key: str, value: Mapping[str, Any] | None) -> None:
        data = None if value is None else orjson.dumps(value)

        def done(delivery: Future[None]) -> None:
            if error := delivery.exception():
                log.warning("%s is not up to date: %s", key, error)

        self._log.write_soon(key.encode(), data).add_done_callback(done)


def _key(subject: Subject) -> str:
    kind = "task" if isinstance(subject, TaskId) else "connector"
    return f"status-{kind}-{subject}"
