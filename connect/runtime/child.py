"""Child processes, seen from the worker: started, talked to, and ended for sure."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from typing import Any

from connect.runtime.fork_server import Forked, fork_server
from connect.runtime.line import Line
from connect.runtime.spec import Failed, Member, Request, Stop

log = logging.getLogger(__name__)


class Child:
    """A connector or a task in a process of its own.

    `target(line, spec)` is the process's main function. `on_message` gets what it tells; `answer`
    is asked for its requests. When the process ends without having been told to and without a
    Failed of its own, `on_message` gets a Failed that says how it ended.
    """

    def __init__(
        self,
        target: Callable[[Connection, Any], None],
        spec: Any,
        *,
        on_message: Callable[[Any], None],
        answer: Callable[[Request], Awaitable[Any]],
    ) -> None:
        self.spec = spec
        self._target = target
        self._on_message = on_message
        self._answer = answer
        self._process: Forked | None = None
        self._line: Line | None = None
        self._stopping = False
        self._ended = asyncio.Event()
        self.member: Member | None = None  # of a consumer group, if it has told

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def over(self) -> bool:
        return self._ended.is_set()

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._process = await loop.run_in_executor(None, fork_server.fork, self._target, self.spec)
        self._line = Line(
            self._process.line,
            on_message=self._on_message,
            answer=self._answer,
            on_end=lambda: None,
        )
        loop.add_reader(self._process.status, self._exited)

    def let_end(self) -> None:
        """The process ends by itself now, and rightly."""
        self._stopping = True

    async def stop(self, seconds: float) -> bool:
        """Ask it to stop and wait; kill it when it has not by then. True: it stopped."""
        self._stopping = True
        self.tell(Stop())
        try:
            await asyncio.wait_for(self._ended.wait(), seconds)
        except TimeoutError:
            log.warning("%s did not stop within %.1f s and is killed", self.spec, seconds)
            await self.kill()
            return False
        return True

    async def kill(self) -> None:
        self._stopping = True
        if self._process is not None and not self.over:
            self._process.kill()
            await self._ended.wait()

    def tell(self, message: Any) -> None:
        if self._line is not None:
            self._line.tell(message)

    def hand_over(self, handle: int) -> None:
        """Give an open file to the process."""
        assert self._line is not None
        assert self.pid is not None
        self._line.hand_over(handle, self.pid)

    def _exited(self) -> None:
        assert self._process is not None
        assert self._line is not None
        asyncio.get_running_loop().remove_reader(self._process.status)
        try:
            self._line.read()  # its last words
        finally:
            # Whoever waits for it must not wait for ever because somebody choked on these.
            self._line.close()
            code = self._process.exit_code()
            self._end_what_it_started()
            self._ended.set()
            if not self._stopping and not self._line.failed:
                self._on_message(Failed(_how_it_ended(code)))

    def _end_what_it_started(self) -> None:
        """Processes that a plugin has started and left behind are in its session's group."""
        assert self.pid is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


def _how_it_ended(code: int | None) -> str:
    if code is None:
        return "The process was ended because the fork server, its parent, was killed.\n"
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        hint = " (out of memory, or killed by hand)" if name == "SIGKILL" else ""
        return f"The process was ended by {name}{hint}.\n"
    return (
        f"The process ended with exit code {code}, without having been told to. "
        "Code of the connector or of a library has ended the interpreter.\n"
    )
