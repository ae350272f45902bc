"""The way in for plugins that add to the REST API of a worker."""

from __future__ import annotations

import abc
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from connect.plugin import Plugin

# An ASGI application: what Starlette, FastAPI and others make.
AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]


class ClusterState(Protocol):
    """What an extension may know of the cluster. Call it on the event loop that runs handlers.

    An unknown connector is a NotFoundError.
    """

    async def connectors(self) -> list[str]:
        """The names of all connectors."""

    async def config(self, connector: str) -> dict[str, str]:
        """A connector's config, secrets hidden."""

    async def status(self, connector: str) -> dict[str, Any]:
        """The state of a connector and its tasks, as REST shows it."""

    async def health(self) -> str:
        """Whether the worker is `healthy`, `starting` or `unhealthy`."""


class RestContext(Protocol):
    """What `RestExtension.register` gets."""

    # The worker's settings, as text.
    config: Mapping[str, str]
    cluster: ClusterState

    def mount(self, path: str, app: AsgiApp) -> None:
        """Serve everything below a path, such as `/inventory`, by an ASGI application.

        With `rest.auth.file`, GET takes the role read for all connectors, anything else admin.
        """

    def wrap(self, middleware: Callable[[AsgiApp], AsgiApp]) -> None:
        """Put ASGI middleware around everything that the listener serves.

        It comes before authentication. One that finds out by itself who asks puts the name of
        a user of `rest.auth.file` into `scope["user"]`.
        """


class RestExtension(Plugin, abc.ABC):
    """Adds to a worker's REST API; named in `rest.extension.classes`.

    It runs in the worker itself, so its handlers must not block. `register` is called once,
    before the first request, `close` once, when the worker stops. An error in `register` keeps
    the worker from starting.
    """

    @abc.abstractmethod
    def register(self, context: RestContext) -> None:
        """Add routes and middleware."""

    def close(self) -> None:
        """Let everything go."""
