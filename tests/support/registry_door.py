"""A door in front of a real schema registry: it can be shut, and opened again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx


class Door:
    """Passes requests on while it is open. `failing`: each is answered 500 instead."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._server: ThreadingHTTPServer | None = None
        self._address = ("127.0.0.1", 0)
        self.failing = False
        self.open()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._address[1]}"

    def open(self) -> None:
        """Listen, at the same port as ever."""
        self._server = ThreadingHTTPServer(self._address, self._handler())
        self._server.daemon_threads = True
        self._address = ("127.0.0.1", self._server.server_port)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def shut(self) -> None:
        """Whoever knocks is refused."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        door = self

        class Handler(BaseHTTPRequestHandler):
            # One request a connection, so that none outlives a shut door.
            protocol_version = "HTTP/1.0"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if door.failing:
                    status, data = 500, b'{"error_code": 50001, "message": "the disk is full"}'
                else:
                    found = httpx.request(
                        self.command,
                        door._target + self.path,
                        content=body,
                        headers={"Content-Type": "application/json"},
                        trust_env=False,
                    )
                    status, data = found.status_code, found.content
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = answer  # noqa: N815

            def log_message(self, *_args: Any) -> None:
                pass

        return Handler


@contextmanager
def registry_door(target: str) -> Iterator[Door]:
    """A door to the registry at this URL, open at first."""
    door = Door(target)
    try:
        yield door
    finally:
        door.shut()
