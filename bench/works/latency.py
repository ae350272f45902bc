"""From produce to the sink's file, at a hundred records a second."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from statistics import quantiles

import orjson
from confluent_kafka import Producer

from bench.runs import Bench, CouldNotRunError, Row, Sample, connector
from bench.sides import SETTINGS, Side
from bench.works import orders, sinks

RATE = 100
TURN = 50  # records; so that whatever slows the machine down for a while meets both sides
_IN_MODIFY = 2  # Linux's inotify tells when a file was written to


def to_file(bench: Bench, half: Row, most: Row) -> None:
    count = bench.records(5000)  # half a hundred are slower than p99 then
    warm = False
    while not warm or half.wants_more(bench.rounds) or most.wants_more(bench.rounds):
        with ExitStack() as opened:
            lanes = [opened.enter_context(_lane(bench, side)) for side in bench.sides()]
            for _ in range(0, count if warm else 400, TURN):
                for lane in lanes:
                    lane.take(TURN)
        for place, lane in enumerate(lanes):
            cuts = quantiles(lane.waited, n=100)
            bench.say(f"latency, {lane.side}: p50 {cuts[49]:.2f} ms, p99 {cuts[98]:.2f} ms")
            if warm:
                for row, cut in ((half, cuts[49]), (most, cuts[98])):
                    (row.ours if place else row.theirs).append(Sample(cut))
        warm = True
    half.settings = most.settings = SETTINGS


class _Lane:
    """A topic, the sink that writes it to a file, and how long its records took."""

    def __init__(self, side: str, topic: str, producer: Producer, out: Path) -> None:
        self.side = side
        self.waited: list[float] = []  # milliseconds
        self._topic = topic
        self._producer = producer
        self._out = out
        self._sent = 1
        # One record ahead tells that the sink listens, and how long a line is.
        producer.produce(topic, orjson.dumps(orders.order(0)))
        self._length = _first_line(out)

    def take(self, count: int) -> None:
        """Send some, and wait until all are written.

        One more goes ahead, and does not count: it comes after half a second without any.
        """
        count, before = count + 1, self._sent
        self._sent += count
        sent: list[float] = []
        seen: list[float] = []
        ready = threading.Event()
        watcher = threading.Thread(
            target=_watch, args=(self._out, self._length, before, count, ready, seen), daemon=True
        )
        watcher.start()
        ready.wait()
        due = time.perf_counter()
        for number in range(before, before + count):
            due += 1 / RATE
            time.sleep(max(0.0, due - time.perf_counter()))
            value = orjson.dumps(orders.order(number))
            sent.append(time.perf_counter())
            self._producer.produce(self._topic, value)
            self._producer.poll(0)
        watcher.join(30)
        if len(seen) < count:
            raise CouldNotRunError(f"{self.side} wrote {len(seen)} of {count} records")
        pairs = [*zip(sent, seen, strict=True)]
        self.waited += [(end - begin) * 1000 for begin, end in pairs[1:]]


@contextmanager
def _lane(bench: Bench, side: Side) -> Iterator[_Lane]:
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
        yield _Lane(side.name, name, producer, out)
        producer.flush(10)
    out.unlink(missing_ok=True)
    bench.drop(name)


def _first_line(out: Path) -> int:
    deadline = time.monotonic() + 60
    while not out.exists() or not out.stat().st_size:
        if time.monotonic() > deadline:
            raise CouldNotRunError("the sink wrote nothing within a minute")
        time.sleep(0.05)
    time.sleep(0.5)  # should the line have been written in parts
    return out.stat().st_size


def _watch(
    out: Path, length: int, before: int, count: int, ready: threading.Event, seen: list[float]
) -> None:
    """Note when each line was written: told by the kernel, because looking again and again would
    keep a core awake that both sides would otherwise have to wake, and be late itself.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    notices = libc.inotify_init1(0)
    watches = notices >= 0 and libc.inotify_add_watch(notices, bytes(out), _IN_MODIFY) >= 0
    ready.set()
    if not watches:
        return  # then too few were seen
    with (
        open(notices, "rb", buffering=0) as told,  # noqa: PTH123 - it has no path
        suppress(FileNotFoundError),  # given up
    ):
        while len(seen) < count and told.read(4096):
            now = time.perf_counter()
            lines = out.stat().st_size // length - before
            seen += [now] * (lines - len(seen))
