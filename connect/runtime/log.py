"""Logs: sentences with the connector and task in front, as text or as JSON lines."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import NamedTuple

import orjson

from connect.runtime.levels import connector_levels
from connect.traces import format_trace


class _Context(NamedTuple):
    text: str = ""
    connector: str = ""


_context: ContextVar[_Context | None] = ContextVar("context", default=None)
_process_context = _Context()


def set_context(context: str, connector: str = "") -> None:
    """What stands in front of every line of this thread: `[orders|task-0] `, and whose it is."""
    _context.set(_Context(context, connector))


def set_process_context(context: str, connector: str = "") -> None:
    """The same for every thread that has none of its own, such as those that plugins start."""
    global _process_context  # noqa: PLW0603 - there is one for a process
    _process_context = _Context(context, connector)


def _here() -> _Context:
    return _context.get() or _process_context


class _Format(logging.Formatter):
    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        context = _here().text
        message = record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        trace = format_trace(error).rstrip() if error is not None else None
        if self._as_json:
            line = {
                "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{record.msecs:03.0f}",
                "level": record.levelname,
                "logger": record.name,
                "context": context.strip().strip("[]"),
                "message": message,
            }
            if trace:
                line["trace"] = trace
            return orjson.dumps(line).decode()
        stamp = self.formatTime(record, "%Y-%m-%d %H:%M:%S") + f",{record.msecs:03.0f}"
        text = f"[{stamp}] {record.levelname} {context}{message} ({record.name})"
        return f"{text}\n{trace}" if trace else text


def set_up_logging(worker: Mapping[str, str], levels: Iterable[tuple[str, str]] = ()) -> None:
    """Log to standard error as `log.format` (text, json) and `log.level` say.

    `levels` are those that were set since the worker started.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Format(as_json=worker.get("log.format", "text").lower() == "json"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(worker.get("log.level", "INFO").upper())
    # The registry's and REST clients' line a request is noise beside ours.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    connector_levels.apply(levels)
    handler.addFilter(lambda record: connector_levels.lets_through(record, _here().connector))
