"""The offsets of connectors."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from api import answers, models
from api.answers import JsonResponse
from api.bodies import parse_offsets
from api.routing import Answer, Routes, body_of, herder_of

routes = Routes("offsets")

_UNKNOWN = Answer(models.Error, "No such connector")


@routes.get(
    "/connectors/{connector:segment}/offsets",
    summary="How far a connector has come",
    answers={200: Answer(models.Offsets), 404: _UNKNOWN},
)
async def read_offsets(request: Request, connector: str) -> Response:
    return JsonResponse(answers.offsets(await herder_of(request).offsets(connector)))


@routes.patch(
    "/connectors/{connector:segment}/offsets",
    summary="Change offsets of a stopped connector; an offset of null forgets the partition",
    answers={200: Answer(models.Message), 404: _UNKNOWN},
    body=models.Offsets,
)
async def alter_offsets(request: Request, connector: str) -> Response:
    wanted = parse_offsets(await body_of(request))
    return JsonResponse({"message": await herder_of(request).alter_offsets(connector, wanted)})


@routes.delete(
    "/connectors/{connector:segment}/offsets",
    summary="Forget all offsets of a stopped connector",
    answers={200: Answer(models.Message), 404: _UNKNOWN},
)
async def reset_offsets(request: Request, connector: str) -> Response:
    return JsonResponse({"message": await herder_of(request).reset_offsets(connector)})
