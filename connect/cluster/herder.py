"""The herder: what runs connectors, as the REST API sees it.

There are two behind this one interface: standalone (one process, offsets in a file) and
distributed (a group of workers over Kafka). Neither ever runs plugin code in the worker itself.
All methods are called on the worker's event loop and return quickly or await; none blocks it.

Errors: NotFoundError, AlreadyExistsError, BadRequestError, ConflictError, TimedOutError, and
ConnectError for everything else.
"""

from __future__ import annotations

import abc
import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from connect.cluster.signing import Signed
from connect.errors import ConnectError, UnsupportedError


class BadRequestError(ConnectError):
    """The request can't be met as it stands; the text says why."""

    java_name: ClassVar[str] = "org.apache.kafka.connect.runtime.rest.errors.BadRequestException"


class ConflictError(ConnectError):
    """Not now: a rebalance is on, or the name is taken. Trying again may work."""

    java_name: ClassVar[str] = "org.apache.kafka.connect.runtime.rest.errors.ConnectRestException"


class ForbiddenError(ConnectError):
    """The worker's settings or the caller's roles don't allow it; the text names which."""

    java_name: ClassVar[str] = "org.apache.kafka.connect.runtime.rest.errors.ConnectRestException"


class TimedOutError(ConnectError):
    """The worker did not get to the end in time; the text says what it was doing."""

    java_name: ClassVar[str] = "org.apache.kafka.connect.runtime.rest.errors.ConnectRestException"


class UnavailableError(ConnectError):
    """Not yet: the worker is still starting."""

    java_name: ClassVar[str] = "org.apache.kafka.connect.runtime.rest.errors.ConnectRestException"


class ElsewhereError(ConflictError):
    """Another worker has to do it: the leader, or the one that runs the task.

    `url` is that worker's; None when it is not known because work is being divided anew.
    """

    def __init__(self, url: str | None) -> None:
        self.url = url
        super().__init__(
            f"This request is one for the worker at {url}"
            if url
            else "Cannot complete request momentarily due to no known leader URL, likely because a "
            "rebalance was underway."
        )

    def __reduce__(self) -> tuple[type[ElsewhereError], tuple[str | None]]:
        return type(self), (self.url,)


class State(enum.StrEnum):
    """The state of a connector or task, as statuses show it."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"
    STOPPED = "STOPPED"
    DESTROYED = "DESTROYED"


class TargetState(enum.StrEnum):
    """What a user wants a connector to be."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class ConnectorType(enum.StrEnum):
    SOURCE = "source"
    SINK = "sink"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, order=True)
class TaskId:
    connector: str
    task: int

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"


@dataclass(frozen=True, slots=True)
class ConnectorInfo:
    name: str
    config: Mapping[str, str]
    tasks: Sequence[TaskId]
    type: ConnectorType


@dataclass(frozen=True, slots=True)
class Status:
    """The state of one connector instance or one task.

    `trace` is the last error, the user's part of it first. `extra` holds what goes beyond Kafka
    Connect: restart counts, the next attempt.
    """

    state: State
    worker_id: str
    trace: str | None = None
    version: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    name: str
    connector: Status
    tasks: Mapping[int, Status]
    type: ConnectorType


@dataclass(frozen=True, slots=True)
class ServerInfo:
    version: str
    commit: str
    kafka_cluster_id: str


@dataclass(frozen=True, slots=True)
class Health:
    """healthy, starting or unhealthy, and a sentence about it."""

    status: str
    message: str


