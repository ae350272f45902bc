"""What all routes share: the herder, the body, the time limit and the answer to errors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from api.bodies import read_body
from api.errors import answer_error
from api.forwarding import forward
from api.models import Error
from api.paths import printable_path
from api.security.roles import Caller, Need, Role, need
from api.settings import RestSettings
from connect.cluster.herder import ElsewhereError, Herder, TimedOutError
from connect.errors import ConnectError

log = logging.getLogger(__name__)

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class GuardedRoute(APIRoute):
    """A route that always answers: with the error's own answer, and within the time limit."""

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                await authorise(request, self.path)
                return await _in_time(_here_or_elsewhere(handle, request), request)
            except Exception as error:  # noqa: BLE001 - any error has an answer
                return answer_error(error)

        return guarded


async def _here_or_elsewhere(handle: Handler, request: Request) -> Response:
    try:
        return await handle(request)
    except ElsewhereError as elsewhere:
        return await forward(request, getattr(request.state, "body", b""), elsewhere)


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


def router(tag: str) -> APIRouter:
    return APIRouter(
        route_class=GuardedRoute,
        tags=[tag],
        responses={
            400: {"model": Error, "description": "The request can't be met as it stands"},
            401: {"model": Error, "description": "No user is known by what came with it"},
            403: {"model": Error, "description": "The user lacks the role, which is named"},
            500: {"model": Error, "description": "The worker failed, or did not answer in time"},
        },
    )


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


async def _body_of(request: Request) -> bytes:
    body = await read_body(request, settings_of(request).max_body_bytes)
    request.state.body = body  # for the worker to whom the request may have to go
    return body


TheCaller = Annotated[Caller, Depends(caller_of)]
TheHerder = Annotated[Herder, Depends(herder_of)]
Body = Annotated[bytes, Depends(_body_of)]


def documented(body: type[BaseModel] | dict[str, Any]) -> dict[str, Any]:
    """What `openapi_extra` says of a body that the route reads by itself."""
    schema = (
        body
        if isinstance(body, dict)
        else body.model_json_schema(ref_template="#/components/schemas/{model}")
    )
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
