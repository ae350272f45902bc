"""Which letters are meant: the filters that all commands and routes share."""

from __future__ import annotations

import enum
import re
import time
from datetime import UTC, datetime
from typing import Any

import msgspec

from connect.errors import ConnectError
from dlq.reader import Span


class State(enum.StrEnum):
    OPEN = "open"
    REPLAYED = "replayed"
    DISMISSED = "dismissed"


class SelectionError(ConnectError):
    """A filter or a letter's name that can't be understood; the text says why."""


class Selection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All letters that meet every filter given. `states` empty: in any state."""

    connector: str | None = None
    stage: str | None = None
    exception: str | None = None
    source_topic: str | None = None
    fingerprint: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    states: tuple[State, ...] = (State.OPEN,)
    spans: tuple[Span, ...] = ()
    limit: int | None = None

    def where(self, letters: str = "l", groups: str = "g") -> tuple[str, list[Any]]:
        """An SQL condition over letters and their groups, by these aliases; with parameters."""
        terms: list[str] = []
        values: list[Any] = []
        l, g = letters, groups  # noqa: E741 - as in the statements

        def add(term: str, *of: Any) -> None:
            terms.append(term)
            values.extend(of)

        if self.connector is not None:
            add(f"{g}.connector = ?", self.connector)
        if self.stage is not None:
            add(f"{g}.stage = ?", self.stage.upper())
        if self.exception is not None:
            add(f"({g}.exception = ? OR {g}.exception LIKE ? ESCAPE '!')",
                self.exception, "%." + _escaped(self.exception))  # fmt: skip
        if self.source_topic is not None:
            add(f"{g}.source_topic = ?", self.source_topic)
        if self.fingerprint is not None:
            add(f"{g}.fingerprint LIKE ? ESCAPE '!'", _escaped(self.fingerprint) + "%")
        if self.states:
            marks = ",".join("?" * len(self.states))
            add(f"{l}.state IN ({marks})", *map(state_number, self.states))
        if self.spans:
            span = f"({l}.part = ? AND {l}.offset >= ? AND {l}.offset < ?)"
            spans = " OR ".join([span] * len(self.spans))
            add(f"({spans})", *(n for span in self.spans for n in span))
        if self.since_ms is not None:
            add(f"{l}.time >= ?", self.since_ms)
        if self.until_ms is not None:
            add(f"{l}.time < ?", self.until_ms)
        return " AND ".join(terms) or "1 = 1", values

    @property
    def by_group_alone(self) -> bool:
        """Whether nothing is asked of single letters but their state."""
        return self.since_ms is None and self.until_ms is None and not self.spans


def _escaped(text: str) -> str:
    return re.sub(r"([!%_])", r"!\1", text)


_STATES = tuple(State)


def state_number(state: State) -> int:
    return _STATES.index(state)


def state_of(number: int) -> State:
    return _STATES[number]


def parse_states(text: str) -> tuple[State, ...]:
    """`open`, `replayed,dismissed`, or `all`."""
    if text.strip().lower() == "all":
        return ()
    try:
        return tuple(State(part.strip().lower()) for part in text.split(","))
    except ValueError:
        raise SelectionError(
            f"'{text}' is no state of letters: it is open, replayed, dismissed or all."
        ) from None


_PLACE = re.compile(r"(?P<topic>[^/]+)(?:/(?P<partition>\d+)/(?P<start>\d+)(?:-(?P<end>\d+))?)?")


def parse_place(text: str) -> tuple[str, Span | None]:
    """`topic`, `topic/partition/offset` or `topic/partition/from-to`."""
    match = _PLACE.fullmatch(text.strip())
    if match is None:
        raise SelectionError(
            f"'{text}' names no letters: write topic, topic/partition/offset or "
            "topic/partition/from-to."
        )
    if match["partition"] is None:
        return match["topic"], None
    start = int(match["start"])
    end = int(match["end"]) if match["end"] is not None else start
    if end < start:
        raise SelectionError(f"'{text}' ends before it begins.")
    return match["topic"], Span(int(match["partition"]), start, end + 1)


_AGO = re.compile(r"(\d+)\s*([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def parse_time(text: str, now: float | None = None) -> int:
    """Milliseconds since the epoch for `2h` (ago), a date and time, or those milliseconds."""
    text = text.strip()
    if ago := _AGO.fullmatch(text):
        then = (time.time() if now is None else now) - int(ago[1]) * _SECONDS[ago[2]]
        return int(then * 1000)
    if text.isdigit() and len(text) > 8:
        return int(text)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise SelectionError(
            f"'{text}' is no time: write 30m, 2h, 3d, or a date such as 2026-01-31T12:00."
        ) from None
    return int(found.timestamp() * 1000)


def show_time(ms: int | None) -> str:
    if ms is None or ms < 0:
        return "unknown"
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return str(ms)
