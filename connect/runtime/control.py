"""The task's side of the line to its worker."""

from __future__ import annotations

import itertools
import logging
import os
import socket
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from connect.errors import ConnectError, WorkerStateError
from connect.runtime.levels import connector_levels
from connect.runtime.spec import Pause, Reply, Request, Resume, SetLogLevel, Stop

log = logging.getLogger(__name__)


class StoppedError(ConnectError):
    """The task was told to stop with records in hand. Their offsets are not stored."""


def _end_process() -> None:
    """A task that nobody supervises must not go on writing."""
    log.warning("The worker is gone: this process ends")
    os._exit(70)


class Control:
    """What the worker wants of a task, and the way to tell the worker something.

    A thread reads the line. When the line is closed `on_lost` is called, which by default ends
    the process at once.
    """

    def __init__(
        self,
        line: Connection,
        *,
        paused: bool = False,
        on_lost: Callable[[], None] | None = None,
    ) -> None:
        self._line = line
        self._sending = threading.Lock()
        self._stop = threading.Event()
        self._changed = threading.Condition()
        self._paused = paused
        self._ids = itertools.count()
        self._replies: dict[int, Reply] = {}
        self._on_lost = on_lost or _end_process
        threading.Thread(target=self._listen, name="control", daemon=True).start()

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    @property
    def paused(self) -> bool:
        return self._paused

    def wait(self, seconds: float) -> bool:
        """Sleep; True at once when the task is to stop."""
        return self._stop.wait(seconds)

    def wait_while_paused(self, seconds: float) -> None:
        """Sleep at most this long; returns early on resume or stop."""
        with self._changed:
            self._changed.wait_for(lambda: not self._paused or self.stopping, seconds)

    def close(self) -> None:
        """Close the line; the worker sees that the task has ended."""
        with self._sending:
            # shutdown() wakes the listening thread, which close() alone would leave waiting.
            with socket.socket(fileno=os.dup(self._line.fileno())) as end:
                end.shutdown(socket.SHUT_RDWR)
            self._line.close()

    def tell(self, message: Any) -> None:
        with self._sending:
            self._line.send(message)

    def ask(self, method: str, *args: Any, timeout: float = 60.0) -> Any:
        """A question to the worker, and its answer."""
        number = next(self._ids)
        self.tell(Request(number, method, args))
        with self._changed:
            if not self._changed.wait_for(lambda: number in self._replies, timeout):
                raise WorkerStateError(f"The worker did not answer '{method}' in {timeout:.0f} s")
            reply = self._replies.pop(number)
        if reply.error is not None:
            raise reply.error
        return reply.result

    def _listen(self) -> None:
        try:
            while True:
                self._take(self._line.recv())
        except (EOFError, OSError):
            self._stop.set()
            self._on_lost()

    def _take(self, message: Any) -> None:
        match message:
            case Stop():
                self._stop.set()
            case Pause():
                self._paused = True
            case Resume():
                self._paused = False
            case Reply():
                with self._changed:
                    self._replies[message.id] = message
            case SetLogLevel():
                connector_levels.apply([(message.logger, message.level)])
        with self._changed:
            self._changed.notify_all()
