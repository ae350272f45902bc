"""How many requests one client may send."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

# Clients that are remembered; of more than that, who was not heard of longest starts afresh.
_CLIENTS = 10_000


class Rates:
    """A bucket for each client: it holds `burst` requests and gains `rate` of them a second."""

    def __init__(
        self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """0 when the request may come in, else how many seconds too early it is."""
        now = self._clock()
        left, then = self._buckets.pop(client, (float(self._burst), now))
        left = min(self._burst, left + (now - then) * self._rate)
        wait = 0.0 if left >= 1 else (1 - left) / self._rate
        self._buckets[client] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > _CLIENTS:
            self._buckets.popitem(last=False)
        return wait
