"""Where topics begin and end, and which ranges lie between two sets of offsets."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

import orjson
from confluent_kafka import (
    IsolationLevel,
    TopicPartition,
)
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined] # it is public

from connect import ConfigError
from connect.javalang.regex import compile_java
from connect.runtime import clients
from dlq.reader import ask_again
from spark_sink.options import ReadOptions
from spark_sink.ranges import OffsetRange

log = logging.getLogger(__name__)

Place = tuple[str, int]
Offsets = dict[Place, int]

TIMEOUT_SECONDS = 60.0

# What stands for the two ends of a partition in explicit offsets, as in Spark's own source.
EARLIEST, LATEST = -2, -1


class Log:
    """The partitions of the topics that a query reads, asked of Kafka."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        spec = options.spec
        self._admin = clients.admin_client(
            f"spark-planner-{spec.connector}", spec.worker, spec.config
        )
        settings = clients.range_consumer_settings("", "", spec.worker, spec.config)
        committed = settings["isolation.level"] == "read_committed"
        self._isolation = (
            IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        )

    def partitions(self, *, all_topics: bool) -> set[Place]:
        """All partitions there are now; with `all_topics` a topic that is missing is an error."""
        topics = self._admin.list_topics(timeout=TIMEOUT_SECONDS).topics
        if self._options.topics_regex:
            pattern = compile_java(self._options.topics_regex)
            names = [name for name in topics if pattern.matches(name)]
        else:
            names = [name for name in self._options.topics if name in topics]
            missing = sorted(set(self._options.topics) - set(names))
            if missing and all_topics:
                raise ConfigError("topics", ",".join(missing), "there is no such topic")
            if missing:
                log.warning("Waiting for topics to be created: %s", ", ".join(missing))
        return {(name, number) for name in names for number in topics[name].partitions}

    def earliest(self, places: Iterable[Place]) -> Offsets:
        return self._list(places, OffsetSpec.earliest())  # type: ignore[no-untyped-call]

    def latest(self, places: Iterable[Place]) -> Offsets:
        """The ends: for read_committed the last stable offsets."""
        return self._list(places, OffsetSpec.latest())  # type: ignore[no-untyped-call]

    def at_timestamp(self, places: Iterable[Place], milliseconds: int) -> Offsets:
        """The first record at or after a time; the end where there is none."""
        places = list(places)
        found = self._list(places, OffsetSpec.for_timestamp(milliseconds))
        none = [place for place, offset in found.items() if offset < 0]
        return {**found, **self.latest(none)}

    def committed(self, places: Iterable[Place]) -> Offsets:
        """What the connector's consumer group has committed; the beginning where it has not."""
        places = list(places)
        spec = self._options.spec
        group = clients.sink_group(spec.connector, spec.worker, spec.config)
        wanted = [TopicPartition(*place) for place in places]
        answer = clients.committed_offsets(self._admin, group, wanted, TIMEOUT_SECONDS)
        found = {(p.topic, p.partition): p.offset for p in answer}
        known = {place: found[place] for place in places if found.get(place, -1) >= 0}
        return {**self.earliest(place for place in places if place not in known), **known}

    def resolve(self, key: str, wanted: str, places: Iterable[Place]) -> Offsets:
        """Offsets as an option says them: a word, a time, or JSON."""
        places = sorted(places)
        words: Mapping[str, Callable[[Iterable[Place]], Offsets]] = {
            "earliest": self.earliest,
            "latest": self.latest,
            "group": self.committed,
        }
        text = wanted.strip()
        if text.lower() in words:
            return words[text.lower()](places)
        if text.lower().startswith("timestamp:") and text[10:].strip().isdigit():
            return self.at_timestamp(places, int(text[10:]))
        try:
            explicit = from_json(orjson.loads(text))
        except (ValueError, TypeError, AttributeError) as error:
            raise ConfigError(
                key,
                wanted,
                "is none of earliest, latest, group, timestamp:<milliseconds> and JSON such as "
                '{"orders": {"0": 23}}',
            ) from error
        unknown = sorted(set(explicit) - set(places))
        if unknown:
            raise ConfigError(key, wanted, f"names {unknown[0][0]}-{unknown[0][1]}: not there")
        left_out = [place for place in places if place not in explicit]
        if left_out:
            raise ConfigError(key, wanted, f"leaves out {left_out[0][0]}-{left_out[0][1]}")
        first = self.earliest(p for p, o in explicit.items() if o == EARLIEST)
        last = self.latest(p for p, o in explicit.items() if o == LATEST)
        return {**explicit, **first, **last}

    def _list(self, places: Iterable[Place], spec: OffsetSpec) -> Offsets:
        request = {TopicPartition(*place): spec for place in places}
        if not request:
            return {}

        def ask() -> Offsets:
            answers = self._admin.list_offsets(
                request, isolation_level=self._isolation, request_timeout=TIMEOUT_SECONDS
            )
            return {
                (p.topic, p.partition): answer.result(TIMEOUT_SECONDS).offset
                for p, answer in answers.items()
            }

        failure = "Kafka did not tell where partitions begin and end"
        return ask_again(ask, TIMEOUT_SECONDS, failure)


def to_json(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Offsets as Spark keeps them: `{"orders": {"0": 23}}`."""
    result: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        result.setdefault(topic, {})[str(partition)] = offset
    return result


def from_json(stored: Mapping[str, Mapping[str, Any]]) -> Offsets:
    return {
        (topic, int(partition)): int(offset)
        for topic, partitions in stored.items()
        for partition, offset in partitions.items()
    }


def ranges_between(start: Offsets, end: Offsets, at_least: int | None = None) -> list[OffsetRange]:
    """One range a partition that has something, cut so that there are `at_least` or more."""
    ranges = [
        OffsetRange(topic, partition, start[topic, partition], to)
        for (topic, partition), to in sorted(end.items())
        if start[topic, partition] < to
    ]
    if at_least is None or not ranges or len(ranges) >= at_least:
        return ranges
    total = sum(r.end - r.start for r in ranges)
    cut: list[OffsetRange] = []
    for whole in ranges:
        size = whole.end - whole.start
        pieces = min(size, math.ceil(at_least * size / total))
        bounds = [whole.start + size * i // pieces for i in range(pieces + 1)]
        cut += [
            OffsetRange(whole.topic, whole.partition, low, high) for low, high in pairwise(bounds)
        ]
    return cut


def within(start: Offsets, end: Offsets, limit: int) -> Offsets:
    """Ends so that about `limit` offsets lie between, shared out by how far behind each is."""
    behind = {place: max(0, to - start.get(place, 0)) for place, to in end.items()}
    total = sum(behind.values())
    if total <= limit:
        return end
    return {
        place: start[place] + min(behind[place], math.ceil(limit * behind[place] / total))
        if behind[place]
        else to
        for place, to in end.items()
    }
