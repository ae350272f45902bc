"""The worker's side of dead letters: its settings, its connectors, the watch, the replays."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from api.dlq_jobs import Job, JobSpec
from connect.cluster.herder import Herder
from connect.config.configdef import ConfigDef
from connect.config.worker import STANDALONE_CONFIG
from connect.errors import ConnectError, NotFoundError
from connect.plugins import Plugins
from connect.runtime import clients
from dlq.desk import Desk, topics_of
from dlq.masking import Mask
from dlq.probe import ProbeSpec
from dlq.retest import Retest

if TYPE_CHECKING:
    from dlq.watch import Watch

log = logging.getLogger(__name__)

T = TypeVar("T")
_CONFIG = ConfigDef(key for key in STANDALONE_CONFIG.keys.values() if key.name.startswith("dlq."))
# Replays that have ended are remembered, so many of them.
_JOBS_KEPT = 100


class DeadLetterRoom:
    """What the routes ask. Everything that blocks runs in threads."""

    def __init__(self, herder: Herder, worker: Mapping[str, Any]) -> None:
        self._herder = herder
        self._worker = {k: str(v) for k, v in worker.items()}
        self._plugins = Plugins.of_worker(self._worker)
        self._settings = _CONFIG.parse(self._worker)
        self.mask = Mask(self._settings["dlq.mask.fields"])
        folder = self._settings["dlq.index.folder"]
        self._folder = Path(folder) if folder else None
        self._desk: Desk | None = None
        self._watch: Watch | None = None
        self._watching: asyncio.Task[None] | None = None
        self._jobs: dict[str, Job] = {}

    @property
    def desk(self) -> Desk:
        if self._desk is None:
            self._desk = Desk(
                clients.worker_settings(self._worker),
                folder=self._folder,
                state_topic=self._settings["dlq.state.topic"],
                replication_factor=self._settings["dlq.state.replication.factor"],
            )
        return self._desk

    # -- life -------------------------------------------------------------------------------

    async def start(self) -> None:
        if self._settings["dlq.scan.interval.ms"]:
            from dlq.watch import Watch, webhook  # noqa: PLC0415 - loads clients

            url = self._settings["dlq.alert.webhook"]
            self._watch = Watch(self.desk, webhook(url) if url else None)
            self._watching = asyncio.create_task(self._scan(self._watch))

    async def stop(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watching
        for job in self._jobs.values():
            job.kill()  # nothing is half done: it is a matter of transactions

    async def _scan(self, watch: Watch) -> None:
        seconds = self._settings["dlq.scan.interval.ms"] / 1000
        while True:
            try:
                topics = topics_of(await self.configs())
                await asyncio.to_thread(watch.scan, topics)
            except ConnectError as error:
                log.warning("Dead letters can't be looked at now: %s", error)
            except Exception:
                log.exception("Dead letters can't be looked at now")
            await asyncio.sleep(seconds)

    def metrics(self) -> str:
        return self._watch.metrics() if self._watch is not None else ""

    # -- asking -----------------------------------------------------------------------------

    async def configs(self) -> dict[str, dict[str, str]]:
        """With secrets: converters may need them."""
        found = {}
        for name in await self._herder.connectors():
            with contextlib.suppress(NotFoundError):  # deleted meanwhile
                found[name] = await self._herder.stored_config(name)
        return found

    async def topics(self) -> dict[str, list[str]]:
        return topics_of(await self.configs())

    async def users_of(self, topic: str) -> list[str]:
        """The connectors whose dead letters are in a topic."""
        return (await self.topics()).get(topic, [])

    async def users_of_job(self, id: str) -> list[str]:
        return await self.users_of(self.job(id).plan.topic)

    async def checked(self, topic: str) -> str:
        """The topic, if it is a dead-letter topic of a connector. NotFoundError if not."""
        if topic not in await self.topics():
            raise NotFoundError(
                f"'{topic}' is the dead-letter topic of no connector "
                "(errors.deadletterqueue.topic.name)."
            )
        return topic

    async def call(self, function: Callable[..., T], *args: Any, **more: Any) -> T:
        return await asyncio.to_thread(function, *args, **more)

    def probe_spec(self, name: str, config: Mapping[str, str]) -> ProbeSpec:
        return ProbeSpec(name, dict(config), self._worker, self._plugins)

    async def probe_specs(self) -> dict[str, ProbeSpec]:
        configs = await self.configs()
        return {name: self.probe_spec(name, config) for name, config in configs.items()}

    async def retest(
        self, topic: str, candidate: Mapping[str, str] | None = None, seconds: float = 5.0
    ) -> Retest:
        if candidate is not None:
            spec = self.probe_spec(candidate.get("name", "candidate"), candidate)
            return Retest({}, candidate=spec, seconds=seconds)
        users = (await self.topics()).get(topic, [])
        only = users[0] if len(users) == 1 else None
        return Retest(await self.probe_specs(), only=only, seconds=seconds)

    # -- replays ----------------------------------------------------------------------------

    async def start_job(self, spec: JobSpec) -> Job:
        for old in [name for name, job in self._jobs.items() if job.ended][:-_JOBS_KEPT]:
            del self._jobs[old]
        job = Job(
            spec,
            settings=self.desk.settings,
            folder=self._folder,
            state_topic=self._settings["dlq.state.topic"],
            replication_factor=self._settings["dlq.state.replication.factor"],
        )
        self._jobs[job.id] = job
        await asyncio.to_thread(self._plugins.discover)
        await asyncio.to_thread(job.start)
        return job

    def jobs(self) -> list[Job]:
        return list(self._jobs.values())

    def job(self, id: str) -> Job:
        try:
            return self._jobs[id]
        except KeyError:
            raise NotFoundError(
                f"There is no replay {id} on this worker: replays are known to the worker that "
                "runs them, until it is restarted."
            ) from None
