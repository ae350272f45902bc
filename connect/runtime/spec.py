"""What a task is made from, and what its process and the worker tell each other."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from connect.plugins import Plugins, PluginType


class Kind(enum.StrEnum):
    SOURCE = "source"
    SINK = "sink"

    @property
    def plugin_type(self) -> PluginType:
        return PluginType(self.value)


@dataclass(frozen=True, slots=True)
class Transactions:
    """How an exactly-once source task writes: records and their offsets in one transaction."""

    id: str
    offsets_topic: str


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One task. Configs are as written: `${provider:…}` is resolved where the task runs."""

    connector: str
    task: int
    kind: Kind
    connector_config: Mapping[str, str] = field(repr=False)
    task_config: Mapping[str, str] = field(repr=False)
    worker_config: Mapping[str, str] = field(repr=False)
    plugins: Plugins = field(repr=False)
    paused: bool = False
    transactions: Transactions | None = None
    log_levels: tuple[tuple[str, str], ...] = ()  # set at run time

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"


@dataclass(frozen=True, slots=True)
class ConnectorSpec:
    """One connector instance: it says which tasks there are to be."""

    connector: str
    kind: Kind
    config: Mapping[str, str] = field(repr=False)
    worker_config: Mapping[str, str] = field(repr=False)
    plugins: Plugins = field(repr=False)
    log_levels: tuple[tuple[str, str], ...] = ()  # set at run time

    def __str__(self) -> str:
        return self.connector


@dataclass(frozen=True, slots=True)
class ThreadHostSpec:
    """The process in which tasks with task.isolation=thread live together."""

    worker_config: Mapping[str, str] = field(repr=False)

    def __str__(self) -> str:
        return "thread-host"


# ---- from the worker to the task's process ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pause:
    pass


@dataclass(frozen=True, slots=True)
class Resume:
    pass


@dataclass(frozen=True, slots=True)
class Stop:
    pass


@dataclass(frozen=True, slots=True)
class SetLogLevel:
    logger: str
    level: str


@dataclass(frozen=True, slots=True)
class WantTaskConfigs:
    """To a connector: say again which tasks there are to be."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a Request: its result or its error."""

    id: int
    result: Any = None
    error: Exception | None = None


# ---- from the task's process to the worker ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class Started:
    """The task runs (or is paused, if it was to begin so)."""

    paused: bool
    version: str | None


@dataclass(frozen=True, slots=True)
class TaskConfigs:
    """From a connector. `last` when its process ends now because it has nothing to watch."""

    configs: tuple[Mapping[str, str], ...] = field(repr=False)
    last: bool


@dataclass(frozen=True, slots=True)
class Reconfigure:
    """From a connector: its tasks want to be cut anew."""


@dataclass(frozen=True, slots=True)
class Paused:
    pass


@dataclass(frozen=True, slots=True)
class Resumed:
    pass


@dataclass(frozen=True, slots=True)
class Failed:
    trace: str


@dataclass(frozen=True, slots=True)
class TopicsUsed:
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Member:
    """The consumer of a sink task joins its group under this id."""

    group: str
    id: str


@dataclass(frozen=True, slots=True)
class Left:
    """It has left its group."""


@dataclass(frozen=True, slots=True)
class Metrics:
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Request:
    """A question that the worker answers with a Reply: offsets to read or to store."""

    id: int
    method: str
    args: tuple[Any, ...]
