"""A door in front of a real schema registry: it can be shut, and opened again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx

from tests.support.http_server import JSON, Handler, serving


class Door:
    """Passes requests on while it is open. `failing`: each is answered 500 instead."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._running = ExitStack()
        self._port = 0
        self.failing = False
        self.url = ""
        self.open()

    def open(self) -> None:
        """Listen, at the same port as ever."""
        self.url = self._running.enter_context(serving(self._handler(), self._port))
        self._port = int(self.url.rpartition(":")[2])

    def shut(self) -> None:
        """Whoever knocks is refused."""
        self._running.close()

    def _handler(self) -> type[Handler]:
        door = self

        class Passing(Handler):
            # One request a connection, so that none outlives a shut door.
            protocol_version = "HTTP/1.0"

            def answer(self) -> None:
                body = self.body()
                if door.failing:
                    full = b'{"error_code": 50001, "message": "the disk is full"}'
                    self.reply(500, JSON, full)
                    return
                found = httpx.request(
                    self.command,
                    door._target + self.path,
                    content=body,
                    headers=JSON,
                    trust_env=False,
                )
                self.reply(found.status_code, JSON, found.content)

        return Passing


@contextmanager
def registry_door(target: str) -> Iterator[Door]:
    """A door to the registry at this URL, open at first."""
    door = Door(target)
    try:
        yield door
    finally:
        door.shut()
