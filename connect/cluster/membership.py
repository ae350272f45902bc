"""Membership in the workers' group, by Kafka's group protocol.

kafka-python does the protocol: it finds the coordinator, joins, syncs and sends heartbeats, in a
thread of its own. A second thread here drives it and tells the herder, on the herder's event loop,
what comes of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from kafka.coordinator.base import BaseCoordinator
from kafka.net.compat import KafkaNetClient
from kafka.structs import MemberState as GroupState

from connect.cluster.assignment import Member, Memory, Work, assign
from connect.cluster.config_log import ConfigLog
from connect.cluster.protocol import (
    COMPATIBLE,
    CONFIG_MISMATCH,
    PROTOCOL_TYPE,
    SESSIONED,
    Assignment,
    MemberState,
    decode_assignment,
    decode_member,
    encode_assignment,
    encode_member,
)
from connect.config.worker import WorkerConfig
from connect.errors import ConnectError
from connect.runtime import clients

log = logging.getLogger(__name__)

T = TypeVar("T")

BOOTSTRAP_SECONDS = 30.0
RETRY_SECONDS = 1.0
_TICK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Joined:
    """The outcome of a rebalance for this worker."""

    generation: int
    is_leader: bool
    assignment: Assignment
    sessioned: bool


class GroupListener(Protocol):
    """The herder, as membership sees it. The coroutines run on its event loop."""

    async def prepare_join(self) -> MemberState:
        """Give up what has to be given up before the next round, and say what this worker has."""

    async def joined(self, outcome: Joined) -> None:
        """Returns once everything that was revoked has stopped."""

    async def lost(self) -> None:
        """The group has been out of reach for so long that others may have taken the work."""


class Leader:
    """The part of the leader: divides the work in each round. Lives in kafka-python's thread."""

    def __init__(self, configs: ConfigLog, *, max_delay: float, sync_seconds: float) -> None:
        self._configs = configs
        self._max_delay = max_delay
        self._sync_seconds = sync_seconds
        self._memory = Memory()
        self._generation = -1

    def assign(
        self, leader: str, members: Mapping[str, MemberState], generation: int
    ) -> dict[str, Assignment]:
        """One assignment for each member."""
        offset = max(state.config_offset for state in members.values())
        url = members[leader].url
        if not self._caught_up(offset):
            log.warning(
                "The config topic was not read up to offset %d: all workers try again", offset
            )
            return {
                name: Assignment(leader, url, offset, error=CONFIG_MISMATCH) for name in members
            }
        if generation != self._generation + 1:
            # Somebody else has led since, and what is remembered here may be wrong by now.
            self._memory = Memory()
        self._generation = generation
        config = self._configs.snapshot()
        found = {
            name: Member(state.url, _has(state), state.leaving) for name, state in members.items()
        }
        outcome, self._memory = assign(
            found, config.work, self._memory, now=time.monotonic(), max_delay=self._max_delay
        )
        delay_ms = math.ceil(outcome.delay * 1000)
        return {
            name: Assignment(
                leader,
                url,
                max(offset, config.offset),
                outcome.assigned[name],
                outcome.revoked[name],
                delay_ms,
            )
            for name in members
        }

    def _caught_up(self, offset: int) -> bool:
        if self._configs.snapshot().offset >= offset:
            return True
        with contextlib.suppress(ConnectError):
            self._configs.read_to_end(self._sync_seconds)
        return self._configs.snapshot().offset >= offset

    @property
    def away(self) -> Work:
        """Work that nobody runs because its worker vanished."""
        away = Work()
        for work in self._memory.away.values():
            away |= work
        return away

    def owners(self) -> list[Member]:
        """Who has what since the last round."""
        return list(self._memory.members.values())


def _has(state: MemberState) -> Work:
    return state.assignment.assigned if state.assignment is not None else Work()


