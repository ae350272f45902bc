"""How cost grows with records, their size, the partitions they lie in, and with connectors."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

import orjson

from bench import chart, processes
from bench.runs import Bench, CouldNotRunError, Sample
from bench.sides import Side, penstock_worker
from bench.works import orders, sinks

DOCS = Path(__file__).parents[2] / "docs"

RECORDS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
SIZES = (100, 1_000, 10_000, 100_000)
PARTITIONS = (1, 10, 100)
CONNECTORS = (1, 10, 50, 100, 200, 500)
_BYTES = 500_000_000  # of each size, so that large records are fewer


def charts(bench: Bench) -> None:
    """A chart each: CPU seconds, of a whole life or for an amount, and the most memory taken."""
    by_count = {n: _runs(bench, n) for n in map(bench.records, RECORDS)}
    chart.lines(
        "CPU seconds of a connector's life, its start included, by how many records it moves",
        "records",
        {"CPU s": _curve(by_count, "cpu")},
        DOCS / "growth-records.svg",
        logarithmic=True,
    )
    chart.lines(
        "MB of all processes, by how many records wait",
        "records",
        {"MB": _curve(by_count, "memory")},
        DOCS / "growth-memory.svg",
    )
    by_size = {size: _runs(bench, _size_count(bench, size), size=size) for size in SIZES}
    per_gb = {
        size: [_per(run, _size_count(bench, size) * size / 1e9) for run in runs]
        for size, runs in by_size.items()
    }
    chart.lines(
        "CPU seconds a GB, by the size of a record",
        "bytes a record",
        {"CPU s": _curve(per_gb, "cpu")},
        DOCS / "growth-size.svg",
    )
    count = bench.records(1_000_000)
    spread = {
        p: [_per(run, count / 1e6) for run in _runs(bench, count, partitions=p)] for p in PARTITIONS
    }
    chart.lines(
        "CPU seconds a million records, by the number of partitions",
        "partitions",
        {"CPU s": _curve(spread, "cpu")},
        DOCS / "growth-partitions.svg",
    )
    bench.stop_workers()
    grown = {kind: _connectors(bench, kind) for kind in ("process", "thread")}
    for title, what, file in (
        ("CPU seconds a connector, from its POST until its task runs", "cpu", "connectors"),
        ("MB a connector with an idle task", "memory", "connectors-memory"),
        ("CPU milliseconds a second and connector, idle", "value", "connectors-idle"),
    ):
        chart.lines(
            title,
            "connectors in one worker",
            {f"a {kind} a task": _curve(found, what) for kind, found in grown.items()},
            DOCS / f"growth-{file}.svg",
        )


def _runs(bench: Bench, count: int, *, size: int = 0, partitions: int = 1) -> list[Sample]:
    """What the worker used from before the connector was created until it was deleted."""
    topic = bench.filled(bench.name("growth"), partial(_messages, count, size), partitions)
    _, ours = bench.sides()
    found = []
    for _ in range(bench.rounds):
        used = processes.cpu_seconds(ours.pid)
        run = sinks.file_run(bench, ours, "growth", topic, count)
        used = processes.cpu_seconds(ours.pid) - used
        found.append(Sample(run.value, used, run.memory))
        bench.say(
            f"growth: {count} records, size {size or 220}, {partitions} partitions: {found[-1]}"
        )
    bench.drop(topic)
    return found


def _connectors(bench: Bench, isolation: str) -> dict[int, list[Sample]]:
    """What each connector costs among so many: to begin, in memory, and when it has nothing to do.

    More come to those that are there, so that a cost which grows with their number shows.
    """
    found: dict[int, list[Sample]] = {}
    lines = bench.folder / "none"
    lines.touch()
    with penstock_worker(bench.bootstrap, {"task.isolation": isolation}) as side:
        empty, there, idle = processes.memory(side.pid), 0, 0.0
        for wanted in CONNECTORS:
            began, used = time.monotonic(), processes.cpu_seconds(side.pid)
            for number in range(there, wanted):
                config = {
                    "connector.class": "FileStreamSource", "file": str(lines), "topic": "none",
                }  # fmt: skip
                side.create(f"growth-{isolation}-{number}", config)
            _until_all_run(side, wanted)
            took, used = time.monotonic() - began, processes.cpu_seconds(side.pid) - used
            before, idle = idle, _idle_cores(side)
            used -= took * (before + idle) / 2  # what those that are there do meanwhile
            memory = (processes.memory(side.pid) - empty) / wanted / 1e6
            found[wanted] = [Sample(idle / wanted * 1000, used / (wanted - there), memory)]
            bench.say(f"growth: {wanted} connectors, {isolation}: {found[wanted]}")
            there = wanted
    return found


def _until_all_run(side: Side, count: int) -> None:
    deadline = time.monotonic() + 600
    while (running := side.running()) < count:
        if time.monotonic() > deadline:
            raise CouldNotRunError(f"{running} of {count} connectors ran after ten minutes")
        time.sleep(0.5)


def _idle_cores(side: Side) -> float:
    seconds = 5
    time.sleep(seconds)  # what came with the last of them
    used = processes.cpu_seconds(side.pid)
    time.sleep(seconds)
    return (processes.cpu_seconds(side.pid) - used) / seconds


def _messages(count: int, size: int) -> Iterator[orders.Message]:
    for number in range(count):
        order = orders.order(number)
        if size:
            # The text must survive the transforms, or large records would become small ones.
            order = {"id": order["id"], "email": "", "text": "x" * max(1, size - 50)}
        yield orders.key(number), orjson.dumps(order)


def _size_count(bench: Bench, size: int) -> int:
    return bench.records(min(1_000_000, _BYTES // size))


def _per(run: Sample, amount: float) -> Sample:
    assert run.cpu is not None
    return Sample(run.value, run.cpu / amount)


def _curve(found: dict[int, list[Sample]], what: str) -> list[tuple[float, float]]:
    return [(x, median(getattr(run, what) for run in runs)) for x, runs in found.items()]
