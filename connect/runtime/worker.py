"""The worker: runs connector instances and tasks in child processes and reports their states."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from connect.errors import ConnectError
from connect.runtime.child import Child
from connect.runtime.connector_host import run_connector
from connect.runtime.groups import leave_group
from connect.runtime.host import run_task
from connect.runtime.isolated import call_isolated
from connect.runtime.levels import CONNECTOR, ROOT
from connect.runtime.measures import Starts
from connect.runtime.spec import (
    ConnectorSpec,
    Failed,
    Left,
    Member,
    Metrics,
    Pause,
    Paused,
    Reconfigure,
    Request,
    Resume,
    Resumed,
    SetLogLevel,
    Started,
    TaskConfigs,
    TaskSpec,
    ThreadHostSpec,
    TopicsUsed,
    WantTaskConfigs,
)
from connect.runtime.thread_host import ThreadHost, ThreadTask

log = logging.getLogger(__name__)

# A connector instance has this long to stop.
CONNECTOR_STOP_SECONDS = 5.0
LEAVE_SECONDS = 15.0


class WorkerListener(Protocol):
    """Who hears of what happens in the children. Called on the event loop."""

    def connector_started(self, name: str, version: str | None) -> None: ...

    def connector_failed(self, name: str, trace: str) -> None: ...

    def connector_task_configs(self, name: str, configs: list[dict[str, str]]) -> None: ...

    def task_started(self, name: str, task: int, version: str | None, *, paused: bool) -> None: ...

    def task_paused(self, name: str, task: int) -> None: ...

    def task_resumed(self, name: str, task: int) -> None: ...

    def task_failed(self, name: str, task: int, trace: str) -> None: ...

    def topics_used(self, name: str, task: int, topics: tuple[str, ...]) -> None: ...

    async def answer(self, request: Request) -> Any:
        """What a task asks: to read or store source offsets."""


@dataclass(slots=True)
class _Instance:
    child: Child
    spec: ConnectorSpec
    over: asyncio.Event = field(default_factory=asyncio.Event)  # said its say or failed


class Worker:
    """Starts and stops children. Knows nothing of why; herders decide."""

    def __init__(self, config: Mapping[str, str], listener: WorkerListener) -> None:
        self._listener = listener
        self._call_seconds = int(config.get("plugin.call.timeout.ms", 60_000)) / 1000
        self._instances: dict[str, _Instance] = {}
        self._threads = ThreadHost(ThreadHostSpec(config))
        self._tasks: dict[tuple[str, int], Child | ThreadTask] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._levels: dict[str, str] = {}  # log levels that were set at run time
        self.metrics: dict[tuple[str, int], Mapping[str, float]] = {}
        self.starts = Starts()

    async def call(self, function: Callable[..., Any], *args: Any, what: str) -> Any:
        """Run a function that runs plugin code, away from this process."""
        return await call_isolated(function, *args, seconds=self._call_seconds, what=what)

    # -- connectors -------------------------------------------------------------------------

    async def start_connector(self, spec: ConnectorSpec) -> None:
        """Start an instance; the listener hears how it went and which tasks there are."""
        await self.stop_connector(spec.connector)
        name = spec.connector
        spec = replace(spec, log_levels=self._levels_for(name))

        def on_message(message: Any) -> None:
            match message:
                case Started():
                    self.starts.succeeded("connector", child)
                    self._listener.connector_started(name, message.version)
                case TaskConfigs():
                    if message.last:
                        child.let_end()
                    instance.over.set()
                    self._listener.connector_task_configs(name, [dict(c) for c in message.configs])
                case Reconfigure():
                    child.tell(WantTaskConfigs())
                case Failed():
                    self.starts.failed("connector", child)
                    instance.over.set()
                    self._listener.connector_failed(name, message.trace)

        child = Child(run_connector, spec, on_message=on_message, answer=self._listener.answer)
        instance = self._instances[name] = _Instance(child, spec)
        self.starts.begin("connector", child)
        await child.start()
        try:
            await asyncio.wait_for(instance.over.wait(), self._call_seconds)
        except TimeoutError:
            await child.kill()
            self.starts.failed("connector", child)
            self._listener.connector_failed(
                name,
                f"The connector did not start and name its tasks within "
                f"plugin.call.timeout.ms ({self._call_seconds:.0f} s). "
                "Its start() or task_configs() blocks.\n",
            )

    async def stop_connector(self, name: str) -> None:
        instance = self._instances.pop(name, None)
        if instance is not None:
            instance.over.set()  # whoever waits for it to start need not any more
            await instance.child.stop(CONNECTOR_STOP_SECONDS)

    # -- tasks ------------------------------------------------------------------------------

    async def start_task(self, spec: TaskSpec) -> None:
        key = (spec.connector, spec.task)
        spec = replace(spec, log_levels=self._levels_for(spec.connector))

        def on_message(message: Any) -> None:
            if isinstance(message, Member | Left):
                child.member = message if isinstance(message, Member) else None
            if self._tasks.get(key) is not child:
                return  # a late word from a task that was replaced
            match message:
                case Started():
                    self.starts.succeeded("task", child)
                    self._listener.task_started(*key, message.version, paused=message.paused)
                case Paused():
                    self._listener.task_paused(*key)
                case Resumed():
                    self._listener.task_resumed(*key)
                case Failed():
                    self.starts.failed("task", child)
                    if child.over:
                        self._later(self._leave_for(child))
                    self._listener.task_failed(*key, message.trace)
                case TopicsUsed():
                    self._listener.topics_used(*key, message.topics)
                case Metrics():
                    self.metrics[key] = message.values

        child: Child | ThreadTask
        answer = self._listener.answer
        if _wants_thread(spec):
            child = ThreadTask(self._threads, spec, on_message=on_message, answer=answer)
        else:
            child = Child(run_task, spec, on_message=on_message, answer=answer)
        self._tasks[key] = child
        self.starts.begin("task", child)
        await child.start()

    async def stop_tasks(self, keys: list[tuple[str, int]], seconds: float) -> None:
        """Stop tasks side by side; those that don't in time are killed."""
        children = [self._tasks.pop(key) for key in keys if key in self._tasks]
        for key in keys:
            self.metrics.pop(key, None)
        await asyncio.gather(*(self._stop_task(child, seconds) for child in children))

    async def _stop_task(self, child: Child | ThreadTask, seconds: float) -> None:
        await child.stop(seconds)
        await self._leave_for(child)

    async def _leave_for(self, child: Child | ThreadTask) -> None:
        """Take the consumer of a task that could not leave by itself out of its group.

        Otherwise its partitions would stand still until the group's session timeout.
        """
        member, child.member = child.member, None
        if member is None or not isinstance(child, Child):
            return
        try:
            await call_isolated(
                leave_group,
                child.spec,
                member,
                seconds=LEAVE_SECONDS,
                what="Leaving the group",
            )
        except ConnectError as error:
            log.warning(
                "The partitions of %s stand still until its group's session timeout: %s",
                child.spec,
                error,
            )

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def pause_task(self, name: str, task: int) -> None:
        if child := self._tasks.get((name, task)):
            child.tell(Pause())

    def resume_task(self, name: str, task: int) -> None:
        if child := self._tasks.get((name, task)):
            child.tell(Resume())

    def set_log_level(self, logger: str, level: str) -> None:
        """Tell the children, and those that are started later."""
        self._levels.pop(logger, None)
        self._levels = {ROOT: level} if logger == ROOT else {**self._levels, logger: level}
        connector = logger.removeprefix(CONNECTOR)
        children = [i.child for i in self._instances.values()] + list(self._tasks.values())
        for child in children:
            if connector in (logger, child.spec.connector):
                child.tell(SetLogLevel(logger, level))

    def _levels_for(self, connector: str) -> tuple[tuple[str, str], ...]:
        return tuple(
            (name, level)
            for name, level in self._levels.items()
            if name == CONNECTOR + connector or not name.startswith(CONNECTOR)
        )

    def pid_of(self, name: str, task: int) -> int | None:
        child = self._tasks.get((name, task))
        return child.pid if child is not None else None

    async def stop(self, seconds: float) -> None:
        """Stop everything that runs here."""
        stops: list[Awaitable[None]] = [self.stop_connector(name) for name in list(self._instances)]
        await asyncio.gather(self.stop_tasks(list(self._tasks), seconds), *stops)
        await self._threads.stop(1.0)


def _wants_thread(spec: TaskSpec) -> bool:
    own = spec.connector_config.get("task.isolation")
    return (own or spec.worker_config.get("task.isolation", "process")).strip() == "thread"
