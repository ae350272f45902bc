"""Logs: sentences with the connector and task in front, as text or as JSON lines."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from contextvars import ContextVar

import orjson

from connect.traces import format_trace

_context: ContextVar[str] = ContextVar("context", default="")


def set_context(context: str) -> None:
    """What stands in front of every line of this thread: `[orders|task-0] `."""
    _context.set(context)


def set_process_context(context: str) -> None:
    """The same for every thread that has none of its own, such as those that plugins start."""
    _Format.process_context = context


class _Format(logging.Formatter):
    process_context = ""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        context = _context.get() or self.process_context
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


def set_up_logging(worker: Mapping[str, str]) -> None:
    """Log to standard error as `log.format` (text, json) and `log.level` say."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Format(as_json=worker.get("log.format", "text").lower() == "json"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(worker.get("log.level", "INFO").upper())
    # The registry's and REST clients' line a request is noise beside ours.
    logging.getLogger("httpx").setLevel(logging.WARNING)
