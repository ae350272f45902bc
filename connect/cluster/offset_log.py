"""The offset topic: how far source connectors have come.

A key is the JSON array of the connector's name and its partition map, a value the offset map:
`["orders",{"filename":"/in"}]` → `{"position":42}`.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import orjson

from connect.cluster.kafka_log import START_SECONDS, WRITE_SECONDS, KafkaLog, LogTopic, Record
from connect.errors import DataError

log = logging.getLogger(__name__)

Partition = Mapping[str, Any]
Offset = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Entry:
    # The key as it was written. Another order of a map's keys would be another key to Kafka, and
    # both would be kept: what continues an entry must repeat its key byte for byte.
    key: bytes
    partition: dict[str, Any]
    offset: dict[str, Any] | None


class OffsetState:
    """What the records of an offset topic say."""

    def __init__(self) -> None:
        self._entries: dict[str, dict[bytes, _Entry]] = {}

    def apply(self, record: Record) -> None:
        """Take a record in. DataError if it is none of a source's offsets."""
        parsed = orjson.loads(record.key)
        if (
            not isinstance(parsed, list)
            or len(parsed) != 2
            or not isinstance(parsed[0], str)
            or not isinstance(parsed[1], dict)
        ):
            raise DataError("The key is not [connector, partition]")
        connector, partition = parsed
        offset = None if record.value is None else orjson.loads(record.value)
        if offset is not None and not isinstance(offset, dict):
            raise DataError(f"The offset is {type(offset).__name__} where an object must be")
        known = self._entries.setdefault(connector, {})
        known[canonical(partition)] = _Entry(record.key, partition, offset)

    def read(self, connector: str, partitions: Iterable[Partition]) -> list[dict[str, Any] | None]:
        known = self._entries.get(connector, {})
        found = [known.get(canonical(p)) for p in partitions]
        return [None if entry is None else entry.offset for entry in found]

    def all(self, connector: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        entries = self._entries.get(connector, {}).values()
        return [(e.partition, e.offset) for e in entries if e.offset is not None]

    def record_of(
        self, connector: str, partition: Partition, offset: Offset | None
    ) -> tuple[bytes, bytes | None]:
        """The key and value that store an offset, or forget it when it is None."""
        entry = self._entries.get(connector, {}).get(canonical(partition))
        key = entry.key if entry is not None else _dumps([connector, dict(partition)])
        return key, None if offset is None else _dumps(dict(offset))


def canonical(partition: Partition) -> bytes:
    """The same for all maps that are the same partition."""
    try:
        return orjson.dumps(partition, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return json.dumps(partition, sort_keys=True, separators=(",", ":")).encode()


def _dumps(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:
        # Integers beyond 64 bits, which orjson refuses.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _tell_failure(written: Future[None]) -> None:
    if error := written.exception():
        log.warning("A copy of source offsets was not kept: %s", error)


class OffsetLog:
    """An offset topic. Methods block and may be called from any thread."""

    def __init__(self, topic: LogTopic, worker: Mapping[str, str]) -> None:
        self._state = OffsetState()
        self._lock = threading.Lock()
        self._log = KafkaLog(topic, worker, self._apply)

    def start(self, seconds: float = START_SECONDS) -> None:
        self._log.start(seconds)

    def stop(self) -> None:
        self._log.stop()

    def _apply(self, record: Record) -> None:
        with self._lock:
            self._state.apply(record)

    def read(self, connector: str, partitions: Iterable[Partition]) -> list[dict[str, Any] | None]:
        """The offsets as they are stored now, whoever stored them."""
        self._log.read_to_end()
        with self._lock:
            return self._state.read(connector, partitions)

    def all(self, connector: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        self._log.read_to_end()
        with self._lock:
            return self._state.all(connector)

    def records_of(
        self, connector: str, offsets: Iterable[tuple[Partition, Offset | None]]
    ) -> list[tuple[bytes, bytes | None]]:
        """The records that store offsets, for a task that writes them in its own transaction."""
        with self._lock:
            return [self._state.record_of(connector, p, o) for p, o in offsets]

    def write(
        self,
        connector: str,
        offsets: Iterable[tuple[Partition, Offset | None]],
        seconds: float = WRITE_SECONDS,
    ) -> None:
        """Store offsets; they are safe when this returns. None forgets one."""
        self._log.write(self.records_of(connector, offsets), seconds)

    def write_soon(
        self, connector: str, offsets: Iterable[tuple[Partition, Offset | None]]
    ) -> None:
        """Begin to store offsets. What becomes of it is only logged."""
        for key, value in self.records_of(connector, offsets):
            self._log.write_soon(key, value).add_done_callback(_tell_failure)
