"""Sources: lines of a file, through transforms, to a topic."""

from __future__ import annotations

from pathlib import Path

from bench.runs import Bench, Row, Sample, alternate, throughput
from bench.sides import SETTINGS, Side

EXACTLY_ONCE = {"exactly.once.source.support": "enabled"}

TRANSFORMS = {
    "transforms": "line,origin",
    "transforms.line.type": "org.apache.kafka.connect.transforms.HoistField$Value",
    "transforms.line.field": "line",
    "transforms.origin.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.origin.static.field": "origin",
    "transforms.origin.static.value": "bench",
}


def from_file(bench: Bench, row: Row) -> None:
    _compared(bench, row, {}, bench.records(6_000_000), warm=2)


def exactly_once(bench: Bench, row: Row) -> None:
    # Its rate on the JVM's worker doubles over the first eight runs.
    _compared(bench, row, EXACTLY_ONCE, bench.records(2_000_000), warm=8)


def _compared(bench: Bench, row: Row, settings: dict[str, str], count: int, warm: int) -> None:
    lines = _lines(bench, count)
    theirs, ours = bench.sides(settings)
    row.settings = {**SETTINGS, **settings, "batch.size": "2000"}

    def once(side: Side) -> Sample:
        name = bench.topic(bench.name(row.work))
        config = {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "tasks.max": "1",
            "topic": name,
            "file": str(lines),
            "batch.size": "2000",
            **TRANSFORMS,
        }
        try:
            return throughput(bench, side, name, config, lambda: bench.written(name), count)
        finally:
            bench.drop(name)

    # A broker's code for writing is quick after twenty million records.
    alternate(bench, row, lambda: once(theirs), lambda: once(ours), warm=warm)


def line(n: int) -> str:
    return f"{n:010} a line of a log as programs write them, with a word or two, {n % 97:02}\n"


def _lines(bench: Bench, count: int) -> Path:
    file = bench.folder / f"lines-{count}"
    if not file.exists():
        with file.open("w") as out:
            out.writelines(map(line, range(count)))
    return file
