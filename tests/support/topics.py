"""Topics of a test's own, written and read in the simplest way."""

import logging
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.waiting import wait_for

# What Kafka's clients have to say is shown with a test that fails, and not among all others' dots.
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Out:
    """A record to be produced, when it is more than a value."""

    value: bytes | str | None
    key: bytes | str | None = None
    headers: list[tuple[str, bytes | None]] | None = None
    partition: int | None = None
    timestamp: int | None = None


def admin_client(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap}, logger=log)


class Topics:
    """Creates topics under names nobody else has; `delete_all` takes them away."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._admin = admin_client(bootstrap)
        self._created: list[str] = []

    def create(
        self,
        name_hint: str = "topic",
        partitions: int = 1,
        config: Mapping[str, str] | None = None,
    ) -> str:
        name = f"{name_hint}-{uuid.uuid4().hex[:8]}"
        # Records of long ago are not for the broker's next round to delete.
        settings = {"retention.ms": "-1", **(config or {})}
        new = NewTopic(name, partitions, replication_factor=1, config=settings)
        for done in self._admin.create_topics([new]).values():
            done.result()
        self._created.append(name)
        wait_for(lambda: self._is_known(name, partitions), f"topic {name} to be known")
        return name

    def _is_known(self, name: str, partitions: int) -> bool:
        topics = self._admin.list_topics(timeout=10).topics
        return name in topics and len(topics[name].partitions) == partitions

    def delete_all(self) -> None:
        if not self._created:
            return
        for done in self._admin.delete_topics(self._created).values():
            error = done.exception()
            # A test may delete its topic itself.
            gone = error and error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
            if error and not gone:
                raise error
        self._created.clear()


def produce(
    bootstrap: str, topic: str, records: Iterable[Out | bytes | str | None]
) -> list[TopicPartition]:
    """Write records, wait until all are acknowledged, and return where each of them is."""
    # Idempotent, so that a record that is sent again does not land behind later ones.
    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 5, "enable.idempotence": True}, logger=log
    )
    written: dict[int, TopicPartition] = {}
    failed: list[KafkaError] = []
    count = 0
    for count, record in enumerate(records, 1):
        out = record if isinstance(record, Out) else Out(record)

        def delivered(error: KafkaError | None, message: Message, index: int = count) -> None:
            if error is not None:
                failed.append(error)
            written[index] = TopicPartition(message.topic(), message.partition(), message.offset())

        place = {} if out.partition is None else {"partition": out.partition}
        when = {} if out.timestamp is None else {"timestamp": out.timestamp}
        while True:
            try:
                producer.produce(
                    topic,
                    out.value,
                    out.key,
                    headers=out.headers,
                    on_delivery=delivered,
                    **place,
                    **when,
                )
                break
            except BufferError:  # more than the client holds at once
                producer.poll(0.1)
        producer.poll(0)
    left = producer.flush(30)
    assert not failed, f"{len(failed)} records were refused, the first because: {failed[0]}"
    assert left == 0, f"{left} of {count} records were not acknowledged within 30 s"
    return [written[index] for index in sorted(written)]


def consume_all(
    bootstrap: str,
    topic: str,
    n: int = 0,
    timeout: float = 30,
    isolation: str = "read_committed",
) -> list[Message]:
    """Everything in the topic, once there are at least n messages. More than n are returned too."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"reader-{uuid.uuid4().hex}",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "isolation.level": isolation,
            "fetch.wait.max.ms": 50,
        },
        logger=log,
    )
    messages: list[Message] = []
    deadline = time.monotonic() + timeout
    try:
        known = consumer.list_topics(topic, timeout=10).topics[topic]
        assert known.error is None, f"topic {topic}: {known.error}"
        consumer.assign([TopicPartition(topic, p, 0) for p in known.partitions])
        at_end: set[int] = set()
        while len(at_end) < len(known.partitions) or len(messages) < n:
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                messages.append(message)
                at_end.discard(message.partition())
            elif message is not None:
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                at_end.add(message.partition())
            assert time.monotonic() < deadline, (
                f"waited {timeout:g} s for {n} messages in {topic}; there are {len(messages)}: "
                f"{[m.value() for m in messages[:10]]}"
            )
    finally:
        consumer.close()
    return messages


def read_up_to_now(bootstrap: str, topic: str) -> list[bytes | None]:
    """The values that are in the topic at this moment, however much is written meanwhile."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"reader-{uuid.uuid4().hex}",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 50,
        },
        logger=log,
    )
    values: list[bytes | None] = []
    try:
        for number in consumer.list_topics(topic, timeout=10).topics[topic].partitions:
            partition = TopicPartition(topic, number, 0)
            end = consumer.get_watermark_offsets(partition, timeout=10)[1]
            consumer.assign([partition])
            reached = 0
            while reached < end:
                for message in consumer.consume(5000, 1):
                    assert message.error() is None, message.error()
                    reached = message.offset() + 1
                    if reached <= end:
                        values.append(message.value())
    finally:
        consumer.close()
    return values
