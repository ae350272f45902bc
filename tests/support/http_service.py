"""A real HTTP service for tests, which answers as it is told and remembers what it was asked."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.support.http_server import Handler, serving


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

    class Told(Handler):
        def answer(self) -> None:
            asked = Asked(self.command, self.path, dict(self.headers), self.body())
            service.asked.append(asked)
            answer = service.decide(asked)
            if answer is None:
                answer = service.answers.pop(0) if service.answers else 200
            self.reply(*(answer, {}, b"") if isinstance(answer, int) else answer)

    with serving(Told) as service.url:
        yield service
