"""A sink task that is run before any process is forked, without Kafka and without records.

Python notes on the way what it has learned, next to what it has loaded: which method a name means,
which attributes an object has, how an instruction is best done. So does librdkafka. Each task would
note it again, on pages of memory that it could otherwise share with all others. After this it is
there before the fork, which saves a third of what a task has of its own, and a part of its start.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from multiprocessing.connection import Connection, Pipe
from pathlib import Path

from connect.errors import ConnectError
from connect.plugins import Plugins
from connect.runtime.control import Control
from connect.runtime.host import run_host
from connect.runtime.log import set_up_logging
from connect.runtime.spec import Failed, Kind, Metrics, Stop, TaskSpec

_TIMES = 2  # how an instruction is best done is noted when it is done again; more gives no more
_SECONDS = 10.0  # for what takes milliseconds
_METRICS_SECONDS = 0.005

_JSON = "org.apache.kafka.connect.json.JsonConverter"
_WORKER = {
    "key.converter": _JSON,
    "value.converter": _JSON,
    "key.converter.schemas.enable": "false",
    "value.converter.schemas.enable": "false",
    "offset.flush.interval.ms": "5",  # so that its loop sleeps no longer
}
_CONNECTOR = {
    "name": "rehearsal",
    "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
    "tasks.max": "1",
    "topics": "rehearsal",
    "file": os.devnull,
}


def rehearse() -> None:
    """Run it, and leave no trace but in memory. ConnectError says why it could not be."""
    spec = TaskSpec(
        "rehearsal", 0, Kind.SINK, _CONNECTOR, _CONNECTOR, _WORKER, Plugins.of_worker(_WORKER)
    )
    for _ in range(_TIMES):
        with _log_apart():
            _run(spec)


@contextmanager
def _log_apart() -> Iterator[None]:
    """Let it log as tasks do, where nobody reads it."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        with redirect_stderr(io.StringIO()):
            set_up_logging(_WORKER)
            yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def _run(spec: TaskSpec) -> None:
    """The worker's part is played here, so that Ctrl-C finds the one who minds it."""
    threads, native = set(threading.enumerate()), _native_threads()
    ours, theirs = Pipe()
    task = threading.Thread(target=_play, args=(theirs,), daemon=True)
    task.start()
    try:
        ours.send(spec)
        _until_it_idles(ours)
    finally:
        with suppress(OSError):  # it has failed, and is gone
            ours.send(Stop())
        task.join(_SECONDS)  # first: until then it may start others
        for thread in {*threading.enumerate()} - threads:
            thread.join(_SECONDS)
        ours.close()
    deadline = time.monotonic() + _SECONDS
    while _native_threads() > native:
        if time.monotonic() > deadline:
            raise ConnectError("threads of the task are left")
        time.sleep(0.0001)  # to the system they are there a moment longer


def _native_threads() -> int:
    return len([*Path("/proc/self/task").iterdir()]) if sys.platform == "linux" else 0


def _play(line: Connection) -> None:
    with line, suppress(EOFError, OSError):  # who has called for it has gone
        spec = line.recv()
        control = Control(line, on_lost=lambda: None)
        run_host(spec, control, limited=False, metrics_seconds=_METRICS_SECONDS)
        control.close()


def _until_it_idles(line: Connection) -> None:
    while line.poll(_SECONDS):
        match line.recv():
            case Metrics():
                return
            case Failed(trace):
                raise ConnectError(trace)
    raise ConnectError(f"nothing is heard of the task for {_SECONDS} s")
