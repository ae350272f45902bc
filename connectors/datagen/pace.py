"""How fast generated records go out."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import random
from typing import Protocol

# A poll must not hold on for long, or pausing and stopping would wait for it.
LONGEST_WAIT_SECONDS = 0.5
# Below this, sleeping costs more than it saves.
_SHORTEST_WAIT_SECONDS = 0.001

Clock = Callable[[], float]
Sleep = Callable[[float], None]


class Pace(Protocol):
    def next(self, most: int) -> int:
        """How many records to send now, at most `most`. Waits a little when it is none."""


class FullSpeed:
    def next(self, most: int) -> int:
        return most


class Steady:
    """So many records a second. Time that went by while nobody asked is not made up for."""

    def __init__(
        self, rate: float, clock: Clock = time.monotonic, sleep: Sleep = time.sleep
    ) -> None:
        self._rate = rate
        self._clock = clock
        self._sleep = sleep
        self._credit = 0.0
        self._counted = clock()

    def next(self, most: int) -> int:
        self._count()
        if self._credit < 1:
            wait = (1 - self._credit) / self._rate
            self._sleep(min(max(wait, _SHORTEST_WAIT_SECONDS), LONGEST_WAIT_SECONDS))
            self._count()
        count = min(most, int(self._credit))
        self._credit -= count
        return count

    def _count(self) -> None:
        now = self._clock()
        earned = (now - self._counted) * self._rate
        self._counted = now
        # One second's worth, so that a task that was paused for an hour does not flood.
        self._credit = min(self._credit + earned, max(self._rate, 1.0))


class RandomPauses:
    """Between two records a pause of any length up to the longest."""

    def __init__(
        self, longest: float, clock: Clock = time.monotonic, sleep: Sleep = time.sleep
    ) -> None:
        self._longest = longest
        self._clock = clock
        self._sleep = sleep
        self._due = clock() + self._pause()

    def next(self, most: int) -> int:
        wait = self._due - self._clock()
        if wait > 0:
            self._sleep(min(wait, LONGEST_WAIT_SECONDS))
        now = self._clock()
        # What was due long ago, while the task was paused, is not made up for.
        self._due = max(self._due, now - self._longest)
        count = 0
        while count < most and self._due <= now:
            self._due += self._pause()
            count += 1
        return count

    def _pause(self) -> float:
        return random() * self._longest  # noqa: S311
