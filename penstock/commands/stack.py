"""`penstock stack`: Kafka and a schema registry on this machine."""

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from penstock.stack.stack import Part, Stack

app = typer.Typer(
    no_args_is_help=True,
    help="""A real Kafka on this machine, and a schema registry if you like, with nothing but Java.

    The usual ports 9092 and 8081 are taken when they are free. Everything lies in .stack below the
    current directory (PENSTOCK_STACK_DIR names another); `down` removes all of it.

    If KAFKA_BOOTSTRAP or SCHEMA_REGISTRY_URL is set, that server is used and none is started.
    PENSTOCK_STACK chooses `local` JVM processes, `docker`, or `auto`.
    """,
)


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("-o", "--output", help="How to print the result.")]
RegistryOption = Annotated[bool, typer.Option("--registry", help="The schema registry too.")]


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="stack")


@app.command()
def up(
    registry: RegistryOption = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Start the stack, or what is missing of it, and return when it answers."""
    stack = _stack()
    _print(stack, stack.up(with_registry=registry), output)


@app.command()
def fetch(registry: RegistryOption = False) -> None:
    """Download what `up` needs and start nothing. Later starts need no network."""
    _stack().fetch(with_registry=registry)


@app.command()
def status(output: OutputOption = Output.TEXT) -> None:
    """Show what runs where. Exits with 1 if there is nothing or if a part does not answer."""
    stack = _stack()
    parts = stack.status()
    _print(stack, parts, output)
    if not parts or any(part.state in {"dead", "not answering"} for part in parts):
        raise typer.Exit(1)


@app.command()
def down(output: OutputOption = Output.TEXT) -> None:
    """Stop the stack and remove its files, topics and schemas included."""
    stack = _stack()
    stopped = stack.down()
    if output is Output.JSON:
        typer.echo(json.dumps({"directory": str(stack.directory), "stopped": stopped}))
    elif stopped:
        typer.echo(f"Stopped {' and '.join(stopped)}; {_short(stack.directory)} is gone.")
    else:
        typer.echo(f"Nothing to stop: no stack was started in {_short(stack.directory)}.")


def _stack() -> "Stack":
    from penstock.stack.stack import Stack

    return Stack(say=lambda line: typer.echo(line, err=True))


def _print(stack: "Stack", parts: "list[Part]", output: Output) -> None:
    if output is Output.JSON:
        document = {"directory": str(stack.directory), "parts": [asdict(part) for part in parts]}
        typer.echo(json.dumps(document, indent=2))
    elif parts:
        for part in parts:
            typer.echo(f"{part.name:<10}{part.state:<15}{part.address}")
    else:
        typer.echo(f"No stack was started in {_short(stack.directory)}: run `penstock stack up`.")


def _short(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
