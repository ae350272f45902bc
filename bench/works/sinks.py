"""Sinks: records from a topic, through transforms, to a file or to nowhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench.jvm_plugins import COUNTING
from bench.runs import (
    Bench,
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


def to_file(bench: Bench, row: Row) -> None:
    count = bench.records(2_000_000)
    topic = bench.filled("orders", lambda: orders.plain(range(count)))

    def once(side: Side) -> Sample:
        return file_run(bench, side, row.work, topic, count)

    _both(bench, row, once)


def poisoned(bench: Bench, row: Row) -> None:
    count = bench.records(1_000_000)
    topic = bench.filled("poisoned", lambda: orders.poisoned(range(count)))

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

    _both(bench, row, once)


def counted(bench: Bench, row: Row) -> None:
    count = bench.records(1_000_000)
    topic = bench.filled("enveloped", lambda: orders.enveloped(range(count)))

    def once(side: Side) -> Sample:
        return count_run(
            bench, side, row.work, topic, count, {"value.converter.schemas.enable": "true"}
        )

    bench.need("counting")
    _both(bench, row, once)


def two_tasks(bench: Bench, row: Row) -> None:
    count = bench.records(4_000_000)
    # So that the first one hears at once that there is another; else it begins with both shares.
    quick = {"consumer.override.heartbeat.interval.ms": "200"}
    topic = bench.filled("orders-many", lambda: orders.plain(range(count)), partitions=2)
    _, ours = bench.sides()

    def run(tasks: int) -> Callable[[], Sample]:
        return lambda: file_run(
            bench, ours, row.work, topic, count, {**quick, "tasks.max": str(tasks)}, readers=tasks
        )

    alternate(bench, row, run(1), run(2))


def file_run(
    bench: Bench,
    side: Side,
    work: str,
    topic: str,
    count: int,
    more: dict[str, str] | None = None,
    progress: Callable[[], int] | None = None,
    readers: int = 1,
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
        return throughput(
            bench, side, name, config, progress or file_lines(out), count,
            lambda: readers == 1 or bench.readers(f"connect-{name}") == readers,
        )  # fmt: skip
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


def _both(bench: Bench, row: Row, once: Callable[[Side], Sample]) -> None:
    theirs, ours = bench.sides()
    row.settings = SETTINGS
    alternate(bench, row, lambda: once(theirs), lambda: once(ours))
