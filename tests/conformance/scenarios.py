"""What both are asked to do: a connector's config and the records it is fed. Each record is a case.

The outcome of a case, by the record's place, is one of

    {"record": line}     what the sink was given, as the echo sink writes it
    {"message": {…}}     what a source wrote to the topic: key, value, headers
    {"letter": {…}}      the dead letter: stage, class, exception, message, and whether it is the
                         record as it was sent
    {"none": true}       nothing came out: dropped, or skipped by a source
    {"refused": {…}}     the connector could not be created: status and text
    {"failed": text}     its task failed: the first line of the trace
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.topics import Out

Outcome = dict[str, Any]

SINK_CLASS = "EchoSink"
SOURCE_CLASS = "ReplaySource"

# Every record has a time of its own: by it, what a source wrote is told apart.
FIRST_TIME = 1_600_000_000_000

_JSON = "org.apache.kafka.connect.json.JsonConverter"
_ERRORS = {
    "errors.tolerance": "all",
    "errors.deadletterqueue.context.headers.enable": "true",
    "errors.deadletterqueue.topic.replication.factor": "1",
}


@dataclass(frozen=True)
class SinkScenario:
    """Messages that a sink reads. `config` is what is special about this one."""

    title: str
    config: Mapping[str, str]
    messages: Sequence[Out]

    @property
    def cases(self) -> int:
        return len(self.messages)

    @property
    def topic(self) -> str:
        return topic_of(self.title)

    def connector(self, topic_of_letters: str) -> dict[str, str]:
        """The whole config, but for the echo's file."""
        return {
            "connector.class": SINK_CLASS,
            "topics": self.topic,
            "tasks.max": "1",
            "key.converter": _JSON,
            "value.converter": _JSON,
            **_ERRORS,
            "errors.deadletterqueue.topic.name": topic_of_letters,
            **self.config,
        }

    def to_json(self) -> dict[str, Any]:
        messages = [
            [
                _packed(m.key),
                _packed(m.value),
                [[name, _packed(data)] for name, data in m.headers or ()],
                m.timestamp,
            ]
            for m in self.messages
        ]
        return {"title": self.title, "config": dict(self.config), "messages": messages}


@dataclass(frozen=True)
class SourceScenario:
    """Records that a source emits, as lines of the echo sink."""

    title: str
    config: Mapping[str, str]
    records: Sequence[dict[str, Any]]

    @property
    def cases(self) -> int:
        return len(self.records)

    @property
    def topic(self) -> str:
        return topic_of(self.title)

    def connector(self) -> dict[str, str]:
        """The whole config, but for the file to replay and the topic."""
        return {
            "connector.class": SOURCE_CLASS,
            "tasks.max": "1",
            "key.converter": _JSON,
            "value.converter": _JSON,
            "errors.tolerance": "all",
            **self.config,
        }

    def to_json(self) -> dict[str, Any]:
        return {"title": self.title, "config": dict(self.config), "records": list(self.records)}


Scenario = SinkScenario | SourceScenario


def from_json(found: Mapping[str, Any]) -> Scenario:
    """A scenario as `to_json` wrote it."""
    title, config = found["title"], found["config"]
    if "records" in found:
        return SourceScenario(title, config, found["records"])
    messages = [
        Out(
            _unpacked(value),
            _unpacked(key),
            [(name, _unpacked(data)) for name, data in headers] or None,
            timestamp=timestamp,
        )
        for key, value, headers, timestamp in found["messages"]
    ]
    return SinkScenario(title, config, messages)


def topic_of(title: str) -> str:
    """A topic name that both sides and every run share, since it shows in records."""
    return "conformance-" + re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def as_bytes(data: bytes | str | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data


# Text where it is text, so that what is kept can be read; {"bytes": …} where it is not.
def _packed(data: bytes | str | None) -> Any:
    data = as_bytes(data)
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(data).decode()}


def _unpacked(packed: Any) -> bytes | None:
    if isinstance(packed, dict):
        return base64.b64decode(packed["bytes"])
    return as_bytes(packed)


# ---- short ways to write them --------------------------------------------------------------


def messages(
    values: Sequence[bytes | str | None],
    keys: Sequence[bytes | str | None] = (None,),
    headers: Sequence[list[tuple[str, bytes | None]] | None] = (None,),
) -> list[Out]:
    """Messages with these values; keys and headers are used again from the start when short."""
    return [
        Out(
            value,
            keys[n % len(keys)],
            headers[n % len(headers)],
            timestamp=FIRST_TIME + n,
        )
        for n, value in enumerate(values)
    ]


def line(
    value: Any = None,
    schema: dict[str, Any] | None = None,
    *,
    key: Any = None,
    key_schema: dict[str, Any] | None = None,
    headers: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """A record for a source scenario; `timed` gives it its time."""
    return {
        "keySchema": key_schema,
        "key": key,
        "valueSchema": schema,
        "value": value,
        "headers": list(headers),
    }


def timed(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**each, "timestamp": FIRST_TIME + n} for n, each in enumerate(lines)]


def envelope(schema: dict[str, Any] | None, payload: Any) -> str:
    """A message of the JSON converter with schemas."""
    return json.dumps({"schema": schema, "payload": payload}, ensure_ascii=False)


def transforms(*steps: Mapping[str, str], **predicates: Mapping[str, str]) -> dict[str, str]:
    """The config of a chain: each step has `type`, and what else the transform takes."""
    config = {"transforms": ",".join(f"t{n}" for n in range(len(steps)))}
    for n, step in enumerate(steps):
        config |= {f"transforms.t{n}.{key}": value for key, value in step.items()}
    if predicates:
        config["predicates"] = ",".join(predicates)
        for name, settings in predicates.items():
            config |= {f"predicates.{name}.{key}": value for key, value in settings.items()}
    return config


def smt(name: str, **settings: str) -> dict[str, str]:
    """A step; in the names of settings _ stands for a dot."""
    short = {k.replace("_", "."): v for k, v in settings.items()}
    return {"type": f"org.apache.kafka.connect.transforms.{name}", **short}
