"""All works, in the order in which they are told."""

from __future__ import annotations

from collections.abc import Callable

from bench.runs import Bench, Row
from bench.works import databases, latency, registry, sinks, sources, workers

WORKS: dict[str, Callable[[Bench], list[Row]]] = {
    "sink-file": sinks.to_file,
    "sink-poison": sinks.poisoned,
    "two-tasks": sinks.two_tasks,
    "source-file": sources.from_file,
    "latency": latency.to_file,
    "sink-count": sinks.counted,
    "jdbc": databases.to_postgres,
    "source-eos": sources.exactly_once,
    "registry": registry.counted,
    "worker": workers.alone,
}
