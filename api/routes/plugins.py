"""Plugins: what is installed, its config keys, and validation."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from api import models
from api.answers import JsonResponse
from api.bodies import StringMap, parse_config, parse_transform
from api.routing import Body, TheHerder, documented, router
from connect.cluster.herder import BadRequestError

routes = router("plugins")

_SUFFIX = "Connector"


@routes.get(
    "/connector-plugins",
    summary="The connectors installed, or all plugins",
    responses={200: {"model": list[models.Plugin]}},
)
async def list_plugins(
    herder: TheHerder,
    connectorsOnly: Annotated[  # noqa: N803
        bool, Query(description="false shows transforms, predicates and converters too")
    ] = True,
) -> Response:
    return JsonResponse(await herder.plugins(connectors_only=connectorsOnly))


@routes.get(
    "/connector-plugins/{plugin:segment}/config",
    summary="The config keys of a plugin",
    responses={200: {"model": list[models.KeyDefinition]}, 404: {"model": models.Error}},
)
async def plugin_config(
    plugin: str,
    herder: TheHerder,
    version: Annotated[
        str | None, Query(description="A version, `latest`, or a range such as [1.0,2.0)")
    ] = None,
) -> Response:
    return JsonResponse(await herder.plugin_config(plugin, version))


@routes.put(
    "/connector-plugins/{plugin:segment}/config/validate",
    summary="Check a config without creating anything",
    responses={200: {"model": models.Validation}},
    openapi_extra=documented(
        {"type": "object", "additionalProperties": {"type": ["string", "null"]}}
    ),
)
async def validate(plugin: str, herder: TheHerder, body: Body) -> Response:
    config = parse_config(body)
    check_same_plugin(config, plugin)
    return JsonResponse(await herder.validate(config))


@routes.post(
    "/connector-plugins/{plugin:segment}/transform",
    summary="Try a config's converters and transforms on some records, step by step",
    responses={200: {"model": list[models.Transformed]}},
    openapi_extra=documented(models.TransformRequest),
)
async def transform(plugin: str, herder: TheHerder, body: Body) -> Response:
    config, records = parse_transform(body)
    check_same_plugin(config, plugin)
    return JsonResponse(await herder.transform({"connector.class": plugin, **config}, records))


def check_same_plugin(config: StringMap, plugin: str) -> None:
    """BadRequestError when the config is for another plugin than the URL.

    Either may be the short name of the other: `FileStreamSink` for the whole class name.
    """
    included = config.get("connector.class")
    if included is None:
        return
    ours, theirs = _short(included), _short(plugin)
    if not (ours.endswith(theirs) or theirs.endswith(ours)):
        raise BadRequestError(
            f"Included connector type {included} does not match request type {plugin}"
        )


def _short(name: str) -> str:
    return name.removesuffix(_SUFFIX) or name