class Herder(abc.ABC):
    """Runs connectors and answers for them."""

    # -- the worker -----------------------------------------------------------------------

    @abc.abstractmethod
    async def start(self) -> None:
        """Begin; returns once requests can be taken, which may be before startup is complete."""

    @abc.abstractmethod
    async def stop(self) -> None:
        """Stop everything within task.shutdown.graceful.timeout.ms and leave nothing behind."""

    @abc.abstractmethod
    async def info(self) -> ServerInfo: ...

    @abc.abstractmethod
    async def health(self) -> Health: ...

    def doing(self) -> str | None:
        """What the worker is busy with, as a sentence for a request that took too long.

        `The worker is currently …, which began at ….`, or what it did last; None if unknown.
        """
        return None

    # -- connectors -----------------------------------------------------------------------

    @abc.abstractmethod
    async def connectors(self) -> list[str]: ...

    @abc.abstractmethod
    async def connector(self, name: str) -> ConnectorInfo: ...

    @abc.abstractmethod
    async def stored_config(self, name: str) -> dict[str, str]:
        """The config as it is stored, secrets and all: to work with, never to be shown."""

    @abc.abstractmethod
    async def create(
        self, name: str, config: Mapping[str, str | None], state: TargetState | None = None
    ) -> ConnectorInfo:
        """Validate and start a new connector. Nothing is created when it fails."""

    @abc.abstractmethod
    async def put_config(
        self, name: str, config: Mapping[str, str | None]
    ) -> tuple[bool, ConnectorInfo]:
        """Create or replace; True when it was created."""

    @abc.abstractmethod
    async def patch_config(self, name: str, patch: Mapping[str, str | None]) -> ConnectorInfo:
        """Set the keys given, remove those that are None, then as put_config."""

    @abc.abstractmethod
    async def delete(self, name: str) -> None: ...

    @abc.abstractmethod
    async def status(self, name: str) -> ConnectorStatus: ...

    @abc.abstractmethod
    async def task_configs(self, name: str) -> dict[TaskId, dict[str, str]]: ...

    @abc.abstractmethod
    async def task_status(self, task: TaskId) -> Status: ...

    @abc.abstractmethod
    async def set_target_state(self, name: str, state: TargetState) -> None:
        """Pause, resume or stop. Idempotent."""

    @abc.abstractmethod
    async def restart(
        self, name: str, *, include_tasks: bool, only_failed: bool
    ) -> ConnectorStatus | None:
        """Restart the connector instance, its tasks, or what has failed.

        None when only the instance was to be restarted (it has been, when this returns);
        otherwise the status with what is about to restart shown as RESTARTING.
        """

    @abc.abstractmethod
    async def restart_task(self, task: TaskId) -> None: ...

    @abc.abstractmethod
    async def topics(self, name: str) -> list[str]:
        """The topics the connector has used since it was created or they were reset."""

    @abc.abstractmethod
    async def reset_topics(self, name: str) -> None: ...

    # -- between workers --------------------------------------------------------------------

    async def put_task_configs(
        self,
        name: str,  # noqa: ARG002
        configs: Sequence[Mapping[str, str]],  # noqa: ARG002
        signed: Signed,  # noqa: ARG002
    ) -> None:
        """To the leader, from the worker that runs the connector: which tasks there are to be."""
        raise UnsupportedError("Tasks are set from outside in a cluster only")

    async def fence_zombies(self, name: str, signed: Signed) -> None:  # noqa: ARG002
        """To the leader: let no task of an earlier generation write any more."""
        raise UnsupportedError("There is nobody to fence outside of a cluster")

    async def vouch(self, what: bytes) -> str | None:  # noqa: ARG002
        """This worker's signature, which the others of its cluster know; None without a cluster."""
        return None

    async def vouched(self, what: bytes, signature: str) -> bool:  # noqa: ARG002
        """Whether a worker of this cluster has signed it."""
        return False

    # -- offsets --------------------------------------------------------------------------

    @abc.abstractmethod
    async def offsets(self, name: str) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
        """(partition, offset) pairs in the REST API's shapes."""

    @abc.abstractmethod
    async def alter_offsets(
        self,
        name: str,
        offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]],
    ) -> str:
        """Change offsets of a stopped connector; the sentence that says what was done."""

    @abc.abstractmethod
    async def reset_offsets(self, name: str) -> str: ...

    # -- plugins --------------------------------------------------------------------------

    @abc.abstractmethod
    async def plugins(self, *, connectors_only: bool) -> list[dict[str, Any]]: ...

    @abc.abstractmethod
    async def plugin_config(self, name: str, version: str | None = None) -> list[dict[str, Any]]:
        """The declared keys of a plugin, in the shape of GET /connector-plugins/{p}/config."""

    @abc.abstractmethod
    async def validate(self, config: Mapping[str, str | None]) -> dict[str, Any]:
        """The answer of PUT /connector-plugins/{p}/config/validate."""

    @abc.abstractmethod
    async def transform(
        self, config: Mapping[str, str | None], samples: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """What a config's converters and transforms make of samples, see connect.pipeline.trace."""

    # -- loggers --------------------------------------------------------------------------

    @abc.abstractmethod
    async def loggers(self) -> dict[str, dict[str, Any]]: ...

    @abc.abstractmethod
    async def logger(self, name: str) -> dict[str, Any]: ...

    @abc.abstractmethod
    async def set_log_level(self, name: str, level: str, *, scope: str) -> list[str] | None:
        """The loggers changed on this worker; None when the whole cluster was told."""

    # -- metrics --------------------------------------------------------------------------

    @abc.abstractmethod
    async def metrics(self) -> str:
        """Everything measured, in the Prometheus text format."""
