"""Secrets from the terminal or from standard input; never from the command's arguments."""

from __future__ import annotations

import getpass
import sys

from penstock.errors import UserError


def ask_secret(what: str, *, twice: bool = False) -> str:
    """A secret that is typed unseen, or the first line of what is piped in."""
    if not sys.stdin.isatty():
        secret = sys.stdin.readline().rstrip("\r\n")
    else:
        secret = getpass.getpass(f"{what}: ")
        if twice and getpass.getpass(f"{what} again: ") != secret:
            raise UserError("The two are not the same.")
    if not secret:
        raise UserError(f"The {what.lower()} is empty.")
    return secret
