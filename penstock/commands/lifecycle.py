"""`penstock restart`, `pause`, `resume`, `stop` and `delete`."""

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.contexts import Context
from penstock.errors import UserError
from penstock.options import (
    DEFAULT_URL,
    NameArgument,
    NamesArgument,
    RegexOption,
    TaskArgument,
    UrlOption,
    chosen,
    client,
)

if TYPE_CHECKING:
    from penstock.client import WorkerClient


class Tasks(StrEnum):
    ALL = "all"
    FAILED = "failed"


def register(root: typer.Typer) -> None:
    restart = typer.Typer(no_args_is_help=True, help="Restart connectors or a task.")
    restart.command("connector")(restart_connector)
    restart.command("task")(restart_task)
    root.add_typer(restart, name="restart")
    for verb, help_text, command in (
        ("pause", "Pause connectors: their tasks stay and do nothing.", pause),
        ("resume", "Resume paused or stopped connectors.", resume),
        ("stop", "Stop connectors: their tasks are gone, their offsets stay.", stop),
    ):
        group = typer.Typer(no_args_is_help=True, help=help_text)
        # A group of one command would become that command, and lose the word `connector`.
        group.callback()(lambda: None)
        group.command("connector", help=help_text)(command)
        root.add_typer(group, name=verb)
    delete = typer.Typer(no_args_is_help=True, help="Delete connectors, or offsets.")
    delete.command("connector")(delete_connector)
    delete.command("offsets")(delete_offsets)
    root.add_typer(delete, name="delete")


def restart_connector(
    names: NamesArgument,
    tasks: Annotated[
        Tasks | None, typer.Option("-t", "--tasks", help="Its tasks too: all, or what failed.")
    ] = None,
    reg_exp: RegexOption = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Restart connectors; without -t the connector itself only, not its tasks."""
    params = {} if tasks is None else {"includeTasks": True, "onlyFailed": tasks is Tasks.FAILED}

    def restart(worker: "WorkerClient", name: str) -> str:
        worker.connector("POST", name, "/restart", **params)
        return "restarted"

    _each(names, reg_exp, url, restart)


def restart_task(
    task: TaskArgument,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Restart one task."""
    connector, slash, number = task.rpartition("/")
    if not slash or not connector or not number.isdigit():
        raise UserError(f"'{task}' names no task: expected CONNECTOR/NUMBER, such as orders/0.")
    client(url).connector("POST", connector, f"/tasks/{number}/restart")
    typer.echo(f"{task}: restarted")


def pause(names: NamesArgument, reg_exp: RegexOption = False, url: UrlOption = DEFAULT_URL) -> None:
    _each(names, reg_exp, url, _put("pause", "paused"))


def resume(
    names: NamesArgument, reg_exp: RegexOption = False, url: UrlOption = DEFAULT_URL
) -> None:
    _each(names, reg_exp, url, _put("resume", "resumed"))


def stop(names: NamesArgument, reg_exp: RegexOption = False, url: UrlOption = DEFAULT_URL) -> None:
    _each(names, reg_exp, url, _put("stop", "stopped"))


def delete_connector(
    names: NamesArgument, reg_exp: RegexOption = False, url: UrlOption = DEFAULT_URL
) -> None:
    """Delete connectors. Their offsets stay; a stopped connector's can be deleted before."""

    def delete(worker: "WorkerClient", name: str) -> str:
        worker.connector("DELETE", name)
        return "deleted"

    _each(names, reg_exp, url, delete)


def delete_offsets(name: NameArgument, url: UrlOption = DEFAULT_URL) -> None:
    """Forget all offsets of a stopped connector."""
    typer.echo(client(url).connector("DELETE", name, "/offsets")["message"])


def _put(verb: str, done: str) -> Callable[["WorkerClient", str], str]:
    def put(worker: "WorkerClient", name: str) -> Any:
        worker.connector("PUT", name, f"/{verb}")
        return done

    return put


def _each(
    names: list[str], reg_exp: bool, url: Context, act: Callable[["WorkerClient", str], str]
) -> None:
    """Do it to every connector named; one that fails does not keep the others from it."""
    worker = client(url)
    failed: list[UserError] = []
    for name in chosen(worker, names, reg_exp):
        try:
            typer.echo(f"{name}: {act(worker, name)}")
        except UserError as error:
            failed.append(error)
    if failed:
        raise UserError("\n".join(map(str, failed))) from failed[0]
