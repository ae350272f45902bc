"""From produce to the sink's file, at a hundred records a second."""

from __future__ import annotations

import ctypes
import threading
import time
from contextlib import suppress
from pathlib import Path
from statistics import quantiles

import orjson
from confluent_kafka import Producer

from bench.runs import Bench, CouldNotRunError, Row, Sample, connector
from bench.sides import SETTINGS, Side
from bench.works import orders, sinks

RATE = 100
_IN_MODIFY = 2  # Linux's inotify tells when a file was written to


def to_file(bench: Bench, half: Row, most: Row) -> None:
    count = bench.records(1000)
    warm = False
    while not warm or half.wants_more(bench.rounds) or most.wants_more(bench.rounds):
        for place, side in enumerate(bench.sides()):
            waited = _run(bench, side, count if warm else 200)
            cuts = quantiles(waited, n=100)
            bench.say(f"latency, {side.name}: p50 {cuts[49]:.2f} ms, p99 {cuts[98]:.2f} ms")
            if warm:
                for row, cut in ((half, cuts[49]), (most, cuts[98])):
                    (row.ours if place else row.theirs).append(Sample(cut))
        warm = True
    half.settings = most.settings = SETTINGS


def _run(bench: Bench, side: Side, count: int) -> list[float]:
    """Milliseconds that each record took."""
    name = bench.topic(bench.name("latency"))
    out = bench.folder / name
    config = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "tasks.max": "1",
        "topics": name,
        "file": str(out),
        **sinks.TRANSFORMS,
    }
    producer = Producer({"bootstrap.servers": bench.bootstrap, "linger.ms": 0})
    with connector(side, name, config) as created:
        created.result()
        # One record ahead tells that the sink listens, and how long a line is.
        producer.produce(name, orjson.dumps(orders.order(0)))
        length = _first_line(out)
        sent: list[float] = []
        seen: list[float] = []
        watcher = threading.Thread(target=_watch, args=(out, length, count, seen), daemon=True)
        watcher.start()
        due = time.perf_counter() + 0.5
        for number in range(1, count + 1):
            due += 1 / RATE
            time.sleep(max(0.0, due - time.perf_counter()))
            value = orjson.dumps(orders.order(number))
            sent.append(time.perf_counter())
            producer.produce(name, value)
            producer.poll(0)
        watcher.join(30)
        producer.flush(10)
    out.unlink(missing_ok=True)
    bench.drop(name)
    if len(seen) < count:
        raise CouldNotRunError(f"{side.name} wrote {len(seen)} of {count} records")
    return [(end - begin) * 1000 for begin, end in zip(sent, seen, strict=True)]


def _first_line(out: Path) -> int:
    deadline = time.monotonic() + 60
    while not out.exists() or not out.stat().st_size:
        if time.monotonic() > deadline:
            raise CouldNotRunError("the sink wrote nothing within a minute")
        time.sleep(0.05)
    time.sleep(0.5)  # should the line have been written in parts
    return out.stat().st_size


def _watch(out: Path, length: int, count: int, seen: list[float]) -> None:
    """Note when each line was written: told by the kernel, because looking again and again would
    keep a core awake that both sides would otherwise have to wake, and be late itself.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    notices = libc.inotify_init1(0)
    if notices < 0 or libc.inotify_add_watch(notices, bytes(out), _IN_MODIFY) < 0:
        return  # then too few were seen
    with (
        open(notices, "rb", buffering=0) as told,  # noqa: PTH123 - it has no path
        suppress(FileNotFoundError),  # given up
    ):
        while len(seen) < count and told.read(4096):
            now = time.perf_counter()
            lines = out.stat().st_size // length - 1
            seen += [now] * (lines - len(seen))
