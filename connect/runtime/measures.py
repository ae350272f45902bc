"""What a task measures of itself: counters, and rates and averages over the last half minute."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from connect.plugin import TopicPartition

# As in Kafka's own metrics, whose samples last this long.
WINDOW_SECONDS = 30.0

# Counters of which a rate is shown.
_RATES = ("sink_read", "sink_sent", "sink_commits", "source_polled", "source_written")

# average: (sum, count, factor)
_AVERAGES = {
    "sink_put_ms_avg": ("sink_put_seconds", "sink_batches", 1000.0),
    "sink_batch_avg": ("sink_sent", "sink_batches", 1.0),
    "sink_commit_ms_avg": ("sink_commit_seconds", "sink_commits", 1000.0),
    "source_poll_ms_avg": ("source_poll_seconds", "source_batches", 1000.0),
    "source_batch_avg": ("source_polled", "source_batches", 1.0),
    "source_commit_ms_avg": ("source_commit_seconds", "source_commits", 1000.0),
    "source_transaction_avg": ("source_transaction_records", "source_transactions", 1.0),
}

# Gauges of which the mean and the greatest sample are shown.
_SAMPLED = ("sink_active", "source_active")


class Window:
    """Derives rates, averages and maxima from what a task counts, sample by sample."""

    def __init__(self, now: float | None = None) -> None:
        self._began = time.monotonic() if now is None else now
        # A task begins with nothing counted.
        self._samples: deque[tuple[float, Mapping[str, float]]] = deque([(self._began, {})])
        self._paused = 0.0

    def derived(
        self, values: Mapping[str, float], *, paused: bool, now: float | None = None
    ) -> dict[str, float]:
        """Take a sample, and give what follows from it and those before.

        Values ending in `_max` are the greatest since the last sample, those in `_min` the least;
        the window's are given.
        """
        now = time.monotonic() if now is None else now
        if paused:
            self._paused += now - self._samples[-1][0]
        self._samples.append((now, dict(values)))
        while len(self._samples) > 2 and now - self._samples[1][0] >= WINDOW_SECONDS:
            self._samples.popleft()
        return {
            **self._rates(),
            **self._averages(),
            **self._maxima(values),
            **self._minima(values),
            **self._commit_percentages(values),
            **self._ratios(now),
        }

    def _grown(self, key: str) -> float:
        first, last = self._samples[0][1], self._samples[-1][1]
        return last.get(key, 0.0) - first.get(key, 0.0)

    def _rates(self) -> dict[str, float]:
        span = self._samples[-1][0] - self._samples[0][0]
        last = self._samples[-1][1]
        return {
            f"{key}_rate": round(self._grown(key) / span, 3) if span > 0 else 0.0
            for key in _RATES
            if key in last
        }

    def _averages(self) -> dict[str, float]:
        last = self._samples[-1][1]
        found = {}
        for name, (total, count, factor) in _AVERAGES.items():
            if count in last:
                times = self._grown(count)
                found[name] = round(factor * self._grown(total) / times, 3) if times else 0.0
        for key in _SAMPLED:
            seen = [values[key] for _, values in self._samples if key in values]
            if seen:
                found[f"{key}_avg"] = round(sum(seen) / len(seen), 3)
        return found

    def _maxima(self, values: Mapping[str, float]) -> dict[str, float]:
        found = {
            key: max(sample.get(key, 0.0) for _, sample in self._samples)
            for key in values
            if key.endswith("_max")
        }
        for key in _SAMPLED:
            if key in values:
                found[f"{key}_max"] = max(s.get(key, 0.0) for _, s in self._samples)
        return found

    def _minima(self, values: Mapping[str, float]) -> dict[str, float]:
        found = {
            key: min(sample.get(key, math.inf) for _, sample in self._samples)
            for key in values
            if key.endswith("_min")
        }
        return {key: 0.0 if least == math.inf else least for key, least in found.items()}

    def _commit_percentages(self, values: Mapping[str, float]) -> dict[str, float]:
        found = {}
        for kind in ("sink", "source"):
            if f"{kind}_commits" in values:
                well = self._grown(f"{kind}_commits")
                badly = self._grown(f"{kind}_commit_failures")
                share = well / (well + badly) if well + badly else 1.0
                found[f"{kind}_commit_success"] = round(share, 3)
                found[f"{kind}_commit_failure"] = round(1.0 - share, 3)
        return found

    def _ratios(self, now: float) -> dict[str, float]:
        lived = max(now - self._began, 1e-9)
        paused = min(round(self._paused / lived, 2), 1.0)
        return {"pause_ratio": paused, "running_ratio": round(1.0 - paused, 2)}


def sink_gauges(loop: Any) -> dict[str, float]:
    """How a sink stands: its partitions, what is not committed yet, and how far it is behind."""
    positions, committed = dict(loop._positions), dict(loop._committed)
    begin = dict(loop._begin)
    assigned = set(loop._context.assignment)
    open_records = sum(
        max(0, at - committed.get(p, begin.get(p, at)))
        for p, at in positions.items()
        if p in assigned
    )
    found = {"sink_partitions": float(len(assigned)), "sink_active": float(open_records)}
    if loop.lag is not None:
        found["sink_lag"] = float(loop.lag)
    return found


def furthest_behind(consumer: Consumer, positions: Mapping[TopicPartition, int]) -> int | None:
    """How many records lie behind the position of the partition that has the most of them.

    As of the last fetch: asking the broker would cost a request a second and partition. To be
    called by the thread that polls the consumer; for any other one librdkafka's client blocks.
    """
    most: int | None = None
    for place, position in positions.items():
        try:
            _, high = consumer.get_watermark_offsets(
                KafkaPartition(place.topic, place.partition), cached=True
            )
        except KafkaException:  # just lost
            continue
        if high >= 0:
            most = max(most or 0, high - position)
    return most


@dataclass(slots=True)
class Starts:
    """How often connectors and tasks of a worker were started, and how that went."""

    attempts: dict[str, int] = field(default_factory=lambda: {"connector": 0, "task": 0})
    successes: dict[str, int] = field(default_factory=lambda: {"connector": 0, "task": 0})
    failures: dict[str, int] = field(default_factory=lambda: {"connector": 0, "task": 0})
    # Weak: one that is stopped before it has started counts as neither.
    _under_way: WeakSet[object] = field(default_factory=WeakSet)

    def begin(self, kind: str, which: object) -> None:
        self.attempts[kind] += 1
        self._under_way.add(which)

    def succeeded(self, kind: str, which: object) -> None:
        self._end(kind, which, self.successes)

    def failed(self, kind: str, which: object) -> None:
        """Counts only if it had not started yet."""
        self._end(kind, which, self.failures)

    def _end(self, kind: str, which: object, count: dict[str, int]) -> None:
        if which in self._under_way:
            self._under_way.remove(which)
            count[kind] += 1
