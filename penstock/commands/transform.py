"""`penstock transform`: see what a connector's converters and transforms make of records."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from penstock.errors import UserError
from penstock.options import Output, OutputOption

if TYPE_CHECKING:
    from rich.text import Text

_STDIN = Path("-")


def register(root: typer.Typer) -> None:
    root.command("transform")(transform)


def transform(
    file: Annotated[
        Path,
        typer.Option("-f", "--file", help="The connector's file, as for apply.", metavar="FILE"),
    ],
    records: Annotated[
        Path,
        typer.Argument(
            metavar="[RECORDS]",
            help="A file with a record a line, as JSON; standard input if there is none.",
        ),
    ] = _STDIN,
    raw: Annotated[
        bool, typer.Option("--raw", help="Each line is a value as it lies in Kafka, not JSON.")
    ] = False,
    worker: Annotated[
        Path | None,
        typer.Option(
            "--worker",
            help="A worker.properties: its converters are the defaults, its plugin.path is "
            "searched, its config providers are asked.",
        ),
    ] = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Run records through a connector's converters and transforms, and show every step.

    Nothing is created, and no worker and no Kafka is needed. A record is
    {"value": …, "key": …, "headers": {…}, "topic": …, "partition": …, "offset": …, "timestamp": …},
    of which value is enough; text is taken as it is, {"base64": …} stands for bytes, other JSON for
    its own text. For a source, values are JSON, with valueSchema and keySchema if they have one.
    Exits with 1 if a record fails.
    """
    from connect.cluster.requests import run_dry
    from connect.errors import ConfigError
    from connect.plugins import Plugins
    from penstock import show

    config = _connector(file)
    settings = _worker_settings(worker)
    with _opened(records) as lines:
        samples = list(_samples(lines, raw=raw))
    try:
        results = run_dry(Plugins.of_worker(settings), settings, config, samples)
    except ConfigError as error:
        told = str(error)
        if worker is None and 'Missing required configuration "' in told and "converter" in told:
            told += " Name it in the connector's file, or say --worker worker.properties."
        raise UserError(told) from error
    if output is Output.JSON:
        show.print_json(results)
    else:
        screen = show.console()
        for number, result in enumerate(results):
            screen.print(*_lines(number, result), sep="\n")
    if any(result["outcome"] == "failed" for result in results):
        raise typer.Exit(1)


def _connector(file: Path) -> dict[str, str]:
    """The connector's config; it need not have a name yet."""
    from connect.config.files import read_connector_file
    from connect.errors import ConfigError

    try:
        return read_connector_file(file).config
    except ConfigError as error:
        if "names no connector" not in str(error):
            raise
    return read_connector_file(file, "dry-run").config


def _worker_settings(worker: Path | None) -> dict[str, str]:
    if worker is None:
        return {}
    from connect.javalang.properties import read_properties

    try:
        return read_properties(worker)
    except ValueError as error:
        raise UserError(str(error)) from error


def _opened(records: Path) -> TextIO:
    if records == _STDIN:
        return sys.stdin
    try:
        return records.open(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{records} can't be read: {error.strerror}") from error


def _samples(lines: TextIO, *, raw: bool) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n")
        if raw:
            yield {"value": text}
        elif text.strip():
            try:
                yield json.loads(text)
            except json.JSONDecodeError as error:
                raise UserError(
                    f"Line {number} is not JSON at column {error.colno}: {error.msg}. "
                    "With --raw each line is a value as it is."
                ) from error


# ---- on a terminal -------------------------------------------------------------------------

_COLOURS = {"passed": "green", "dropped": "yellow", "failed": "red"}
# In the order of a record's life; schemas stand beside their values.
_PARTS = ("topic", "partition", "timestamp", "key", "value", "headers")


def _lines(number: int, result: dict[str, Any]) -> "Iterator[Text]":
    from rich.text import Text

    outcome = result["outcome"]
    yield Text.assemble(f"record {number}: ", (outcome, _COLOURS[outcome]))
    before: dict[str, Any] = {}
    for step in result["steps"]:
        yield Text(f"  {step['step']}  {step['class'].rpartition('.')[2]}")
        if "error" in step:
            error = step["error"]
            yield Text(f"    {error['exception']}: {error['message']}", style="red")
            if cause := error.get("cause"):
                yield Text(f"    because of {cause}", style="red")
        elif "skipped" in step:
            yield Text(f"    passed over: {step['skipped']}", style="dim")
        elif step["record"] is None:
            yield Text("    dropped", style="yellow")
        else:
            yield from _changes(before, step["record"])
            before = step["record"]


def _changes(before: dict[str, Any], after: dict[str, Any]) -> "Iterator[Text]":
    """What a step has changed; all of it the first time."""
    from rich.text import Text

    changed = False
    for part in _PARTS:
        schema = f"{part}Schema"
        now = (after.get(part), after.get(schema))
        if part not in after or (before and now == (before.get(part), before.get(schema))):
            continue
        if not before and now in ((None, None), ([], None)):
            continue
        changed = True
        yield Text(f"    {part}: {_compact(after[part])}")
        if after.get(schema) is not None and after.get(schema) != before.get(schema):
            yield Text(f"      {_schema(after[schema])}", style="dim")
    if not changed:
        yield Text("    unchanged", style="dim")


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _schema(schema: dict[str, Any]) -> str:
    """A schema in one line: struct Order(id int64, name string?)."""
    shown = str(schema["type"])
    if name := schema.get("name"):
        shown += f" {name.rpartition('.')[2]}"
    if "fields" in schema:
        fields = [f"{field['field']} {_schema(field)}" for field in schema["fields"]]
        shown += f"({', '.join(fields)})"
    elif "keys" in schema:
        shown += f"<{_schema(schema['keys'])}, {_schema(schema['values'])}>"
    elif "items" in schema:
        shown += f"<{_schema(schema['items'])}>"
    return shown + ("?" if schema["optional"] else "")
