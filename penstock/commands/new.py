"""`penstock new`: the first files of something of one's own."""

import enum
from pathlib import Path
from typing import Annotated

import typer


class Kind(enum.StrEnum):
    SOURCE = "source"
    SINK = "sink"


def register(root: typer.Typer) -> None:
    group = typer.Typer(help="Make the first files of a plugin.", no_args_is_help=True)
    group.command("connector")(connector)
    # With a single command, typer would take the group for the command itself.
    group.callback()(lambda: None)
    root.add_typer(group, name="new")


def connector(
    name: Annotated[
        str, typer.Argument(help="The connector's name, such as acme-orders.", metavar="NAME")
    ],
    kind: Annotated[Kind, typer.Option("--kind", "-k", help="What it is.")],
    directory: Annotated[
        Path, typer.Option("--directory", "-d", help="Where its directory is made.")
    ] = Path(),
) -> None:
    """Make a package with a connector that works, and tests that pass.

    It reads or writes lines of a file; put your own system in the file's place.
    """
    from penstock.scaffold import write_connector

    files = write_connector(name, kind.value, directory)
    for file in files:
        typer.echo(file)
    typer.echo(f"\ncd {directory / name} && pip install -e '.[dev]' && pytest")
