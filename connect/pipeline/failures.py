"""What can fail on a record's way, where, and how often it is tried again."""

from __future__ import annotations

import enum
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from connect.errors import RetriableError

T = TypeVar("T")


class Stage(enum.StrEnum):
    """The steps of a record's way, under the names that the dead-letter headers use."""

    TASK_POLL = "TASK_POLL"
    TASK_PUT = "TASK_PUT"
    TRANSFORMATION = "TRANSFORMATION"
    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    KAFKA_PRODUCE = "KAFKA_PRODUCE"
    KAFKA_CONSUME = "KAFKA_CONSUME"


_CONVERTERS = (Stage.KEY_CONVERTER, Stage.VALUE_CONVERTER, Stage.HEADER_CONVERTER)


class Failure(msgspec.Struct):
    """A record that did not get through: the record as it came, the step, the class, the cause."""

    record: Any  # RawMessage for a sink, SourceRecord for a source
    stage: Stage
    class_name: str
    error: Exception

    @property
    def is_outage(self) -> bool:
        """Whether a converter lacked what it needs, such as a registry: no fault of the record."""
        return isinstance(self.error, RetriableError) and self.stage in _CONVERTERS


class RawMessage:
    """A message as it lay in Kafka. Has the methods of confluent_kafka.Message that we read.

    For those who have the parts and no consumer: re-tests, dry runs, tests.
    """

    __slots__ = ("_headers", "_key", "_offset", "_partition", "_timestamp", "_topic", "_value")

    def __init__(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        *,
        partition: int = 0,
        offset: int = 0,
        headers: list[tuple[str, bytes | None]] | None = None,
        timestamp: tuple[int, int] = (0, -1),
    ) -> None:
        self._topic = topic
        self._value = value
        self._key = key
        self._partition = partition
        self._offset = offset
        self._headers = headers
        self._timestamp = timestamp

    def topic(self) -> str:
        return self._topic

    def value(self) -> bytes | None:
        return self._value

    def key(self) -> bytes | None:
        return self._key

    def partition(self) -> int:
        return self._partition

    def offset(self) -> int:
        return self._offset

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self._headers

    def timestamp(self) -> tuple[int, int]:
        """(type, milliseconds): type 0 none, 1 set by the producer, 2 by the broker."""
        return self._timestamp


@dataclass(slots=True)
class ErrorCounts:
    """What `task-error-metrics` shows."""

    failures: int = 0  # every failed attempt
    errors: int = 0  # operations that failed in the end
    skipped: int = 0
    retries: int = 0
    logged: int = 0
    last_error_ms: int = 0


class Interrupted(BaseException):
    """The task is to stop while a step waits to be tried again.

    No Exception, which would be taken for the failure of a record: nothing has failed.
    """


# The first wait; each further one is twice as long.
RETRY_DELAY_MS = 300


@dataclass(slots=True)
class Retry:
    """Tries again what failed with RetriableError, as long as `errors.retry.*` allows.

    `wait(seconds)` sleeps and says whether the task is to stop meanwhile.
    """

    timeout_ms: int
    delay_max_ms: int
    wait: Callable[[float], bool]
    counts: ErrorCounts

    def call(self, step: Callable[..., T], *args: Any) -> T:
        """The step's result, or its last error when there is no time left."""
        attempt = 0
        deadline: float | None = None
        while True:
            try:
                return step(*args)
            except RetriableError:
                self.count_failure()
                attempt += 1
                now = time.monotonic()
                if deadline is None and self.timeout_ms >= 0:
                    deadline = now + self.timeout_ms / 1000
                delay = self._delay(attempt)
                if deadline is not None:
                    if now >= deadline:
                        raise
                    delay = min(delay, deadline - now)
                if self.wait(delay):
                    raise Interrupted from None
                self.counts.retries += 1
            except Exception:
                self.count_failure()
                raise

    def _delay(self, attempt: int) -> float:
        delay = RETRY_DELAY_MS << min(attempt - 1, 32)
        if delay > self.delay_max_ms:
            delay = random.randrange(max(self.delay_max_ms, 1))  # noqa: S311 - spreads load only
        return delay / 1000

    def count_failure(self, times: int = 1) -> None:
        self.counts.failures += times
        self.counts.last_error_ms = time.time_ns() // 1_000_000
