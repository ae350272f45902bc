"""The HTTP server of a worker, on the worker's own event loop.

server = RestServer(config)      # binds: a busy port fails here
herder = StandaloneHerder(…, worker_id=server.worker_id)
await server.start(herder)
…
await server.stop()
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator, Mapping, Sequence
from ssl import SSLContext, SSLObject
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import Server

from api import settings
from api.app import create_admin_app, create_app
from api.dlq_room import DeadLetterRoom
from api.extensions import Extensions
from api.listeners import OpenListener, bind, close
from api.security.gate import Security
from api.security.setup import make_security, warn_of_open_listeners
from api.tls import client_tls, common_name, server_context
from connect.cluster.herder import Herder
from connect.cluster.peers import Peers
from connect.errors import ConfigError
from connect.plugins import Plugins

log = logging.getLogger(__name__)

# What requests under way get to finish when the worker stops.
_DRAIN_SECONDS = 5


class RestServer:
    """Serves the REST API on `listeners`, and the admin routes on `admin.listeners` if set."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Bind. Connections wait in the queue until `start`; ConfigError if it can't be done."""
        self._config = config
        self._servers: list[_HttpServer] = []
        self.peers = Peers(client_tls(config))
        self._dead_letters: DeadLetterRoom | None = None
        self._extensions: Extensions | None = None
        self._security: Security | None = None
        parsed = settings.parse(config)
        wanted, admin = parsed["listeners"], parsed["admin.listeners"]
        self._tls = {
            prefix: server_context(config, prefix) if _has_https(addresses) else None
            for prefix, addresses in (("listeners", wanted), ("admin.listeners", admin or ()))
        }
        self._listeners = bind("listeners", wanted)
        self._admin_listeners: list[OpenListener] = []
        try:
            if admin:
                self._admin_listeners = bind("admin.listeners", admin)
            self.advertised_url = _advertised(parsed, self._listeners)
        except BaseException:
            close([*self._listeners, *self._admin_listeners])
            raise

    @property
    def urls(self) -> list[str]:
        return [listener.url for listener in self._listeners]

    @property
    def admin_urls(self) -> list[str]:
        return [listener.url for listener in self._admin_listeners]

    @property
    def worker_id(self) -> str:
        """host:port, under which statuses name this worker."""
        return urlsplit(self.advertised_url).netloc

    async def start(self, herder: Herder) -> None:
        """Answer requests, also those that came meanwhile."""
        parsed = settings.parse(self._config)
        self._security = security = make_security(self._config, herder)
        warn_of_open_listeners(self._listeners, self._tls["listeners"], security)
        warn_of_open_listeners(self._admin_listeners, self._tls["admin.listeners"], security)
        added = await asyncio.to_thread(self._load_extensions, parsed["rest.extension.classes"])
        self._extensions = added
        app = create_app(
            herder, self._config, security, self.peers, added.register(herder, self._config)
        )
        self._dead_letters = app.state.dlq
        await self._dead_letters.start()
        self._serve(app, self._listeners, "listeners")
        if self._admin_listeners:
            admin = create_admin_app(herder, self._config, security)
            self._serve(admin, self._admin_listeners, "admin.listeners")
        for server in self._servers:
            await server.start()
        log.info("The REST API listens on %s", ", ".join(self.urls))
        if self.admin_urls:
            log.info("The admin routes listen on %s", ", ".join(self.admin_urls))

    def _load_extensions(self, names: Sequence[str]) -> Extensions:
        return Extensions(names, Plugins.of_worker(self._config))

    def _serve(self, app: ASGIApp, listeners: Sequence[OpenListener], prefix: str) -> None:
        for scheme, tls in (("http", None), ("https", self._tls[prefix])):
            sockets = [s for each in listeners if each.scheme == scheme for s in each.sockets]
            if sockets:
                self._servers.append(_HttpServer(app, sockets, tls))

    async def stop(self) -> None:
        """Take no more requests, let those under way finish, and close. Harmless if repeated."""
        servers, self._servers = self._servers, []
        await asyncio.gather(*(server.stop() for server in servers))
        close([*self._listeners, *self._admin_listeners])
        await self.peers.close()
        if self._dead_letters is not None:
            await self._dead_letters.stop()
        if self._extensions is not None:
            self._extensions.close()
        if self._security is not None:
            self._security.close()


class _Connection(H11Protocol):
    """A connection that tells who its client is by the certificate that TLS has verified."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        tls: SSLObject | None = transport.get_extra_info("ssl_object")
        if tls is not None and (name := common_name(tls.getpeercert())):
            self.app_state = {**self.app_state, "certificate": name}


class _HttpServer(Server):
    """Uvicorn as a part of a worker, which owns the event loop and the signals."""

    def __init__(
        self, app: ASGIApp, sockets: Sequence[socket.socket], tls: SSLContext | None
    ) -> None:
        super().__init__(
            Config(
                app,
                http=_Connection,
                lifespan="off",
                ws="none",
                log_config=None,
                log_level=logging.WARNING,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_DRAIN_SECONDS,
            )
        )
        self.config.load()
        self.config.ssl = tls
        self._sockets = list(sockets)
        self._ready = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready.set()

    async def start(self) -> None:
        self._running = asyncio.create_task(self.serve(self._sockets))
        ready = asyncio.create_task(self._ready.wait())
        await asyncio.wait({self._running, ready}, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            ready.cancel()
            self._running.result()

    async def stop(self) -> None:
        self.should_exit = True
        if self._running is not None:
            await self._running


def _has_https(addresses: Sequence[str]) -> bool:
    return any(address.strip().lower().startswith("https:") for address in addresses)


def _advertised(parsed: Mapping[str, Any], listeners: Sequence[OpenListener]) -> str:
    """The URL under which the worker is known, by the rest.advertised.* settings."""
    scheme = parsed["rest.advertised.listener"]
    chosen = next((each for each in listeners if not scheme or each.scheme == scheme), None)
    if chosen is None:
        raise ConfigError(
            "rest.advertised.listener", scheme, "there is no such scheme among the listeners"
        )
    parts = urlsplit(chosen.url)
    host = parsed["rest.advertised.host.name"] or parts.hostname or ""
    port = parsed["rest.advertised.port"] or parts.port
    return f"{chosen.scheme}://{f'[{host}]' if ':' in host else host}:{port}"
