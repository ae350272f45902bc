"""REST extensions: plugins that add routes and middleware, see connect.rest."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from api.answers import connector_status
from api.errors import answer_error
from api.security.kafka_extension import BASIC_AUTH
from api.security.roles import Caller, Role
from connect.cluster.herder import Herder
from connect.errors import ConfigError, ConnectError
from connect.plugins import Plugins, PluginType
from connect.plugins.probe import reason_of
from connect.rest import AsgiApp, ClusterState, RestExtension

log = logging.getLogger(__name__)

_KEY = "rest.extension.classes"


class ReadOnlyState:
    """The cluster as extensions see it."""

    def __init__(self, herder: Herder) -> None:
        self._herder = herder

    async def connectors(self) -> list[str]:
        return await self._herder.connectors()

    async def config(self, connector: str) -> dict[str, str]:
        return dict((await self._herder.connector(connector)).config)

    async def status(self, connector: str) -> dict[str, Any]:
        return connector_status(await self._herder.status(connector))

    async def health(self) -> str:
        return (await self._herder.health()).status


class Context:
    """What an extension adds, until the application is put together."""

    def __init__(self, herder: Herder, config: Mapping[str, str]) -> None:
        self.config = config
        self.cluster: ClusterState = ReadOnlyState(herder)
        self.mounts: dict[str, AsgiApp] = {}
        self.wrappers: list[Callable[[AsgiApp], AsgiApp]] = []

    def mount(self, path: str, app: AsgiApp) -> None:
        if not path.startswith("/") or path.rstrip("/") != path:
            raise ConnectError(f"an extension's path is like /inventory, not {path!r}")
        if path in self.mounts:
            raise ConnectError(f"{path} is served by another extension already")
        self.mounts[path] = app

    def wrap(self, middleware: Callable[[AsgiApp], AsgiApp]) -> None:
        self.wrappers.append(middleware)


class Extensions:
    """The extensions of a worker, from their registration to their end."""

    def __init__(self, names: Iterable[str], plugins: Plugins) -> None:
        """Load them. ConfigError names the one that can't be."""
        self._loaded: list[RestExtension] = []
        for name in names:
            if name == BASIC_AUTH:
                continue  # that is the gate's
            try:
                self._loaded.append(plugins.load(PluginType.REST_EXTENSION, name)())
            except Exception as error:
                reason = str(error) if isinstance(error, ConnectError) else reason_of(error)
                raise ConfigError(_KEY, name, reason) from error

    def register(self, herder: Herder, config: Mapping[str, Any]) -> Context:
        context = Context(herder, {key: str(value) for key, value in config.items()})
        for extension in self._loaded:
            try:
                extension.register(context)
            except Exception as error:
                raise ConfigError(_KEY, _name(extension), reason_of(error)) from error
            log.info("REST extension %s %s is there", _name(extension), extension.version or "")
        return context

    def close(self) -> None:
        for extension in self._loaded:
            try:
                extension.close()
            except Exception:
                log.exception("%s failed to close", _name(extension))


class Mounts:
    """Middleware that hands what is below an extension's path to the extension.

    It lets in who may read all connectors, and for changes who administers them all.
    """

    def __init__(self, app: ASGIApp, context: Context, taken: Iterable[str]) -> None:
        """`taken` are the worker's own paths."""
        self._app = app
        self._mounts = context.mounts
        own = {path.split("/")[1] for path in taken}
        for path in self._mounts:
            if path.split("/")[1] in own:
                raise ConfigError(_KEY, path, "the worker has routes of its own below that path")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        under = (p for p in self._mounts if path == p or path.startswith(f"{p}/"))
        if (prefix := next(under, None)) is None:
            await self._app(scope, receive, send)
            return
        caller: Caller = scope["state"]["caller"]
        changes = scope["method"] not in ("GET", "HEAD", "OPTIONS")
        try:
            caller.require(Role.ADMIN if changes else Role.READ, None)
        except ConnectError as error:
            await answer_error(error)(scope, receive, send)
            return
        root = scope.get("root_path", "") + prefix
        await self._mounts[prefix]({**scope, "root_path": root, "user": caller.name}, receive, send)


def _name(extension: RestExtension) -> str:
    return f"{type(extension).__module__}.{type(extension).__qualname__}"
