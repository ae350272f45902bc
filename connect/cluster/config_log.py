"""The config topic: which connectors and tasks there are to be, and what the leader publishes.

`ConfigState` is what the records say, `ConfigLog` the topic around it. The formats are Kafka
Connect's, so a topic that a JVM cluster has written is simply read:

    connector-<name>          {"properties": {…}}; deleted: the connector is
    task-<name>-<n>           {"properties": {…}}, in force once its commit is there
    commit-<name>             {"tasks": n}
    target-state-<name>       {"state": STARTED or PAUSED, "state.v2": those or STOPPED}
    tasks-fencing-<name>      {"task-count": n}
    session-key               {"key": base64, "algorithm", "creation-timestamp"}
    restart-connector-<name>  {"include-tasks", "only-failed"}; read as it comes, never again
    logger-cluster-<logger>   {"level"}; the same
"""

from __future__ import annotations

import base64
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from connect.cluster.assignment import Work
from connect.cluster.herder import TargetState, TaskId
from connect.cluster.kafka_log import WRITE_SECONDS, KafkaLog, LogTopic, Record
from connect.cluster.signing import SessionKey
from connect.errors import DataError

log = logging.getLogger(__name__)

_CONNECTOR = "connector-"
_TASK = "task-"
_COMMIT = "commit-"
_TARGET = "target-state-"
_FENCING = "tasks-fencing-"
_RESTART = "restart-connector-"
_LOGGER = "logger-cluster-"
_SESSION_KEY = "session-key"


@dataclass(frozen=True, slots=True)
class RestartRequest:
    """Somebody asked for a restart: every worker restarts what it runs of it."""

    connector: str
    include_tasks: bool
    only_failed: bool

    @property
    def impact(self) -> tuple[bool, bool]:
        """Of two requests for one connector the one with the higher impact is carried out."""
        return (self.include_tasks, not self.only_failed)


@dataclass(frozen=True, slots=True)
class LevelRequest:
    """Somebody set a log level for the whole cluster."""

    logger: str
    level: str


Event = RestartRequest | LevelRequest


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """The config topic at one moment. `offset` is that of the next record."""

    offset: int = 0
    connectors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    targets: Mapping[str, TargetState] = field(default_factory=dict)
    tasks: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    # The connector's config when its tasks were committed: they run by it until new ones come.
    applied: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # Connectors whose tasks are not all there, as compaction may leave them.
    inconsistent: frozenset[str] = frozenset()
    # The tasks whose zombies are known to be fenced, and who has newer tasks than that.
    fenced_tasks: Mapping[str, int] = field(default_factory=dict)
    unfenced: frozenset[str] = frozenset()
    session_key: SessionKey | None = None
    # Where in the topic a connector came to be, or got another config or target state. A change
    # that was taken back before a worker looked shows here alone: tasks may have gone with it.
    incarnations: Mapping[str, int] = field(default_factory=dict)

    def target(self, name: str) -> TargetState:
        return self.targets.get(name, TargetState.STARTED)

    def task_configs(self, name: str) -> Sequence[Mapping[str, str]]:
        return self.tasks.get(name, ())

    @property
    def work(self) -> Work:
        """Everything that is to run somewhere."""
        return Work(
            frozenset(self.connectors),
            frozenset(
                TaskId(name, n)
                for name, configs in self.tasks.items()
                if name in self.connectors
                for n in range(len(configs))
            ),
        )


