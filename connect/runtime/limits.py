"""Limits of a task's process: how much memory it may take, how long a call may last."""

from __future__ import annotations

import mmap
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from connect.errors import ConnectError

CHECK_SECONDS = 0.25
# Room for threads' stacks and the like that count as data but are never touched.
_SLACK = 256 * 1024 * 1024


class LimitExceededError(ConnectError):
    """The task went over task.memory.max or task.call.timeout.ms."""


class Limits:
    """Watches this process from a thread and ends it, with a reason, when it goes too far.

    `busy_since` is when the call under way began, None between calls.
    """

    def __init__(
        self, memory: int | None, call_ms: int | None, give_up: Callable[[str], None]
    ) -> None:
        self._memory = memory
        self._call_ms = call_ms
        self._give_up = give_up
        self._busy: Callable[[], float | None] = lambda: None
        self._main = threading.get_ident()
        if memory is not None and sys.platform == "linux":
            # An allocation far above the limit must fail at once, not after the next look.
            bound = _data_bytes() + memory + _SLACK
            resource.setrlimit(resource.RLIMIT_DATA, (bound, bound))

    def watch(self, busy_since: Callable[[], float | None]) -> None:
        """Begin to watch, if there is anything to watch."""
        self._busy = busy_since
        if self._memory is not None or self._call_ms is not None:
            threading.Thread(target=self._run, name="limits", daemon=True).start()

    def explain(self, error: BaseException) -> BaseException:
        """A MemoryError under a limit, or an error that comes of one, said in words."""
        if self._memory is not None and _is_of_memory(error):
            said = LimitExceededError(
                f"The task needs more memory than task.memory.max={self._memory} bytes allows."
            )
            said.__cause__ = error
            return said
        return error

    def _run(self) -> None:
        while True:
            time.sleep(CHECK_SECONDS)
            if self._memory is not None and (used := resident_bytes()) > self._memory:
                self._end(
                    f"The task uses {used} bytes of memory, more than task.memory.max="
                    f"{self._memory} allows."
                )
            since = self._busy()
            if self._call_ms is not None and since is not None:
                took = (time.monotonic() - since) * 1000
                if took > self._call_ms:
                    self._end(
                        f"A call of the task has taken {took:.0f} ms, more than "
                        f"task.call.timeout.ms={self._call_ms} allows."
                    )

    def _end(self, reason: str) -> None:
        frame = sys._current_frames().get(self._main)
        self._give_up(f"{reason}\nIt was at:\n{_stack(frame)}")
        os._exit(75)


def _is_of_memory(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, MemoryError):
        error = error.__cause__
    return error is not None


def resident_bytes() -> int:
    """The memory of this process that is its own or shared."""
    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    # Each task asks once a second: without pathlib, whose code would be a few pages for each.
    handle = os.open("/proc/self/statm", os.O_RDONLY)
    try:
        return int(os.read(handle, 100).split()[1]) * mmap.PAGESIZE
    finally:
        os.close(handle)


def _data_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData"):
            return int(line.split()[1]) * 1024
    return 0


def _stack(frame: FrameType | None) -> str:
    lines = []
    while frame is not None:
        code = frame.f_code
        module = frame.f_globals.get("__name__", "?")
        name = Path(code.co_filename).name
        lines.append(f"\tat {module}.{code.co_qualname} ({name}:{frame.f_lineno})\n")
        frame = frame.f_back
    return "".join(lines)
