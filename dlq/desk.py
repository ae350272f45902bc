"""The desk at which dead letters are worked on: what commands and REST routes ask for."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from connect.errors import NotFoundError
from dlq.index import Index, index_file
from dlq.model import Depth, Group, Mark, Row
from dlq.reader import DeadLetter, Place, Reader, Span, TopicFacts
from dlq.selection import Selection, State
from dlq.state import STATE_TOPIC, StateTopic, now_ms

log = logging.getLogger(__name__)

TOPIC_KEY = "errors.deadletterqueue.topic.name"


def cache_folder() -> Path:
    """Where indexes are kept unless somebody says otherwise."""
    if own := os.environ.get("PENSTOCK_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "penstock"


def topics_of(configs: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
    """The dead-letter topics that connectors' configs name, each with its connectors."""
    found: dict[str, list[str]] = {}
    for connector, config in sorted(configs.items()):
        if topic := config.get(TOPIC_KEY, "").strip():
            found.setdefault(topic, []).append(connector)
    return dict(sorted(found.items()))


class TopicSummary(msgspec.Struct, frozen=True):
    """A dead-letter topic; `depth` is None while the topic does not exist."""

    topic: str
    connectors: list[str]
    depth: Depth | None


class Desk:
    """Everything about the dead letters of one Kafka cluster.

    `settings` are librdkafka's. Methods block; threads may share an object.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        *,
        folder: Path | None = None,
        state_topic: str = STATE_TOPIC,
        replication_factor: int = -1,
    ) -> None:
        self.settings = dict(settings)
        self.reader = Reader(settings)
        self.states = StateTopic(settings, self.reader, state_topic, replication_factor)
        self._folder = folder or cache_folder()
        self._cluster: str | None = None

    @contextlib.contextmanager
    def open(
        self,
        topic: str,
        *,
        whole: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Iterator[tuple[TopicFacts, Index]]:
        """A topic's index, brought up to date. `whole`: no state that is committed is missed."""
        if self._cluster is None:
            self._cluster = self.reader.cluster_id()
        facts = self.reader.topic(topic)
        index = Index(index_file(self._folder, self._cluster, facts))
        try:
            index.refresh(self.reader, facts, progress)
            self.states.load(index, facts, whole=whole)
            yield facts, index
        finally:
            index.close()

    def summaries(self, topics: Mapping[str, list[str]]) -> list[TopicSummary]:
        found = []
        for topic, connectors in topics.items():
            try:
                with self.open(topic) as (_, index):
                    depth = index.depth()
            except NotFoundError:
                depth = None
            found.append(TopicSummary(topic, connectors, depth))
        return found

    def stats(
        self,
        topic: str,
        selection: Selection,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Group]:
        with self.open(topic, progress=progress) as (_, index):
            return index.groups(selection)

    def rows(self, topic: str, selection: Selection, *, after: int = 0) -> list[Row]:
        """Letters, the newest first, as the index knows them."""
        with self.open(topic) as (_, index):
            return index.newest(selection, after=after)

    def letter(self, topic: str, place: Place) -> tuple[DeadLetter, Mark]:
        """One letter with everything in it, and what was done with it."""
        with self.open(topic) as (_, index):
            if index.known(Span(place.partition, place.offset, place.offset + 1)):
                for batch in self.reader.letters(topic, [place]):
                    return batch[0], index.mark_of(place)
        raise NotFoundError(
            f"There is no letter {topic}/{place.partition}/{place.offset}: it has expired, or "
            "never was."
        )

    def letters(self, topic: str, selection: Selection) -> Iterator[list[DeadLetter]]:
        """All letters that are meant, in the topic's order, a batch at a time."""
        with self.open(topic) as (_, index):
            yield from self.reader.letters(topic, index.places(selection))

    def count(self, topic: str, selection: Selection) -> int:
        with self.open(topic) as (_, index):
            return index.count(selection)

    def mark(
        self, topic: str, selection: Selection, state: State, by: str, note: str | None = None
    ) -> int:
        """Put letters into a state; how many. Those that are in it already are left alone."""
        others = tuple(s for s in selection.states or tuple(State) if s is not state)
        if not others:
            return 0
        wanted = msgspec.structs.replace(selection, states=others)
        at = now_ms()
        with self.open(topic) as (facts, index):
            marks = (Mark(*place, state, by, at, note) for place in index.places(wanted))
            count = self.states.write(facts, marks)
            self.states.load(index, facts)
        log.info("%d letters of %s are %s now, by %s: %s", count, topic, state, by, note or "")
        return count
