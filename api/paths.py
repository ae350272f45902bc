"""Paths: connector names with slashes, trailing slashes, HEAD and OPTIONS.

ASGI servers decode the path before anybody can split it, so `a%2Fb` looks like two segments. The
middleware here splits the raw path first, decodes each segment, and re-encodes in it only `/` and
`%`, which the convertor `segment` turns back. Routes write `{connector:segment}`.
"""

from __future__ import annotations

import re
from typing import ClassVar
from urllib.parse import unquote_to_bytes

from starlette.convertors import Convertor, register_url_convertor
from starlette.responses import Response
from starlette.routing import Match, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.errors import error_response

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class _Segment(Convertor[str]):
    regex: ClassVar[str] = "[^/]+"

    def convert(self, value: str) -> str:
        return value.replace("%2F", "/").replace("%25", "%")

    def to_string(self, value: str) -> str:
        return _one_segment(value)


_SEGMENT = _Segment()
register_url_convertor("segment", _SEGMENT)


def split_path(raw: bytes) -> str:
    """A raw path with each segment decoded but for `/` and `%`. No trailing slash.

    Raises UnicodeDecodeError when a segment is not UTF-8.
    """
    segments = [unquote_to_bytes(part).decode() for part in raw.split(b"/")]
    if len(segments) > 2 and segments[-1] == "":
        segments.pop()
    return "/".join(map(_one_segment, segments))


def segments_of(scope: Scope) -> list[str]:
    """The decoded segments of a request's path; none when it is not UTF-8."""
    try:
        path = split_path(scope.get("raw_path") or scope["path"].encode())
    except UnicodeDecodeError:
        return []
    return [_SEGMENT.convert(part) for part in path.split("/")[1:]]


def _one_segment(text: str) -> str:
    return text.replace("%", "%25").replace("/", "%2F")


class ExactPaths:
    """Gives routes the path as its segments, and answers HEAD and OPTIONS for all of them."""

    def __init__(self, app: ASGIApp, router: Router) -> None:
        self._app = app
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            scope = {**scope, "path": split_path(scope.get("raw_path") or scope["path"].encode())}
        except UnicodeDecodeError:
            answer: Response = error_response(
                400, "The path is not UTF-8: percent-encode names as UTF-8 bytes"
            )
            await answer(scope, receive, send)
            return
        method = scope["method"]
        if method == "HEAD":
            await self._app({**scope, "method": "GET"}, receive, _without_body(send))
            return
        if method not in _METHODS and (allowed := self._allowed(scope)):
            options = {"Allow": ",".join(allowed)}
            if method == "OPTIONS":
                answer = Response(", ".join(allowed), 200, options, "text/plain")
            else:
                answer = error_response(405, "HTTP 405 Method Not Allowed", options)
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, self._with_allow(scope, send))

    def _allowed(self, scope: Scope) -> list[str]:
        methods = [
            method
            for method in _METHODS
            if any(
                route.matches({**scope, "method": method})[0] is Match.FULL
                for route in self._router.routes
            )
        ]
        if "GET" in methods:
            methods.insert(1, "HEAD")
        return [*methods, "OPTIONS"] if methods else []

    def _with_allow(self, scope: Scope, send: Send) -> Send:
        """A 405 names every method of the path; the router knows only the first route's."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 405:
                others = [(k, v) for k, v in message["headers"] if k.lower() != b"allow"]
                allow = ",".join(self._allowed(scope)).encode()
                message = {**message, "headers": [*others, (b"allow", allow)]}
            await send(message)

        return sending


def _without_body(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await send(message)

    return sending


def printable_path(scope: Scope) -> str:
    """The path and query as they were sent, safe to log."""
    path = (scope.get("raw_path") or scope["path"].encode()).decode("ascii", "backslashreplace")
    query = scope.get("query_string", b"").decode("ascii", "backslashreplace")
    return re.sub(r"[\x00-\x20\x7f]", "?", f"{path}?{query}" if query else path)
