"""A time limit for code that somebody else wrote, for each of many records at little cost.

In the main thread an alarm signal interrupts whatever runs, waiting calls included. In another
thread an exception is raised inside of it by the interpreter, which happens between two
instructions of Python: a call that waits in C (a sleep, a socket) is interrupted when it returns.
Neither reaches C code that never looks at signals; the supervisor of the task ends that.
"""

from __future__ import annotations

import ctypes
import math
import signal
import threading
from time import monotonic
from types import FrameType
from typing import Any, Protocol, Self


class TimeIsUp(BaseException):
    """Raised inside of the code that ran too long.

    No Exception, so that an `except Exception` in that code does not swallow it.
    """


class TimeLimit(Protocol):
    """Around a batch: `with limit:`, and `limit.restart()` before each record."""

    def restart(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...


def time_limit(seconds: float) -> TimeLimit:
    """A limit for the thread that calls this; none for zero seconds."""
    if seconds <= 0:
        return _NoLimit()
    if threading.current_thread() is threading.main_thread():
        return _AlarmLimit(seconds)
    return _ThreadLimit(seconds)


class _NoLimit:
    def restart(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class _AlarmLimit:
    """One alarm a batch. When it goes off, it looks how long the record at hand has run."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._started = 0.0
        self._entered = 0.0
        self._old_handler: Any = None
        self._old_timer = (0.0, 0.0)

    def restart(self) -> None:
        self._started = monotonic()

    def __enter__(self) -> Self:
        self._started = self._entered = monotonic()
        self._old_handler = signal.signal(signal.SIGALRM, self._look)
        self._old_timer = signal.setitimer(signal.ITIMER_REAL, self._seconds)
        return self

    def __exit__(self, *_: object) -> None:
        self._started = math.inf  # an alarm that goes off now finds nothing to interrupt
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._old_handler)
        left, interval = self._old_timer
        if left:
            # Somebody else's alarm goes on; one that is overdue goes off at once.
            left -= monotonic() - self._entered
            signal.setitimer(signal.ITIMER_REAL, max(left, 1e-6), interval)

    def _look(self, _signal: int, _frame: FrameType | None) -> None:
        left = self._started + self._seconds - monotonic()
        if left <= 0:
            raise TimeIsUp
        if left < math.inf:
            signal.setitimer(signal.ITIMER_REAL, left)


class _ThreadLimit:
    """A watching thread, and an exception that it has raised in the watched one."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._started = 0.0
        self._thread_id = 0
        self._done = threading.Event()
        self._struck = False
        self._lock = threading.Lock()

    def restart(self) -> None:
        self._started = monotonic()

    def __enter__(self) -> Self:
        self._started = monotonic()
        self._thread_id = threading.get_ident()
        self._done = threading.Event()
        threading.Thread(target=self._watch, args=(self._done,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._done.set()
            if self._struck:
                self._struck = False
                _let_strike(self._thread_id)

    def _watch(self, done: threading.Event) -> None:
        left = self._seconds
        while not done.wait(left):
            left = self._started + self._seconds - monotonic()
            with self._lock:
                if left <= 0 and not done.is_set():
                    done.set()
                    self._struck = True
                    _raise_in_thread(self._thread_id)


def _raise_in_thread(thread_id: int) -> None:
    target = ctypes.py_object(TimeIsUp)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), target)


def _let_strike(thread_id: int) -> None:
    """Have this thread's exception come now: a moment later it would strike somebody else's code.

    It can be taken back as well, but then Python 3.11 looks for it for ever: everything is slower,
    and code that is traced or profiled hangs.
    """
    try:
        _raise_in_thread(thread_id)
        while True:
            pass
    except TimeIsUp:
        pass
