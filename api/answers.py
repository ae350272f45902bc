"""JSON answers, and what the herder's objects look like in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson
from starlette.responses import Response

from connect.cluster.herder import ConnectorInfo, ConnectorStatus, Status, TaskId


class JsonResponse(Response):
    """An answer in JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        try:
            return orjson.dumps(content)
        except TypeError:
            # Source offsets are whatever a connector stored, and orjson stops at 64-bit integers.
            return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def no_content() -> Response:
    return Response(status_code=204)


def accepted() -> Response:
    return Response(status_code=202)


def connector_info(info: ConnectorInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "config": dict(info.config),
        "tasks": [task_id(task) for task in info.tasks],
        "type": info.type.value,
    }


def connector_status(status: ConnectorStatus) -> dict[str, Any]:
    return {
        "name": status.name,
        "connector": _state(status.connector),
        "tasks": [task_status(task, status.tasks[task]) for task in sorted(status.tasks)],
        "type": status.type.value,
    }


def task_status(task: int, status: Status) -> dict[str, Any]:
    return {"id": task, **_state(status)}


def task_id(task: TaskId) -> dict[str, Any]:
    return {"connector": task.connector, "task": task.task}


def offsets(pairs: list[tuple[dict[str, Any], dict[str, Any] | None]]) -> dict[str, Any]:
    return {"offsets": [{"partition": p, "offset": o} for p, o in pairs]}


def _state(status: Status) -> Mapping[str, Any]:
    shown: dict[str, Any] = {"state": status.state.value, "worker_id": status.worker_id}
    if status.trace:
        shown["trace"] = status.trace
    if status.version:
        shown["version"] = status.version
    return {**shown, **status.extra}
