"""The application: all routes over one herder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route

from api.dlq_room import DeadLetterRoom
from api.docs_page import docs_routes
from api.errors import handle_http_error
from api.extensions import Context, Mounts
from api.middleware import ConfiguredHeaders, RequestLog
from api.paths import ExactPaths
from api.routes import connectors, dlq, internal, loggers, offsets, plugins, root
from api.routing import Routes
from api.security.gate import Gate, Security
from api.settings import RestSettings
from connect.cluster.herder import Herder
from connect.cluster.peers import Peers

_MAIN = (
    root.routes,
    connectors.routes,
    internal.routes,
    offsets.routes,
    plugins.routes,
    dlq.routes,
)

# What Jetty, and so Kafka Connect, allows when access.control.allow.methods is not set.
_SIMPLE_METHODS = ("GET", "POST", "HEAD")


def create_app(
    herder: Herder,
    config: Mapping[str, Any],
    security: Security,
    peers: Peers | None = None,
    extensions: Context | None = None,
) -> Starlette:
    """The REST API of a worker. The admin routes are part of it unless admin.listeners is set.

    `peers` are other workers; one that is alone needs none.
    """
    settings = RestSettings.of(config)
    admin = (loggers.routes,) if settings.admin_on_main else ()
    app = _app(herder, settings, security, (*_MAIN, *admin), extensions)
    app.state.peers = peers
    app.state.dlq = DeadLetterRoom(herder, config)
    return app


def create_admin_app(herder: Herder, config: Mapping[str, Any], security: Security) -> Starlette:
    """The admin routes alone, for admin.listeners."""
    return _app(herder, RestSettings.of(config), security, (loggers.routes,), None)


def _app(
    herder: Herder,
    settings: RestSettings,
    security: Security,
    resources: Iterable[Routes],
    extensions: Context | None,
) -> Starlette:
    operations = [operation for each in resources for operation in each.operations]
    app = Starlette(
        routes=[*(operation.route() for operation in operations), *docs_routes(operations)],
        exception_handlers={HTTPException: handle_http_error},
    )
    # A redirect loses the body with many clients; ExactPaths drops a trailing slash.
    app.router.redirect_slashes = False
    app.state.herder = herder
    app.state.settings = settings
    # The last one added is the first to see a request.
    app.add_middleware(ExactPaths, router=app.router)
    if extensions is not None:
        taken = [route.path for route in app.routes if isinstance(route, Route)]
        app.add_middleware(Mounts, context=extensions, taken=taken)
    app.add_middleware(Gate, security=security)
    for wrapper in extensions.wrappers if extensions is not None else ():
        app.add_middleware(wrapper)
    if settings.allow_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.allow_origins,
            allow_methods=settings.allow_methods or _SIMPLE_METHODS,
            allow_headers=["Authorization", "Content-Type"],
            max_age=60,
        )
    if settings.headers:
        app.add_middleware(ConfiguredHeaders, rules=settings.headers)
    app.add_middleware(RequestLog)
    return app