class _Coordinator(BaseCoordinator):  # type: ignore[misc]
    """kafka-python's part of the protocol, filled with ours."""

    def __init__(
        self,
        client: Any,
        leader: Leader,
        protocols: tuple[str, ...],
        wake: Callable[[], None],
        **config: Any,
    ) -> None:
        super().__init__(client, **config)
        self._leader = leader
        self._protocols = protocols
        self._wake = wake
        self.me = MemberState("", 0)
        self.outcome: Joined | None = None
        self._leads = False

    def protocol_type(self) -> str:
        return PROTOCOL_TYPE

    def group_protocols(self) -> list[tuple[str, bytes]]:
        return [(protocol, encode_member(self.me, protocol)) for protocol in self._protocols]

    def _perform_assignment(
        self, leader_id: str, protocol: str, members: list[Any]
    ) -> dict[str, bytes]:
        states = {m.member_id: decode_member(bytes(m.metadata)) for m in members}
        self._leads = True
        assignments = self._leader.assign(leader_id, states, self._generation.generation_id)
        return {name: encode_assignment(each, protocol) for name, each in assignments.items()}

    async def _on_join_prepare_async(
        self,
        _generation: int,
        _member_id: str,
        timeout_ms: float | None = None,  # noqa: ARG002
    ) -> None:
        self._leads = False

    async def _on_join_complete_async(
        self, generation: int, _member_id: str, protocol: str, member_assignment_bytes: bytes
    ) -> None:
        assignment = decode_assignment(bytes(member_assignment_bytes))
        self.outcome = Joined(generation, self._leads, assignment, protocol == SESSIONED)

    def request_rejoin(self) -> None:
        super().request_rejoin()
        self._wake()

    def reset_generation(self, *args: Any, **kwargs: Any) -> None:
        super().reset_generation(*args, **kwargs)
        self._wake()

    def last_heard(self) -> float:
        """When the broker was last heard of, in seconds of the monotonic clock."""
        if self.state is GroupState.STABLE:
            return float(max(self.heartbeat.last_receive, self.heartbeat.last_reset))
        # While others are waited for there are no heartbeats, only the open connection.
        if self.coordinator_id is not None and self._client.connected(self.coordinator_id):
            return time.monotonic()
        return -math.inf


