"""Tasks as threads of one shared process: `task.isolation=thread`, for many tiny tasks.

They are not in the worker's own process: even here plugin code can't harm REST or membership.
But they share a fate with each other: one that ends the interpreter takes the others along, and
one that will not stop can't be killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import threading
from collections.abc import Awaitable, Callable
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

from connect.runtime.child import Child
from connect.runtime.control import Control
from connect.runtime.host import isolate, run_host
from connect.runtime.levels import connector_levels
from connect.runtime.line import Line
from connect.runtime.log import set_context, set_process_context, set_up_logging
from connect.runtime.memory import tune_garbage_collection
from connect.runtime.spec import Failed, Member, Request, Stop, TaskSpec, ThreadHostSpec

log = logging.getLogger(__name__)


def run_thread_host(line: Connection, spec: ThreadHostSpec) -> None:
    """Take tasks from the worker and give each a thread. The process's main function."""
    isolate()
    set_up_logging(spec.worker_config)
    set_process_context("[threads] ")
    tune_garbage_collection()
    with contextlib.suppress(EOFError, OSError):
        while True:
            message = line.recv()
            if isinstance(message, Stop):
                return
            task_line = Connection(reduction.recv_handle(line))
            threading.Thread(target=_run, args=(task_line, message), name=str(message)).start()


def _run(line: Connection, spec: TaskSpec) -> None:
    set_context(f"[{spec.connector}|task-{spec.task}] ", spec.connector)
    connector_levels.apply(spec.log_levels)
    control = Control(line, paused=spec.paused, on_lost=lambda: None)
    try:
        run_host(spec, control, limited=False)
    finally:
        control.close()


class ThreadHost:
    """The shared process, started when the first task wants it."""

    def __init__(self, config: ThreadHostSpec) -> None:
        self._config = config
        self._child: Child | None = None
        self._lock = asyncio.Lock()

    async def adopt(self, spec: TaskSpec) -> Connection:
        """Give a task a thread; the line to it."""
        async with self._lock:
            if self._child is None or self._child.over:
                self._child = Child(
                    run_thread_host,
                    self._config,
                    on_message=lambda message: log.warning("Thread host: %s", message),
                    answer=_no_questions,
                )
                await self._child.start()
            ours, theirs = multiprocessing.Pipe()
            self._child.tell(spec)
            self._child.hand_over(theirs.fileno())
            theirs.close()
            return ours

    async def stop(self, seconds: float) -> None:
        if self._child is not None:
            await self._child.stop(seconds)


async def _no_questions(request: Request) -> Any:
    raise AssertionError(f"the thread host asks nothing, but asked {request.method}")


class ThreadTask:
    """One task in the shared process. Answers to the same calls as a Child."""

    pid: int | None = None

    def __init__(
        self,
        host: ThreadHost,
        spec: TaskSpec,
        *,
        on_message: Callable[[Any], None],
        answer: Callable[[Request], Awaitable[Any]],
    ) -> None:
        self.spec = spec
        self._host = host
        self._on_message = on_message
        self._answer = answer
        self._line: Line | None = None
        self._ended = asyncio.Event()
        self._stopping = False
        self.member: Member | None = None

    @property
    def over(self) -> bool:
        return self._ended.is_set()

    async def start(self) -> None:
        connection = await self._host.adopt(self.spec)
        self._line = Line(
            connection, on_message=self._on_message, answer=self._answer, on_end=self._over
        )

    def tell(self, message: Any) -> None:
        if self._line is not None:
            self._line.tell(message)

    async def stop(self, seconds: float) -> bool:
        self._stopping = True
        self.tell(Stop())
        try:
            await asyncio.wait_for(self._ended.wait(), seconds)
        except TimeoutError:
            log.warning("%s did not stop in %.1f s; its thread is left behind", self.spec, seconds)
            if self._line is not None:
                self._line.close()
            return False
        return True

    def _over(self) -> None:
        assert self._line is not None
        self._ended.set()
        if not self._stopping and not self._line.failed:
            self._on_message(
                Failed(
                    "The process that this task shares with others (task.isolation=thread) has "
                    "ended. task.isolation=process keeps tasks apart.\n"
                )
            )
