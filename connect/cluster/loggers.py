"""Log levels at run time, under the names that Kafka Connect's clients use."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from typing import Any

from connect.errors import NotFoundError
from connect.runtime.levels import CONNECTOR, LEVELS, ROOT, logger_of, set_level

_NAMES = {number: name for name, number in LEVELS.items()}


class Loggers:
    """The loggers of this worker whose level was set, and when."""

    def __init__(self) -> None:
        self._modified: dict[str, int] = {}
        # The lines of a connector are written by its own processes, where the level is in force.
        self._connectors: dict[str, str] = {}

    def all(self) -> dict[str, dict[str, Any]]:
        found = {ROOT: self._show(ROOT)}
        for name, logger in logging.root.manager.loggerDict.items():
            if isinstance(logger, logging.Logger) and logger.level != logging.NOTSET:
                found[name] = self._show(name)
        found |= {name: self._show(name) for name in self._connectors}
        return dict(sorted(found.items()))

    def one(self, name: str) -> dict[str, Any]:
        known = name in logging.root.manager.loggerDict or name in self._connectors
        if name != ROOT and not known:
            raise NotFoundError(f"Logger {name} not found.")
        return self._show(name)

    def set(self, name: str, level: str) -> list[str]:
        """Set the level of a logger and of those below it; their names."""
        if name.startswith(CONNECTOR):
            self._connectors[name] = level
            names = [name]
        else:
            names = set_level(name, level)
        if name == ROOT:  # its processes have forgotten a connector's level, too
            self._connectors.clear()
        now = int(time.time() * 1000)
        self._modified |= dict.fromkeys(names, now)
        return names

    def _show(self, name: str) -> dict[str, Any]:
        level = self._connectors.get(name)
        if level is None:
            number = logger_of(name).getEffectiveLevel()
            level = _NAMES.get(number, logging.getLevelName(number))
        return {"level": level, "last_modified": self._modified.get(name)}


def check_level(name: str, level: str, connectors: Collection[str]) -> None:
    """NotFoundError unless there are such a level and, if it is named, such a connector."""
    if level not in LEVELS:
        raise NotFoundError(f"invalid log level '{level}'.")
    connector = name.removeprefix(CONNECTOR)
    if connector != name and connector not in connectors:
        raise NotFoundError(f"Connector {connector} not found, so its log level can't be set.")
