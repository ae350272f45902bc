"""Rows with `_error` become dead letters, once for each batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from connect.pipeline import PipelineSpec
from connect.runtime import clients
from dlq import letter
from dlq.reporter import ensure_topic
from spark_sink.transactions import BatchProducer


@dataclass
class LetterBox:
    """The dead-letter topic of one query. Plain data until it is used: it travels to Spark."""

    spec: PipelineSpec
    topic: str
    replication_factor: int
    with_headers: bool

    def __post_init__(self) -> None:
        self._producer = BatchProducer(self.spec, self.topic, "letters")
        self._topic_is_there = False

    @classmethod
    def of(cls, spec: PipelineSpec, settings: Mapping[str, Any]) -> LetterBox | None:
        """None when the connector has no dead-letter topic."""
        topic = settings["errors.deadletterqueue.topic.name"].strip()
        if not topic:
            return None
        return cls(
            spec,
            topic,
            settings["errors.deadletterqueue.topic.replication.factor"],
            settings["errors.deadletterqueue.context.headers.enable"],
        )

    def write(self, rows: Iterable[Any], query: str, batch: int) -> int:
        """Write the letters of a batch unless that was done before; how many there were."""
        if not self._topic_is_there:
            spec = self.spec
            admin = clients.admin_client(f"spark-dlq-{spec.connector}", spec.worker, spec.config)
            ensure_topic(admin, self.topic, self.replication_factor)
            self._topic_is_there = True
        return self._producer.write(map(self._letter, rows), query, batch)

    def _letter(self, row: Any) -> dict[str, Any]:
        place, error = row["_kafka"], row["_error"]
        headers = [(h["key"], _bytes(h["value"])) for h in place["headers"] or ()]
        if self.with_headers:
            headers += self._told(place, error)
        stamp = place["timestamp"]
        return {
            "value": _bytes(error["value"]),
            "key": _bytes(place["key"]),
            "headers": headers,
            "timestamp": 0 if stamp is None else int(stamp.timestamp() * 1000),
        }

    def _told(self, place: Any, error: Any) -> list[letter.RawHeader]:
        """The headers that a task of the worker would write."""
        texts = (
            (letter.TOPIC, place["topic"]),
            (letter.PARTITION, str(place["partition"])),
            (letter.OFFSET, str(place["offset"])),
            (letter.CONNECTOR, self.spec.connector),
            (letter.TASK, str(self.spec.task)),
            (letter.STAGE, error["stage"]),
            (letter.CLASS, error["class"]),
            (letter.EXCEPTION, error["exception"]),
            (letter.MESSAGE, error["message"]),
            (letter.STACKTRACE, error["stacktrace"]),
        )
        return [(name, None if text is None else text.encode()) for name, text in texts]


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
