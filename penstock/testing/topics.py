"""Topics of a test's own. Values are JSON, as the worker's converters have it."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic


def create(bootstrap: str, partitions: int) -> str:
    """A topic under a name that nobody else has."""
    name = f"penstock-test-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result()
    return name


def delete(bootstrap: str, names: list[str]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for done in admin.delete_topics(names).values() if names else ():
        done.result()


def feed(bootstrap: str, topic: str, values: Iterable[Any], partition: int) -> int:
    """Write values; how many, when all are safe. Bytes and None are written as they are."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    failed: list[KafkaError] = []
    count = 0
    for count, value in enumerate(values, 1):  # noqa: B007
        as_it_is = value is None or isinstance(value, bytes)
        producer.produce(
            topic,
            value if as_it_is else json.dumps(value),
            partition=partition,
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )
    left = producer.flush(30)
    assert not failed, f"{len(failed)} records were refused, the first because: {failed[0]}"
    assert left == 0, f"{left} of {count} records were not acknowledged within 30 s"
    return count


def read(bootstrap: str, topic: str, count: int, seconds: float) -> list[Any]:
    """Every committed value of the topic, once there are `count` or more."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"reader-{uuid.uuid4().hex}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    values: list[Any] = []
    deadline = time.monotonic() + seconds
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        places = [TopicPartition(topic, number, 0) for number in partitions]
        # As it is now: a source that never runs dry must not keep us here.
        ends = [consumer.get_watermark_offsets(place, timeout=10)[1] for place in places]
        unread = {number for number, end in zip(partitions, ends, strict=True) if end}
        consumer.assign(places)
        while unread or len(values) < count:
            late = time.monotonic() > deadline
            assert not late, f"waited {seconds:g} s for {count} records, there are {len(values)}"
            for message in consumer.consume(1000, 0.1):
                partition, error, raw = message.partition(), message.error(), message.value()
                assert partition is not None
                if error is None:
                    values.append(None if raw is None else json.loads(raw))
                    at_end = (message.offset() or 0) + 1 >= ends[partition]
                else:
                    at_end = error.code() == KafkaError._PARTITION_EOF
                    assert at_end, f"topic {topic} can't be read: {error}"
                if at_end:
                    unread.discard(partition)
    finally:
        consumer.close()
    return values
