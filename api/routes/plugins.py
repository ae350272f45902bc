"""Plugins: what is installed, its config keys, and validation."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from api import models
from api.answers import JsonResponse
from api.bodies import StringMap, parse_config, parse_transform
from api.routing import Answer, Routes, body_of, caller_of, herder_of
from api.security.roles import Role
from connect.cluster.herder import BadRequestError
from connect.config.secret import HIDDEN

routes = Routes("plugins")

_SUFFIX = "Connector"


class _Listing(Struct):
    connectorsOnly: Annotated[  # noqa: N815
        bool, Meta(description="false shows transforms, predicates and converters too")
    ] = True


@routes.get(
    "/connector-plugins",
    summary="The connectors installed, or all plugins",
    answers={200: Answer(list[models.Plugin])},
    query=_Listing,
)
async def list_plugins(request: Request, query: _Listing) -> Response:
    return JsonResponse(await herder_of(request).plugins(connectors_only=query.connectorsOnly))


class _Keys(Struct):
    version: Annotated[
        str | None, Meta(description="A version, `latest`, or a range such as [1.0,2.0)")
    ] = None


@routes.get(
    "/connector-plugins/{plugin:segment}/config",
    summary="The config keys of a plugin",
    answers={200: Answer(list[models.KeyDefinition]), 404: Answer(models.Error)},
    query=_Keys,
)
async def plugin_config(request: Request, plugin: str, query: _Keys) -> Response:
    return JsonResponse(await herder_of(request).plugin_config(plugin, query.version))


@routes.put(
    "/connector-plugins/{plugin:segment}/config/validate",
    summary="Check a config without creating anything",
    answers={200: Answer(models.Validation)},
    body=StringMap,
)
async def validate(request: Request, plugin: str) -> Response:
    config = parse_config(await body_of(request))
    check_same_plugin(config, plugin)
    _check_may_use_secrets(request, config)
    return JsonResponse(await herder_of(request).validate(config))


@routes.post(
    "/connector-plugins/{plugin:segment}/transform",
    summary="Try a config's converters and transforms on some records, step by step",
    answers={200: Answer(list[models.Transformed])},
    body=models.TransformRequest,
)
async def transform(request: Request, plugin: str) -> Response:
    config, records = parse_transform(await body_of(request))
    check_same_plugin(config, plugin)
    _check_may_use_secrets(request, config)
    config = {"connector.class": plugin, **config}
    return JsonResponse(await herder_of(request).transform(config, records))


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


def _check_may_use_secrets(request: Request, config: StringMap) -> None:
    """ForbiddenError when [hidden] stands for secrets of a connector that is not the caller's.

    The rest of the config says where the secrets are sent to.
    """
    if HIDDEN in config.values():
        caller_of(request).require(Role.ADMIN, config.get("name"))


def _short(name: str) -> str:
    return name.removesuffix(_SUFFIX) or name
