"""Log levels, to be changed while the worker runs."""

from __future__ import annotations

import logging
from typing import Annotated

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from api import models
from api.answers import JsonResponse, no_content
from api.bodies import parse_level
from api.routing import Answer, Routes, body_of, herder_of
from connect.errors import NotFoundError

log = logging.getLogger(__name__)

routes = Routes("loggers")

_LEVELS = ("OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL")


@routes.get(
    "/admin/loggers",
    summary="The loggers whose level was set",
    answers={200: Answer(dict[str, models.LoggerLevel])},
)
async def list_loggers(request: Request) -> Response:
    loggers = await herder_of(request).loggers()
    return JsonResponse({name: loggers[name] for name in sorted(loggers)})


@routes.get(
    "/admin/loggers/{logger:segment}",
    summary="The level of a logger",
    answers={200: Answer(models.LoggerLevel), 404: Answer(models.Error)},
)
async def read_logger(request: Request, logger: str) -> Response:
    return JsonResponse(await herder_of(request).logger(logger))


class _Scope(Struct):
    scope: Annotated[str, Meta(description="`worker` or `cluster`")] = "worker"


@routes.put(
    "/admin/loggers/{logger:segment}",
    summary="Set the level of a logger and those below it, on this worker or on all",
    answers={
        200: Answer(list[str], "The loggers changed on this worker"),
        204: Answer(None, "The whole cluster was told"),
        404: Answer(models.Error, "There is no such level"),
    },
    query=_Scope,
    body=models.SetLevel,
)
async def set_level(request: Request, logger: str, query: _Scope) -> Response:
    level = parse_level(await body_of(request))
    if level.upper() not in _LEVELS:
        raise NotFoundError(f"invalid log level '{level}'.")
    scope = _known_scope(query.scope)
    changed = await herder_of(request).set_log_level(logger, level.upper(), scope=scope)
    return no_content() if changed is None else JsonResponse(sorted(changed))


def _known_scope(scope: str) -> str:
    if scope.lower() in ("worker", "cluster"):
        return scope.lower()
    log.warning("Unknown scope '%s' for a log level, taken for 'worker'", scope)
    return "worker"