class ConfigState:
    """What the records of a config topic say, in the order in which they come."""

    def __init__(self) -> None:
        self._offset = 0
        self._connectors: dict[str, dict[str, str]] = {}
        self._targets: dict[str, TargetState] = {}
        self._tasks: dict[str, list[dict[str, str]]] = {}
        self._applied: dict[str, dict[str, str]] = {}
        self._deferred: dict[str, dict[int, dict[str, str]]] = {}
        self._inconsistent: set[str] = set()
        self._fenced: dict[str, int] = {}
        self._unfenced: set[str] = set()
        self._session_key: SessionKey | None = None
        self._incarnations: dict[str, int] = {}

    def snapshot(self) -> ClusterConfig:
        return ClusterConfig(
            self._offset,
            dict(self._connectors),
            dict(self._targets),
            dict(self._tasks),
            dict(self._applied),
            frozenset(self._inconsistent),
            dict(self._fenced),
            frozenset(self._unfenced),
            self._session_key,
            dict(self._incarnations),
        )

    def apply(self, record: Record) -> Event | None:
        """Take a record in; what has to be done because of it. DataError if it makes no sense."""
        self._offset = record.offset + 1
        key = record.key.decode()
        value = _parse(key, record.value)
        if key == _SESSION_KEY:
            self._session_key = self._session_key if value is None else _session_key(value)
        elif name := _after(_TARGET, key):
            self._take_target(name, value, record.offset)
        elif name := _after(_CONNECTOR, key):
            self._take_connector(name, value, record.offset)
        elif name := _after(_COMMIT, key):
            self._take_commit(name, value)
        elif name := _after(_FENCING, key):
            self._take_fencing(name, value)
        elif name := _after(_TASK, key):
            self._take_task(name, value)
        elif name := _after(_RESTART, key):
            return None if value is None else _restart(name, value)
        elif name := _after(_LOGGER, key):
            return None if value is None else LevelRequest(name, str(value.get("level", "")))
        else:
            log.warning("The config topic has a record with the unknown key %s, skipped", key)
        return None

    def _take_connector(self, name: str, value: Mapping[str, Any] | None, offset: int) -> None:
        if value is None:
            self._connectors.pop(name, None)
            self._tasks.pop(name, None)
            self._applied.pop(name, None)
            self._deferred.pop(name, None)
            self._inconsistent.discard(name)
            self._fenced.pop(name, None)
            self._unfenced.discard(name)
            self._incarnations.pop(name, None)
        else:
            properties = _properties(value)
            if self._connectors.get(name) != properties:
                self._incarnations[name] = offset
            self._connectors[name] = properties

    def _take_task(self, name: str, value: Mapping[str, Any] | None) -> None:
        connector, _, number = name.rpartition("-")
        if not connector or not number.isdigit():
            raise DataError(f"Key task-{name} names no task")
        if value is not None:
            self._deferred.setdefault(connector, {})[int(number)] = _properties(value)

    def _take_commit(self, name: str, value: Mapping[str, Any] | None) -> None:
        deferred = self._deferred.pop(name, {})
        if value is None or name not in self._connectors:
            # Left over from a connector that is deleted. One of the same name that came later
            # must not get these tasks.
            return
        count = int(value["tasks"])
        self._applied[name] = self._connectors[name]
        # There may be more than are committed: compaction keeps the last record of a task that was
        # dropped long ago.
        if all(n in deferred for n in range(count)):
            self._tasks[name] = [deferred[n] for n in range(count)]
            self._inconsistent.discard(name)
        else:
            self._tasks[name] = []
            self._inconsistent.add(name)
        self._unfenced.add(name)

    def _take_target(self, name: str, value: Mapping[str, Any] | None, offset: int) -> None:
        before = self._targets.get(name, TargetState.STARTED)
        if value is None:
            self._targets.pop(name, None)
        else:
            wanted = value.get("state.v2") or value.get("state")
            try:
                self._targets[name] = TargetState(str(wanted))
            except ValueError:
                raise DataError(f"Target state {wanted} of connector {name} is unknown") from None
        if name in self._connectors and self._targets.get(name, TargetState.STARTED) != before:
            self._incarnations[name] = offset

    def _take_fencing(self, name: str, value: Mapping[str, Any] | None) -> None:
        if value is None:
            self._fenced.pop(name, None)
        else:
            self._fenced[name] = int(value["task-count"])
            self._unfenced.discard(name)


def _after(prefix: str, key: str) -> str | None:
    return key.removeprefix(prefix) if key.startswith(prefix) else None


def _parse(key: str, value: bytes | None) -> dict[str, Any] | None:
    if value is None:
        return None
    parsed = orjson.loads(value)
    # A JSON null under a schemaless converter deletes as well.
    if parsed is not None and not isinstance(parsed, dict):
        raise DataError(f"The value of {key} is {type(parsed).__name__} where an object must be")
    return parsed


def _properties(value: Mapping[str, Any]) -> dict[str, str]:
    properties = value.get("properties")
    if not isinstance(properties, dict):
        raise DataError("There are no properties in the record")
    return {k: v for k, v in properties.items() if v is not None}


