"""Options and arguments that several commands have."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.contexts import Context, find_context
from penstock.errors import UserError

if TYPE_CHECKING:
    from penstock.client import WorkerClient


DEFAULT_URL = Context("http://localhost:8083")


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"


def client(url: Context) -> WorkerClient:
    from penstock.client import WorkerClient

    return WorkerClient(url)


def _context(ctx: typer.Context, given: Context) -> Context:
    return find_context(given, ctx.find_root().params.get("context"), default=DEFAULT_URL)


Names = Callable[["WorkerClient"], list[str]]


def completing(names: Names) -> Callable[[typer.Context, str], list[str]]:
    """Names for the shell. It is no place for an error: no worker, no names."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        import httpx

        from penstock.client import WorkerClient

        with contextlib.suppress(UserError):
            worker = WorkerClient(ctx.params.get("url") or DEFAULT_URL, timeout=httpx.Timeout(1.0))
            return [name for name in names(worker) if name.startswith(incomplete)]
        return []

    return complete


def _connectors(worker: WorkerClient) -> list[str]:
    return worker.connector_names()


def _tasks(worker: WorkerClient) -> list[str]:
    found = worker.get("/connectors", expand="status")
    return [f"{name}/{task['id']}" for name in found for task in found[name]["status"]["tasks"]]


def _loggers(worker: WorkerClient) -> list[str]:
    return list(worker.get("/admin/loggers"))


def _plugins(worker: WorkerClient) -> list[str]:
    return [plugin["class"] for plugin in worker.get("/connector-plugins", connectorsOnly=False)]


UrlOption = Annotated[
    Context,
    typer.Option(
        "--url",
        envvar="PENSTOCK_URL",
        help="The worker to ask, instead of the one that `penstock context` names.",
        metavar="URL",
        parser=Context.parse,
        callback=_context,
    ),
]
OutputOption = Annotated[Output, typer.Option("-o", "--output", help="How to print the result.")]
WatchOption = Annotated[bool, typer.Option("-w", "--watch", help="Keep showing it until Ctrl-C.")]
RegexOption = Annotated[
    bool, typer.Option("-e", "--reg-exp", help="Names are regular expressions.")
]
NameArgument = Annotated[
    str, typer.Argument(help="The connector's name.", autocompletion=completing(_connectors))
]
NamesArgument = Annotated[
    list[str], typer.Argument(help="Names of connectors.", autocompletion=completing(_connectors))
]
TaskArgument = Annotated[
    str,
    typer.Argument(help="The task.", metavar="CONNECTOR/NUMBER", autocompletion=completing(_tasks)),
]
LoggerArgument = Annotated[
    str,
    typer.Argument(help="The logger's name, or root.", autocompletion=completing(_loggers)),
]
PluginArgument = Annotated[
    str,
    typer.Argument(help="The plugin's class or short name.", autocompletion=completing(_plugins)),
]

WATCH_SECONDS = 1.0


def chosen(worker: WorkerClient, names: list[str], reg_exp: bool) -> list[str]:
    """The connectors meant: as named, or all that match one of the expressions."""
    if not reg_exp:
        return names
    try:
        patterns = [re.compile(name) for name in names]
    except re.error as error:
        raise UserError(f"'{error.pattern!s}' is no regular expression: {error.msg}.") from error
    found = [n for n in worker.connector_names() if any(p.fullmatch(n) for p in patterns)]
    if not found:
        raise UserError(f"No connector matches {' or '.join(names)}.")
    return found
