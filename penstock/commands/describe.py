"""`penstock describe`: all about one connector or plugin."""

import re
from typing import Annotated, Any
from urllib.parse import quote

import typer

from penstock.errors import UserError
from penstock.options import (
    DEFAULT_URL,
    WATCH_SECONDS,
    NameArgument,
    Output,
    OutputOption,
    PluginArgument,
    UrlOption,
    WatchOption,
    client,
)

app = typer.Typer(no_args_is_help=True, help="Show everything about a connector or a plugin.")


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="describe")


@app.command()
def connector(
    name: NameArgument,
    tasks_config: Annotated[
        bool, typer.Option("--tasks-config", help="The config of each task too.")
    ] = False,
    url: UrlOption = DEFAULT_URL,
    output: OutputOption = Output.TEXT,
    watch: WatchOption = False,
) -> None:
    """Show a connector's state, config, tasks and topics, with the trace of what failed."""
    from penstock import show
    from penstock.client import WorkerError

    worker = client(url)

    def parts() -> dict[str, Any]:
        found = {
            "info": worker.connector("GET", name),
            "status": worker.connector("GET", name, "/status"),
        }
        try:
            found["topics"] = worker.connector("GET", name, "/topics")[name]["topics"]
        except WorkerError as error:
            if error.status != 403:  # topic tracking is switched off
                raise
            found["topics"] = []
        if tasks_config:
            found["tasks"] = worker.connector("GET", name, "/tasks")
        return found

    def page() -> Any:
        found = parts()
        configs = {task["id"]["task"]: task["config"] for task in found.get("tasks", ())}
        return show.connector_page(found["info"], found["status"], found["topics"], configs)

    if output is Output.JSON:
        show.print_json(parts())
    elif watch:
        show.watch(page, WATCH_SECONDS)
    else:
        show.console().print(page())


@app.command()
def plugin(
    name: PluginArgument,
    search: Annotated[
        str | None,
        typer.Option(help="Only keys whose name or description matches this expression."),
    ] = None,
    url: UrlOption = DEFAULT_URL,
    output: OutputOption = Output.TEXT,
) -> None:
    """Show the config keys of a plugin."""
    from penstock import show
    from penstock.client import WorkerError, unknown

    worker = client(url)
    try:
        keys = worker.get(f"/connector-plugins/{quote(name, safe='')}/config")
    except WorkerError as error:
        if error.status != 404:
            raise
        classes = [p["class"] for p in worker.get("/connector-plugins", connectorsOnly=False)]
        raise UserError(unknown("plugin", name, sorted(set(classes)))) from error
    if search is not None:
        keys = [key for key in keys if _matches(search, key)]
    if output is Output.JSON:
        show.print_json(keys)
    else:
        show.console().print(show.keys_page(name, keys))


def _matches(pattern: str, key: dict[str, Any]) -> bool:
    try:
        return any(
            re.search(pattern, text or "", re.IGNORECASE)
            for text in (key["name"], key["documentation"])
        )
    except re.error as error:
        raise UserError(f"'{pattern}' is no regular expression: {error.msg}.") from error
