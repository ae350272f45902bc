"""A real HTTP service for tests, which answers as it is told and remembers what it was asked."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Service:
    """`answers` are given in order: a status, or (status, headers, body); then always 200."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[Asked] = []
        self.answers: list = []
        # Called with each request; what it returns stands above `answers`.
        self.decide = lambda _: None

    def at(self, path: str) -> list[Asked]:
        return [each for each in self.asked if each.path == path]


@contextmanager
def http_service() -> Iterator[Service]:
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            asked = Asked(self.command, self.path, dict(self.headers), self.rfile.read(length))
            service.asked.append(asked)
            answer = service.decide(asked)
            if answer is None:
                answer = service.answers.pop(0) if service.answers else 200
            status, headers, body = (answer, {}, b"") if isinstance(answer, int) else answer
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
