"""What goes wrong, as the answer `{"error_code": …, "message": …}` with the right status."""

from __future__ import annotations

import http
import logging
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from api.answers import JsonResponse
from connect.cluster.herder import (
    BadRequestError,
    ConflictError,
    ForbiddenError,
    TimedOutError,
    UnavailableError,
)
from connect.errors import (
    AlreadyExistsError,
    ConfigError,
    ConnectError,
    MissingExtraError,
    NotFoundError,
)
from dlq.edit import EditError
from dlq.json_patch import PatchError
from dlq.replay import ReplayError
from dlq.selection import SelectionError

log = logging.getLogger(__name__)

# A conflict that waiting may resolve says so; a name that is taken stays taken. Both are 409 in
# Kafka Connect, and clients can't tell them apart by the status.
_WAIT_FOR_REBALANCE = {"Retry-After": "1"}

_STATUSES: Mapping[type[ConnectError], int] = {
    NotFoundError: 404,
    AlreadyExistsError: 409,
    ConflictError: 409,
    BadRequestError: 400,
    ConfigError: 400,
    MissingExtraError: 400,
    ForbiddenError: 403,
    TimedOutError: 500,
    UnavailableError: 503,
    SelectionError: 400,
    PatchError: 400,
    EditError: 400,
    ReplayError: 400,
}


def error_response(
    status: int, message: str, headers: Mapping[str, str] | None = None
) -> JsonResponse:
    return JsonResponse({"error_code": status, "message": message}, status, headers)


def answer_error(error: Exception) -> Response:
    """The answer to an error a route raised."""
    if isinstance(error, HTTPException):
        return error_response(error.status_code, _http_text(error), error.headers)
    if isinstance(error, ConnectError):
        status = next((_STATUSES[k] for k in type(error).__mro__ if k in _STATUSES), 500)
        headers = _WAIT_FOR_REBALANCE if isinstance(error, ConflictError) else None
        if status == http.HTTPStatus.INTERNAL_SERVER_ERROR:
            log.warning("A request failed: %s", error, exc_info=error)
        return error_response(status, str(error), headers)
    log.error("A request failed by a fault of the worker's own", exc_info=error)
    return error_response(
        500, f"Internal error, see the worker's log: {type(error).__name__}: {error}"
    )


def handle_http_error(_request: Request, error: Exception) -> Response:
    """For errors raised outside of routes: no such path, no such method."""
    return answer_error(error)


def _http_text(error: HTTPException) -> str:
    phrase = http.HTTPStatus(error.status_code).phrase
    text = f"HTTP {error.status_code} {phrase}"
    # Starlette fills in the phrase when the one who raised it gave no text.
    return text if error.detail in ("", phrase) else f"{text}: {error.detail}"
