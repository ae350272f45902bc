"""What runs on one worker of a cluster: its share of the work, started, changed and given up."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from connect.cluster.assignment import NO_WORK, Work
from connect.cluster.auto_restart import AutoRestarts
from connect.cluster.config_log import ClusterConfig
from connect.cluster.herder import State, Status, TargetState, TaskId
from connect.cluster.status_log import StatusLog, Subject
from connect.config.worker import WorkerConfig
from connect.errors import ConnectError
from connect.plugins import CONNECTOR_TYPES, Plugins, PluginType
from connect.runtime.spec import ConnectorSpec, Kind, Request, TaskSpec, Transactions
from connect.runtime.worker import Worker
from connect.traces import format_trace

log = logging.getLogger(__name__)

# Fencing is tried again after these, because the leader may have changed or be busy.
FENCE_RETRY_SECONDS = (0.25, 1.0, 4.0)


@dataclass(frozen=True, slots=True)
class _TaskConfig:
    """What a task runs by. When it changes, the task has to be restarted."""

    connector: Mapping[str, str]
    task: Mapping[str, str]


def task_config(config: ClusterConfig, task: TaskId) -> _TaskConfig | None:
    """What a task is to run by now; None when there is no such task any more."""
    configs = config.task_configs(task.connector)
    if task.connector not in config.connectors or task.task >= len(configs):
        return None
    return _TaskConfig(config.applied[task.connector], configs[task.task])


@dataclass(frozen=True, slots=True)
class _InstanceConfig:
    """What a connector instance runs by. When it changes, the instance has to be restarted.

    So it has to be for another incarnation of the same: its tasks may have been dropped meanwhile,
    and nobody but a new instance names them again.
    """

    properties: Mapping[str, str]
    target: TargetState
    incarnation: int


def _instance_config(config: ClusterConfig, name: str) -> _InstanceConfig | None:
    """What an instance is to run by now; None when there is no such connector any more."""
    if name not in config.connectors:
        return None
    return _InstanceConfig(config.connectors[name], config.target(name), config.incarnations[name])


class Workload:
    """Starts and stops this worker's connectors and tasks so that they are what they should be.

    Lives on the event loop. `owned` is what the group gave to this worker; what of it runs, and by
    which config, is seen to by `stop_changed`, `give_up` and `run`.
    """

    def __init__(
        self,
        config: WorkerConfig,
        worker_id: str,
        *,
        plugins: Plugins,
        statuses: StatusLog,
        snapshot: Callable[[], ClusterConfig],
        on_task_configs: Callable[[str, Mapping[str, str], list[dict[str, str]]], None],
        answer: Callable[[Request], Awaitable[Any]],
        fence: Callable[[str], Awaitable[None]],
    ) -> None:
        self._config = config
        self._worker_id = worker_id
        self._plugins = plugins
        self._statuses = statuses
        self._snapshot = snapshot
        self._on_task_configs = on_task_configs
        self._answer = answer
        self._fence = fence
        # Connectors whose zombies are being fenced, and the tasks, as they were committed, for
        # which it failed: for others it is tried anew.
        self._fencing: set[str] = set()
        self._not_fenced: dict[str, Sequence[Mapping[str, str]]] = {}
        self.worker = Worker(config.raw, self)
        self.owned = NO_WORK
        self.generation = -1
        self._tasks: dict[TaskId, _TaskConfig] = {}
        # Stopped because their config changed. They start when all workers have met again, so that
        # no task by the old config is left anywhere.
        self._held: set[TaskId] = set()
        self._instances: dict[str, _InstanceConfig] = {}
        self._targets: dict[str, TargetState] = {}
        self._versions: dict[Subject, str | None] = {}
        # By class and version. Asked for with every status, and the same for a worker's life.
        self._kinds: dict[tuple[str, str | None], Kind] = {}
        self._restarts = AutoRestarts()
        # Starting and stopping of tasks go one after the other; instances by connector.
        self._busy = asyncio.Lock()
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._background: set[asyncio.Task[None]] = set()

    @property
    def grace(self) -> float:
        milliseconds: int = self._config["task.shutdown.graceful.timeout.ms"]
        return milliseconds / 1000

    # -- giving up --------------------------------------------------------------------------

    async def stop_changed(self, config: ClusterConfig) -> bool:
        """Stop tasks that are gone or have another config. True: some wait for the next round."""
        async with self._busy:
            stale = [t for t, runs_by in self._tasks.items() if task_config(config, t) != runs_by]
            changed = {t for t in stale if task_config(config, t) is not None}
            self._held |= changed
            await self._stop_tasks(stale)
            return bool(changed)

    async def take(self, assigned: Work, revoked: Work) -> None:
        """The outcome of a round. Returns when everything that was revoked has stopped."""
        self._held.clear()
        self.owned |= assigned
        await self.give_up(revoked)

    async def give_up(self, work: Work) -> None:
        self.owned -= work
        async with self._busy:
            gone = [t for t in self._tasks if t not in self.owned.tasks]
            instances = [n for n in self._instances if n not in self.owned.connectors]
            await asyncio.gather(
                self._stop_tasks(gone), *(self._stop_instance(name) for name in instances)
            )
        self._held &= self.owned.tasks

    async def stop(self) -> None:
        """Stop everything, within task.shutdown.graceful.timeout.ms."""
        self._restarts.forget_all()
        await self.give_up(self.owned)
        await self.worker.stop(self.grace)

    async def _stop_tasks(self, tasks: Iterable[TaskId]) -> None:
        stopping = [t for t in tasks if t in self._tasks]
        for task in stopping:
            del self._tasks[task]
        self._restarts.forget(*stopping)
        await self.worker.stop_tasks([(t.connector, t.task) for t in stopping], self.grace)
        for task in stopping:
            self._say(task, State.UNASSIGNED, safely=True)

    async def _stop_instance(self, name: str) -> None:
        self._instances.pop(name, None)
        self._restarts.forget(name)
        await self.worker.stop_connector(name)
        self._say(name, State.UNASSIGNED, safely=True)

    # -- running ----------------------------------------------------------------------------

    async def run(self, config: ClusterConfig) -> None:
        """Start what is to run and does not, and pause or resume what is to be so."""
        for name in self.owned.connectors | self._instances.keys():
            if self._instances.get(name) != _instance_config(config, name):
                self._later(self._drive_instance(name))
        async with self._busy:
            due = [
                task
                for task in sorted(self.owned.tasks - self._held - self._tasks.keys())
                if task_config(config, task) is not None and await self._is_fenced(config, task)
            ]
            await asyncio.gather(*(self._start_task(config, task) for task in due))
        self._apply_targets(config)

    async def _is_fenced(self, config: ClusterConfig, task: TaskId) -> bool:
        """Whether a task may start; if not yet, it does when the leader has fenced its zombies."""
        name = task.connector
        if not self._config.exactly_once_sources or name not in config.unfenced:
            self._not_fenced.pop(name, None)
            return True
        try:
            if await self.kind(config.connectors[name]) is Kind.SINK:
                return True
        except Exception:  # noqa: BLE001 - starting the task tells
            return True
        tasks = config.tasks[name]
        if name not in self._fencing and self._not_fenced.get(name) is not tasks:
            self._fencing.add(name)
            self._later(self._have_fenced(name, tasks))
        return False

    async def _have_fenced(self, name: str, tasks: Sequence[Mapping[str, str]]) -> None:
        for pause in (*FENCE_RETRY_SECONDS, None):
            try:
                await self._fence(name)
                break
            except Exception as error:  # noqa: BLE001 - the tasks' status tells
                log.warning(
                    "The tasks of %s can't start before zombies are fenced: %s", name, error
                )
                if pause is None:
                    self._not_fenced[name] = tasks
                    for task in self.owned.tasks:
                        if task.connector == name:
                            self._say(task, State.FAILED, format_trace(error), safely=True)
                else:
                    await asyncio.sleep(pause)
        self._fencing.discard(name)
        # That it is done is read from the config topic, and then the tasks start. If it is not
        # there yet, or newer tasks came meanwhile, it is asked for again.
        await asyncio.sleep(FENCE_RETRY_SECONDS[0])
        if name in self._snapshot().unfenced:
            await self.run(self._snapshot())

    def _apply_targets(self, config: ClusterConfig) -> None:
        for name in {task.connector for task in self._tasks}:
            target = config.target(name)
            if self._targets.get(name, target) is not target:
                tell = (
                    self.worker.pause_task
                    if target is TargetState.PAUSED
                    else self.worker.resume_task
                )
                for task in self._tasks:
                    if task.connector == name:
                        tell(name, task.task)
            self._targets[name] = target

    async def _drive_instance(self, name: str, *, again: bool = False) -> None:
        """Make a connector instance what it should be now, whatever has happened meanwhile."""
        async with self._locks[name]:
            wanted = _instance_config(self._snapshot(), name)
            if name not in self.owned.connectors or wanted is None:
                if self._instances.pop(name, None) is not None:
                    await self.worker.stop_connector(name)
                return
            if self._instances.get(name) == wanted and not again:
                return
            self._instances[name] = wanted
            self._restarts.forget(*([] if again else [name]))
            if wanted.target is TargetState.STARTED:
                await self._start_instance(name, wanted.properties)
            else:
                await self.worker.stop_connector(name)
                self._say(name, State(wanted.target.value))

    async def _start_instance(self, name: str, properties: Mapping[str, str]) -> None:
        try:
            spec = await self.spec(name, properties)
        except Exception as error:  # noqa: BLE001 - its status tells
            self.connector_failed(name, format_trace(error))
            return
        await self.worker.start_connector(spec)

    async def _start_task(self, config: ClusterConfig, task: TaskId) -> None:
        runs_by = task_config(config, task)
        assert runs_by is not None
        self._tasks[task] = runs_by
        target = config.target(task.connector)
        self._targets.setdefault(task.connector, target)
        try:
            kind = await self.kind(runs_by.connector)
            spec = TaskSpec(
                task.connector,
                task.task,
                kind,
                runs_by.connector,
                runs_by.task,
                dict(self._config.raw),
                self._plugins,
                paused=target is TargetState.PAUSED,
                transactions=self._transactions(kind, task),
            )
            await self.worker.start_task(spec)
        except Exception as error:  # noqa: BLE001 - its status tells
            self.task_failed(task.connector, task.task, format_trace(error))

    def _transactions(self, kind: Kind, task: TaskId) -> Transactions | None:
        if kind is Kind.SINK or not self._config.exactly_once_sources:
            return None
        return Transactions(f"{self._config.group_id}-{task}", self._config["offset.storage.topic"])

    def check_may_start(self, spec: TaskSpec) -> None:
        """Raise unless this task is still wanted here, as it is.

        Asked by an exactly-once task once it has fenced its predecessor: from then on it would
        itself be the one who writes beside the task that is wanted.
        """
        task = TaskId(spec.connector, spec.task)
        begun = f"Cannot start source task {task} with exactly-once support as "
        ours = self._tasks.get(task)
        if ours is None:
            raise ConnectError(begun + "it has already been revoked from this worker")
        wanted = task_config(self._snapshot(), task)
        if wanted != ours or (ours.connector, ours.task) != (
            spec.connector_config,
            spec.task_config,
        ):
            raise ConnectError(
                begun + "the connector has already generated a new set of task configs"
            )

    async def kind(self, properties: Mapping[str, str]) -> Kind:
        """Source or sink; NotFoundError when there is no such plugin here."""
        wanted = (properties["connector.class"].strip(), properties.get("connector.plugin.version"))
        if wanted not in self._kinds:
            found = await asyncio.to_thread(self._plugins.find, CONNECTOR_TYPES, *wanted)
            self._kinds[wanted] = Kind.SINK if found.type is PluginType.SINK else Kind.SOURCE
        return self._kinds[wanted]

    async def spec(self, name: str, properties: Mapping[str, str]) -> ConnectorSpec:
        kind = await self.kind(properties)
        return ConnectorSpec(name, kind, properties, dict(self._config.raw), self._plugins)

    # -- restarts ---------------------------------------------------------------------------

    async def restart_instance(self, name: str) -> None:
        self._restarts.forget(name)
        await self._drive_instance(name, again=True)

    async def restart_tasks(self, tasks: Iterable[TaskId]) -> None:
        """Restart those of the tasks that are this worker's."""
        mine = [t for t in tasks if t in self.owned.tasks]
        for task in mine:
            self._not_fenced.pop(task.connector, None)
        async with self._busy:
            stopping = [t for t in mine if t in self._tasks]
            for task in stopping:
                del self._tasks[task]
            self._restarts.forget(*stopping)
            await self.worker.stop_tasks([(t.connector, t.task) for t in stopping], self.grace)
        await self.run(self._snapshot())

    def restarting(self, *subjects: Subject) -> None:
        """Show what is about to restart."""
        for subject in subjects:
            self._say(subject, State.RESTARTING)

    async def _again(self, subject: Subject) -> None:
        """A restart that nobody asked for: the policy of the connector did."""
        if isinstance(subject, TaskId):
            async with self._busy:
                if self._tasks.pop(subject, None) is None:
                    return
                await self.worker.stop_tasks([(subject.connector, subject.task)], self.grace)
            await self.run(self._snapshot())
        else:
            await self._drive_instance(subject, again=True)

    # -- what the children tell (WorkerListener) --------------------------------------------

    def connector_started(self, name: str, version: str | None) -> None:
        if name in self.owned.connectors:
            self._versions[name] = version
            self._say(name, State.RUNNING)

    def connector_failed(self, name: str, trace: str) -> None:
        if name in self.owned.connectors:
            config = self._snapshot().connectors.get(name, {})
            self._restarts.failed(name, config, partial(self._again, name))
            self._say(name, State.FAILED, trace, safely=True)

    def connector_task_configs(self, name: str, configs: list[dict[str, str]]) -> None:
        if name in self.owned.connectors and (runs_by := self._instances.get(name)):
            self._on_task_configs(name, runs_by.properties, configs)

    def task_started(self, name: str, task: int, version: str | None, *, paused: bool) -> None:
        self._versions[TaskId(name, task)] = version
        self._say_task(name, task, State.PAUSED if paused else State.RUNNING)

    def task_paused(self, name: str, task: int) -> None:
        self._say_task(name, task, State.PAUSED)

    def task_resumed(self, name: str, task: int) -> None:
        self._say_task(name, task, State.RUNNING)

    def task_failed(self, name: str, task: int, trace: str) -> None:
        subject = TaskId(name, task)
        if runs_by := self._tasks.get(subject):
            self._restarts.failed(subject, runs_by.connector, partial(self._again, subject))
            self._say(subject, State.FAILED, trace, safely=True)

    def topics_used(self, name: str, task: int, topics: tuple[str, ...]) -> None:
        if self._config["topic.tracking.enable"] and TaskId(name, task) in self._tasks:
            for topic in topics:
                self._statuses.put_topic(name, task, topic)

    async def answer(self, request: Request) -> Any:
        return await self._answer(request)

    # -- statuses ---------------------------------------------------------------------------

    def _say_task(self, name: str, task: int, state: State) -> None:
        if TaskId(name, task) in self._tasks:
            self._say(TaskId(name, task), state)

    def _say(
        self, subject: Subject, state: State, trace: str | None = None, *, safely: bool = False
    ) -> None:
        name = subject.connector if isinstance(subject, TaskId) else subject
        if name not in self._snapshot().connectors:
            return  # deleted: the leader has removed its statuses, or will
        status = Status(state, self._worker_id, trace, self._versions.get(subject))
        status = replace(status, extra=self._restarts.shown(subject))
        put = self._statuses.put_safely if safely else self._statuses.put
        put(subject, status, self.generation)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
