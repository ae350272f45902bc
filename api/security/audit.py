"""The log of changes: who did what, and whether it was done. Never a value."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any

import orjson
from starlette.requests import Request
from starlette.types import Scope

from api.security.roles import Caller
from connect.cluster.herder import Herder
from connect.config.secret import HIDDEN
from connect.errors import ConfigError, NotFoundError

_SETTING = "rest.audit.file"
_CHANGES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_REFUSED = frozenset({401, 403, 429})


class Audit:
    """Writes a line of JSON for each change, to a file or to the logger `audit`."""

    def __init__(self, file: str | None = None) -> None:
        """ConfigError when the file can't be written."""
        self._logger = logging.getLogger("audit")
        self._file: WatchedFileHandler | None = None
        if file:
            try:
                self._file = WatchedFileHandler(Path(file), encoding="utf-8")
            except OSError as error:
                reason = f"can't be written: {error.strerror}"
                raise ConfigError(_SETTING, file, reason) from error
            self._file.setFormatter(logging.Formatter("%(message)s"))

    def write(self, caller: Caller, scope: Scope, path: str, status: int) -> None:
        noted: Mapping[str, Any] = scope["state"].get("noted", {})
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "user": caller.name,
            "address": caller.address,
            "method": scope["method"],
            "path": path,
            **noted,
            "status": status,
            "outcome": "done" if status < 400 else "refused" if status in _REFUSED else "failed",
        }
        text = orjson.dumps(line).decode()
        # Past the logger's level: who may set levels may not do so to hide what they do next.
        record = self._logger.makeRecord("audit", logging.INFO, "", 0, "%s", (text,), None)
        (self._file or self._logger).handle(record)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def is_change(method: str, segments: list[str]) -> bool:
    """Whether a request changes something; validation, dry runs and re-tests do not."""
    tries_only = segments[:1] == ["connector-plugins"] or (
        segments[:1] == ["dlq"] and segments[2:] == ["test"]
    )
    return method in _CHANGES and not tries_only


def note(request: Request, connector: str, keys: Iterable[str]) -> None:
    """Have the line of this request say which keys of which connector it is about."""
    request.state.noted = {"connector": connector, "keys": sorted(keys)}


async def note_difference(
    request: Request, herder: Herder, connector: str, wanted: Mapping[str, str | None]
) -> None:
    """The same for a whole config: the keys in which it differs from the stored one."""
    try:
        stored = await herder.stored_config(connector)
    except NotFoundError:
        stored = {}
    keys = {key for key in {*stored, *wanted} if stored.get(key) != wanted.get(key)}
    note(request, connector, (key for key in keys if wanted.get(key) != HIDDEN))