def _session_key(value: Mapping[str, Any]) -> SessionKey:
    return SessionKey(
        base64.b64decode(value["key"]), str(value["algorithm"]), int(value["creation-timestamp"])
    )


def _restart(name: str, value: Mapping[str, Any]) -> RestartRequest:
    return RestartRequest(
        name, bool(value.get("include-tasks", False)), bool(value.get("only-failed", False))
    )


class ConfigLog:
    """The config topic. Writing returns when the record is there and was read back."""

    def __init__(
        self,
        topic: LogTopic,
        worker: Mapping[str, str],
        *,
        on_change: Callable[[], None],
        on_event: Callable[[Event], None],
    ) -> None:
        """`on_change` and `on_event` are called in the log's thread, not before `start` is done."""
        self._state = ConfigState()
        self._lock = threading.Lock()
        self._snapshot: ClusterConfig | None = None
        self._on_change = on_change
        self._on_event = on_event
        self._started = False
        self._log = KafkaLog(topic, worker, self._apply)

    def start(self) -> None:
        self._log.start()
        self._started = True

    def stop(self) -> None:
        self._log.stop()

    def read_to_end(self, seconds: float = WRITE_SECONDS) -> None:
        self._log.read_to_end(seconds)

    def snapshot(self) -> ClusterConfig:
        with self._lock:
            if self._snapshot is None:
                self._snapshot = self._state.snapshot()
            return self._snapshot

    def _apply(self, record: Record) -> None:
        with self._lock:
            self._snapshot = None
            event = self._state.apply(record)
        # What was asked of the cluster before this worker was there is not asked of it.
        if self._started:
            self._on_change()
            if event is not None:
                self._on_event(event)

    # -- writing ----------------------------------------------------------------------------

    def claim(self, transactional_id: str) -> None:
        """Let no former leader write any more. Harmless if it is claimed already."""
        self._log.claim(transactional_id)

    def release(self) -> None:
        self._log.release()

    def put_connector(
        self, name: str, config: Mapping[str, str], target: TargetState | None = None
    ) -> None:
        records = [] if target is None else [_target_record(name, target)]
        self._write(*records, (_CONNECTOR + name, {"properties": dict(config)}))

    def remove_connector(self, name: str) -> None:
        self._write((_CONNECTOR + name, None), (_TARGET + name, None))

    def put_tasks(self, name: str, configs: Sequence[Mapping[str, str]]) -> None:
        # The commit goes out only when all tasks are safe: it makes them count.
        self._send(
            *((f"{_TASK}{name}-{n}", {"properties": dict(c)}) for n, c in enumerate(configs))
        )
        self._write((_COMMIT + name, {"tasks": len(configs)}))

    def put_target(self, name: str, state: TargetState) -> None:
        self._write(_target_record(name, state))

    def put_stopped(self, name: str) -> None:
        self.put_tasks(name, [])
        self.put_target(name, TargetState.STOPPED)

    def put_fencing(self, name: str, tasks: int) -> None:
        self._write((_FENCING + name, {"task-count": tasks}))

    def put_session_key(self, key: SessionKey) -> None:
        self._write(
            (
                _SESSION_KEY,
                {
                    "key": base64.b64encode(key.key).decode(),
                    "algorithm": key.algorithm,
                    "creation-timestamp": key.created,
                },
            )
        )

    def put_restart(self, request: RestartRequest) -> None:
        self._write(
            (
                _RESTART + request.connector,
                {"include-tasks": request.include_tasks, "only-failed": request.only_failed},
            )
        )

    def put_level(self, request: LevelRequest) -> None:
        self._write((_LOGGER + request.logger, {"level": request.level}))

    def _write(self, *records: tuple[str, Mapping[str, Any] | None]) -> None:
        self._send(*records)
        self._log.read_to_end()

    def _send(self, *records: tuple[str, Mapping[str, Any] | None]) -> None:
        self._log.write([(k.encode(), None if v is None else orjson.dumps(v)) for k, v in records])


def _target_record(name: str, state: TargetState) -> tuple[str, dict[str, str]]:
    # Workers from before STOPPED was known take it for PAUSED.
    old = TargetState.PAUSED if state is TargetState.STOPPED else state
    return _TARGET + name, {"state": old.value, "state.v2": state.value}
