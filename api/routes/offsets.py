"""The offsets of connectors."""

from __future__ import annotations

from starlette.responses import Response

from api import answers, models
from api.answers import JsonResponse
from api.bodies import parse_offsets
from api.routing import Body, TheHerder, documented, router

routes = router("offsets")

_UNKNOWN = {"model": models.Error, "description": "No such connector"}


@routes.get(
    "/connectors/{connector:segment}/offsets",
    summary="How far a connector has come",
    responses={200: {"model": models.Offsets}, 404: _UNKNOWN},
)
async def read_offsets(connector: str, herder: TheHerder) -> Response:
    return JsonResponse(answers.offsets(await herder.offsets(connector)))


@routes.patch(
    "/connectors/{connector:segment}/offsets",
    summary="Change offsets of a stopped connector; an offset of null forgets the partition",
    responses={200: {"model": models.Message}, 404: _UNKNOWN},
    openapi_extra=documented(models.Offsets),
)
async def alter_offsets(connector: str, herder: TheHerder, body: Body) -> Response:
    return JsonResponse({"message": await herder.alter_offsets(connector, parse_offsets(body))})


@routes.delete(
    "/connectors/{connector:segment}/offsets",
    summary="Forget all offsets of a stopped connector",
    responses={200: {"model": models.Message}, 404: _UNKNOWN},
)
async def reset_offsets(connector: str, herder: TheHerder) -> Response:
    return JsonResponse({"message": await herder.reset_offsets(connector)})
