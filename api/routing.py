"""What all routes share: how they are declared, their guard, the herder and the body."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.bodies import read_body
from api.errors import answer_error
from api.forwarding import forward
from api.paths import printable_path
from api.queries import read_query
from api.security.roles import Caller, Need, Role, need
from api.settings import RestSettings
from connect.cluster.herder import ElsewhereError, Herder, TimedOutError
from connect.errors import ConnectError

log = logging.getLogger(__name__)

# Takes the request, the parameters of the path by their names, and `query` if one is declared.
Handler = Callable[..., Coroutine[Any, Any, Response]]


class Answer(NamedTuple):
    """What comes with a status. A type of None means that there is no body."""

    type: Any = None
    description: str = ""
    media_type: str = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A method of a path. Without a summary it is not documented."""

    method: str
    path: str
    handler: Handler
    tag: str
    summary: str = ""
    answers: Mapping[int, Answer] = field(default_factory=dict)
    query: type[msgspec.Struct] | None = None
    # For the documentation: handlers read bodies by themselves.
    body: Any = None

    def route(self) -> Route:
        return Route(self.path, self.answer, methods=[self.method])

    async def answer(self, request: Request) -> Response:
        """Always an answer: the handler's or that to its error, and within the time limit."""
        try:
            await authorise(request, self.path)
            return await _in_time(self._here_or_elsewhere(request), request)
        except Exception as error:  # noqa: BLE001 - any error has an answer
            return answer_error(error)

    async def _here_or_elsewhere(self, request: Request) -> Response:
        given = dict(request.path_params)
        if self.query is not None:
            given["query"] = read_query(request.query_params, self.query)
        try:
            return await self.handler(request, **given)
        except ElsewhereError as elsewhere:
            return await forward(request, getattr(request.state, "body", b""), elsewhere)


class Routes:
    """The operations of a resource, declared by decorators."""

    def __init__(self, tag: str) -> None:
        self._tag = tag
        self.operations: list[Operation] = []
        self.get = partial(self._add, "GET")
        self.post = partial(self._add, "POST")
        self.put = partial(self._add, "PUT")
        self.patch = partial(self._add, "PATCH")
        self.delete = partial(self._add, "DELETE")

    def _add(self, method: str, path: str, **more: Any) -> Callable[[Handler], Handler]:
        def add(handler: Handler) -> Handler:
            operation = Operation(method=method, path=path, handler=handler, tag=self._tag, **more)
            self.operations.append(operation)
            return handler

        return add


async def _in_time(work: Coroutine[Any, Any, Response], request: Request) -> Response:
    """Wait for the answer, but not for ever. The work goes on: cut off in the middle it might
    leave a connector half-created.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task}, timeout=settings_of(request).timeout_seconds)
    except asyncio.CancelledError:
        # The server stops, and has waited for this one as long as it does.
        task.add_done_callback(_report_late_end(request))
        raise ConnectError("Worker is shutting down") from None
    if task.done():
        return task.result()
    task.add_done_callback(_report_late_end(request))
    doing = herder_of(request).doing()
    raise TimedOutError(f"Request timed out. {doing}" if doing else "Request timed out")


def _report_late_end(request: Request) -> Callable[[asyncio.Task[Response]], None]:
    what = f"{request.method} {printable_path(request.scope)}"

    def report(task: asyncio.Task[Response]) -> None:
        if task.cancelled():
            return
        if error := task.exception():
            log.warning("%s failed after nobody waited for it any more: %s", what, error)
        else:
            log.info("%s was done after nobody waited for it any more", what)

    return report


def herder_of(request: Request) -> Herder:
    herder: Herder = request.app.state.herder
    return herder


def settings_of(request: Request) -> RestSettings:
    settings: RestSettings = request.app.state.settings
    return settings


def caller_of(request: Request) -> Caller:
    """Who sent it. Without the gate in front there is none, and no way in."""
    caller: Caller = request.state.caller
    return caller


async def authorise(request: Request, path: str) -> None:
    """ForbiddenError unless the caller has the role that the route takes."""
    caller, needed = caller_of(request), need(request.method, path)
    if caller.grants is None or needed is Need.NOTHING:
        return
    if needed is Need.ADMIN_SOMEWHERE:
        caller.require_somewhere(Role.ADMIN)
        return
    assert isinstance(needed, Role)
    for connector in await _connectors_meant(request):
        caller.require(needed, connector)


async def _connectors_meant(request: Request) -> Sequence[str | None]:
    """The connectors that a request is about; None stands for the worker with all of them."""
    given = request.path_params
    if "connector" in given:
        return [given["connector"]]
    if "topic" in given:
        return await request.app.state.dlq.users_of(given["topic"]) or [None]
    if "id" in given:
        return await request.app.state.dlq.users_of_job(given["id"]) or [None]
    return [None]


async def body_of(request: Request) -> bytes:
    body = await read_body(request, settings_of(request).max_body_bytes)
    request.state.body = body  # for the worker to whom the request may have to go
    return body
