"""How cost grows with the number of records, their size, and the partitions they lie in."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

import orjson

from bench import chart
from bench.runs import Bench, Sample
from bench.works import orders, sinks

DOCS = Path(__file__).parents[2] / "docs"

RECORDS = (1_000, 10_000, 100_000, 1_000_000)
SIZES = (100, 1_000, 10_000, 100_000)
PARTITIONS = (1, 10, 100)
_BYTES = 200_000_000  # of each size, so that large records are fewer


def charts(bench: Bench) -> None:
    """A chart each: CPU seconds a million records (or GB), and the most memory taken."""
    records = [bench.records(n) for n in RECORDS]
    by_count = {n: _runs(bench, n) for n in records}
    chart.lines(
        "CPU seconds a million records, by how many there are (one task, to file)",
        "records",
        {"CPU s": _curve(by_count, "cpu")},
        DOCS / "growth-records.svg",
    )
    chart.lines(
        "MB of all processes, by how many records wait",
        "records",
        {"MB": _curve(by_count, "memory")},
        DOCS / "growth-memory.svg",
    )
    by_size = {s: _runs(bench, bench.records(min(200_000, _BYTES // s)), size=s) for s in SIZES}
    per_gb = {size: [_per_gb(run, size) for run in runs] for size, runs in by_size.items()}
    chart.lines(
        "CPU seconds a GB, by the size of a record",
        "bytes a record",
        {"CPU s": _curve(per_gb, "cpu")},
        DOCS / "growth-size.svg",
    )
    spread = {p: _runs(bench, bench.records(500_000), partitions=p) for p in PARTITIONS}
    chart.lines(
        "CPU seconds a million records, by the number of partitions",
        "partitions",
        {"CPU s": _curve(spread, "cpu")},
        DOCS / "growth-partitions.svg",
    )


def _runs(bench: Bench, count: int, *, size: int = 0, partitions: int = 1) -> list[Sample]:
    topic = bench.filled(
        f"growth-{count}-{size}-{partitions}", partial(_messages, count, size), partitions
    )
    _, ours = bench.sides()
    found = []
    for _ in range(bench.rounds):
        found.append(sinks.file_run(bench, ours, "growth", topic, count))
        bench.say(
            f"growth: {count} records, size {size or 220}, {partitions} partitions: {found[-1]}"
        )
    bench.drop(topic)
    return found


def _messages(count: int, size: int) -> Iterator[orders.Message]:
    for number in range(count):
        order = orders.order(number)
        if size:
            # The text must survive the transforms, or large records would become small ones.
            order = {"id": order["id"], "email": "", "text": "x" * max(1, size - 50)}
        yield orders.key(number), orjson.dumps(order)


def _per_gb(run: Sample, size: int) -> Sample:
    assert run.cpu is not None
    return Sample(run.value, run.cpu / size * 1000)


def _curve(found: dict[int, list[Sample]], what: str) -> list[tuple[float, float]]:
    return [(x, median(getattr(run, what) for run in runs)) for x, runs in found.items()]
