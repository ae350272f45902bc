"""What both harnesses share: a connector checked and started the way a worker does it."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import Generic, Self, TypeVar

from connect.config.configdef import Config
from connect.errors import ConfigError, ConnectError
from connect.plugin import Connector, Task

T = TypeVar("T", bound=Task)
V = TypeVar("V")

# Between two looks at what is waited for.
_PAUSE_SECONDS = 0.05


class Deadline:
    """A point in time after which waiting is a failure that says what was waited for."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def passed(self) -> bool:
        return time.monotonic() >= self._end

    def check(self, waiting_for: str) -> None:
        if self.passed:
            raise AssertionError(f"waited {self._seconds:g} s for {waiting_for}")


def wait_until(
    condition: Callable[[], V | None], waiting_for: Callable[[], str], seconds: float
) -> V:
    """Ask again and again until the answer is true, and return it."""
    deadline = Deadline(seconds)
    while not (answer := condition()):
        if deadline.passed:
            deadline.check(waiting_for())
        time.sleep(_PAUSE_SECONDS)
    return answer


class ConnectorContextInMemory:
    """A connector's context that remembers what was asked of it."""

    def __init__(self) -> None:
        self.reconfigurations = 0
        self.errors: list[Exception] = []

    def request_task_reconfiguration(self) -> None:
        self.reconfigurations += 1

    def raise_error(self, error: Exception) -> None:
        self.errors.append(error)


def checked_config(connector: type[Connector], props: Mapping[str, str]) -> Config:
    """The config as a worker would accept it, or ConfigError with everything that is wrong."""
    values = connector.config_def.validate(props)
    connector.validate(values)
    errors = [error for value in values.values() for error in value.errors]
    if errors:
        raise ConfigError("\n".join(errors))
    return connector.config_def.parse(props)


class RunningConnector(Generic[T]):
    """One task of a connector, from config to running task. `task` is None while it is down."""

    def __init__(
        self,
        connector_class: type[Connector],
        config: Mapping[str, str],
        *,
        tasks_max: int = 1,
        task: int = 0,
    ) -> None:
        self.connector_class = connector_class
        self.props = {
            "name": "test",
            "connector.class": connector_class.__name__,
            "tasks.max": str(tasks_max),
            **config,
        }
        self.tasks_max = tasks_max
        self.task_number = task
        self.connector: Connector | None = None
        self.connector_context = ConnectorContextInMemory()
        self.task: T | None = None

    def task_configs(self) -> list[dict[str, str]]:
        """Start the connector and cut the work, checked as a worker would."""
        config = checked_config(self.connector_class, self.props)
        connector = self.connector_class()
        connector.context = self.connector_context
        connector.config = config
        connector.start()
        self.connector = connector
        configs = connector.task_configs(self.tasks_max)
        if len(configs) > self.tasks_max:
            raise AssertionError(f"{len(configs)} task configs, but tasks.max is {self.tasks_max}")
        for key, value in (item for each in configs for item in each.items()):
            strings = isinstance(key, str) and isinstance(value, str)
            assert strings, f"task configs are strings, but there is {key!r}: {value!r}"
        return configs

    def crash(self) -> None:
        """Drop everything at once, as when the process is killed: nothing is asked to stop."""
        self.task = None
        self.connector = None
        # A killed process leaves no connection open, so neither may a task that is in a cycle.
        # Only what came since the start is looked at: everything is too much for each crash.
        gc.collect()
        gc.unfreeze()

    def stop(self) -> None:
        """Stop the task and the connector in good order. Does nothing when they are down."""
        task, connector = self.task, self.connector
        self.task = self.connector = None
        gc.unfreeze()
        try:
            if task is not None:
                self._leave(task)
        finally:
            if connector is not None:
                connector.stop()

    def _leave(self, task: T) -> None:
        task.stop()

    def _begin(self, task: T, config: Config) -> None:
        """Start a task; one that fails to is stopped, as a worker does."""
        self.task = task
        gc.freeze()
        try:
            task.start(config)
        except BaseException:
            self.task = None
            task.stop()
            self.stop()
            raise

    def _running(self) -> T:
        if self.task is None:
            raise ConnectError("the task is down: call start() first")
        return self.task

    def _own_config(self) -> Config:
        configs = self.task_configs()
        if self.task_number >= len(configs):
            raise AssertionError(f"there is no task {self.task_number}, only {len(configs)} tasks")
        return self.connector_class.config_def.parse(configs[self.task_number])

    def start(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
