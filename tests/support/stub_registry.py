"""An HTTP server that plays the schema registry's part in failures a real one won't produce."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class StubRegistry:
    """Answers by method and path; `requests` keeps what was asked."""

    answers: dict[str, tuple[int, Any]] = field(default_factory=dict)
    otherwise: tuple[int, Any] = (404, {"error_code": 40403, "message": "Schema not found"})
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    url: str = ""

    def asked(self, start: str = "") -> list[str]:
        return [request for request, _ in self.requests if request.startswith(start)]


@contextmanager
def stub_registry(tls: ssl.SSLContext | None = None) -> Iterator[StubRegistry]:
    stub = StubRegistry()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            request = f"{self.command} {self.path}"
            stub.requests.append((request, dict(self.headers)))
            path = request.partition("?")[0]
            status, body = stub.answers.get(path, stub.otherwise)
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = answer  # noqa: N815

        def log_message(self, *_args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    scheme = "http" if tls is None else "https"
    stub.url = f"{scheme}://127.0.0.1:{server.server_port}"
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
