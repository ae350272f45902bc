"""Where a replayed record has been, and whether it comes back."""

from __future__ import annotations

import logging
import time

import msgspec

from connect.errors import ConnectError
from dlq import letter as names
from dlq.desk import Desk
from dlq.letter import RawHeader
from dlq.reader import DeadLetter, Span, TopicFacts

log = logging.getLogger(__name__)

# So many of its own records must be back before a replay takes it for a loop.
LOOP_LETTERS = 20
_LOOK_BACK_SECONDS = 1.0


def lineage(letter: DeadLetter, replay: str) -> list[RawHeader]:
    """The headers of a replayed record: its own, and where it has been.

    Written as JSON, because that is what most header converters of JVM workers can read.
    """
    been = [(name, value) for name, value in letter.headers if name == names.FROM_LETTER]
    return [
        *letter.own_headers,
        (names.ATTEMPT, b"%d" % (letter.attempts + 1)),
        (names.ORIGIN, msgspec.json.encode(letter.origin)),
        *been,
        (names.FROM_LETTER, msgspec.json.encode(letter.name)),
        (names.REPLAY_ID, msgspec.json.encode(replay)),
    ]


class LoopWatch:
    """Looks, while a replay runs, whether its records come back as dead letters."""

    def __init__(self, desk: Desk, facts: TopicFacts, replay: str) -> None:
        self._desk = desk
        self._facts = facts
        self._replay = msgspec.json.encode(replay)
        self._next = {span.partition: span.end for span in desk.reader.spans(facts)}
        self._look_at = time.monotonic() + _LOOK_BACK_SECONDS
        self._count = 0

    def came_back(self, replayed: int) -> int:
        """How many so far; looks once in a while."""
        if replayed < LOOP_LETTERS or time.monotonic() < self._look_at:
            return self._count
        reader = self._desk.reader
        try:
            spans = [
                Span(span.partition, self._next.get(span.partition, 0), span.end)
                for span in reader.spans(self._facts)
            ]
            for batch in reader.read(self._facts.name, spans):
                for message in batch:
                    headers = dict(message.headers() or ())
                    self._count += headers.get(names.REPLAY_ID) == self._replay
                self._next[batch[0].partition()] = batch[-1].offset() + 1
        except ConnectError as error:
            log.warning("Can't look for records that come back: %s", error)
        self._look_at = time.monotonic() + _LOOK_BACK_SECONDS
        return self._count
