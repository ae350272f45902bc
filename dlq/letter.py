"""The dead letter: the original bytes, with the error told in headers.

Key, value, headers and timestamp are those of the record as it was consumed. The headers below
are added behind the original ones, so a reader takes the last of a name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

import orjson

from connect.errors import class_name_of
from connect.pipeline import Failure
from connect.records import SourceRecord
from connect.traces import format_trace

PREFIX = "__connect.errors."
TOPIC = PREFIX + "topic"
PARTITION = PREFIX + "partition"
OFFSET = PREFIX + "offset"
CONNECTOR = PREFIX + "connector.name"
TASK = PREFIX + "task.id"
STAGE = PREFIX + "stage"
CLASS = PREFIX + "class.name"
EXCEPTION = PREFIX + "exception.class.name"
MESSAGE = PREFIX + "exception.message"
STACKTRACE = PREFIX + "exception.stacktrace"
# Beside those of Kafka Connect, for records that failed on their way into Kafka.
SOURCE_PARTITION = PREFIX + "source.partition"
SOURCE_OFFSET = PREFIX + "source.offset"

RawHeader = tuple[str, bytes | None]


def error_headers(failure: Failure, connector: str, task: int) -> list[RawHeader]:
    """The headers that tell where a record lay and why it failed."""
    error, record = failure.error, failure.record
    message = str(error)
    return [
        *(_source(record) if isinstance(record, SourceRecord) else _place(record)),
        # By the stage's text: a number for the stage itself is worked out anew each time.
        *_same_for_many(
            connector, task, failure.stage._value_, failure.class_name, class_name_of(error)
        ),
        (MESSAGE, message.encode("utf-8", "replace") if message else None),
        (STACKTRACE, format_trace(error).encode("utf-8", "replace")),
    ]


@lru_cache(256)
def _same_for_many(
    connector: str, task: int, stage: str, class_name: str, exception: str
) -> tuple[RawHeader, ...]:
    return (
        (CONNECTOR, connector.encode()),
        (TASK, b"%d" % task),
        (STAGE, stage.encode()),
        (CLASS, class_name.encode()),
        (EXCEPTION, exception.encode()),
    )


def _source(record: SourceRecord) -> tuple[RawHeader, ...]:
    return (
        (TOPIC, _plain(record.topic)),
        (SOURCE_PARTITION, _plain(record.source_partition)),
        (SOURCE_OFFSET, _plain(record.source_offset)),
    )


def _place(record: Any) -> tuple[RawHeader, ...]:
    offset = (OFFSET, b"%d" % (record.offset() or 0))
    return *_partition(record.topic(), record.partition() or 0), offset


@lru_cache(256)
def _partition(topic: str, number: int) -> tuple[RawHeader, ...]:
    return (TOPIC, topic.encode()), (PARTITION, b"%d" % number)


# Key, value, headers and timestamp of what goes to the dead-letter topic.
Letter = tuple[bytes | None, bytes | None, list[RawHeader], int | None]


def letter_of(record: Any) -> Letter:
    """A message as it was consumed, or what can be saved of a source's record.

    The error's headers are not among its own. A source's record failed before it became bytes:
    bytes and text are kept as they are, anything else as JSON, with what JSON does not know written
    as text. No record is so bad that it has no letter.
    """
    if isinstance(record, SourceRecord):
        # A producer would crash on half a character in a name.
        headers = [
            (h.name.encode("utf-8", "replace").decode(), _plain(h.value)) for h in record.headers
        ]
        return _plain(record.key), _plain(record.value), headers, record.timestamp
    kind, timestamp = record.timestamp()
    headers = list(record.headers() or ())
    return record.key(), record.value(), headers, timestamp if kind else None


def _plain(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    except Exception:  # noqa: BLE001 - a value may be why the record failed
        return _at_any_price(value).encode("utf-8", "replace")


def _at_any_price(value: Any) -> str:
    """Numbers of any size, half characters and keys of any kind; else what Python shows of it."""
    with suppress(Exception):  # it holds itself, or can't be shown
        return json.dumps(_known_to_json(value), separators=(",", ":"))
    with suppress(Exception):  # its own method may do anything
        return repr(value)
    return f"<{type(value).__qualname__}>"


def _known_to_json(value: Any) -> Any:
    """A copy, with keys and values that JSON does not know as text."""
    if isinstance(value, Mapping):
        return {_known_key(key): _known_to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_known_to_json(item) for item in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _known_key(key: Any) -> Any:
    return key if key is None or isinstance(key, str | int | float) else str(key)


# ---- what a replay adds ----------------------------------------------------------------------

REPLAY_PREFIX = "__penstock.replay."
ATTEMPT = REPLAY_PREFIX + "attempt"
ORIGIN = REPLAY_PREFIX + "origin"
FROM_LETTER = REPLAY_PREFIX + "letter"
REPLAY_ID = REPLAY_PREFIX + "id"
