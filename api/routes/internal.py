"""What workers ask of each other: signed, and no part of the documented API."""

from __future__ import annotations

import orjson
from starlette.requests import Request
from starlette.responses import Response

from api.answers import no_content
from api.routing import Routes, body_of, herder_of
from connect.cluster.herder import BadRequestError
from connect.cluster.signing import ALGORITHM_HEADER, SIGNATURE_HEADER, Signed, read_signature

routes = Routes("internal")


@routes.post("/connectors/{connector:segment}/tasks")
async def put_tasks(request: Request, connector: str) -> Response:
    body = await body_of(request)
    signed = _signed(request, body)
    # The signature is looked at before the body, so a body that is none is told to workers only.
    configs = _task_configs(body) if signed.signature is not None else []
    await herder_of(request).put_task_configs(connector, configs, signed)
    return no_content()


@routes.put("/connectors/{connector:segment}/fence")
async def fence(request: Request, connector: str) -> Response:
    await herder_of(request).fence_zombies(connector, _signed(request, await body_of(request)))
    return no_content()


def _signed(request: Request, body: bytes) -> Signed:
    headers = request.headers
    return Signed(
        body, read_signature(headers.get(SIGNATURE_HEADER), headers.get(ALGORITHM_HEADER))
    )


def _task_configs(body: bytes) -> list[dict[str, str]]:
    try:
        configs = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"The body is not JSON: {error}") from error
    if not isinstance(configs, list) or not all(isinstance(c, dict) for c in configs):
        raise BadRequestError("The body must be an array of task configs")
    return [{k: str(v) for k, v in config.items() if v is not None} for config in configs]
