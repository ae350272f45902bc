"""Log levels at run time, under the names that Kafka Connect's clients use."""

from __future__ import annotations

import logging
import time
from typing import Any

from connect.errors import NotFoundError

ROOT = "root"
# Java's levels, and Python's beside them where they differ.
LEVELS = {
    "OFF": logging.CRITICAL + 10,
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": 5,
    "ALL": 1,
}
_NAMES = {number: name for name, number in LEVELS.items()}


class Loggers:
    """The loggers of this worker whose level was set, and when."""

    def __init__(self) -> None:
        logging.addLevelName(LEVELS["TRACE"], "TRACE")
        self._modified: dict[str, int] = {}

    def all(self) -> dict[str, dict[str, Any]]:
        found = {ROOT: self._show(ROOT, logging.getLogger())}
        for name, logger in logging.root.manager.loggerDict.items():
            if isinstance(logger, logging.Logger) and logger.level != logging.NOTSET:
                found[name] = self._show(name, logger)
        return dict(sorted(found.items()))

    def one(self, name: str) -> dict[str, Any]:
        if name != ROOT and name not in logging.root.manager.loggerDict:
            raise NotFoundError(f"Logger {name} not found.")
        return self._show(name, _logger(name))

    def set(self, name: str, level: str) -> list[str]:
        """Set the level of a logger and of those below it; their names."""
        number = LEVELS.get(level.upper())
        if number is None:
            raise NotFoundError(f"invalid log level '{level}'.")
        below = [
            other
            for other, logger in logging.root.manager.loggerDict.items()
            if isinstance(logger, logging.Logger)
            and (name == ROOT or other.startswith(name + "."))
            and logger.level != logging.NOTSET
        ]
        names = sorted({name, *below})
        now = int(time.time() * 1000)
        for each in names:
            _logger(each).setLevel(number)
            self._modified[each] = now
        return names

    def _show(self, name: str, logger: logging.Logger) -> dict[str, Any]:
        level = logger.getEffectiveLevel()
        return {
            "level": _NAMES.get(level, logging.getLevelName(level)),
            "last_modified": self._modified.get(name),
        }


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(None if name == ROOT else name)
