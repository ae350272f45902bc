"""Restarts of what has failed, by itself, later and later.

The policy is the connector's: `errors.restart.*`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from connect.config.configdef import ConfigDef
from connect.config.connector import OWN_KEYS
from connect.errors import ConfigError

log = logging.getLogger(__name__)

_KEYS = ConfigDef(k for k in OWN_KEYS.keys.values() if k.name.startswith("errors.restart."))


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """Whether and when to restart."""

    mode: str  # off, on-failure, always
    backoff: float
    backoff_max: float
    max_attempts: int

    @classmethod
    def of(cls, config: Mapping[str, str]) -> RestartPolicy:
        settings = _KEYS.parse(config)
        return cls(
            settings["errors.restart.policy"],
            settings["errors.restart.backoff.ms"] / 1000,
            settings["errors.restart.backoff.max.ms"] / 1000,
            settings["errors.restart.max.attempts"],
        )

    def delay(self, attempts: int) -> float | None:
        """How long to wait after so many restarts in a row; None: no more."""
        if self.mode == "off" or (self.mode == "on-failure" and attempts >= self.max_attempts):
            return None
        return float(min(self.backoff * 2 ** min(attempts, 30), self.backoff_max))


@dataclass(slots=True)
class _History:
    attempts: int = 0
    started: float = 0.0
    timer: asyncio.TimerHandle | None = None
    next_at: datetime | None = None


class AutoRestarts:
    """Counts failures and sets timers. Lives on the event loop."""

    def __init__(self) -> None:
        self._histories: dict[Hashable, _History] = {}
        self._running: set[asyncio.Task[None]] = set()

    def failed(
        self, what: Hashable, config: Mapping[str, str], restart: Callable[[], Awaitable[None]]
    ) -> None:
        """Set the timer for a restart, if the policy wants one."""
        history = self._histories.setdefault(what, _History())
        self._cancel(history)
        try:
            policy = RestartPolicy.of(config)
        except ConfigError as error:
            # A connector is checked with its references looked up, which are not looked up here.
            log.warning(
                "%s is not restarted by itself: %s. Give the value itself, references to config "
                "providers are not looked up in errors.restart.*.",
                what,
                error,
            )
            return
        if time.monotonic() - history.started > policy.backoff_max:
            history.attempts = 0  # it has run well for long enough
        delay = policy.delay(history.attempts)
        if delay is None:
            if policy.mode != "off":
                log.error("%s has failed %d times in a row: given up", what, history.attempts + 1)
            return
        history.attempts += 1
        history.next_at = datetime.now(UTC) + timedelta(seconds=delay)
        log.warning("%s is restarted in %.1f s (attempt %d)", what, delay, history.attempts)

        def due() -> None:
            history.timer = history.next_at = None
            history.started = time.monotonic()
            task = asyncio.ensure_future(restart())
            self._running.add(task)
            task.add_done_callback(self._running.discard)

        history.timer = asyncio.get_running_loop().call_later(delay, due)

    def shown(self, what: Hashable) -> dict[str, Any]:
        """What a status tells of it: nothing before the first restart."""
        history = self._histories.get(what)
        if history is None or not history.attempts:
            return {}
        told: dict[str, Any] = {"restarts": history.attempts}
        if history.next_at is not None:
            told["next_restart"] = history.next_at.isoformat(timespec="milliseconds")
        return told

    def forget(self, *whats: Hashable) -> None:
        """Cancel and forget: it was restarted by hand, reconfigured, stopped or deleted."""
        for what in whats:
            if history := self._histories.pop(what, None):
                self._cancel(history)

    def forget_all(self) -> None:
        self.forget(*list(self._histories))

    def _cancel(self, history: _History) -> None:
        if history.timer is not None:
            history.timer.cancel()
            history.timer = history.next_at = None
