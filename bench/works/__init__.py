"""All works with their goals, in the order in which they are done."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from bench.jvm_plugins import DEBEZIUM
from bench.runs import Goal, Row
from bench.sides import JVM
from bench.works import databases, growth, latency, registry, sinks, sources, spark, workers


class Work(NamedTuple):
    """How it is done, and the rows it fills."""

    run: Callable[..., None]
    rows: tuple[Row, ...]


def _at_least(limit: float) -> Goal:
    return Goal(limit)


def _at_most(limit: float) -> Goal:
    return Goal(limit, at_least=False)


_A_THIRD = _at_most(1 / 3)
_HAND = "a plain loop"
_DEBEZIUM = f"Debezium {DEBEZIUM}"

WORKS: dict[str, Work] = {
    "sink-file": Work(
        sinks.to_file,
        (Row("sink-file", "sink: JSON, three transforms, to file", _at_least(3.0)),),
    ),
    "sink-poison": Work(
        sinks.poisoned,
        (Row("sink-poison", "the same, 10 % poison to a DLQ with headers", _at_least(3.0)),),
    ),
    "two-tasks": Work(
        sinks.two_tasks,
        (Row("two-tasks", "the first, two tasks", _at_least(1.4), against="one task"),),
    ),
    "sink-count": Work(
        sinks.counted,
        (Row("sink-count", "sink: JSON with schema envelope, counted", _at_least(2.0)),),
    ),
    "source-file": Work(
        sources.from_file,
        (Row("source-file", "source: file, two transforms, JSON, to topic", _at_least(3.0)),),
    ),
    "latency": Work(
        latency.to_file,
        (
            Row("latency-p50", "produce to sink file at 100/s, p50", _at_most(1.0), "ms"),
            Row("latency-p99", "produce to sink file at 100/s, p99", _at_most(1.0), "ms"),
        ),
    ),
    "jdbc": Work(
        databases.to_postgres,
        tuple(
            Row(
                f"jdbc-{mode}",
                f"JDBC sink, {mode}, to PostgreSQL",
                _at_least(3.0),
                "rows/s",
                _DEBEZIUM,
            )
            for mode in ("insert", "upsert")
        ),
    ),
    "registry": Work(
        registry.counted,
        tuple(
            Row(
                f"registry-{name}",
                f"{name.title()} through the registry, counted",
                _at_least(0.7),
                against=_HAND,
            )
            for name in registry.FORMATS
        ),
    ),
    "source-eos": Work(
        sources.exactly_once,
        (Row("source-eos", "source: the same with exactly-once", _at_least(2.0)),),
    ),
    "worker": Work(
        workers.alone,
        tuple(
            Row(work + suffix, f"worker: {title}", goal, unit, against)
            for suffix, against in (("", JVM), ("-shipped", "JVM as shipped"))
            for work, title, goal, unit in (
                ("cold-start", "cold start to healthy", _A_THIRD, "s"),
                ("idle", "idle, memory of all its processes", _A_THIRD, "MB"),
                ("idle-20", "20 idle sinks, a process a task", _at_most(0.7), "MB"),
                ("idle-20-threads", "20 idle sinks, in threads", _A_THIRD, "MB"),
            )
        ),
    ),
    "spark": Work(
        spark.to_parquet,
        (
            Row(
                "spark",
                "Kafka, three transforms, to Parquet on Spark",
                _at_least(1.3),
                against="Spark's own source",
            ),
            Row(
                "spark-worker",
                "the same, beside two tasks of a file sink",
                _at_least(1.0),
            ),
        ),
    ),
}

# Done when named: their result is a chart, and nobody is compared with.
CHARTS: dict[str, Work] = {"growth": Work(growth.charts, ())}
