"""Log levels, set while processes run. The worker and its children use the same functions.

A logger `connector.orders` stands for everything that the processes of connector orders log by
the root logger's level: with a level of its own the connector has that in its place.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

ROOT = "root"
CONNECTOR = "connector."
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
logging.addLevelName(LEVELS["TRACE"], "TRACE")


def logger_of(name: str) -> logging.Logger:
    return logging.getLogger(None if name == ROOT else name)


def set_level(name: str, level: str) -> list[str]:
    """Set the level of a logger and of those below it that have one; their names."""
    below = [
        other
        for other, logger in logging.root.manager.loggerDict.items()
        if isinstance(logger, logging.Logger)
        and (name == ROOT or other.startswith(name + "."))
        and logger.level != logging.NOTSET
    ]
    names = sorted({name, *below})
    for each in names:
        logger_of(each).setLevel(LEVELS[level])
    return names


class ConnectorLevels:
    """The levels of connectors in one process, where several may run as threads.

    The root logger lets through what the most talkative of them wants; `lets_through` holds back
    what the others don't.
    """

    def __init__(self) -> None:
        self._levels: dict[str, int] = {}
        self._others = logging.INFO

    def apply(self, levels: Iterable[tuple[str, str]]) -> None:
        """Set levels, one after the other, of loggers and of connectors."""
        root = logging.getLogger()
        for name, level in levels:
            if not self._levels:
                self._others = root.level
            if name.startswith(CONNECTOR):
                self._levels[name.removeprefix(CONNECTOR)] = LEVELS[level]
            else:
                # Those below have the same level from now on by having none: so a connector's
                # level is in force for them again.
                for below in set_level(name, level):
                    if below != name:
                        logger_of(below).setLevel(logging.NOTSET)
            if name == ROOT:  # connectors are below it
                self._levels.clear()
            if self._levels:
                root.setLevel(min(self._others, *self._levels.values()))

    def lets_through(self, record: logging.LogRecord, connector: str) -> bool:
        if not self._levels or _has_level(logging.getLogger(record.name)):
            return True
        return record.levelno >= self._levels.get(connector, self._others)


def _has_level(logger: logging.Logger) -> bool:
    """Whether it, or one between it and the root, has a level of its own."""
    while logger.parent is not None:
        if logger.level != logging.NOTSET:
            return True
        logger = logger.parent
    return False


connector_levels = ConnectorLevels()
