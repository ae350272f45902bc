"""Connectors and their tasks: create, read, change, restart, pause, delete."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from api import models
from api.answers import (
    JsonResponse,
    accepted,
    connector_info,
    connector_status,
    no_content,
    task_id,
    task_status,
)
from api.bodies import parse_config, parse_create, with_name
from api.routing import Body, TheCaller, TheHerder, documented, router
from api.security import audit
from api.security.roles import Role
from connect.cluster.herder import Herder, TargetState, TaskId
from connect.errors import NotFoundError

routes = router("connectors")

_CONNECTOR = {"model": models.Connector}
_ALREADY_THERE = {"model": models.Error, "description": "The name is taken, or a rebalance is on"}
_UNKNOWN = {"model": models.Error, "description": "No such connector or task"}
_FLAT_CONFIG = {"type": "object", "additionalProperties": {"type": ["string", "null"]}}


@routes.get(
    "/connectors",
    summary="The names of all connectors, or with `expand` their info and status",
    responses={
        200: {"content": {"application/json": {"examples": {"names": {"value": ["orders"]}}}}}
    },
)
async def list_connectors(
    herder: TheHerder,
    caller: TheCaller,
    expand: Annotated[
        list[str] | None, Query(description="`info`, `status`, or both by giving it twice")
    ] = None,
) -> Response:
    names = [name for name in await herder.connectors() if caller.may(Role.READ, name)]
    if expand is None:
        return JsonResponse(names)
    shown = {}
    for name in names:
        try:
            shown[name] = await _expanded(herder, name, expand)
        except NotFoundError:
            continue  # deleted meanwhile, or too new to have a status
    return JsonResponse(shown)


async def _expanded(herder: Herder, name: str, wanted: list[str]) -> dict[str, Any]:
    parts = {}
    if "status" in wanted:
        parts["status"] = connector_status(await herder.status(name))
    if "info" in wanted:
        parts["info"] = connector_info(await herder.connector(name))
    return parts


@routes.post(
    "/connectors",
    summary="Create a connector",
    status_code=201,
    responses={201: _CONNECTOR, 409: _ALREADY_THERE},
    openapi_extra=documented(models.CreateConnector),
)
async def create(request: Request, herder: TheHerder, caller: TheCaller, body: Body) -> Response:
    wanted = parse_create(body)
    audit.note(request, wanted.name, wanted.config)
    caller.require(Role.ADMIN, wanted.name)
    info = await herder.create(wanted.name, wanted.config, wanted.state)
    return _created(request, info.name, connector_info(info))


def _created(request: Request, name: str, content: dict[str, Any]) -> Response:
    location = f"{request.base_url}connectors/{quote(name, safe='')}"
    return JsonResponse(content, 201, {"Location": location})


@routes.get(
    "/connectors/{connector:segment}",
    summary="A connector's config and tasks",
    responses={200: _CONNECTOR, 404: _UNKNOWN},
)
async def read(connector: str, herder: TheHerder) -> Response:
    return JsonResponse(connector_info(await herder.connector(connector)))


@routes.delete(
    "/connectors/{connector:segment}",
    summary="Stop and delete a connector; its offsets stay",
    status_code=204,
    responses={404: _UNKNOWN},
)
async def delete(connector: str, herder: TheHerder) -> Response:
    await herder.delete(connector)
    return no_content()


@routes.get(
    "/connectors/{connector:segment}/config",
    summary="A connector's config; secrets are shown as [hidden]",
    responses={200: {"model": dict[str, str]}, 404: _UNKNOWN},
)
async def read_config(connector: str, herder: TheHerder) -> Response:
    info = await herder.connector(connector)
    return JsonResponse(dict(info.config))


@routes.put(
    "/connectors/{connector:segment}/config",
    summary="Create a connector or replace its config; [hidden] keeps the stored secret",
    responses={200: _CONNECTOR, 201: _CONNECTOR, 409: _ALREADY_THERE},
    openapi_extra=documented(_FLAT_CONFIG),
)
async def put_config(request: Request, connector: str, herder: TheHerder, body: Body) -> Response:
    config = with_name(parse_config(body), connector)
    await audit.note_difference(request, herder, connector, config)
    is_new, info = await herder.put_config(connector, config)
    shown = connector_info(info)
    return _created(request, info.name, shown) if is_new else JsonResponse(shown)


@routes.patch(
    "/connectors/{connector:segment}/config",
    summary="Change some keys of a config; null removes a key",
    responses={200: _CONNECTOR, 404: _UNKNOWN, 409: _ALREADY_THERE},
    openapi_extra=documented(_FLAT_CONFIG),
)
async def patch_config(request: Request, connector: str, herder: TheHerder, body: Body) -> Response:
    patch = parse_config(body)
    audit.note(request, connector, patch)
    return JsonResponse(connector_info(await herder.patch_config(connector, patch)))


@routes.get(
    "/connectors/{connector:segment}/status",
    summary="The state of a connector and its tasks, with the trace of what failed",
    responses={200: {"model": models.ConnectorStatus}, 404: _UNKNOWN},
)
async def status(connector: str, herder: TheHerder) -> Response:
    return JsonResponse(connector_status(await herder.status(connector)))


@routes.get(
    "/connectors/{connector:segment}/tasks",
    summary="A connector's tasks and their configs",
    responses={200: {"model": list[models.Task]}, 404: _UNKNOWN},
)
async def tasks(connector: str, herder: TheHerder) -> Response:
    configs = await herder.task_configs(connector)
    return JsonResponse(
        [{"id": task_id(task), "config": configs[task]} for task in sorted(configs)]
    )


@routes.get(
    "/connectors/{connector:segment}/tasks/{task:int}/status",
    summary="The state of a task",
    responses={200: {"model": models.TaskState}, 404: _UNKNOWN},
)
async def read_task_status(connector: str, task: int, herder: TheHerder) -> Response:
    return JsonResponse(task_status(task, await herder.task_status(TaskId(connector, task))))


@routes.post(
    "/connectors/{connector:segment}/tasks/{task:int}/restart",
    summary="Restart a task",
    status_code=204,
    responses={404: _UNKNOWN, 409: _ALREADY_THERE},
)
async def restart_task(connector: str, task: int, herder: TheHerder) -> Response:
    await herder.restart_task(TaskId(connector, task))
    return no_content()


@routes.post(
    "/connectors/{connector:segment}/restart",
    summary="Restart a connector, its tasks, or only what has failed",
    status_code=204,
    responses={
        202: {
            "model": models.ConnectorStatus,
            "description": "What is about to restart is shown as RESTARTING",
        },
        404: _UNKNOWN,
        409: _ALREADY_THERE,
    },
)
async def restart(
    connector: str,
    herder: TheHerder,
    includeTasks: Annotated[bool, Query(description="Its tasks too")] = False,  # noqa: N803
    onlyFailed: Annotated[bool, Query(description="Only what has failed")] = False,  # noqa: N803
) -> Response:
    status = await herder.restart(connector, include_tasks=includeTasks, only_failed=onlyFailed)
    return no_content() if status is None else JsonResponse(connector_status(status), 202)


@routes.put(
    "/connectors/{connector:segment}/pause",
    summary="Pause a connector: its tasks stay, and do nothing",
    status_code=202,
    responses={404: _UNKNOWN},
)
async def pause(connector: str, herder: TheHerder) -> Response:
    await herder.set_target_state(connector, TargetState.PAUSED)
    return accepted()


@routes.put(
    "/connectors/{connector:segment}/resume",
    summary="Resume a paused or stopped connector",
    status_code=202,
    responses={404: _UNKNOWN},
)
async def resume(connector: str, herder: TheHerder) -> Response:
    await herder.set_target_state(connector, TargetState.STARTED)
    return accepted()


@routes.put(
    "/connectors/{connector:segment}/stop",
    summary="Stop a connector: its tasks are gone, and its offsets can be changed",
    status_code=204,
    responses={404: _UNKNOWN, 409: _ALREADY_THERE},
)
async def stop(connector: str, herder: TheHerder) -> Response:
    await herder.set_target_state(connector, TargetState.STOPPED)
    return no_content()


@routes.get(
    "/connectors/{connector:segment}/topics",
    summary="The topics a connector has used",
    responses={200: {"model": dict[str, models.Topics]}},
)
async def topics(connector: str, herder: TheHerder) -> Response:
    return JsonResponse({connector: {"topics": await herder.topics(connector)}})


@routes.put(
    "/connectors/{connector:segment}/topics/reset",
    summary="Forget the topics a connector has used",
    status_code=202,
)
async def reset_topics(connector: str, herder: TheHerder) -> Response:
    await herder.reset_topics(connector)
    return accepted()
