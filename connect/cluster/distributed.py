"""The distributed herder: one worker of a cluster.

What there is to run stands in the config topic, which every worker follows. The group's leader
divides it, and each worker runs its share. Any worker answers what is read from the topics; what
changes the cluster is done by the leader, to whom the REST API passes such requests on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from connect.cluster import requests
from connect.cluster.assignment import Work
from connect.cluster.config_log import (
    ClusterConfig,
    LevelRequest,
    RestartRequest,
)
from connect.cluster.herder import (
    BadRequestError,
    ConnectorInfo,
    ConnectorStatus,
    ForbiddenError,
    Health,
    Herder,
    ServerInfo,
    Status,
    TargetState,
    TaskId,
)
from connect.cluster.loggers import check_level
from connect.cluster.member import ClusterMember
from connect.cluster.peers import Peers
from connect.cluster.restarts import plan_restart
from connect.cluster.signing import Signed
from connect.config.configdef import ConfigType
from connect.config.masking import mask, secret_keys
from connect.config.worker import WorkerConfig
from connect.errors import AlreadyExistsError, ConnectError, NotFoundError
from connect.runtime.spec import ConnectorSpec, Kind


class _ChangedError(ConnectError):
    """Somebody else has changed a connector while a new config for it was looked at."""


class DistributedHerder(Herder):
    """One worker of a cluster, as the REST API sees it. `peers` are the others."""

    def __init__(self, config: WorkerConfig, worker_id: str, url: str, peers: Peers) -> None:
        self._config = config
        self._member = member = ClusterMember(config, worker_id, url, peers)
        self._configs, self._offsets, self._statuses = (
            member.configs,
            member.offsets,
            member.statuses,
        )
        self._workload, self._worker = member.workload, member.worker
        self._plugins, self._loggers = member.plugins, member.loggers
        self._declared: dict[tuple[str, str | None], dict[str, ConfigType]] = {}

    # -- the worker -----------------------------------------------------------------------------

    async def start(self) -> None:
        await self._member.start()

    async def stop(self) -> None:
        await self._member.stop()

    async def info(self) -> ServerInfo:
        return requests.server_info(self._member.cluster_id)

    async def health(self) -> Health:
        if self._member.out_of_touch:
            return Health(
                "unhealthy",
                "Worker was unable to handle this request and may be unable to handle other "
                "requests. No broker was heard of for longer than session.timeout.ms.",
            )
        if self._member.ready.is_set():
            return Health(
                "healthy", "Worker has completed startup and is ready to handle requests."
            )
        doing = self.doing()
        return Health("starting", "Worker is still starting up." + (f" {doing}" if doing else ""))

    def doing(self) -> str | None:
        return self._member.doing()

    # -- between workers ------------------------------------------------------------------------

    async def put_task_configs(
        self, name: str, configs: Sequence[Mapping[str, str]], signed: Signed
    ) -> None:
        self._member.trust.verify(signed)
        await self._member.must_lead()
        await self._member.put_tasks(name, configs)

    async def fence_zombies(self, name: str, signed: Signed) -> None:
        self._member.trust.verify(signed)
        await self._member.must_lead()
        await self._member.fence(name)

    async def vouch(self, what: bytes) -> str | None:
        return await self._member.trust.vouch(what)

    async def vouched(self, what: bytes, signature: str) -> bool:
        return await self._member.trust.vouched(what, signature)

    # -- connectors -----------------------------------------------------------------------------

    async def connectors(self) -> list[str]:
        return list((await self._known()).connectors)

    async def connector(self, name: str) -> ConnectorInfo:
        return await self._info(name, await self._get(name))

    async def stored_config(self, name: str) -> dict[str, str]:
        return dict(await self._get(name))

    async def create(
        self, name: str, config: Mapping[str, str | None], state: TargetState | None = None
    ) -> ConnectorInfo:
        def check(newest: ClusterConfig) -> None:
            if name in newest.connectors:
                raise AlreadyExistsError(f"Connector {name} already exists")

        await self._member.must_lead()
        check(self._configs.snapshot())
        checked = await self._checked(requests.meant(config, {}))
        await self._member.must_lead()
        put = self._configs.put_connector
        await self._member.write(put, name, checked.config, state, check=check)
        return await self._info(name, checked.config)

    async def put_config(
        self, name: str, config: Mapping[str, str | None]
    ) -> tuple[bool, ConnectorInfo]:
        await self._member.must_lead()
        stored = self._configs.snapshot().connectors.get(name)
        if stored is None:
            return True, await self.create(name, config)
        try:
            return False, await self._replace(name, stored, requests.meant(config, stored))
        except _ChangedError:
            return await self.put_config(name, config)

    async def patch_config(self, name: str, patch: Mapping[str, str | None]) -> ConnectorInfo:
        await self._member.must_lead()
        stored = self._member.get(name)
        patched = {**stored, **requests.meant(patch, stored)}
        config = {k: v for k, v in patched.items() if v is not None}
        try:
            return await self._replace(name, stored, config)
        except _ChangedError:
            return await self.patch_config(name, patch)

    async def _replace(
        self, name: str, stored: Mapping[str, str], config: Mapping[str, str | None]
    ) -> ConnectorInfo:
        def check(newest: ClusterConfig) -> None:
            if newest.connectors.get(name) is not stored:
                raise _ChangedError(f"Connector {name} was changed meanwhile")

        checked = await self._checked(config)
        await self._member.must_lead()
        # Tools that write on every reconcile must not stop what runs well.
        if checked.config != stored:
            put = self._configs.put_connector
            await self._member.write(put, name, checked.config, check=check)
        return await self._info(name, checked.config)

    async def delete(self, name: str) -> None:
        def check(newest: ClusterConfig) -> None:
            if name not in newest.connectors:
                raise NotFoundError(f"Connector {name} not found")

        await self._member.must_lead()
        await self._member.write(self._configs.remove_connector, name, check=check)

    async def status(self, name: str) -> ConnectorStatus:
        await self._known()
        return await self._member.status(name)

    async def task_configs(self, name: str) -> dict[TaskId, dict[str, str]]:
        secrets = await self._secrets(await self._get(name))
        configs = self._configs.snapshot().task_configs(name)
        return {TaskId(name, n): mask(c, secrets) for n, c in enumerate(configs)}

    async def task_status(self, task: TaskId) -> Status:
        config = await self._known()
        status = self._statuses.get(task)
        if status is None or task not in config.work.tasks:
            raise NotFoundError(f"No status found for task {task}")
        return status

    async def set_target_state(self, name: str, state: TargetState) -> None:
        def check(newest: ClusterConfig) -> None:
            if name not in newest.connectors:
                raise NotFoundError(f"Unknown connector {name}")

        check(await self._known())
        if state is TargetState.STOPPED:
            await self._member.must_lead()
            await self._member.write(self._configs.put_stopped, name, check=check)
        else:
            await self._member.blocking(self._configs.put_target, name, state)

    async def restart(
        self, name: str, *, include_tasks: bool, only_failed: bool
    ) -> ConnectorStatus | None:
        if name not in (await self._known()).connectors:
            raise NotFoundError(f"Unknown connector: {name}")
        if not include_tasks and not only_failed:
            await self._member.must_own(Work(connectors=frozenset([name])))
            await self._workload.restart_instance(name)
            return None
        await self._member.must_lead()
        plan = plan_restart(
            await self.status(name), include_tasks=include_tasks, only_failed=only_failed
        )
        request = RestartRequest(name, include_tasks, only_failed)
        await self._member.blocking(self._configs.put_restart, request)
        return plan.status

    async def restart_task(self, task: TaskId) -> None:
        config = await self._known()
        if task.connector not in config.connectors:
            raise NotFoundError(f"Unknown connector: {task.connector}")
        if task not in config.work.tasks:
            raise NotFoundError(f"Unknown task: {task}")
        await self._member.must_own(Work(tasks=frozenset([task])))
        await self._workload.restart_tasks([task])

    async def topics(self, name: str) -> list[str]:
        if not self._flag("topic.tracking.enable"):
            raise ForbiddenError("Topic tracking is disabled.")
        await self._known()
        return sorted(self._statuses.topics(name))

    async def reset_topics(self, name: str) -> None:
        if not self._flag("topic.tracking.enable"):
            raise ForbiddenError("Topic tracking is disabled.")
        if not self._flag("topic.tracking.allow.reset"):
            raise ForbiddenError("Topic tracking reset is disabled.")
        await self._known()
        self._statuses.remove_topics(name)

    # -- offsets --------------------------------------------------------------------------------

    async def offsets(self, name: str) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
        spec = await self._spec(name)
        if spec.kind is Kind.SINK:
            return await self._member.blocking(requests.sink_offsets, spec)
        return [(p, o) for p, o in await self._source_offsets(spec)]

    async def _source_offsets(
        self, spec: ConnectorSpec
    ) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        try:
            return await self._member.blocking(self._offsets.all, spec.connector, spec.config)
        finally:
            await self._member.close_unused_offsets()

    async def alter_offsets(
        self,
        name: str,
        offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]],
    ) -> str:
        await self._member.must_lead()
        spec = await self._spec(name)
        self._must_be_stopped(name)
        if not offsets:
            raise BadRequestError(
                "Partitions / offsets need to be provided for an alter offsets request"
            )
        await self._fence_before_change(spec)
        return await requests.alter_offsets(self._worker, spec, offsets, self._write_offsets)

    async def reset_offsets(self, name: str) -> str:
        await self._member.must_lead()
        spec = await self._spec(name)
        self._must_be_stopped(name)
        await self._fence_before_change(spec)
        known = [(p, None) for p, _ in await self._source_offsets(spec)]
        return await requests.reset_offsets(self._worker, spec, known, self._write_offsets)

    async def _write_offsets(
        self, name: str, offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
    ) -> None:
        try:
            config = self._member.get(name)
            await self._member.blocking(self._offsets.write, name, config, offsets)
        finally:
            await self._member.close_unused_offsets()

    async def _fence_before_change(self, spec: ConnectorSpec) -> None:
        """A task that still runs somewhere must not overwrite the offsets that are set now."""
        if not self._config.exactly_once_sources or spec.kind is Kind.SINK:
            return
        try:
            await self._member.fence(spec.connector)
        except ConnectError as error:
            raise ConnectError(
                "Failed to perform zombie fencing for source connector prior to modifying offsets"
            ) from error

    def _must_be_stopped(self, name: str) -> None:
        config = self._configs.snapshot()
        if config.target(name) is not TargetState.STOPPED or config.task_configs(name):
            raise BadRequestError(requests.NOT_STOPPED.format(name=name))

    # -- plugins, loggers, metrics --------------------------------------------------------------

    async def plugins(self, *, connectors_only: bool) -> list[dict[str, Any]]:
        return await requests.list_plugins(self._plugins, connectors_only=connectors_only)

    async def plugin_config(self, name: str, version: str | None = None) -> list[dict[str, Any]]:
        return await requests.plugin_config(self._worker, self._plugins, name, version)

    async def validate(self, config: Mapping[str, str | None]) -> dict[str, Any]:
        stored = self._configs.snapshot().connectors.get(config.get("name") or "", {})
        props = requests.meant(config, stored)
        return await requests.validate(self._worker, self._plugins, self._config, props)

    async def transform(
        self, config: Mapping[str, str | None], samples: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        stored = self._configs.snapshot().connectors.get(config.get("name") or "", {})
        props = requests.meant(config, stored)
        return await requests.transform(self._worker, self._plugins, self._config, props, samples)

    async def _checked(self, config: Mapping[str, str | None]) -> requests.Checked:
        return await requests.checked(self._worker, self._plugins, self._config, config)

    async def loggers(self) -> dict[str, dict[str, Any]]:
        return self._loggers.all()

    async def logger(self, name: str) -> dict[str, Any]:
        return self._loggers.one(name)

    async def set_log_level(self, name: str, level: str, *, scope: str) -> list[str] | None:
        check_level(name, level, self._configs.snapshot().connectors)
        if scope == "cluster":
            await self._member.blocking(self._configs.put_level, LevelRequest(name, level))
            return None
        changed = self._loggers.set(name, level)
        self._worker.set_log_level(name, level)
        return changed

    async def metrics(self) -> str:
        from connect.cluster import metrics  # noqa: PLC0415 - loads Prometheus's client

        owned = self._workload.owned
        here = owned.connectors | {task.connector for task in owned.tasks}
        statuses = []
        config = self._configs.snapshot()
        for name in sorted(here & config.connectors.keys()):
            status = await self.status(name)
            tasks = {n: s for n, s in status.tasks.items() if TaskId(name, n) in owned.tasks}
            statuses.append(ConnectorStatus(name, status.connector, tasks, status.type))
        return metrics.render_metrics(
            statuses,
            self._worker.metrics,
            self._worker.starts,
            configs={
                s.name: metrics.running_config(
                    self._config.raw, config.connectors[s.name], config.task_configs(s.name)
                )
                for s in statuses
            },
            rounds=replace(self._member.rounds, work=owned),
        )

    # -- small things ---------------------------------------------------------------------------

    async def _known(self) -> ClusterConfig:
        """What there is, once this worker knows it: one that starts would find nothing."""
        await self._member.read.wait()
        return self._configs.snapshot()

    async def _get(self, name: str) -> Mapping[str, str]:
        await self._known()
        return self._member.get(name)

    async def _spec(self, name: str) -> ConnectorSpec:
        return await self._workload.spec(name, await self._get(name))

    async def _info(self, name: str, properties: Mapping[str, str]) -> ConnectorInfo:
        count = len(self._configs.snapshot().task_configs(name))
        tasks = [TaskId(name, n) for n in range(count)]
        shown = mask(properties, await self._secrets(properties))
        return ConnectorInfo(name, shown, tasks, await self._member.type_of(properties))

    async def _secrets(self, properties: Mapping[str, str]) -> frozenset[str]:
        """The keys whose values are never shown."""
        plugin = (properties.get("connector.class", ""), properties.get("connector.plugin.version"))
        if plugin not in self._declared:
            try:
                keys = await requests.plugin_config(self._worker, self._plugins, *plugin)
            except ConnectError:
                return secret_keys(properties, {})  # a plugin that is not installed here
            self._declared[plugin] = {key["name"]: ConfigType(key["type"]) for key in keys}
        return secret_keys(properties, self._declared[plugin])

    def _flag(self, key: str) -> bool:
        return bool(self._config[key])
