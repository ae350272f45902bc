"""The rounds in which the workers of a cluster divide their work, as one of them sees them."""

from __future__ import annotations

import time
from dataclasses import dataclass

from connect.cluster.assignment import NO_WORK, Work


@dataclass(slots=True)
class Rounds:
    """Counts rounds and takes their time. `leader` is the URL of who leads."""

    leader: str = ""
    protocol: str = ""
    generation: int = -1
    work: Work = NO_WORK
    completed: int = 0
    longest: float = 0.0
    _total: float = 0.0
    _began: float | None = None
    _ended: float | None = None

    def begin(self) -> None:
        """A round begins, unless one is under way already."""
        if self._began is None:
            self._began = time.monotonic()

    def end(self, generation: int, leader: str, protocol: str) -> None:
        self._ended = time.monotonic()
        took = self._ended - (self._ended if self._began is None else self._began)
        self._began = None
        self.generation, self.leader, self.protocol = generation, leader, protocol
        self.completed += 1
        self.longest = max(self.longest, took)
        self._total += took

    @property
    def under_way(self) -> bool:
        return self._began is not None

    @property
    def average(self) -> float:
        return self._total / self.completed if self.completed else 0.0

    @property
    def since_last(self) -> float:
        return 0.0 if self._ended is None else time.monotonic() - self._ended
