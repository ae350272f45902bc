"""Connectors and their tasks: create, read, change, restart, pause, delete."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from msgspec import Meta, Struct
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
from api.bodies import StringMap, parse_config, parse_create, with_name
from api.routing import Answer, Routes, body_of, caller_of, herder_of
from api.security import audit
from api.security.roles import Role
from connect.cluster.herder import Herder, TargetState, TaskId
from connect.errors import NotFoundError

routes = Routes("connectors")

_CONNECTOR = Answer(models.Connector)
_ALREADY_THERE = Answer(models.Error, "The name is taken, or a rebalance is on")
_UNKNOWN = Answer(models.Error, "No such connector or task")


_Listed = Annotated[list[str] | dict[str, models.ConnectorExpansion], Meta(examples=[["orders"]])]


class _Listing(Struct):
    expand: Annotated[
        list[str] | None, Meta(description="`info`, `status`, or both by giving it twice")
    ] = None


@routes.get(
    "/connectors",
    summary="The names of all connectors, or with `expand` their info and status",
    answers={200: Answer(_Listed)},
    query=_Listing,
)
async def list_connectors(request: Request, query: _Listing) -> Response:
    herder, caller = herder_of(request), caller_of(request)
    names = [name for name in await herder.connectors() if caller.may(Role.READ, name)]
    if query.expand is None:
        return JsonResponse(names)
    shown = {}
    for name in names:
        try:
            shown[name] = await _expanded(herder, name, query.expand)
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
    answers={201: _CONNECTOR, 409: _ALREADY_THERE},
    body=models.CreateConnector,
)
async def create(request: Request) -> Response:
    wanted = parse_create(await body_of(request))
    audit.note(request, wanted.name, wanted.config)
    caller_of(request).require(Role.ADMIN, wanted.name)
    info = await herder_of(request).create(wanted.name, wanted.config, wanted.state)
    return _created(request, info.name, connector_info(info))


def _created(request: Request, name: str, content: dict[str, Any]) -> Response:
    location = f"{request.base_url}connectors/{quote(name, safe='')}"
    return JsonResponse(content, 201, {"Location": location})


@routes.get(
    "/connectors/{connector:segment}",
    summary="A connector's config and tasks",
    answers={200: _CONNECTOR, 404: _UNKNOWN},
)
async def read(request: Request, connector: str) -> Response:
    return JsonResponse(connector_info(await herder_of(request).connector(connector)))


@routes.delete(
    "/connectors/{connector:segment}",
    summary="Stop and delete a connector; its offsets stay",
    answers={204: Answer(), 404: _UNKNOWN},
)
async def delete(request: Request, connector: str) -> Response:
    await herder_of(request).delete(connector)
    return no_content()


@routes.get(
    "/connectors/{connector:segment}/config",
    summary="A connector's config; secrets are shown as [hidden]",
    answers={200: Answer(dict[str, str]), 404: _UNKNOWN},
)
async def read_config(request: Request, connector: str) -> Response:
    info = await herder_of(request).connector(connector)
    return JsonResponse(dict(info.config))


@routes.put(
    "/connectors/{connector:segment}/config",
    summary="Create a connector or replace its config; [hidden] keeps the stored secret",
    answers={200: _CONNECTOR, 201: _CONNECTOR, 409: _ALREADY_THERE},
    body=StringMap,
)
async def put_config(request: Request, connector: str) -> Response:
    config = with_name(parse_config(await body_of(request)), connector)
    herder = herder_of(request)
    await audit.note_difference(request, herder, connector, config)
    is_new, info = await herder.put_config(connector, config)
    shown = connector_info(info)
    return _created(request, info.name, shown) if is_new else JsonResponse(shown)


@routes.patch(
    "/connectors/{connector:segment}/config",
    summary="Change some keys of a config; null removes a key",
    answers={200: _CONNECTOR, 404: _UNKNOWN, 409: _ALREADY_THERE},
    body=StringMap,
)
async def patch_config(request: Request, connector: str) -> Response:
    patch = parse_config(await body_of(request))
    audit.note(request, connector, patch)
    return JsonResponse(connector_info(await herder_of(request).patch_config(connector, patch)))


@routes.get(
    "/connectors/{connector:segment}/status",
    summary="The state of a connector and its tasks, with the trace of what failed",
    answers={200: Answer(models.ConnectorStatus), 404: _UNKNOWN},
)
async def status(request: Request, connector: str) -> Response:
    return JsonResponse(connector_status(await herder_of(request).status(connector)))


@routes.get(
    "/connectors/{connector:segment}/tasks",
    summary="A connector's tasks and their configs",
    answers={200: Answer(list[models.Task]), 404: _UNKNOWN},
)
async def tasks(request: Request, connector: str) -> Response:
    configs = await herder_of(request).task_configs(connector)
    return JsonResponse(
        [{"id": task_id(task), "config": configs[task]} for task in sorted(configs)]
    )


@routes.get(
    "/connectors/{connector:segment}/tasks/{task:int}/status",
    summary="The state of a task",
    answers={200: Answer(models.TaskState), 404: _UNKNOWN},
)
async def read_task_status(request: Request, connector: str, task: int) -> Response:
    status = await herder_of(request).task_status(TaskId(connector, task))
    return JsonResponse(task_status(task, status))


@routes.post(
    "/connectors/{connector:segment}/tasks/{task:int}/restart",
    summary="Restart a task",
    answers={204: Answer(), 404: _UNKNOWN, 409: _ALREADY_THERE},
)
async def restart_task(request: Request, connector: str, task: int) -> Response:
    await herder_of(request).restart_task(TaskId(connector, task))
    return no_content()


class _Restart(Struct):
    includeTasks: Annotated[bool, Meta(description="Its tasks too")] = False  # noqa: N815
    onlyFailed: Annotated[bool, Meta(description="Only what has failed")] = False  # noqa: N815


@routes.post(
    "/connectors/{connector:segment}/restart",
    summary="Restart a connector, its tasks, or only what has failed",
    answers={
        202: Answer(models.ConnectorStatus, "What is about to restart is shown as RESTARTING"),
        204: Answer(),
        404: _UNKNOWN,
        409: _ALREADY_THERE,
    },
    query=_Restart,
)
async def restart(request: Request, connector: str, query: _Restart) -> Response:
    status = await herder_of(request).restart(
        connector, include_tasks=query.includeTasks, only_failed=query.onlyFailed
    )
    return no_content() if status is None else JsonResponse(connector_status(status), 202)


@routes.put(
    "/connectors/{connector:segment}/pause",
    summary="Pause a connector: its tasks stay, and do nothing",
    answers={202: Answer(), 404: _UNKNOWN},
)
async def pause(request: Request, connector: str) -> Response:
    await herder_of(request).set_target_state(connector, TargetState.PAUSED)
    return accepted()


@routes.put(
    "/connectors/{connector:segment}/resume",
    summary="Resume a paused or stopped connector",
    answers={202: Answer(), 404: _UNKNOWN},
)
async def resume(request: Request, connector: str) -> Response:
    await herder_of(request).set_target_state(connector, TargetState.STARTED)
    return accepted()


@routes.put(
    "/connectors/{connector:segment}/stop",
    summary="Stop a connector: its tasks are gone, and its offsets can be changed",
    answers={204: Answer(), 404: _UNKNOWN, 409: _ALREADY_THERE},
)
async def stop(request: Request, connector: str) -> Response:
    await herder_of(request).set_target_state(connector, TargetState.STOPPED)
    return no_content()


@routes.get(
    "/connectors/{connector:segment}/topics",
    summary="The topics a connector has used",
    answers={200: Answer(dict[str, models.Topics])},
)
async def topics(request: Request, connector: str) -> Response:
    return JsonResponse({connector: {"topics": await herder_of(request).topics(connector)}})


@routes.put(
    "/connectors/{connector:segment}/topics/reset",
    summary="Forget the topics a connector has used",
    answers={202: Answer()},
)
async def reset_topics(request: Request, connector: str) -> Response:
    await herder_of(request).reset_topics(connector)
    return accepted()
