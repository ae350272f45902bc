"""The command line: everything in `penstock.commands`."""

import importlib
import pkgutil
from typing import Annotated

import typer

from penstock import commands


def build_app() -> typer.Typer:
    """The command line, to be called."""
    app = typer.Typer(
        name="penstock",
        help="Kafka Connect for Python: run workers, manage connectors, replay dead letters.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for module in pkgutil.iter_modules(commands.__path__):
        importlib.import_module(f"{commands.__name__}.{module.name}").register(app)
    return app


def _complete_contexts(incomplete: str) -> list[str]:
    from penstock.contexts import Contexts

    return [name for name in sorted(Contexts().all) if name.startswith(incomplete)]


def _options(
    context: Annotated[
        str | None,
        typer.Option(
            "--context",
            envvar="PENSTOCK_CONTEXT",
            help="The worker to ask, as `penstock context` knows it.",
            metavar="NAME",
            autocompletion=_complete_contexts,
        ),
    ] = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version and exit.",
            is_eager=True,
            callback=lambda wanted: _print_version() if wanted else None,
        ),
    ] = False,
) -> None:
    pass


def _print_version() -> None:
    from importlib.metadata import version

    typer.echo(f"penstock {version('penstock')}")
    raise typer.Exit
