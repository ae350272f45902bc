"""One worker as a member of its cluster: follows the topics, takes its share, leads if it must.

The topics say what there is; the group says whose it is; the workload runs it. What REST asks is
answered in `distributed.py`, on top of this.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import quote

import orjson

from connect.cluster import requests
from connect.cluster.assignment import NO_WORK, Work
from connect.cluster.config_log import (
    ClusterConfig,
    ConfigLog,
    Event,
    RestartRequest,
)
from connect.cluster.fencing import fence_tasks, tasks_to_fence
from connect.cluster.herder import (
    BadRequestError,
    ConflictError,
    ConnectorStatus,
    ConnectorType,
    ElsewhereError,
    State,
    Status,
    TargetState,
    TaskId,
)
from connect.cluster.kafka_log import FencedError, LogTopic
from connect.cluster.loggers import Loggers
from connect.cluster.membership import Joined, Membership
from connect.cluster.offset_stores import OffsetStores
from connect.cluster.peers import Peers
from connect.cluster.protocol import COMPATIBLE, SESSIONED, Assignment, MemberState
from connect.cluster.restarts import plan_restart
from connect.cluster.rounds import Rounds
from connect.cluster.status_log import StatusLog, Subject
from connect.cluster.trust import Trust
from connect.cluster.workload import Workload
from connect.config.worker import WorkerConfig
from connect.errors import ConnectError, NotFoundError
from connect.plugins import Plugins
from connect.runtime.levels import LEVELS
from connect.runtime.spec import Kind, Request

log = logging.getLogger(__name__)

T = TypeVar("T")

# Sending tasks to the leader is tried again after this long, then later and later.
PUBLISH_RETRY_SECONDS = 0.25
PUBLISH_RETRY_MAX_SECONDS = 60.0


class ClusterMember:
    """A worker in its cluster. Lives on the event loop.

    `peers` reaches other workers. Blocking calls to Kafka go through `blocking`, writes of the
    leader to the config topic through `write`.
    """

    def __init__(self, config: WorkerConfig, worker_id: str, url: str, peers: Peers) -> None:
        self.config = config
        self._raw = dict(config.raw)
        self.worker_id = worker_id
        self.url = url.rstrip("/") + "/"
        self._peers = peers
        self.plugins = Plugins.of_worker(config.raw)
        self.loggers = Loggers()
        self.configs = ConfigLog(
            LogTopic.of_worker(config, "config"),
            config.raw,
            on_change=self._config_changed,
            on_event=self._config_event,
        )
        self.trust = Trust(config, self.configs.snapshot)
        self.offsets = OffsetStores(LogTopic.of_worker(config, "offset"), config.raw, self.plugins)
        self.statuses = StatusLog(LogTopic.of_worker(config, "status"), config.raw)
        self.workload = Workload(
            config,
            worker_id,
            plugins=self.plugins,
            statuses=self.statuses,
            snapshot=self.configs.snapshot,
            on_task_configs=self._task_configs_made,
            answer=self._answer,
            fence=self._ask_to_fence,
        )
        self.worker = self.workload.worker
        self._membership: Membership | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        # Blocking calls to Kafka. Their own, so that nothing else has to wait for a slow broker.
        self._threads = ThreadPoolExecutor(16, thread_name_prefix="kafka-call")
        self._changed = asyncio.Event()
        self._settling = asyncio.Lock()
        self._fencing = asyncio.Lock()
        self._writing = asyncio.Lock()
        self.rounds = Rounds()
        self._divided = NO_WORK  # the work as it was when this worker last joined
        self.is_leader = False
        self._leader_url: str | None = None
        self._assignment: Assignment | None = None
        self._rejoin_timer: asyncio.TimerHandle | None = None
        self._key_timer: asyncio.TimerHandle | None = None
        self._publishing: dict[str, asyncio.Task[None]] = {}
        self._background: set[asyncio.Task[None]] = set()
        self.cluster_id = ""
        self.read = asyncio.Event()  # the topics were, so it is known what there is
        self.ready = asyncio.Event()  # part of the group
        self.out_of_touch = False
        self._stopping = False
        self._stage: tuple[str, datetime] | None = None

    # -- life -------------------------------------------------------------------------------

    async def start(self) -> None:
        """Read the topics, join the group; returns when this worker is part of it."""
        self._loop = asyncio.get_running_loop()
        with self._doing("connecting to Kafka"):
            self.cluster_id = await self.blocking(
                requests.cluster_id, self._raw, lambda: self._stopping
            )
        with self._doing("initializing and reading to the end of internal topics"):
            for topic_log in (self.statuses, self.offsets, self.configs):
                await self.blocking(topic_log.start)
        self.read.set()
        self._later(self._follow_configs())
        self._membership = Membership(self.config, self.configs, self)
        self._membership.start()
        with self._doing("joining the group"):
            await self.ready.wait()

    async def stop(self) -> None:
        """Stop what runs here, hand it over to the others and leave."""
        self._stopping = True
        self.ready.clear()
        for timer in (self._rejoin_timer, self._key_timer):
            if timer is not None:
                timer.cancel()
        for publishing in self._publishing.values():
            publishing.cancel()
        async with self._settling:
            await self.workload.stop()
        if self._membership is not None:
            with contextlib.suppress(ConnectError):
                # The last words about the tasks come before others say theirs.
                await self.blocking(self.statuses.read_to_end, 5.0)
            await self._membership.leave()
        for task in list(self._background):
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        for topic_log in (self.statuses, self.offsets, self.configs):
            await self.blocking(topic_log.stop)
        self._threads.shutdown(wait=False)

    def doing(self) -> str | None:
        if self._stage is None:
            return None
        what, began = self._stage
        at = began.isoformat(timespec="milliseconds")
        return f"The worker is currently {what}, which began at {at}."

    @contextlib.contextmanager
    def _doing(self, what: str) -> Any:
        self._stage = (what, datetime.now(UTC))
        yield
        self._stage = None

    async def blocking(self, function: Callable[..., T], *args: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *args)

    # -- following the config topic -----------------------------------------------------------

    def _config_changed(self) -> None:
        self._soon(self._changed.set)

    def _config_event(self, event: Event) -> None:
        self._soon(self._take_event, event)

    def _soon(self, function: Callable[..., object], *args: Any) -> None:
        """To the event loop, from the thread of a log."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(function, *args)

    def _take_event(self, event: Event) -> None:
        if isinstance(event, RestartRequest):
            self._later(self._carry_out(event))
        elif (level := event.level.upper()) in LEVELS:
            self.loggers.set(event.logger, level)
            self.worker.set_log_level(event.logger, level)

    async def _follow_configs(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._settle()
            except Exception:
                log.exception("The work here could not be brought up to date")

    async def _settle(self) -> None:
        """Make what runs here what the config topic says."""
        async with self._settling:
            if self._stopping:
                return
            config = self.configs.snapshot()
            waiting = await self.workload.stop_changed(config)
            await self.workload.run(config)
            await self.close_unused_offsets()
            if waiting or config.work != self._divided:
                self._rejoin()

    async def _carry_out(self, request: RestartRequest) -> None:
        """Restart what runs here of what was asked for."""
        try:
            status = await self.status(request.connector)
        except NotFoundError:
            return
        plan = plan_restart(
            status, include_tasks=request.include_tasks, only_failed=request.only_failed
        )
        owned = self.workload.owned
        name = request.connector
        tasks = [t for t in (TaskId(name, n) for n in plan.tasks) if t in owned.tasks]
        instance = [name] if plan.connector and name in owned.connectors else []
        self.workload.restarting(*instance, *tasks)
        await self.workload.restart_tasks(tasks)
        for each in instance:
            await self.workload.restart_instance(each)

    # -- the group (GroupListener) ------------------------------------------------------------

    def _rejoin(self) -> None:
        if self._membership is not None and not self._stopping:
            self._membership.request_rejoin()

    async def prepare_join(self) -> MemberState:
        self.rounds.begin()
        try:
            await self.blocking(self.configs.read_to_end, self._sync_seconds)
        except ConnectError as error:
            log.warning("Joining without the newest configs: %s", error)
        async with self._settling:
            config = self.configs.snapshot()
            await self.workload.stop_changed(config)
            self._divided = config.work
        has = self._assignment
        if has is not None:
            has = Assignment(
                has.leader, has.leader_url, has.config_offset, assigned=self.workload.owned
            )
        return MemberState(self.url, config.offset, has, leaving=self._stopping)

    async def joined(self, outcome: Joined) -> None:
        assignment = outcome.assignment
        self.workload.generation = outcome.generation
        self.is_leader = outcome.is_leader
        self._leader_url = assignment.leader_url or None
        self.trust.sessioned = outcome.sessioned
        self.out_of_touch = False
        if not outcome.is_leader:
            self.configs.release()
        if assignment.error:
            self._rejoin()
            return
        if not await self._caught_up(assignment.config_offset):
            await self._fall_behind()
            return
        log.info(
            "Generation %d: %s, %d connectors and %d tasks gained, %d and %d given up",
            outcome.generation,
            "leading" if outcome.is_leader else f"led by {assignment.leader_url}",
            len(assignment.assigned.connectors),
            len(assignment.assigned.tasks),
            len(assignment.revoked.connectors),
            len(assignment.revoked.tasks),
        )
        async with self._settling:
            await self.workload.take(assignment.assigned, assignment.revoked)
        # A static member that is back gets the assignment it had last, which tells only what was
        # new then. The leader has to hear that it starts anew.
        begins = self._assignment is None and bool(self._raw.get("group.instance.id"))
        self._assignment = assignment
        self.rounds.end(
            outcome.generation,
            assignment.leader_url,
            SESSIONED if outcome.sessioned else COMPATIBLE,
        )
        if assignment.revoked or begins:
            self._rejoin()
        self._meet_again_after(assignment.delay_ms / 1000)
        self._changed.set()
        self.ready.set()
        if outcome.is_leader:
            self._later(self._lead())

    async def lost(self) -> None:
        """Others may have taken over by now: what runs here must not go on."""
        self.out_of_touch = True
        self.is_leader = False
        self._leader_url = None
        async with self._settling:
            await self.workload.give_up(self.workload.owned)
        self._assignment = None

    async def _caught_up(self, offset: int) -> bool:
        if self.configs.snapshot().offset < offset:
            with contextlib.suppress(ConnectError):
                await self.blocking(self.configs.read_to_end, self._sync_seconds)
        return self.configs.snapshot().offset >= offset

    async def _fall_behind(self) -> None:
        seconds = self.config["worker.unsync.backoff.ms"] / 1000
        log.error(
            "The config topic could not be read within worker.sync.timeout.ms: this worker leaves "
            "the group for %.0f s (worker.unsync.backoff.ms)",
            seconds,
        )
        await self.lost()
        if self._membership is not None:
            self._membership.stay_away(seconds)

    def _meet_again_after(self, seconds: float) -> None:
        if self._rejoin_timer is not None:
            self._rejoin_timer.cancel()
            self._rejoin_timer = None
        if seconds > 0:
            loop = asyncio.get_running_loop()
            self._rejoin_timer = loop.call_later(seconds, self._rejoin)

    @property
    def _sync_seconds(self) -> float:
        milliseconds: int = self.config["worker.sync.timeout.ms"]
        return milliseconds / 1000

    # -- the leader's duties --------------------------------------------------------------------

    async def _lead(self) -> None:
        try:
            self._tidy_statuses()
            await self._renew_session_key()
        except ConnectError as error:
            log.warning("A duty of the leader could not be done: %s", error)

    def _tidy_statuses(self) -> None:
        """Remove what is left of deleted work, and show what nobody runs as unassigned."""
        config = self.configs.snapshot()
        configured = config.work
        for subject in self.statuses.subjects():
            if isinstance(subject, TaskId):
                gone = subject not in configured.tasks
            else:
                gone = subject not in configured.connectors
            if gone:
                self.statuses.remove(subject)
        for name in self.statuses.connectors_with_topics():
            if name not in config.connectors:
                self.statuses.remove_topics(name)
        away = self._membership.leader.away if self._membership is not None else NO_WORK
        nobody = Status(State.UNASSIGNED, self.worker_id)
        unrun: list[Subject] = [*away.connectors, *away.tasks]
        for each in unrun:
            self.statuses.put_safely(each, nobody, self.workload.generation)

    async def _renew_session_key(self) -> None:
        if self._key_timer is not None:
            self._key_timer.cancel()
            self._key_timer = None
        if not self.is_leader or not self.trust.sessioned or self._stopping:
            return
        lifetime, left = self.trust.lifetime, self.trust.seconds_left()
        if left is None or (lifetime > 0 and left <= 0):
            await self.write(self.configs.put_session_key, self.trust.new_key())
            left = lifetime
        if lifetime > 0:
            self._key_timer = asyncio.get_running_loop().call_later(
                left, lambda: self._later(self._renew_session_key())
            )

    async def write(
        self,
        put: Callable[..., None],
        *args: Any,
        check: Callable[[ClusterConfig], None] = lambda _: None,
    ) -> None:
        """Write to the config topic as the leader, after whatever else is being written.

        `check` raises if the config is not any more what the write is meant for.
        """
        # Whoever is cancelled leaves a thread that writes on. Its turn lasts until that is done.
        await asyncio.shield(self._write_in_turn(put, args, check))

    async def _write_in_turn(
        self,
        put: Callable[..., None],
        args: tuple[Any, ...],
        check: Callable[[ClusterConfig], None],
    ) -> None:
        async with self._writing:
            if not self.is_leader:  # any more: it may have been a while
                raise ElsewhereError(self._leader_url)
            check(self.configs.snapshot())
            await self.blocking(self._write_as_leader, put, *args)

    async def put_tasks(self, name: str, configs: Sequence[Mapping[str, str]]) -> None:
        """Publish the tasks of a connector as the leader."""

        def check(newest: ClusterConfig) -> None:
            if name not in newest.connectors:
                raise NotFoundError(f"Connector {name} not found")
            if newest.target(name) is TargetState.STOPPED:
                raise ConflictError(
                    f"Connector {name} is stopped and gets no tasks until it is resumed"
                )

        await self.write(self.configs.put_tasks, name, configs, check=check)

    def _write_as_leader(self, put: Callable[..., None], *args: Any) -> None:
        self._must_be_in_touch()
        if self.config["exactly.once.source.support"].lower() != "disabled":
            self.configs.claim(f"connect-cluster-{self.config.group_id}")
        try:
            put(*args)
        except FencedError as error:
            # Another leads since a moment ago, and this one is about to hear of it.
            raise ElsewhereError(None) from error

    async def must_lead(self) -> None:
        """Else the leader has to do it. A worker that starts waits until it knows who that is."""
        if self._stopping:
            raise ConnectError("Worker is shutting down")
        await self.ready.wait()
        if not self.is_leader:
            raise ElsewhereError(self._leader_url)
        self._must_be_in_touch()

    def _must_be_in_touch(self) -> None:
        """A leader that was frozen, and has not heard of its successor, must not go on leading."""
        if self._membership is None or not self._membership.in_touch:
            raise ElsewhereError(None)

    async def must_own(self, work: Work) -> None:
        """Else the owner has to do it, whom the leader knows."""
        if not work - self.workload.owned:
            return
        await self.must_lead()
        assert self._membership is not None
        for owner in self._membership.leader.owners():
            if not work - owner.running and owner.url != self.url:
                raise ElsewhereError(owner.url)
        raise ConflictError(
            "Cannot complete request momentarily due to stale configuration (typically caused by a "
            "concurrent config change)"
        )

    # -- tasks of connectors --------------------------------------------------------------------

    def _task_configs_made(
        self, name: str, made_by: Mapping[str, str], configs: list[dict[str, str]]
    ) -> None:
        """A connector that runs here by a config says which tasks there are to be."""
        if before := self._publishing.pop(name, None):
            before.cancel()
        if self._are_wanted(name, made_by, configs):
            publishing = self._publish(name, made_by, configs)
            self._publishing[name] = asyncio.ensure_future(publishing)

    def _are_wanted(
        self, name: str, made_by: Mapping[str, str], configs: list[dict[str, str]]
    ) -> bool:
        """Whether such tasks are to be published by this worker, now."""
        config = self.configs.snapshot()
        return (
            name in self.workload.owned.connectors
            and config.connectors.get(name) == made_by
            and config.target(name) is not TargetState.STOPPED
            and self._are_news(config, name, configs)
        )

    @staticmethod
    def _are_news(config: ClusterConfig, name: str, configs: list[dict[str, str]]) -> bool:
        return (
            name in config.inconsistent
            or name not in config.tasks
            or list(config.tasks[name]) != configs
            or config.applied[name] != config.connectors[name]
        )

    async def _publish(
        self, name: str, made_by: Mapping[str, str], configs: list[dict[str, str]]
    ) -> None:
        pause = PUBLISH_RETRY_SECONDS
        # The connector may be changed or stopped while the leader can't be reached.
        while self._are_wanted(name, made_by, configs):
            try:
                if self.is_leader:
                    await self.put_tasks(name, configs)
                else:
                    await self._send_to_leader("POST", name, "tasks", orjson.dumps(configs))
            except ConnectError as error:
                log.warning("Tasks of %s are not published yet: %s", name, error)
            else:
                return
            await asyncio.sleep(pause)
            pause = min(pause * 2, PUBLISH_RETRY_MAX_SECONDS)

    async def _send_to_leader(self, method: str, name: str, what: str, body: bytes) -> None:
        if self._leader_url is None:
            raise ConnectError("no leader is known")
        headers = {"Content-Type": "application/json", **self.trust.headers(body)}
        url = f"{self._leader_url.rstrip('/')}/connectors/{quote(name, safe='')}/{what}"
        answer = await self._peers.ask(method, url, body, headers)
        if answer.is_error:
            raise ConnectError(f"{url} answered {answer.status_code}: {answer.text[:500]}")

    async def fence(self, name: str) -> None:
        """Cut off the tasks of the generation before, and note that it is done."""
        if not self.config.exactly_once_sources:
            raise BadRequestError(
                "This worker does not have exactly-once source support enabled: set "
                "exactly.once.source.support=enabled on all workers."
            )
        if await self.workload.kind(self.get(name)) is not Kind.SOURCE:
            raise BadRequestError(f"Connector {name} is not a source connector")
        async with self._fencing:
            config = self.configs.snapshot()
            if name not in config.unfenced:
                return
            if count := tasks_to_fence(config, name):
                spec = await self.workload.spec(name, config.connectors[name])
                await self.worker.call(
                    fence_tasks,
                    spec,
                    self.config.group_id,
                    count,
                    what=f"Fencing {count} tasks of {name}",
                )
                log.info("Fenced %d tasks of connector %s", count, name)
            await self.blocking(self.configs.read_to_end)

            def check(newest: ClusterConfig) -> None:
                if newest.tasks.get(name) is not config.tasks.get(name):
                    raise ConflictError(
                        "The connector has new tasks meanwhile, which have to be fenced again"
                    )

            count = len(config.task_configs(name))
            await self.write(self.configs.put_fencing, name, count, check=check)

    async def _ask_to_fence(self, name: str) -> None:
        """Have the leader fence the zombies of a connector whose tasks run here."""
        if self.is_leader:
            await self.fence(name)
        else:
            await self._send_to_leader("PUT", name, "fence", b"")

    # -- what is known ------------------------------------------------------------------------

    def get(self, name: str) -> Mapping[str, str]:
        try:
            return self.configs.snapshot().connectors[name]
        except KeyError:
            raise NotFoundError(f"Connector {name} not found") from None

    async def status(self, name: str) -> ConnectorStatus:
        config = self.configs.snapshot()
        properties = config.connectors.get(name)
        if properties is None:
            raise NotFoundError(f"No status found for connector {name}")
        instance = self.statuses.get(name) or Status(State.UNASSIGNED, self.worker_id)
        count = len(config.task_configs(name))
        tasks = {n: s for n, s in self.statuses.tasks(name).items() if n < count}
        return ConnectorStatus(name, instance, tasks, await self.type_of(properties))

    async def type_of(self, properties: Mapping[str, str]) -> ConnectorType:
        try:
            return ConnectorType(await self.workload.kind(properties))
        except (ConnectError, KeyError):
            return ConnectorType.UNKNOWN

    async def _answer(self, request: Request) -> Any:
        if request.method == "read_offsets":
            return await self.blocking(self.offsets.read, *request.args)
        if request.method == "write_offsets":
            return await self.blocking(self.offsets.write, *request.args)
        if request.method == "offset_records":
            return await self.blocking(self.offsets.records_of, *request.args)
        if request.method == "copy_offsets":
            return await self.blocking(self.offsets.copy, *request.args)
        if request.method == "may_start":
            return self.workload.check_may_start(*request.args)
        raise ConnectError(f"A task asked for '{request.method}', which no worker answers")

    async def close_unused_offsets(self) -> None:
        """Close the offset topics of connectors that have no task here."""
        here = {task.connector for task in self.workload.owned.tasks}
        await self.blocking(self.offsets.keep, here)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
