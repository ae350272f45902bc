"""`penstock patch`: change a part of a config, of offsets, or a log level."""

import json
from typing import Annotated, Any
from urllib.parse import quote

import typer

from penstock.errors import UserError
from penstock.options import DEFAULT_URL, LoggerArgument, NameArgument, UrlOption, client

app = typer.Typer(no_args_is_help=True, help="Change a part of a config, offsets or a log level.")


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="patch")


@app.command()
def connector(
    name: NameArgument,
    set_: Annotated[
        list[str] | None, typer.Option("-s", "--set", help="Set a key.", metavar="KEY=VALUE")
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option("-r", "--remove", help="Remove a key.", metavar="KEY")
    ] = None,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Set and remove keys of a connector's config, and show what changed."""
    from penstock import show

    changes = {**dict(map(_pair, set_ or ())), **dict.fromkeys(remove or ())}
    if not changes:
        raise UserError("Nothing to change: give -s KEY=VALUE to set or -r KEY to remove.")
    worker = client(url)
    before = worker.connector("GET", name)["config"]
    after = worker.connector("PATCH", name, "/config", changes)["config"]
    shown = show.differences(before, after)
    verdict = "changed" if shown else "unchanged"
    show.console().print(f"{name}: {verdict}", *shown, sep="\n")


def _pair(text: str) -> tuple[str, str | None]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UserError(f"-s {text}: expected KEY=VALUE.")
    return key, value


@app.command()
def logger(
    name: LoggerArgument,
    level: Annotated[str, typer.Option("-l", "--level", help="DEBUG, INFO, WARN, ERROR, …")],
    scope: Annotated[str, typer.Option(help="`worker`, or `cluster` for all.")] = "worker",
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Set a log level, with all loggers below it."""
    path = f"/admin/loggers/{quote(name, safe='')}"
    changed = client(url).call("PUT", path, {"level": level}, {"scope": scope})
    for each in changed if changed is not None else [f"{name} on all workers"]:
        typer.echo(f"{each}: {level.upper()}")


@app.command()
def offsets(  # noqa: PLR0917 - each is an option of the command
    name: NameArgument,
    kafka_topic: Annotated[str | None, typer.Option(help="For a sink.")] = None,
    kafka_partition: Annotated[int | None, typer.Option(help="For a sink.")] = None,
    kafka_offset: Annotated[
        int | None, typer.Option(help="For a sink; left out, the partition is forgotten.")
    ] = None,
    source_partition: Annotated[
        str | None, typer.Option(help="For a source, as JSON.", metavar="JSON")
    ] = None,
    source_offset: Annotated[
        str | None,
        typer.Option(
            help="For a source, as JSON; left out, the partition is forgotten.", metavar="JSON"
        ),
    ] = None,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Change one offset of a stopped connector."""
    if source_partition is not None:
        partition = _json("--source-partition", source_partition)
        offset = _json("--source-offset", source_offset)
    elif kafka_topic is not None and kafka_partition is not None:
        partition = {"kafka_topic": kafka_topic, "kafka_partition": kafka_partition}
        offset = None if kafka_offset is None else {"kafka_offset": kafka_offset}
    else:
        raise UserError(
            "Which offset? Give --kafka-topic and --kafka-partition for a sink, "
            "--source-partition for a source."
        )
    body = {"offsets": [{"partition": partition, "offset": offset}]}
    typer.echo(client(url).connector("PATCH", name, "/offsets", body)["message"])


def _json(option: str, text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"{option} {text} is not valid JSON: {error}.") from error
