"""The worker itself: version, health, metrics."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from api import models
from api.answers import JsonResponse
from api.routing import Answer, Routes, herder_of
from connect.cluster.herder import Health

routes = Routes("worker")

# Shorter than a probe's own patience, so that it learns what is wrong.
HEALTH_TIMEOUT_SECONDS = 10

_STATUS = {"healthy": 200, "starting": 503, "unhealthy": 500}
_UNHEALTHY = "Worker was unable to handle this request and may be unable to handle other requests."


@routes.get(
    "/",
    summary="Version and Kafka cluster of the worker",
    answers={200: Answer(models.Worker)},
)
async def info(request: Request) -> Response:
    info = await herder_of(request).info()
    return JsonResponse(
        {
            "version": info.version,
            "commit": info.commit,
            "kafka_cluster_id": info.kafka_cluster_id,
        }
    )


@routes.get(
    "/health",
    summary="Whether the worker is ready: 200, 503 while it starts, 500 when it is stuck",
    answers={status: Answer(models.Health) for status in _STATUS.values()},
)
async def health(request: Request) -> Response:
    herder = herder_of(request)
    try:
        async with asyncio.timeout(HEALTH_TIMEOUT_SECONDS):
            health = await herder.health()
    except TimeoutError:
        doing = herder.doing()
        health = Health("unhealthy", f"{_UNHEALTHY} {doing}" if doing else _UNHEALTHY)
    return JsonResponse(
        {"status": health.status, "message": health.message}, _STATUS.get(health.status, 500)
    )


@routes.get(
    "/metrics",
    summary="Everything measured, for Prometheus",
    answers={200: Answer(str, media_type="text/plain")},
)
async def metrics(request: Request) -> Response:
    text = await herder_of(request).metrics() + request.app.state.dlq.metrics()
    # The format's own media type; a scraper chooses its parser by it.
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
