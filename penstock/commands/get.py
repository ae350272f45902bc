"""`penstock get`: lists of what a worker has."""

from typing import Annotated, Any
from urllib.parse import quote

import typer

from penstock.options import (
    DEFAULT_URL,
    WATCH_SECONDS,
    LoggerArgument,
    NameArgument,
    Output,
    OutputOption,
    UrlOption,
    WatchOption,
    client,
)

app = typer.Typer(no_args_is_help=True, help="List connectors, plugins, offsets or loggers.")


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="get")


@app.command()
def connectors(
    url: UrlOption = DEFAULT_URL,
    output: OutputOption = Output.TEXT,
    watch: WatchOption = False,
) -> None:
    """List the connectors with the states of their tasks."""
    from penstock import show

    worker = client(url)
    if output is Output.JSON:
        show.print_json(worker.get("/connectors", expand=["info", "status"]))
    elif watch:
        show.watch(
            lambda: show.connectors_table(worker.get("/connectors", expand="status")),
            WATCH_SECONDS,
        )
    else:
        show.console().print(show.connectors_table(worker.get("/connectors", expand="status")))


@app.command()
def plugins(
    types: Annotated[
        list[str] | None,
        typer.Option(
            "-t",
            "--type",
            help="Only these: source, sink, transformation, predicate, converter, "
            "header_converter. May be given several times, or with commas.",
        ),
    ] = None,
    url: UrlOption = DEFAULT_URL,
    output: OutputOption = Output.TEXT,
) -> None:
    """List the installed plugins: connectors, or those of the types named."""
    from penstock import show

    wanted = {each.strip() for text in types or () for each in text.split(",")}
    only_connectors = wanted <= {"source", "sink"}
    found: list[dict[str, Any]] = [
        plugin
        for plugin in client(url).get("/connector-plugins", connectorsOnly=only_connectors)
        if not wanted or plugin["type"] in wanted
    ]
    if output is Output.JSON:
        show.print_json(found)
        return
    show.console().print(
        show.table(
            ("TYPE", "CLASS", "VERSION"),
            ((p["type"], p["class"], p.get("version") or "") for p in found),
        )
    )


@app.command()
def offsets(
    name: NameArgument,
    url: UrlOption = DEFAULT_URL,
    output: OutputOption = Output.TEXT,
    watch: WatchOption = False,
) -> None:
    """Show how far a connector has come."""
    from penstock import show

    worker = client(url)

    def table() -> Any:
        return show.offsets_table(worker.connector("GET", name, "/offsets")["offsets"])

    if output is Output.JSON:
        show.print_json(worker.connector("GET", name, "/offsets"))
    elif watch:
        show.watch(table, WATCH_SECONDS)
    else:
        show.console().print(table())


@app.command()
def loggers(url: UrlOption = DEFAULT_URL, output: OutputOption = Output.TEXT) -> None:
    """List the loggers whose level was set."""
    _show_loggers(client(url).get("/admin/loggers"), output)


@app.command()
def logger(
    name: LoggerArgument,
    url: UrlOption = DEFAULT_URL,
    output: OutputOption = Output.TEXT,
) -> None:
    """Show the level of one logger."""
    level = client(url).get(f"/admin/loggers/{quote(name, safe='')}")
    _show_loggers({name: level}, output)


def _show_loggers(levels: dict[str, Any], output: Output) -> None:
    from penstock import show

    if output is Output.JSON:
        show.print_json(levels)
        return
    rows = ((name, entry["level"] or "") for name, entry in sorted(levels.items()))
    show.console().print(show.table(("NAME", "LEVEL"), rows))
