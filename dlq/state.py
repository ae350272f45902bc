"""The state topic: what was done with which letter, by whom and when.

A compacted topic. The key names the letter, with its topic's id, so that a topic created anew
begins afresh; the value is the last thing that was done.
"""

from __future__ import annotations

import getpass
import logging
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.cimpl import NewTopic

from connect.errors import ConnectError, NotFoundError
from dlq.index import Index
from dlq.model import Mark
from dlq.reader import Reader, TopicFacts
from dlq.selection import State

log = logging.getLogger(__name__)

STATE_TOPIC = "__penstock_dlq_state"
_TIMEOUT_SECONDS = 30.0
_APPLIED_AT_ONCE = 20_000


class _Key(msgspec.Struct):
    topic: str
    id: str
    partition: int
    offset: int


class _Value(msgspec.Struct, omit_defaults=True):
    state: State
    by: str | None = None
    at: int | None = None
    note: str | None = None
    replay: str | None = None
    to: str | None = None


_read_key = msgspec.json.Decoder(_Key).decode
_read_value = msgspec.json.Decoder(_Value).decode
_write = msgspec.json.Encoder().encode


def encode(topic: TopicFacts, mark: Mark) -> tuple[bytes, bytes]:
    """Key and value of a mark's record."""
    key = _Key(topic.name, topic.id, mark.partition, mark.offset)
    value = _Value(mark.state, mark.by, mark.at, mark.note, mark.replay, mark.target)
    return _write(key), _write(value)


def decode(topic: TopicFacts, key: bytes | None, value: bytes | None) -> Mark | None:
    """The mark, if the record is one and of this topic. A null value reopens."""
    try:
        place = _read_key(key or b"")
        if place.id != topic.id:
            return None
        said = _read_value(value) if value is not None else _Value(State.OPEN)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None  # somebody else's record
    return Mark(
        place.partition, place.offset, said.state, said.by, said.at, said.note, said.replay, said.to
    )


def whoever() -> str:
    """user@host, for the record."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):
        return socket.gethostname()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class StateTopic:
    """Reads and writes the states of letters. `settings` are librdkafka's."""

    def __init__(
        self, settings: Mapping[str, Any], reader: Reader, name: str, replication_factor: int = -1
    ) -> None:
        self.name = name
        self._settings = dict(settings)
        self._reader = reader
        self._replication_factor = replication_factor
        self._facts: TopicFacts | None = None

    def ensure(self) -> None:
        """Create the topic unless it is there."""
        try:
            self._facts = self._reader.topic(self.name)
        except NotFoundError:
            self._create()

    def _create(self) -> None:
        new = NewTopic(
            self.name,
            num_partitions=1,
            replication_factor=self._replication_factor,
            config={"cleanup.policy": "compact"},
        )
        try:
            self._reader.admin.create_topics([new])[self.name].result(_TIMEOUT_SECONDS)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise ConnectError(
                    f"The topic '{self.name}' for the states of dead letters could not be "
                    f"created: {error.args[0].str()}. Create it with cleanup.policy=compact, or "
                    "name another by dlq.state.topic or --state-topic."
                ) from error
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        while True:  # a new topic is not known everywhere at once
            try:
                self._facts = self._reader.topic(self.name)
            except NotFoundError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                log.info("Created the topic %s for the states of dead letters", self.name)
                return

    def load(self, index: Index, topic: TopicFacts, *, whole: bool = False) -> None:
        """Bring an index up to date. With `whole`, wait for transactions that are under way."""
        try:
            facts = self._reader.topic(self.name)
        except NotFoundError:
            return  # nothing was ever done with any letter
        if index.fact("state topic") != facts.id:
            index.forget_states()
            index.set_fact("state topic", facts.id)
        read = index.states_read()
        spans = [
            span._replace(start=max(span.start, read.get(span.partition, 0)))
            for span in self._reader.spans(facts)
        ]
        marks: list[Mark] = []
        for batch in self._reader.read(self.name, spans, whole=whole):
            read[batch[0].partition()] = batch[-1].offset() + 1
            marks += _marks(topic, batch)
            if len(marks) >= _APPLIED_AT_ONCE:
                index.mark(marks, read)
                marks = []
        index.mark(marks, read)

    def write(self, topic: TopicFacts, marks: Iterable[Mark]) -> int:
        """Write marks and wait until all are safe; how many."""
        self.ensure()
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, _message: Any) -> None:
            if error is not None:
                failed.append(error)

        producer = Producer(
            {**self._settings, "acks": "all", "enable.idempotence": True, "linger.ms": 5},
            logger=log,
        )
        count = 0
        for mark in marks:
            key, value = encode(topic, mark)
            while True:
                try:
                    producer.produce(self.name, value, key, on_delivery=delivered)
                except BufferError:
                    producer.poll(0.1)
                else:
                    break
            count += 1
        left = producer.flush(_TIMEOUT_SECONDS)
        if failed or left:
            why = failed[0].str() if failed else "Kafka does not answer"
            raise ConnectError(
                f"{len(failed) + left} of {count} states could not be written to topic "
                f"'{self.name}': {why}. Do it again: those that were written stay."
            )
        return count


def _marks(topic: TopicFacts, batch: Iterable[Any]) -> Iterator[Mark]:
    for message in batch:
        mark = decode(topic, message.key(), message.value())
        if mark is not None:
            yield mark
