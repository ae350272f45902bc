"""An HTTP server that plays the schema registry's part in failures a real one won't produce."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.http_server import JSON, Handler, serving


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

    class Stubbed(Handler):
        def answer(self) -> None:
            self.body()
            request = f"{self.command} {self.path}"
            stub.requests.append((request, dict(self.headers)))
            path = request.partition("?")[0]
            status, body = stub.answers.get(path, stub.otherwise)
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.reply(status, JSON, data)

    with serving(Stubbed, tls=tls) as stub.url:
        yield stub
