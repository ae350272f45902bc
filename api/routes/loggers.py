"""Log levels, to be changed while the worker runs."""

from __future__ import annotations

import logging
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from api import models
from api.answers import JsonResponse, no_content
from api.bodies import parse_level
from api.routing import Body, TheHerder, documented, router
from connect.errors import NotFoundError

log = logging.getLogger(__name__)

routes = router("loggers")

_LEVELS = ("OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL")


@routes.get(
    "/admin/loggers",
    summary="The loggers whose level was set",
    responses={200: {"model": dict[str, models.LoggerLevel]}},
)
async def list_loggers(herder: TheHerder) -> Response:
    loggers = await herder.loggers()
    return JsonResponse({name: loggers[name] for name in sorted(loggers)})


@routes.get(
    "/admin/loggers/{logger:segment}",
    summary="The level of a logger",
    responses={200: {"model": models.LoggerLevel}, 404: {"model": models.Error}},
)
async def read_logger(logger: str, herder: TheHerder) -> Response:
    return JsonResponse(await herder.logger(logger))


@routes.put(
    "/admin/loggers/{logger:segment}",
    summary="Set the level of a logger and those below it, on this worker or on all",
    responses={
        200: {"model": list[str], "description": "The loggers changed on this worker"},
        204: {"description": "The whole cluster was told"},
        404: {"model": models.Error, "description": "There is no such level"},
    },
    openapi_extra=documented(models.SetLevel),
)
async def set_level(
    logger: str,
    herder: TheHerder,
    body: Body,
    scope: Annotated[str, Query(description="`worker` or `cluster`")] = "worker",
) -> Response:
    level = parse_level(body)
    if level.upper() not in _LEVELS:
        raise NotFoundError(f"invalid log level '{level}'.")
    changed = await herder.set_log_level(logger, level.upper(), scope=_known_scope(scope))
    return no_content() if changed is None else JsonResponse(sorted(changed))


def _known_scope(scope: str) -> str:
    if scope.lower() in ("worker", "cluster"):
        return scope.lower()
    log.warning("Unknown scope '%s' for a log level, taken for 'worker'", scope)
    return "worker"
