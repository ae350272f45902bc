"""Sinks: records from a topic, through transforms, to a file or to nowhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench.jvm_plugins import COUNTING
from bench.runs import (
    Bench,
    Goal,
    Row,
    Sample,
    alternate,
    file_lines,
    file_number,
    throughput,
)
from bench.sides import SETTINGS, Side
from bench.works import orders

TRANSFORMS = {
    "transforms": "origin,shape,mask",
    "transforms.origin.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.origin.static.field": "origin",
    "transforms.origin.static.value": "bench",
    "transforms.shape.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
    "transforms.shape.exclude": "note",
    "transforms.shape.renames": "customer:client",
    "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.mask.fields": "email",
}


def to_file(bench: Bench) -> list[Row]:
    count = bench.records(1_000_000)
    topic = bench.filled("orders", lambda: orders.plain(range(count)))
    row = Row("sink-file", "sink: JSON, three transforms, to file", Goal(3.0))

    def once(side: Side) -> Sample:
        return file_run(bench, side, row.work, topic, count)

    return [_both(bench, row, once)]


def poisoned(bench: Bench) -> list[Row]:
    count = bench.records(500_000)
    topic = bench.filled("poisoned", lambda: orders.poisoned(range(count)))
    row = Row("sink-poison", "the same, 10 % poison to a DLQ with headers", Goal(3.0))

    def once(side: Side) -> Sample:
        letters = bench.topic(bench.name("dlq"))
        out = bench.folder / letters
        lines = file_lines(out)
        config = {
            "file": str(out),
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": letters,
            "errors.deadletterqueue.topic.replication.factor": "1",
            "errors.deadletterqueue.context.headers.enable": "true",
        }
        try:
            return file_run(
                bench,
                side,
                row.work,
                topic,
                count,
                config,
                lambda: lines() + bench.written(letters),
            )
        finally:
            bench.drop(letters)

    return [_both(bench, row, once)]


def counted(bench: Bench) -> list[Row]:
    count = bench.records(500_000)
    topic = bench.filled("enveloped", lambda: orders.enveloped(range(count)))
    row = Row("sink-count", "sink: JSON with schema envelope, counted", Goal(2.0))

    def once(side: Side) -> Sample:
        return count_run(
            bench, side, row.work, topic, count, {"value.converter.schemas.enable": "true"}
        )

    bench.need("counting")
    return [_both(bench, row, once)]


def two_tasks(bench: Bench) -> list[Row]:
    count = bench.records(1_000_000)
    topic = bench.filled("orders-2", lambda: orders.plain(range(count)), partitions=2)
    row = Row(
        "two-tasks", "the first with two tasks on two partitions", Goal(1.4), against="one task"
    )
    _, ours = bench.sides()

    def run(tasks: int) -> Callable[[], Sample]:
        return lambda: file_run(bench, ours, row.work, topic, count, {"tasks.max": str(tasks)})

    return [alternate(bench, row, run(1), run(2))]


def file_run(
    bench: Bench,
    side: Side,
    work: str,
    topic: str,
    count: int,
    more: dict[str, str] | None = None,
    progress: Callable[[], int] | None = None,
) -> Sample:
    name = bench.name(work)
    config = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "tasks.max": "1",
        "topics": topic,
        "file": str(bench.folder / name),
        **TRANSFORMS,
        **(more or {}),
    }
    out = Path(config["file"])
    try:
        return throughput(bench, side, name, config, progress or file_lines(out), count)
    finally:
        out.unlink(missing_ok=True)


def count_run(
    bench: Bench, side: Side, work: str, topic: str, count: int, converter: dict[str, str]
) -> Sample:
    name = bench.name(work)
    out = bench.folder / name
    config = {
        "connector.class": COUNTING,
        "tasks.max": "1",
        "topics": topic,
        "file": str(out),
        "value.converter": SETTINGS["value.converter"],
        **converter,
    }
    return throughput(bench, side, name, config, file_number(out), count)


def _both(bench: Bench, row: Row, once: Callable[[Side], Sample]) -> Row:
    theirs, ours = bench.sides()
    row.settings = SETTINGS
    return alternate(bench, row, lambda: once(theirs), lambda: once(ours))