class Membership:
    """Keeps this worker in its group from `start` to `leave`."""

    def __init__(self, config: WorkerConfig, configs: ConfigLog, listener: GroupListener) -> None:
        self._config = config
        self._listener = listener
        self.leader = Leader(
            configs,
            max_delay=config["scheduled.rebalance.max.delay.ms"] / 1000,
            sync_seconds=config["worker.sync.timeout.ms"] / 1000,
        )
        self._loop = asyncio.get_running_loop()
        self._wake = threading.Event()
        self._stopping = False
        self._rejoin = False
        self._away_until = 0.0
        self._thread: threading.Thread | None = None
        self._coordinator: _Coordinator | None = None

    @property
    def in_touch(self) -> bool:
        """Whether the group was heard of so lately that it can't have gone on without us."""
        coordinator = self._coordinator
        if coordinator is None or coordinator._generation.is_lost():
            return False
        session: float = self._config["session.timeout.ms"] / 1000
        return time.monotonic() - coordinator.last_heard() <= session

    def start(self) -> None:
        library = logging.getLogger("kafka")
        if library.level == logging.NOTSET:
            # It tells of every connection and every round; what matters is told by the herder.
            library.setLevel(logging.WARNING)
            # It minds that dividing the work takes a tenth of a second, at every start.
            logging.getLogger("kafka.net.selector").setLevel(logging.ERROR)
        self._thread = threading.Thread(target=self._run, name="membership", daemon=True)
        self._thread.start()

    def request_rejoin(self) -> None:
        """Meet the others again as soon as possible. May be called from any thread."""
        self._rejoin = True
        self._wake.set()

    def stay_away(self, seconds: float) -> None:
        """Leave the group and come back later."""
        self._away_until = time.monotonic() + seconds
        self._wake.set()

    async def leave(self) -> None:
        """Tell the others that this worker leaves, so that they take its work, and leave.

        What ran here must have stopped before. Returns when it is done, or can't be.
        """
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    # -- the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._stopping:
            coordinator = None
            try:
                self._coordinator = coordinator = self._connect()
                self._serve(coordinator)
            except Exception as error:  # noqa: BLE001 - whatever it was, a worker comes back
                log.warning("Out of the group: %s: %s", type(error).__name__, error)
                self._tell_lost()
                self._sleep(RETRY_SECONDS)
            finally:
                self._coordinator = None
                if coordinator is not None:
                    self._close(coordinator)

    def _connect(self) -> _Coordinator:
        settings = self._config
        client = KafkaNetClient(
            **clients.group_settings(settings.raw, {}),
            client_id=settings["client.id"] or f"connect-{settings.group_id}",
            request_timeout_ms=settings["request.timeout.ms"],
            retry_backoff_ms=settings["retry.backoff.ms"],
            reconnect_backoff_ms=settings["reconnect.backoff.ms"],
            reconnect_backoff_max_ms=settings["reconnect.backoff.max.ms"],
        )
        client._manager._net.start()
        try:
            client._manager.bootstrap(BOOTSTRAP_SECONDS * 1000)
            return _Coordinator(
                client,
                self.leader,
                self._protocols(),
                self._wake.set,
                group_id=settings.group_id,
                group_instance_id=settings.raw.get("group.instance.id") or None,
                session_timeout_ms=settings["session.timeout.ms"],
                heartbeat_interval_ms=settings["heartbeat.interval.ms"],
                max_poll_interval_ms=settings["rebalance.timeout.ms"],
                request_timeout_ms=settings["request.timeout.ms"],
                retry_backoff_ms=settings["retry.backoff.ms"],
                api_version=client._manager.broker_version,
            )
        except BaseException:
            client.close()
            raise

    def _protocols(self) -> tuple[str, ...]:
        wanted = self._config["connect.protocol"].lower()
        if wanted == "eager":
            log.warning(
                "connect.protocol=eager stops all work at every change; compatible is used instead"
            )
        return (SESSIONED, COMPATIBLE) if wanted == SESSIONED else (COMPATIBLE,)

    def _serve(self, coordinator: _Coordinator) -> None:
        session = self._config["session.timeout.ms"] / 1000
        heard = time.monotonic()
        told_lost = False
        while not self._stopping and time.monotonic() >= self._away_until:
            if self._rejoin:
                coordinator.request_rejoin()
                self._rejoin = False
            self._wake.clear()
            if coordinator.need_rejoin() and coordinator._join_task is None:
                coordinator.me = self._ask(coordinator, self._listener.prepare_join())
            if coordinator.need_rejoin():
                coordinator.ensure_active_group(timeout_ms=_TICK_SECONDS * 1000)
            if coordinator.outcome is not None:
                outcome, coordinator.outcome = coordinator.outcome, None
                told_lost = False
                self._ask(coordinator, self._listener.joined(outcome))
            coordinator.poll_heartbeat()
            heard = max(heard, coordinator.last_heard())
            if time.monotonic() - heard > session and not told_lost:
                log.warning("No broker was heard of for %.0f s: the work here is stopped", session)
                told_lost = True
                self._tell_lost()
                coordinator.request_rejoin()
            if not coordinator.need_rejoin() and not self._rejoin:
                self._wake.wait(_TICK_SECONDS)

    def _ask(self, coordinator: _Coordinator, question: Coroutine[Any, Any, T]) -> T:
        """Let the herder do something, and be seen alive meanwhile."""
        answer = asyncio.run_coroutine_threadsafe(question, self._loop)
        while True:
            try:
                return answer.result(_TICK_SECONDS)
            except TimeoutError:
                if answer.done():
                    raise
                coordinator.poll_heartbeat()

    def _tell_lost(self) -> None:
        if not self._loop.is_closed() and not self._stopping:
            asyncio.run_coroutine_threadsafe(self._listener.lost(), self._loop).result()

    def _sleep(self, seconds: float) -> None:
        self._wake.clear()
        if not self._stopping:
            self._wake.wait(seconds)

    def _close(self, coordinator: _Coordinator) -> None:
        try:
            if self._stopping:
                self._hand_over(coordinator)
            coordinator.close(timeout_ms=5000)
        except Exception as error:  # noqa: BLE001 - it goes anyway; the session ends by itself
            log.warning("Leaving the group: %s: %s", type(error).__name__, error)
        finally:
            coordinator._client.close()
        if not self._stopping:
            self._sleep(max(0.0, self._away_until - time.monotonic()))

    def _hand_over(self, coordinator: _Coordinator) -> None:
        """One last round, in which the leader gives this worker's work to the others.

        Without it the leader could not tell leaving from dying, and would wait for a return.
        """
        if coordinator.group_instance_id is not None:
            return  # a static member is expected back, and its work is kept for it
        silence = time.monotonic() - coordinator.last_heard()
        if not coordinator.stable() or silence > self._config["session.timeout.ms"] / 1000:
            return
        coordinator.me = replace(coordinator.me, assignment=None, leaving=True)
        coordinator.request_rejoin()
        # The others learn of it at their next heartbeats.
        seconds = self._config["heartbeat.interval.ms"] / 1000 + 5
        if not coordinator.ensure_active_group(timeout_ms=seconds * 1000):
            log.warning("The other workers did not meet in time to take over this one's work")
