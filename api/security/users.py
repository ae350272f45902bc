"""The file with the users, read again when it changes."""

from __future__ import annotations

import logging
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from api.security.credentials import Scrypt, hash_token, same
from api.security.roles import EVERY, Grants, Role
from connect.errors import ConfigError
from connect.javalang.errors import PropertiesError
from connect.javalang.properties import read_properties

log = logging.getLogger(__name__)

SETTING = "rest.auth.file"
_ROLES = {str(role): role for role in Role}
_TOKEN = "sha256:"  # noqa: S105 - the name of a hash
_HASH_DIGITS = 64


@dataclass(frozen=True, slots=True)
class User:
    """One entry. `clear` is a password as Kafka's property files have it."""

    name: str
    grants: Grants
    password: Scrypt | None = field(default=None, repr=False)
    tokens: tuple[str, ...] = field(default=(), repr=False)
    clear: str | None = field(default=None, repr=False)


class Users:
    """Who there is. Reading is cheap; checking a password takes its time."""

    def __init__(self, path: str | Path) -> None:
        """ConfigError when the file can't be read or an entry is not right."""
        self._path = Path(path)
        self._stamp = self._stat()
        self._users = _read(self._path)
        # Counts the changes of the file: what was found out before holds no more.
        self.version = 0

    def refresh(self) -> None:
        """Read the file again if it has changed. One that is broken leaves all as it was."""
        stamp = self._stat()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._users = _read(self._path)
        except ConfigError as error:
            log.error("Users stay as they were: %s", error)  # noqa: TRY400 - the text says it all
        else:
            self.version += 1
            log.info("Read the users of %s again: there are %d", self._path, len(self._users))

    def named(self, name: str) -> User | None:
        return self._users.get(name)

    def by_password(self, name: str, password: str) -> User | None:
        """The user with that password. A name that is not there takes as long as a wrong one."""
        user = self._users.get(name)
        if _is_kafkas(self._path):
            right = same(password, user.clear or "" if user is not None else "")
            return user if right else None
        stored = user.password if user is not None else None
        right = (stored or _DUMMY).matches(password)
        return user if right and stored is not None else None

    def by_token(self, token: str) -> User | None:
        given = hash_token(token)
        found = None
        for user in self._users.values():
            for stored in user.tokens:
                if same(given, stored):
                    found = user
        return found

    def _stat(self) -> tuple[int, int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


_DUMMY = Scrypt(14, 8, 1, os.urandom(16), os.urandom(32))


def _read(path: Path) -> dict[str, User]:
    try:
        if _is_kafkas(path):
            return _of_properties(read_properties(path))
        return _of_toml(path, tomllib.loads(path.read_text("utf-8")))
    except OSError as error:
        reason = f"can't be read: {error.strerror or error}"
        raise ConfigError(SETTING, str(path), reason) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, PropertiesError) as error:
        raise ConfigError(SETTING, str(path), f"is not what it should be: {error}") from error


def _is_kafkas(path: Path) -> bool:
    return path.suffix == ".properties"


def _of_properties(entries: Mapping[str, str]) -> dict[str, User]:
    """Kafka's PropertyFileLoginModule knows no roles: who is in the file may do everything."""
    return {name: User(name, {Role.ADMIN: (EVERY,)}, clear=text) for name, text in entries.items()}


def _of_toml(path: Path, document: Mapping[str, Any]) -> dict[str, User]:
    entries = document.get("users")
    if not isinstance(entries, dict) or set(document) != {"users"}:
        raise ConfigError(SETTING, str(path), "expected tables [users.NAME] and nothing else")
    return {name: _user(path, name, entry) for name, entry in entries.items()}


def _user(path: Path, name: str, entry: Any) -> User:
    def wrong(reason: str) -> ConfigError:
        return ConfigError(SETTING, str(path), f"user {name}: {reason}")

    known = ("password", "tokens", *_ROLES)
    if not isinstance(entry, dict) or (unknown := set(entry).difference(known)):
        what = "expected a table" if not isinstance(entry, dict) else f"unknown {sorted(unknown)}"
        raise wrong(f"{what}; a user has {', '.join(known)}")
    if not name or ":" in name:
        raise wrong("a name is not empty and has no colon, which ends it in a header")
    lists = {key: entry.get(key, []) for key in ("tokens", *_ROLES)}
    for key, values in lists.items():
        if not isinstance(values, list) or not all(isinstance(v, str) and v for v in values):
            raise wrong(f'{key} is a list of texts, such as ["*"]')
    if not all(t.startswith(_TOKEN) and len(t) == len(_TOKEN) + _HASH_DIGITS
               for t in lists["tokens"]):  # fmt: skip
        raise wrong("tokens are hashes, as `penstock user --token` prints them: sha256:…")
    try:
        password = Scrypt.parse(entry["password"]) if "password" in entry else None
    except (ValueError, AttributeError) as error:
        raise wrong(f"the password {error}") from None
    grants = {role: tuple(lists[key]) for key, role in _ROLES.items()}
    return User(name, grants, password, tuple(t.lower() for t in lists["tokens"]))
