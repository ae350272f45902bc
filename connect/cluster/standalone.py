"""The standalone herder: one worker, connectors in memory, offsets in a file."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from connect.cluster import requests
from connect.cluster.auto_restart import AutoRestarts
from connect.cluster.herder import (
    BadRequestError,
    ConnectorInfo,
    ConnectorStatus,
    ConnectorType,
    ForbiddenError,
    Health,
    Herder,
    ServerInfo,
    State,
    Status,
    TargetState,
    TaskId,
)
from connect.cluster.loggers import Loggers, check_level
from connect.cluster.restarts import plan_restart
from connect.config.masking import mask
from connect.config.worker import WorkerConfig
from connect.errors import AlreadyExistsError, ConnectError, NotFoundError
from connect.plugins import CONNECTOR_TYPES, Plugins
from connect.runtime.offset_file import OffsetFile
from connect.runtime.spec import ConnectorSpec, Kind, Request, TaskSpec
from connect.runtime.worker import Worker

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Connector:
    """A connector and everything known of it."""

    name: str
    config: dict[str, str]
    kind: Kind
    secrets: frozenset[str]  # the keys whose values are never shown
    target: TargetState
    instance: Status
    task_configs: list[dict[str, str]] = field(default_factory=list)
    tasks: dict[int, Status] = field(default_factory=dict)
    topics: set[str] = field(default_factory=set)
    # Operations on one connector go one after the other; others are not held up.
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class StandaloneHerder(Herder):
    """Runs connectors on this worker alone."""

    def __init__(self, config: WorkerConfig, worker_id: str) -> None:
        self._worker_config = config
        self._config = dict(config.raw)
        self._worker_id = worker_id
        self._plugins = Plugins.of_worker(config.raw)
        self._worker = Worker(self._config, self)
        self._offsets = OffsetFile(config["offset.storage.file.filename"])
        self._loggers = Loggers()
        self._restarts = AutoRestarts()
        self._connectors: dict[str, _Connector] = {}
        self._cluster_id = ""
        self._ready = False
        self._background: set[asyncio.Task[None]] = set()

    # -- the worker -------------------------------------------------------------------------

    async def start(self) -> None:
        self._cluster_id = await asyncio.to_thread(requests.cluster_id, self._config)
        self._ready = True

    async def stop(self) -> None:
        self._ready = False
        self._restarts.forget_all()
        await self._worker.stop(self._grace)

    @property
    def _grace(self) -> float:
        milliseconds: int = self._worker_config["task.shutdown.graceful.timeout.ms"]
        return milliseconds / 1000

    async def info(self) -> ServerInfo:
        return requests.server_info(self._cluster_id)

    async def health(self) -> Health:
        if self._ready:
            return Health(
                "healthy", "Worker has completed startup and is ready to handle requests."
            )
        return Health("starting", "Worker is still starting up.")

    # -- connectors -------------------------------------------------------------------------

    async def connectors(self) -> list[str]:
        return list(self._connectors)

    async def connector(self, name: str) -> ConnectorInfo:
        return self._info(self._get(name))

    async def stored_config(self, name: str) -> dict[str, str]:
        return dict(self._get(name).config)

    async def create(
        self, name: str, config: Mapping[str, str | None], state: TargetState | None = None
    ) -> ConnectorInfo:
        if name in self._connectors:
            raise AlreadyExistsError(f"Connector {name} already exists")
        checked = await self._checked(requests.meant(config, {}))
        if name in self._connectors:  # somebody else was quicker
            raise AlreadyExistsError(f"Connector {name} already exists")
        connector = _Connector(
            name,
            checked.config,
            checked.kind,
            checked.secrets,
            state or TargetState.STARTED,
            Status(State.UNASSIGNED, self._worker_id),
        )
        self._connectors[name] = connector
        async with connector.lock:
            await self._begin(connector)
        return self._info(connector)

    async def put_config(
        self, name: str, config: Mapping[str, str | None]
    ) -> tuple[bool, ConnectorInfo]:
        known = self._connectors.get(name)
        if known is None:
            return True, await self.create(name, config)
        checked = await self._checked(requests.meant(config, known.config))
        async with known.lock:
            self._get(name)
            if checked.config == known.config:
                # Tools that write on every reconcile must not stop what runs well.
                if known.target is TargetState.STARTED:
                    await self._start_instance(known)
                return False, self._info(known)
            known.config, known.kind, known.secrets = checked
            await self._end(known)
            await self._begin(known)
        return False, self._info(known)

    async def patch_config(self, name: str, patch: Mapping[str, str | None]) -> ConnectorInfo:
        current = dict(self._get(name).config)
        for key, value in requests.meant(patch, current).items():
            if value is None:
                current.pop(key, None)
            else:
                current[key] = value
        _, info = await self.put_config(name, current)
        return info

    async def delete(self, name: str) -> None:
        connector = self._get(name)
        async with connector.lock:
            self._get(name)
            del self._connectors[name]
            await self._end(connector)

    async def status(self, name: str) -> ConnectorStatus:
        connector = self._connectors.get(name)
        if connector is None:
            raise NotFoundError(f"No status found for connector {name}")
        return self._status(connector)

    async def task_configs(self, name: str) -> dict[TaskId, dict[str, str]]:
        connector = self._get(name)
        return {
            TaskId(name, n): mask(c, connector.secrets)
            for n, c in enumerate(connector.task_configs)
        }

    async def task_status(self, task: TaskId) -> Status:
        connector = self._connectors.get(task.connector)
        found = connector.tasks.get(task.task) if connector is not None else None
        if found is None:
            raise NotFoundError(f"No status found for task {task}")
        return found

    async def set_target_state(self, name: str, state: TargetState) -> None:
        connector = self._connectors.get(name)
        if connector is None:
            raise NotFoundError(f"Unknown connector {name}")
        async with connector.lock:
            before, connector.target = connector.target, state
            if before == state:
                return
            if state is TargetState.STOPPED:
                await self._end(connector)
                connector.instance = self._idle(connector, State.STOPPED)
            elif state is TargetState.PAUSED:
                await self._pause(connector, before)
            else:
                await self._resume(connector)

    async def restart(
        self, name: str, *, include_tasks: bool, only_failed: bool
    ) -> ConnectorStatus | None:
        connector = self._connectors.get(name)
        if connector is None:
            raise NotFoundError(f"Unknown connector: {name}")
        if not include_tasks and not only_failed:
            async with connector.lock:
                await self._restart_instance(connector)
            return None
        plan = plan_restart(
            self._status(connector), include_tasks=include_tasks, only_failed=only_failed
        )
        if plan.connector:
            connector.instance = plan.status.connector
        for n in plan.tasks:
            connector.tasks[n] = plan.status.tasks[n]
        self._later(self._carry_out(connector, instance=plan.connector, tasks=plan.tasks))
        return plan.status

    async def restart_task(self, task: TaskId) -> None:
        connector = self._connectors.get(task.connector)
        if connector is None:
            raise NotFoundError(f"Unknown connector: {task.connector}")
        if task.task >= len(connector.task_configs):
            raise NotFoundError(f"Unknown task: {task}")
        async with connector.lock:
            self._restarts.forget(task)
            await self._restart_tasks(connector, [task.task])

    async def topics(self, name: str) -> list[str]:
        if not self._flag("topic.tracking.enable"):
            raise ForbiddenError("Topic tracking is disabled.")
        connector = self._connectors.get(name)
        return sorted(connector.topics) if connector is not None else []

    async def reset_topics(self, name: str) -> None:
        if not self._flag("topic.tracking.enable"):
            raise ForbiddenError("Topic tracking is disabled.")
        if not self._flag("topic.tracking.allow.reset"):
            raise ForbiddenError("Topic tracking reset is disabled.")
        if connector := self._connectors.get(name):
            connector.topics.clear()

    # -- starting and stopping --------------------------------------------------------------

    async def _begin(self, connector: _Connector) -> None:
        if connector.target is TargetState.STARTED:
            await self._start_instance(connector)
        elif connector.target is TargetState.PAUSED:
            connector.instance = self._idle(connector, State.PAUSED)
        else:
            connector.instance = self._idle(connector, State.STOPPED)

    async def _start_instance(self, connector: _Connector) -> None:
        await self._worker.start_connector(self._spec(connector))

    async def _end(self, connector: _Connector) -> None:
        self._restarts.forget(connector.name, *self._task_ids(connector))
        await self._worker.stop_connector(connector.name)
        await self._stop_tasks(connector)
        connector.task_configs = []
        connector.tasks = {}

    def _task_ids(self, connector: _Connector) -> list[TaskId]:
        return [TaskId(connector.name, n) for n in range(len(connector.task_configs))]

    async def _stop_tasks(self, connector: _Connector) -> None:
        keys = [(connector.name, n) for n in range(len(connector.task_configs))]
        await self._worker.stop_tasks(keys, self._grace)

    async def _start_tasks(self, connector: _Connector, tasks: Sequence[int]) -> None:
        for n in tasks:
            connector.tasks[n] = self._at(State.UNASSIGNED)
            await self._worker.start_task(
                TaskSpec(
                    connector.name,
                    n,
                    connector.kind,
                    connector.config,
                    connector.task_configs[n],
                    self._config,
                    self._plugins,
                    paused=connector.target is TargetState.PAUSED,
                )
            )

    async def _pause(self, connector: _Connector, before: TargetState) -> None:
        await self._worker.stop_connector(connector.name)
        connector.instance = self._idle(connector, State.PAUSED)
        if before is TargetState.STARTED:
            for n in range(len(connector.task_configs)):
                self._worker.pause_task(connector.name, n)

    async def _resume(self, connector: _Connector) -> None:
        for n in range(len(connector.task_configs)):
            self._worker.resume_task(connector.name, n)
        await self._start_instance(connector)

    async def _restart_instance(self, connector: _Connector) -> None:
        if connector.target is TargetState.STARTED:
            await self._start_instance(connector)
        if connector.instance.state is State.FAILED:
            raise ConnectError(f"Failed to start connector: {connector.name}")

    async def _restart_tasks(self, connector: _Connector, tasks: Sequence[int]) -> None:
        await self._worker.stop_tasks([(connector.name, n) for n in tasks], self._grace)
        await self._start_tasks(connector, tasks)

    async def _carry_out(
        self, connector: _Connector, *, instance: bool, tasks: Sequence[int]
    ) -> None:
        async with connector.lock:
            if self._connectors.get(connector.name) is not connector:
                return
            if tasks:
                await self._restart_tasks(connector, tasks)
            if instance and connector.target is TargetState.STARTED:
                await self._start_instance(connector)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # -- what the children tell (WorkerListener) --------------------------------------------

    def connector_started(self, name: str, version: str | None) -> None:
        if connector := self._connectors.get(name):
            connector.instance = replace(self._at(State.RUNNING), version=version)

    def connector_failed(self, name: str, trace: str) -> None:
        if connector := self._connectors.get(name):
            connector.instance = self._at(State.FAILED, trace)
            again = partial(self._carry_out, connector, instance=True, tasks=[])
            self._restarts.failed(name, connector.config, again)

    def connector_task_configs(self, name: str, configs: list[dict[str, str]]) -> None:
        connector = self._connectors.get(name)
        if connector is not None:
            self._later(self._apply_task_configs(connector, configs))

    async def _apply_task_configs(
        self, connector: _Connector, configs: list[dict[str, str]]
    ) -> None:
        async with connector.lock:
            if self._connectors.get(connector.name) is not connector:
                return
            if connector.target is TargetState.STOPPED or configs == connector.task_configs:
                return  # an unchanged task is never stopped
            await self._stop_tasks(connector)
            connector.task_configs = configs
            connector.tasks = {}
            await self._start_tasks(connector, range(len(configs)))

    def task_started(self, name: str, task: int, version: str | None, *, paused: bool) -> None:
        state = State.PAUSED if paused else State.RUNNING
        self._set_task(name, task, replace(self._at(state), version=version))

    def task_paused(self, name: str, task: int) -> None:
        self._set_task(name, task, self._at(State.PAUSED))

    def task_resumed(self, name: str, task: int) -> None:
        self._set_task(name, task, self._at(State.RUNNING))

    def task_failed(self, name: str, task: int, trace: str) -> None:
        self._set_task(name, task, self._at(State.FAILED, trace))
        if connector := self._connectors.get(name):
            again = partial(self._carry_out, connector, instance=False, tasks=[task])
            self._restarts.failed(TaskId(name, task), connector.config, again)

    def topics_used(self, name: str, task: int, topics: tuple[str, ...]) -> None:  # noqa: ARG002
        if self._flag("topic.tracking.enable") and (connector := self._connectors.get(name)):
            connector.topics.update(topics)

    async def answer(self, request: Request) -> Any:
        if request.method == "read_offsets":
            name, _, partitions = request.args
            return self._offsets.read(name, partitions)
        if request.method == "write_offsets":
            name, _, offsets = request.args
            return await asyncio.to_thread(self._offsets.write, name, offsets)
        raise ConnectError(f"A task asked for '{request.method}', which no worker answers")

    def _set_task(self, name: str, task: int, status: Status) -> None:
        connector = self._connectors.get(name)
        if connector is not None and task in connector.tasks:
            version = status.version or connector.tasks[task].version
            connector.tasks[task] = replace(status, version=version)

    # -- offsets ----------------------------------------------------------------------------

    async def offsets(self, name: str) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
        connector = self._get(name)
        if connector.kind is Kind.SINK:
            return await asyncio.to_thread(requests.sink_offsets, self._spec(connector))
        return [(p, o) for p, o in self._offsets.all(name)]

    async def alter_offsets(
        self,
        name: str,
        offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]],
    ) -> str:
        connector = self._stopped(name)
        if not offsets:
            raise BadRequestError(
                "Partitions / offsets need to be provided for an alter offsets request"
            )
        async with connector.lock:
            return await requests.alter_offsets(
                self._worker, self._spec(connector), offsets, self._write_offsets
            )

    async def reset_offsets(self, name: str) -> str:
        connector = self._stopped(name)
        async with connector.lock:
            known = [(p, None) for p, _ in self._offsets.all(name)]
            return await requests.reset_offsets(
                self._worker, self._spec(connector), known, self._write_offsets
            )

    async def _write_offsets(
        self, name: str, offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
    ) -> None:
        await asyncio.to_thread(self._offsets.write, name, offsets)

    def _spec(self, connector: _Connector) -> ConnectorSpec:
        return ConnectorSpec(
            connector.name, connector.kind, connector.config, self._config, self._plugins
        )

    def _stopped(self, name: str) -> _Connector:
        connector = self._get(name)
        if connector.target is not TargetState.STOPPED or connector.task_configs:
            raise BadRequestError(requests.NOT_STOPPED.format(name=name))
        return connector

    # -- plugins, loggers, metrics ----------------------------------------------------------

    async def plugins(self, *, connectors_only: bool) -> list[dict[str, Any]]:
        return await requests.list_plugins(self._plugins, connectors_only=connectors_only)

    async def plugin_config(self, name: str, version: str | None = None) -> list[dict[str, Any]]:
        return await requests.plugin_config(self._worker, self._plugins, name, version)

    async def validate(self, config: Mapping[str, str | None]) -> dict[str, Any]:
        known = self._connectors.get(config.get("name") or "")
        props = requests.meant(config, known.config if known is not None else {})
        return await requests.validate(self._worker, self._plugins, self._worker_config, props)

    async def transform(
        self, config: Mapping[str, str | None], samples: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        known = self._connectors.get(config.get("name") or "")
        props = requests.meant(config, known.config if known is not None else {})
        return await requests.transform(
            self._worker, self._plugins, self._worker_config, props, samples
        )

    async def _checked(self, config: Mapping[str, str | None]) -> requests.Checked:
        return await requests.checked(self._worker, self._plugins, self._worker_config, config)

    async def loggers(self) -> dict[str, dict[str, Any]]:
        return self._loggers.all()

    async def logger(self, name: str) -> dict[str, Any]:
        return self._loggers.one(name)

    async def set_log_level(self, name: str, level: str, *, scope: str) -> list[str] | None:
        check_level(name, level, self._connectors)
        changed = self._loggers.set(name, level)
        self._worker.set_log_level(name, level)
        return None if scope == "cluster" else changed

    async def metrics(self) -> str:
        from connect.cluster import metrics  # noqa: PLC0415 - loads Prometheus's client

        return metrics.render_metrics(
            [self._status(c) for c in self._connectors.values()],
            self._worker.metrics,
            self._worker.starts,
            configs={
                c.name: metrics.running_config(self._config, c.config, c.task_configs)
                for c in self._connectors.values()
            },
        )

    # -- small things -----------------------------------------------------------------------

    def _get(self, name: str) -> _Connector:
        try:
            return self._connectors[name]
        except KeyError:
            raise NotFoundError(f"Connector {name} not found") from None

    def _info(self, connector: _Connector) -> ConnectorInfo:
        return ConnectorInfo(
            connector.name,
            mask(connector.config, connector.secrets),
            self._task_ids(connector),
            ConnectorType(connector.kind),
        )

    def _status(self, connector: _Connector) -> ConnectorStatus:
        return ConnectorStatus(
            connector.name,
            self._with_restarts(connector.instance, connector.name),
            {
                n: self._with_restarts(status, TaskId(connector.name, n))
                for n, status in sorted(connector.tasks.items())
            },
            ConnectorType(connector.kind),
        )

    def _with_restarts(self, status: Status, what: str | TaskId) -> Status:
        told = self._restarts.shown(what)
        return replace(status, extra=told) if told else status

    def _at(self, state: State, trace: str | None = None) -> Status:
        return Status(state, self._worker_id, trace)

    def _idle(self, connector: _Connector, state: State) -> Status:
        """The status of an instance that does not run; its version is shown all the same."""
        version = connector.instance.version
        if version is None:
            with contextlib.suppress(ConnectError):
                name = connector.config["connector.class"].strip()
                wanted = connector.config.get("connector.plugin.version")
                version = self._plugins.find(CONNECTOR_TYPES, name, wanted).version
        return replace(self._at(state), version=version)

    def _flag(self, key: str) -> bool:
        return bool(self._worker_config[key])
