"""CPU time and memory of a process and of everything below it, from /proc."""

from __future__ import annotations

import mmap
import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.processes import command, descendants, stat

_TICKS = os.sysconf("SC_CLK_TCK")
# More than a run needs: what a topic or a file takes, and what grows of a worker.
_RUN_BYTES = 1536 * 1024 * 1024


def below_us(word: str) -> int | None:
    """The process we have started whose command has a word that ends so."""
    for member in descendants(os.getpid()):
        if any(part.endswith(word.encode()) for part in command(member).split(b"\0")):
            return member
    return None


def cpu_seconds(pid: int) -> float:
    """What the family has used so far, those that have ended included."""
    total = 0
    for member in (pid, *descendants(pid)):
        if fields := stat(member):
            total += sum(map(int, fields[11:15]))
    return total / _TICKS


def memory(pid: int) -> int:
    """Bytes of the family's proportional set size: what several share counts once."""
    total = 0
    for member in (pid, *descendants(pid)):
        try:
            lines = Path(f"/proc/{member}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total * 1024


def take_memory() -> None:
    """Have free memory at hand for a run, as a machine has that is in use.

    The host of a virtual machine takes back what is free, and gives it again a page at a time, so
    slowly that a broker's page cache would be measured, on some runs and not on others.
    """
    free = os.sysconf("SC_AVPHYS_PAGES") * mmap.PAGESIZE
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    mmap.mmap(-1, min(_RUN_BYTES, free // 4), flags=flags).close()


class MemoryWatch:
    """The most memory a family had while the block ran, looked at twice a second."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.peak = 0

    def _watch(self) -> None:
        while not self._over.wait(0.5):
            self.peak = max(self.peak, memory(self._pid))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
        self.peak = max(self.peak, memory(self._pid))
