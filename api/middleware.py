"""What every answer passes through: the request log and the configured headers."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from email.utils import formatdate

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.paths import printable_path
from connect.config.listeners import HeaderRule
from connect.errors import ConfigError

access_log = logging.getLogger("api.access")

# Probes and scrapers ask every few seconds for ever; they are worth a line only when they fail.
_PROBED = frozenset({"/health", "/metrics"})
_HEADERS_KEY = "response.http.headers.config"


class RequestLog:
    """Writes a line for each request, in the order of the web's combined log format, and the ms."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500
        size = 0

        async def sending(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            quiet = scope["path"] in _PROBED and status < 400
            level = logging.DEBUG if quiet else logging.INFO
            if access_log.isEnabledFor(level):
                ms = (time.perf_counter() - started) * 1000
                access_log.log(level, "%s", _log_line(scope, status, size, ms))


def _log_line(scope: Scope, status: int, size: int, ms: float) -> str:
    headers = Headers(scope=scope)
    client = (scope.get("client") or ("-",))[0]
    referer, agent = (headers.get(h, "-").replace('"', "'") for h in ("referer", "user-agent"))
    version = scope.get("http_version", "1.1")
    return (
        f'{client} "{scope["method"]} {printable_path(scope)} HTTP/{version}" {status} {size} '
        f'"{referer}" "{agent}" {ms:.0f} ms'
    )


class ConfiguredHeaders:
    """Puts the headers of response.http.headers.config on every answer."""

    def __init__(self, app: ASGIApp, rules: Sequence[HeaderRule]) -> None:
        self._app = app
        self._rules = [_checked(rule) for rule in rules]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=list(message["headers"]))
                for rule in self._rules:
                    _apply(rule, headers)
                message = {**message, "headers": headers.raw}
            await send(message)

        await self._app(scope, receive, sending)


def _checked(rule: HeaderRule) -> HeaderRule:
    """What would fail in the middle of an answer fails at the start of the worker instead."""
    shown = f"{rule.action} {rule.name}:{rule.value}"
    if rule.action.endswith("Date") and not rule.value.lstrip("-").isdigit():
        raise ConfigError(_HEADERS_KEY, shown, "a date's value is its distance from now in ms")
    if not (rule.name + rule.value).isascii() or "\r" in rule.value or "\n" in rule.value:
        raise ConfigError(_HEADERS_KEY, shown, "a header is one line of ASCII")
    return rule


def _apply(rule: HeaderRule, headers: MutableHeaders) -> None:
    value = rule.value
    if rule.action.endswith("Date"):
        value = formatdate(time.time() + int(value) / 1000, usegmt=True)
    if rule.action.startswith("set"):
        headers[rule.name] = value
    else:
        headers.append(rule.name, value)
