"""Reads dead letters: exact ranges of a topic, in batches whose size in memory is bounded."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from connect.errors import ConnectError, NotFoundError
from dlq import letter as names
from dlq.cause import Cause, attempts, cause_of
from dlq.letter import RawHeader

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 30.0
# Letters taken at once, and about how much memory they may fill: a batch of gigantic values is
# cut down to a few.
BATCH_LETTERS = 2000
BATCH_BYTES = 32 * 1024 * 1024
# No broker has sent anything for so long: better an error than to wait for ever.
STALLED_SECONDS = 60.0
# What a broker says while a topic is new to it, or moves to another one.
_PASSING = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
}
_RETRY_SECONDS = 0.1
# A transaction that is just being ended is waited for; one that was left open is not.
UNDER_WAY_SECONDS = 2.0
# Letters that lie this close together are read through rather than sought one by one.
GAP_WORTH_SEEKING = 2000


T = TypeVar("T")


def ask_again(ask: Callable[[], T], seconds: float, failure: str) -> T:
    """The answer, once the broker knows it. ConnectError with Kafka's reason if it can't be had."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return ask()
        except KafkaException as error:
            cause = error.args[0]
            if cause.code() not in _PASSING or time.monotonic() > deadline:
                raise ConnectError(f"{failure}: {cause.str()}") from error
            time.sleep(_RETRY_SECONDS)


class Place(NamedTuple):
    """Where a letter lies in its dead-letter topic."""

    partition: int
    offset: int


class Span(NamedTuple):
    """Offsets of a partition, from `start` up to but without `end`."""

    partition: int
    start: int
    end: int


class DeadLetter(msgspec.Struct, frozen=True):
    """A letter as it lies in the dead-letter topic, with its cause read from the headers."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: list[RawHeader]
    cause: Cause

    @property
    def place(self) -> Place:
        return Place(self.partition, self.offset)

    @property
    def name(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"

    @property
    def attempts(self) -> int:
        return attempts(self.headers)

    @property
    def own_headers(self) -> list[RawHeader]:
        """The record's headers without those that dead-lettering and replaying added."""
        added = (names.PREFIX, names.REPLAY_PREFIX)
        return [(name, value) for name, value in self.headers if not name.startswith(added)]

    @property
    def origin(self) -> str:
        """topic/partition/offset of the record that failed first, as far as it is known."""
        for name, value in self.headers:
            if name == names.ORIGIN and value:
                return value.decode("utf-8", "replace").strip('"')
        for name, value in self.headers:  # the first generation of error headers
            if name == names.TOPIC and value:
                found = dict(reversed(self.headers))
                parts = (found.get(names.PARTITION) or b"?", found.get(names.OFFSET) or b"?")
                return b"/".join((value, *parts)).decode("utf-8", "replace")
        return self.name


def letter_from(message: Any) -> DeadLetter:
    """A consumed message as a letter."""
    kind, timestamp = message.timestamp()
    headers = list(message.headers() or ())
    return DeadLetter(
        topic=message.topic(),
        partition=message.partition(),
        offset=message.offset(),
        timestamp=timestamp if kind else None,
        key=message.key(),
        value=message.value(),
        headers=headers,
        cause=cause_of(headers),
    )


class TopicFacts(NamedTuple):
    """What a topic is: its id tells it from another that had the same name."""

    name: str
    id: str
    partitions: tuple[int, ...]


