"""`penstock context`: the workers that commands talk to, by name."""

from typing import Annotated

import typer

from penstock.contexts import Context, Contexts, shown
from penstock.errors import UserError
from penstock.options import Output, OutputOption

app = typer.Typer(no_args_is_help=True, help="Name workers, and choose which one commands ask.")


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="context")


def _complete(incomplete: str) -> list[str]:
    try:
        return [name for name in sorted(Contexts().all) if name.startswith(incomplete)]
    except UserError:
        return []


Name = Annotated[str, typer.Argument(help="The context's name.", autocompletion=_complete)]


@app.command("set")
def set_(  # noqa: PLR0917 - each is an option of the command
    name: Name,
    url: Annotated[str, typer.Option("--url", "--cluster", help="The worker's URL.")],
    username: Annotated[
        str | None, typer.Option(help="The user; the password is asked for.")
    ] = None,
    token: Annotated[bool, typer.Option("--token", help="Ask for a token.")] = False,
    secret_command: Annotated[
        str | None,
        typer.Option(help="A command that prints the password or token each time, to keep none."),
    ] = None,
    ca: Annotated[str | None, typer.Option(help="PEM file with the trusted authorities.")] = None,
    cert: Annotated[str | None, typer.Option(help="PEM file with a client certificate.")] = None,
    key: Annotated[str | None, typer.Option(help="Its key, if that is a file of its own.")] = None,
) -> None:
    """Make or change a context. The first one is used at once.

    A password or token is read from the terminal or standard input.
    """
    from penstock.asking import ask_secret
    from penstock.client import WorkerClient

    if token and username is not None:
        raise UserError("Give --username or --token, not both.")
    asks = secret_command is None
    made = Context(
        url,
        username,
        ask_secret("Password") if username is not None and asks else None,
        ask_secret("Token") if token and asks else None,
        secret_command,
        ca,
        cert,
        key,
    )
    WorkerClient(made).close()  # a wrong URL or file is told now
    contexts = Contexts()
    contexts.all[name] = made
    contexts.current = contexts.current or name
    contexts.save()
    typer.echo(f"{name}: {made.url}")


@app.command()
def use(name: Name) -> None:
    """Let commands ask this one from now on."""
    contexts = Contexts()
    contexts.named(name)
    contexts.current = name
    contexts.save()
    typer.echo(f"Commands ask {name} now, at {contexts.all[name].url}")


@app.command()
def ls(output: OutputOption = Output.TEXT) -> None:
    """List the contexts; * is the one in use."""
    from penstock import show

    contexts = Contexts()
    if output is Output.JSON:
        show.print_json({name: shown(context) for name, context in contexts.all.items()})
        return
    rows = (
        ("*" if name == contexts.current else "", name, context.url, context.username or "")
        for name, context in sorted(contexts.all.items())
    )
    show.console().print(show.table(("", "NAME", "URL", "USER"), rows))


@app.command("show")
def show_(
    name: Annotated[
        str | None, typer.Argument(help="Not the one in use.", autocompletion=_complete)
    ] = None,
) -> None:
    """Show one context, without its secrets."""
    contexts = Contexts()
    wanted = name or contexts.current
    if wanted is None:
        raise UserError("No context is in use: `penstock context set --help`.")
    typer.echo(f"name: {wanted}")
    for key, value in shown(contexts.named(wanted)).items():
        typer.echo(f"{key}: {value}")


@app.command()
def rm(name: Name) -> None:
    """Forget a context."""
    contexts = Contexts()
    contexts.named(name)
    del contexts.all[name]
    if contexts.current == name:
        contexts.current = None
    contexts.save()
    typer.echo(f"{name}: gone")
