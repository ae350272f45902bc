"""`penstock apply` and `penstock validate`: connectors from files."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from penstock.errors import UserError
from penstock.options import DEFAULT_URL, Output, OutputOption, UrlOption, client

if TYPE_CHECKING:
    from connect.config.files import ConnectorFile
    from penstock.client import WorkerClient

_STDIN = "-"
_SUFFIXES = (".json", ".properties")

FilesOption = Annotated[
    list[str],
    typer.Option(
        "-f",
        "--file",
        help="A connector's file: a flat JSON map, {name, config}, or .properties. A folder stands "
        "for all such files in it, - for standard input. May be given several times.",
        metavar="FILE|DIR|-",
    ),
]
NameOption = Annotated[
    str | None, typer.Option("-n", "--name", help="The name, for one file that has none.")
]


def register(root: typer.Typer) -> None:
    root.command()(apply)
    root.command()(validate)


def apply(
    files: FilesOption,
    name: NameOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Validate and show what would change; change nothing.")
    ] = False,
    url: UrlOption = DEFAULT_URL,
) -> None:
    """Create connectors from files, or bring those that exist in line with them.

    Exits with 1 if one of them is refused; the others are applied nevertheless.
    """
    from penstock import show

    worker = client(url)
    screen = show.console()
    refused = 0
    for wanted in _load(files, name):
        try:
            problems = _errors(worker, wanted) if dry_run else []
            done, changes = _apply(worker, wanted, change=not dry_run)
        except UserError as error:
            done, changes, problems = "refused", [], [f"  {error}"]
        if problems:
            done = "refused"
        verdict = f"would be {done}" if dry_run else done
        screen.print(f"{wanted.name}: {verdict}", *changes, *problems, sep="\n")
        refused += bool(problems)
    if refused:
        raise typer.Exit(1)


def _apply(
    worker: "WorkerClient", wanted: "ConnectorFile", *, change: bool
) -> tuple[str, list[Any]]:
    from penstock.client import WorkerError, connector_path
    from penstock.show import differences

    path = connector_path(wanted.name) + "/config"
    try:
        current: dict[str, str] | None = worker.get(path)
    except WorkerError as error:
        if error.status != 404:
            raise
        current = None
    changes = differences(current or {}, wanted.config)
    if current is not None and not changes:
        return "unchanged", changes
    if change and current is None and wanted.initial_state:
        body = {
            "name": wanted.name,
            "config": wanted.config,
            "initial_state": wanted.initial_state,
        }
        worker.call("POST", "/connectors", body)
    elif change:
        worker.call("PUT", path, wanted.config)
    return "created" if current is None else "changed", changes


def validate(
    files: FilesOption,
    name: NameOption = None,
    url: UrlOption = DEFAULT_URL,
    output: OutputOption = Output.TEXT,
) -> None:
    """Check connectors' files without creating anything. Exits with 1 if one has errors."""
    from penstock import show

    worker = client(url)
    loaded = _load(files, name)
    if output is Output.JSON:
        answers = {wanted.name: _validation(worker, wanted) for wanted in loaded}
        show.print_json(answers)
        failed = any(answer["error_count"] for answer in answers.values())
    else:
        screen = show.console()
        failed = False
        for wanted in loaded:
            try:
                problems = _errors(worker, wanted)
            except UserError as error:
                problems = [f"  {error}"]
            verdict = f"{len(problems)} error(s)" if problems else "valid"
            screen.print(f"{wanted.name}: {verdict}", *problems, sep="\n")
            failed = failed or bool(problems)
    if failed:
        raise typer.Exit(1)


def _load(paths: list[str], name: str | None) -> "list[ConnectorFile]":
    """All of them before any is sent, so that a file that can't be read changes nothing."""
    from connect.config.files import parse_connector, read_connector_file

    files = list(_files(paths))
    if name is not None and len(files) > 1:
        raise UserError("--name fits one file only; here are several.")
    return [
        parse_connector(sys.stdin.read(), "standard input", name)
        if file == _STDIN
        else read_connector_file(Path(file), name)
        for file in files
    ]


def _files(paths: list[str]) -> Iterator[str]:
    """The files meant: a folder stands for the JSON and properties files in it."""
    for path in paths:
        if path != _STDIN and Path(path).is_dir():
            inside = sorted(p for p in Path(path).iterdir() if p.suffix in _SUFFIXES)
            if not inside:
                raise UserError(f"{path} has no .json and no .properties file in it.")
            yield from map(str, inside)
        else:
            yield path


def _errors(worker: "WorkerClient", wanted: "ConnectorFile") -> list[Any]:
    from penstock.show import problems

    return problems(_validation(worker, wanted))


def _validation(worker: "WorkerClient", wanted: "ConnectorFile") -> Any:
    plugin = wanted.config.get("connector.class")
    if not plugin:
        raise UserError(f"{wanted.name} has no connector.class.")
    path = f"/connector-plugins/{quote(plugin, safe='')}/config/validate"
    return worker.call("PUT", path, wanted.config)
