"""A file of users for tests, with hashes that are quick to check."""

import os
from pathlib import Path

from api.security.credentials import Scrypt, hash_token


def entry(name: str, password: str | None = None, token: str | None = None, **roles: list) -> str:
    lines = [f"[users.{name}]"]
    if password is not None:
        blank = Scrypt(4, 8, 1, os.urandom(16), b"")
        lines.append(f'password = "{blank._replace(hash=blank.of(password))}"')
    if token is not None:
        lines.append(f'tokens = ["{hash_token(token)}"]')
    lines += [f"{role} = {patterns!r}" for role, patterns in roles.items()]
    return "\n".join(lines) + "\n"


def write_users(path: Path, *entries: str) -> Path:
    path.write_text("".join(entries))
    return path