class Reader:
    """Reads ranges of topics. `settings` are librdkafka's; commits nothing, joins no group."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = dict(settings)
        self._admin: AdminClient | None = None

    @property
    def admin(self) -> AdminClient:
        if self._admin is None:
            self._admin = AdminClient(dict(self._settings), logger=log)
        return self._admin

    def cluster_id(self) -> str:
        try:
            found = self.admin.describe_cluster(request_timeout=TIMEOUT_SECONDS).result(
                TIMEOUT_SECONDS + 5
            )
        except Exception as error:
            raise ConnectError(
                "No Kafka broker answers at bootstrap.servers="
                f"{self._settings.get('bootstrap.servers')}: name another by --bootstrap, or give "
                "the worker's settings by --worker-config."
            ) from error
        return str(found.cluster_id)

    def topic(self, name: str) -> TopicFacts:
        """NotFoundError if there is no such topic."""
        try:
            found = self.admin.describe_topics(TopicCollection([name]))[name].result(
                TIMEOUT_SECONDS
            )
        except KafkaException as error:
            if error.args[0].code() in {
                KafkaError.UNKNOWN_TOPIC_OR_PART,
                KafkaError.TOPIC_EXCEPTION,
            }:
                raise NotFoundError(f"There is no topic '{name}'.") from error
            raise ConnectError(
                f"Topic '{name}' can't be described: {error.args[0].str()}"
            ) from error
        return TopicFacts(name, str(found.topic_id), tuple(sorted(p.id for p in found.partitions)))

    def spans(self, topic: TopicFacts) -> list[Span]:
        """All there is now. Ends are high watermarks: transactions under way lie before them."""
        failure = f"The offsets of topic '{topic.name}' can't be read"
        return ask_again(lambda: self._spans(topic), TIMEOUT_SECONDS, failure)

    def _spans(self, topic: TopicFacts) -> list[Span]:
        places = [TopicPartition(topic.name, p) for p in topic.partitions]
        earliest, latest = OffsetSpec.earliest(), OffsetSpec.latest()  # type: ignore[no-untyped-call]
        starts = self.admin.list_offsets(dict.fromkeys(places, earliest))
        ends = self.admin.list_offsets(dict.fromkeys(places, latest))
        return [
            Span(
                p.partition,
                starts[p].result(TIMEOUT_SECONDS).offset,
                ends[p].result(TIMEOUT_SECONDS).offset,
            )
            for p in places
        ]

    def read(
        self, topic: str, spans: Iterable[Span], *, whole: bool = False
    ) -> Iterator[list[Any]]:
        """Batches of messages, each of one partition and in order.

        Reads up to a span's end, or up to a transaction that does not end soon. With `whole` it
        waits for such transactions, so that nothing that is committed before `end` is missed.
        """
        consumer = Consumer(
            {
                # The default of a second starves a reader that has emptied its queue.
                "fetch.queue.backoff.ms": 2,
                # The limit in bytes leaves out headers, which are most of a dead letter.
                "queued.min.messages": 10_000,
                "queued.max.messages.kbytes": 32_768,
                # Compressed: letters much alike may grow twentyfold.
                "fetch.message.max.bytes": 1024 * 1024,
                **self._settings,
                "group.id": "penstock-dlq-reader",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
            },
            logger=log,
        )
        try:
            for span in spans:
                if span.start < span.end:
                    yield from _read_span(consumer, topic, span, whole=whole)
        finally:
            consumer.close()

    def letters(self, topic: str, places: Iterable[Place]) -> Iterator[list[DeadLetter]]:
        """The letters at these places, in order; those that are gone are left out.

        Places come sorted, and may be many: they are taken a few thousand at a time.
        """
        for wanted in _chunks(places, BATCH_LETTERS):
            asked = set(wanted)
            for batch in self.read(topic, _spans_around(wanted)):
                found = [letter_from(m) for m in batch if Place(m.partition(), m.offset()) in asked]
                if found:
                    yield found


def _read_span(consumer: Consumer, topic: str, span: Span, *, whole: bool) -> Iterator[list[Any]]:
    consumer.assign([TopicPartition(topic, span.partition, span.start)])
    size = 100  # until it is known how large messages are
    heard = time.monotonic()
    position = span.start
    at_end: float | None = None  # since when there is nothing more that may be read
    while position < span.end:
        # consume(n) alone would wait for n, even at the end of the topic.
        first = consumer.poll(1.0 if at_end is None else 0.05)
        messages: list[Any] = [] if first is None else [first, *consumer.consume(size, 0)]
        if not messages:
            now = time.monotonic()
            if at_end is not None and not whole and now - at_end > UNDER_WAY_SECONDS:
                return
            if now - heard > STALLED_SECONDS:
                raise ConnectError(
                    f"Topic '{topic}', partition {span.partition}: nothing came from Kafka for "
                    f"{STALLED_SECONDS:.0f} s at offset {position} of {span.end}."
                )
            continue
        batch = []
        for message in messages:
            if (error := message.error()) is None:
                position = message.offset() + 1
                at_end = None
                if message.offset() < span.end:
                    batch.append(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                # The end of what may be read; markers of transactions lie before it unseen.
                position = max(position, message.offset())
                at_end = time.monotonic()
            else:
                _raise_unless_passing(topic, error)
        if batch:
            heard = time.monotonic()
            sample = batch[::50]
            average = sum(len(m.value() or b"") for m in sample) // len(sample) + 1
            size = max(1, min(BATCH_LETTERS, BATCH_BYTES // average))
            yield batch


def _raise_unless_passing(topic: str, error: KafkaError) -> None:
    if error.code() in {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
    }:
        raise NotFoundError(f"Topic '{topic}' is gone: it was deleted meanwhile.")
    if error.retriable() or error.code() in {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN}:
        log.warning("Kafka: %s", error.str())
        return
    raise ConnectError(f"Topic '{topic}' can't be read: {error.str()}") from KafkaException(error)


def _chunks(places: Iterable[Place], size: int) -> Iterator[list[Place]]:
    chunk: list[Place] = []
    for place in places:
        chunk.append(place)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _spans_around(places: list[Place]) -> Iterator[Span]:
    """The fewest spans that cover sorted places without reading through wide gaps."""
    first = last = places[0]
    for place in places[1:]:
        far = place.offset - last.offset > GAP_WORTH_SEEKING
        if place.partition != first.partition or far:
            yield Span(first.partition, first.offset, last.offset + 1)
            first = place
        last = place
    yield Span(first.partition, first.offset, last.offset + 1)
