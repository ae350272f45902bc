"""A worker by itself: how soon it is there, and how much memory it takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from bench import processes
from bench.runs import Bench, CouldNotRunError, Row, Sample
from bench.sides import Side, jvm_worker, penstock_worker

CONNECTORS = 20
# When a worker counts as idle. A JVM with twenty consumers takes a tenth of a core for nothing.
_LOOK_SECONDS = 3.0
_IDLE_CORES = 0.25
_SAME_MEMORY = 0.01
_THREADS = {"task.isolation": "thread"}
# Looks into every class of every jar for plugins; the default.
_SHIPPED = {"plugin.discovery": "hybrid_warn"}


def alone(bench: Bench, *rows: Row) -> None:
    """Rows: start, idle, many, many in threads; and again against the JVM's as it is shipped."""
    bench.stop_workers()
    topic = bench.topic(bench.name("idle"))
    number = 0
    while any(row.wants_more(bench.rounds) for row in rows):
        number += 1
        tuned = _look(bench, jvm_worker(bench.bootstrap, {}, bench.say), topic)
        shipped = _look(bench, jvm_worker(bench.bootstrap, _SHIPPED, bench.say), topic)
        ours = _look(bench, penstock_worker(bench.bootstrap, {}), topic)
        in_threads = _look(bench, penstock_worker(bench.bootstrap, _THREADS), topic)
        of_ours = (*ours, in_threads[2])
        of_theirs = [figure for them in (tuned, shipped) for figure in (*them, them[2])]
        for row, figure, theirs in zip(rows, 2 * of_ours, of_theirs, strict=True):
            row.theirs.append(Sample(theirs))
            row.ours.append(Sample(figure))
        bench.say(
            f"worker, round {number}: JVM {_shown(tuned)}, as shipped {_shown(shipped)}, "
            f"Penstock {_shown(ours)}, threads {_shown(in_threads)}"
        )


def _shown(figures: tuple[float, float, float]) -> str:
    return "{:.1f} s {:.0f} MB {:.0f} MB".format(*figures)


def _look(
    bench: Bench, worker: AbstractContextManager[Side], topic: str
) -> tuple[float, float, float]:
    """Seconds to start, MB when idle, MB with idle connectors."""
    with worker as side:
        idle = _idle_memory(side)
        names = [bench.name("idle-sink") for _ in range(CONNECTORS)]
        for name in names:
            side.create(
                name,
                {
                    "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
                    "tasks.max": "1",
                    "topics": topic,
                    "file": str(bench.folder / name),
                },
            )
        _until(lambda: all(side.runs(name, 1) for name in names), f"{side.name}'s sinks to run")
        return side.start_seconds, idle, _idle_memory(side)


def _idle_memory(side: Side) -> float:
    """MB when nothing is under way any more: little CPU time is used, and memory stays as it is."""
    before = processes.memory(side.pid)

    def settled() -> bool:
        nonlocal before
        used = processes.cpu_seconds(side.pid)
        time.sleep(_LOOK_SECONDS)
        used = processes.cpu_seconds(side.pid) - used
        now = processes.memory(side.pid)
        change, before = abs(now - before) / now, now
        return used < _IDLE_CORES * _LOOK_SECONDS and change < _SAME_MEMORY

    _until(settled, f"{side.name} to be idle")
    return before / 1e6


def _until(reached: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 180
    while not reached():
        if time.monotonic() > deadline:
            raise CouldNotRunError(f"waited three minutes for {what}")
        time.sleep(0.3)
