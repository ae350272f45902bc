"""`penstock user`: an entry for the file of users, rest.auth.file."""

import json
import re
from typing import Annotated

import typer

from penstock.errors import UserError


def register(root: typer.Typer) -> None:
    root.command()(user)


def _role_option(role: str, may: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        f"--{role}", help=f"Connectors that it may {may}, as a pattern.", metavar="PATTERN"
    )
    return option


def user(
    name: Annotated[str, typer.Argument(help="The user's name.")],
    token: Annotated[
        bool, typer.Option("--token", help="Make up a token instead of asking for a password.")
    ] = False,
    read: Annotated[list[str] | None, _role_option("read", "see")] = None,
    operate: Annotated[
        list[str] | None, _role_option("operate", "restart, pause, resume and stop")
    ] = None,
    admin: Annotated[list[str] | None, _role_option("admin", "create, change and delete")] = None,
) -> None:
    """Print an entry for the file that rest.auth.file names.

    The password is asked for, or read from standard input. A token is told once, on standard error.
    """
    from api.security.credentials import hash_password, hash_token, new_token
    from penstock.asking import ask_secret

    if not name or ":" in name:
        raise UserError("A user's name is not empty and has no colon.")
    bare = re.fullmatch(r"[A-Za-z0-9_-]+", name)
    lines = [f"[users.{name if bare else json.dumps(name)}]"]
    if token:
        made = new_token()
        typer.echo(f"The token of {name}, which is not kept anywhere: {made}", err=True)
        lines.append(f'tokens = ["{hash_token(made)}"]')
    else:
        lines.append(f'password = "{hash_password(ask_secret("Password", twice=True))}"')
    for role, patterns in (("read", read), ("operate", operate), ("admin", admin)):
        if patterns:
            lines.append(f"{role} = {json.dumps(patterns)}")
    typer.echo("\n".join(lines) + "\n")
