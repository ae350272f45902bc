"""Options and arguments that several commands have."""

from __future__ import annotations

import contextlib
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.errors import UserError

if TYPE_CHECKING:
    from penstock.client import WorkerClient


DEFAULT_URL = "http://localhost:8083"


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"


def client(url: str) -> WorkerClient:
    from penstock.client import WorkerClient

    return WorkerClient(url)


def _complete_connectors(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names for the shell. It is no place for an error: no worker, no names."""
    import httpx

    from penstock.client import WorkerClient

    with contextlib.suppress(UserError):
        worker = WorkerClient(ctx.params.get("url") or DEFAULT_URL, timeout=httpx.Timeout(1.0))
        return [name for name in worker.connector_names() if name.startswith(incomplete)]
    return []


UrlOption = Annotated[
    str, typer.Option("--url", envvar="PENSTOCK_URL", help="The worker to ask.", metavar="URL")
]
OutputOption = Annotated[Output, typer.Option("-o", "--output", help="How to print the result.")]
WatchOption = Annotated[bool, typer.Option("-w", "--watch", help="Keep showing it until Ctrl-C.")]
RegexOption = Annotated[
    bool, typer.Option("-e", "--reg-exp", help="Names are regular expressions.")
]
NameArgument = Annotated[
    str, typer.Argument(help="The connector's name.", autocompletion=_complete_connectors)
]
NamesArgument = Annotated[
    list[str], typer.Argument(help="Names of connectors.", autocompletion=_complete_connectors)
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
