"""A small process that cleans up after an owner who could not: killed, crashed, or out of memory.

The owner starts it, with a directory if there is one to remove, and writes one line to its standard
input for each process that must not outlive him. When the owner is gone, however that came about,
the guard ends those processes and removes the directory.
"""

import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock.stack.process import Process

# The pipe's end tells at once that the owner is gone, unless a fork of his still holds it open. For
# that case the guard also looks for its parent this often.
_LOOK_SECONDS = 1


class Guard:
    """The owner's side: a context in which processes and a directory are under guard."""

    def __init__(self, directory: Path | None = None) -> None:
        # -c rather than -m, and our own path: the guard must run wherever we could be imported.
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from penstock.stack import guard; guard.main()",
                *([str(directory)] if directory else []),
            ],
            stdin=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,
        )
        self._watched: dict[Process, signal.Signals] = {}

    def watch(self, process: Process, sig: signal.Signals = signal.SIGKILL) -> None:
        assert self._process.stdin is not None
        self._watched[process] = sig
        self._process.stdin.write(f"{process.pid} {sig.value} {process.started}\n".encode())
        self._process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process, sig in self._watched.items():
            process.stop(sig)
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    owner = os.getppid()
    for caught in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(caught, signal.SIG_IGN)
    pending = b""
    while os.getppid() == owner:
        ready, _, _ = select.select([0], [], [], _LOOK_SECONDS)
        if not ready:
            continue
        chunk = os.read(0, 4096)
        if not chunk:
            break
        pending += chunk
    for line in pending.decode().splitlines():
        pid, sig, started = line.split(" ", 2)
        Process(int(pid), started).stop(signal.Signals(int(sig)))
    for directory in sys.argv[1:]:
        shutil.rmtree(directory, ignore_errors=True)
