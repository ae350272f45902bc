"""Contexts: workers by name, with what they take to get in. Kept in a file of the user's own."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import typer

from penstock.errors import UserError


@dataclass(frozen=True)
class Context:
    """A worker's URL and the way in: username and password, or a token, or a certificate.

    `secret_command` prints the password or token, so that it need not be kept here.
    """

    url: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    secret_command: str | None = None
    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    def __str__(self) -> str:
        return self.url

    @classmethod
    def parse(cls, given: str | Context) -> Context:
        return given if isinstance(given, Context) else cls(given)

    def with_secret(self) -> Context:
        """The same with what the command prints in its place."""
        if self.secret_command is None:
            return self
        try:
            done = subprocess.run(
                shlex.split(self.secret_command), check=True, stdout=subprocess.PIPE, text=True
            )
        except (OSError, subprocess.CalledProcessError) as error:
            raise UserError(f"The context's secret command failed: {error}.") from error
        secret = done.stdout.strip("\r\n")
        if self.username is not None:
            return replace(self, password=secret)
        return replace(self, token=secret)


class Contexts:
    """All that there are, and which one is used when none is named."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or Path(typer.get_app_dir("penstock")) / "contexts.json"
        self.all: dict[str, Context] = {}
        self.current: str | None = None
        try:
            found = json.loads(self._path.read_text("utf-8"))
            self.all = {name: Context(**entry) for name, entry in found["contexts"].items()}
            self.current = found["current"]
        except FileNotFoundError:
            pass
        except OSError as error:
            raise UserError(f"{self._path} can't be read: {error.strerror}.") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"{self._path} is not what `penstock context` writes: {error}."
            ) from None

    def named(self, name: str) -> Context:
        if name not in self.all:
            known = ", ".join(sorted(self.all)) or "none yet, see `penstock context set --help`"
            raise UserError(f"There is no context '{name}'. There are: {known}.")
        return self.all[name]

    def save(self) -> None:
        """Write the file anew, so that nobody else can read it at any moment."""
        entries = {name: _written(context) for name, context in self.all.items()}
        text = json.dumps({"current": self.current, "contexts": entries}, indent=2)
        fresh = self._path.with_suffix(".new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fresh.unlink(missing_ok=True)
            with os.fdopen(
                os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w"
            ) as file:
                file.write(text + "\n")
            fresh.replace(self._path)
        except OSError as error:
            raise UserError(f"{self._path} can't be written: {error.strerror}.") from error


def _written(context: Context) -> dict[str, Any]:
    return {key: value for key, value in asdict(context).items() if value is not None}


def shown(context: Context) -> dict[str, str]:
    """What may be on a screen."""
    secrets = {each.name for each in fields(context) if not each.repr}
    return {k: "[hidden]" if k in secrets else v for k, v in _written(context).items()}


def find_context(
    given: Context,
    name: str | None,
    *,
    default: Context,
    environment: Mapping[str, str] = os.environ,
) -> Context:
    """The context that a command means by --url and --context.

    A URL of its own takes no credentials along, unless the context is named beside it.
    """
    contexts = Contexts()
    if name is not None:
        context = contexts.named(name)
    elif given is default and contexts.current is not None:
        context = contexts.named(contexts.current)
    else:
        context = given
    if given is not default:
        context = replace(context, url=given.url)
    if token := environment.get("PENSTOCK_TOKEN"):
        return replace(context, token=token, username=None, password=None, secret_command=None)
    if username := environment.get("PENSTOCK_USERNAME"):
        context = replace(context, username=username, token=None)
    if password := environment.get("PENSTOCK_PASSWORD"):
        context = replace(context, password=password, secret_command=None)
    return context
