"""The worker's end of the line to a task or connector."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

from connect.runtime.spec import Failed, Reply, Request


class Line:
    """Takes messages on the event loop, answers requests, and notices when the other end is gone.

    `on_message` gets what is told, `answer` is asked for requests, `on_end` is called once.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        on_message: Callable[[Any], None],
        answer: Callable[[Request], Awaitable[Any]],
        on_end: Callable[[], None],
    ) -> None:
        self.failed = False  # whether a Failed has come over it
        self._connection = connection
        self._on_message = on_message
        self._answer = answer
        self._on_end = on_end
        self._open = True
        self._answers: set[asyncio.Task[None]] = set()
        asyncio.get_running_loop().add_reader(connection.fileno(), self.read)

    def tell(self, message: Any) -> None:
        """Send a message; one that nobody can take any more is dropped."""
        if self._open:
            with contextlib.suppress(OSError):
                self._connection.send(message)

    def hand_over(self, handle: int, pid: int) -> None:
        """Give an open file to the process at the other end."""
        reduction.send_handle(self._connection, handle, pid)

    def read(self) -> None:
        """Take everything that has come."""
        try:
            while self._open and self._connection.poll():
                self._take(self._connection.recv())
        except (EOFError, OSError):
            self.close()
            self._on_end()

    def close(self) -> None:
        if self._open:
            self._open = False
            asyncio.get_running_loop().remove_reader(self._connection.fileno())
            self._connection.close()

    def _take(self, message: Any) -> None:
        if isinstance(message, Request):
            task = asyncio.ensure_future(self._reply(message))
            self._answers.add(task)
            task.add_done_callback(self._answers.discard)
            return
        self.failed = self.failed or isinstance(message, Failed)
        self._on_message(message)

    async def _reply(self, request: Request) -> None:
        try:
            reply = Reply(request.id, await self._answer(request))
        except Exception as error:  # noqa: BLE001 - the task gets it raised
            reply = Reply(request.id, error=error)
        self.tell(reply)
