"""What is told of letters: groups of them, single ones, how many there are, what was done."""

from __future__ import annotations

import msgspec

from dlq.reader import Place
from dlq.selection import State


class Group(msgspec.Struct, frozen=True):
    """Letters with the same cause."""

    connector: str | None
    stage: str | None
    exception: str | None
    source_topic: str | None
    fingerprint: str
    reason: str
    sample: str
    count: int
    oldest_ms: int
    newest_ms: int
    # (minute in milliseconds since the epoch, letters)
    over_time: list[tuple[int, int]]


class Mark(msgspec.Struct, frozen=True):
    """What somebody did with a letter."""

    partition: int
    offset: int
    state: State
    by: str | None = None
    at: int | None = None
    note: str | None = None
    replay: str | None = None
    target: str | None = None


class Row(msgspec.Struct, frozen=True):
    """A letter as the index knows it."""

    partition: int
    offset: int
    time_ms: int
    state: State
    attempts: int
    connector: str | None
    stage: str | None
    exception: str | None
    source_topic: str | None
    fingerprint: str
    reason: str

    @property
    def place(self) -> Place:
        return Place(self.partition, self.offset)


class Depth(msgspec.Struct, frozen=True):
    """How many letters a topic holds, by state, and how they came."""

    open: int
    replayed: int
    dismissed: int
    oldest_ms: int | None
    newest_ms: int | None
    last_hour: int
