"""A dry run: one record through a connector's pipeline, shown after every step.

Nothing is created and nothing is written, but for the schemas that the registry converters of a
source register if their settings say so. A sample is plain JSON; what comes back is too:

    {"steps": [{"step": "value.converter", "class": "…JsonConverter", "record": {…}},
               {"step": "transforms.mask", "class": "…MaskField$Value", "record": {…}}],
     "outcome": "passed"}

A step that its predicate passes over says `"skipped": "predicate …"`, one that takes the record out
of the stream is the last with `"outcome": "dropped"`, one that fails has `"error"` in the place of
`"record"`. For a source the last record is what Kafka would get: key and value as text or base64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from connect.config.masking import secret_keys
from connect.config.secret import HIDDEN, scrub
from connect.data.headers import NO_HEADERS, Header, Headers
from connect.errors import class_name_of
from connect.pipeline.assembly import Parts, PipelineSpec, assemble
from connect.pipeline.failures import RawMessage
from connect.pipeline.samples import (
    Shown,
    shown_bytes,
    shown_record,
    sink_sample,
    source_sample,
)
from connect.pipeline.sink import TIMESTAMP_TYPES
from connect.records import SinkRecord, SourceRecord


def dry_run(
    spec: PipelineSpec,
    samples: Sequence[Mapping[str, Any]],
    *,
    source: bool,
    hidden: Mapping[str, str] | None = None,
) -> list[Shown]:
    """What becomes of each sample. `hidden` are texts that must not be shown, and what is instead.

    A sample of a sink has `value`, `key` and `headers` as text, {"base64": …}, null, or any other
    JSON, which stands for its own text; and `topic`, `partition`, `offset`, `timestamp`. One of a
    source has values as JSON, with the JSON converter's `valueSchema` and `keySchema` if it has a
    schema. ConfigError when the config can't make a pipeline, or a sample is no sample.
    """
    parts = assemble(spec, spec.retry())
    masked = {**_secrets(spec), **(hidden or {})}
    try:
        traced = []
        for number, sample in enumerate(samples):
            trace = _Trace()
            if source:
                _run_source(trace, parts, source_sample(spec, sample, number))
            else:
                _run_sink(trace, parts, sink_sample(spec, sample, number))
            traced.append({"steps": trace.steps, "outcome": trace.outcome})
    finally:
        parts.chain.close()
    return [_scrubbed(each, masked) for each in traced]


class _Trace:
    """The steps of one record, as far as it came."""

    def __init__(self) -> None:
        self.steps: list[Shown] = []
        self.outcome = "passed"

    def did(self, step: str, class_name: str, call: Callable[[], Any]) -> Any:
        """The call's result, or None when it failed, which ends the trace."""
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises is what is asked for
            self.outcome = "failed"
            told = {"exception": class_name_of(error), "message": str(error)}
            causes = [f"{class_name_of(c)}: {c}" for c in _causes(error)]
            if causes:
                told["cause"] = causes[-1]
            self.steps.append({"step": step, "class": class_name, "error": told})
            return None

    def shows(self, step: str, class_name: str, record: Shown) -> None:
        self.steps.append({"step": step, "class": class_name, "record": record})

    @property
    def failed(self) -> bool:
        return self.outcome == "failed"


def _causes(error: BaseException) -> list[BaseException]:
    found = []
    while (cause := error.__cause__) is not None:
        found.append(cause)
        error = cause
    return found


# ---- sinks ---------------------------------------------------------------------------------


def _run_sink(trace: _Trace, parts: Parts, message: RawMessage) -> None:
    topic, raw = message.topic(), message.headers() or []
    kind, timestamp = message.timestamp()
    record = SinkRecord(
        topic,
        message.partition(),
        None,
        None,
        None,
        None,
        NO_HEADERS,
        timestamp if kind else None,
        message.offset(),
        TIMESTAMP_TYPES[kind],
        topic,
        message.partition(),
    )
    for side, part, data in (
        ("key", parts.key, message.key()),
        ("value", parts.value, message.value()),
    ):
        found = trace.did(
            f"{side}.converter",
            part.class_name,
            partial(part.converter.to_connect, topic, data, raw),
        )
        if trace.failed:
            return
        schema, value = found
        setattr(record, f"{side}_schema", schema)
        setattr(record, side, value)
        trace.shows(f"{side}.converter", part.class_name, shown_record(record))
    if raw:
        convert = parts.header.converter.to_connect_header
        pairs = trace.did(
            "header.converter",
            parts.header.class_name,
            lambda: [(name, convert(topic, name, data)) for name, data in raw],
        )
        if trace.failed:
            return
        record.headers = Headers(Header(n, value, schema) for n, (schema, value) in pairs)
        trace.shows("header.converter", parts.header.class_name, shown_record(record))
    _transformed(trace, parts, record)


def _transformed(trace: _Trace, parts: Parts, record: Any) -> Any:
    """The record behind the chain; None when it got no further."""
    for step in parts.chain.steps:
        name = f"transforms.{step.alias}"
        guard = step.predicate
        if guard is not None:
            chosen = trace.did(name, step.class_name, partial(guard.test, record))
            if trace.failed:
                return None
            if chosen is step.negate:
                why = "its predicate is true" if step.negate else "its predicate is false"
                trace.steps.append({"step": name, "class": step.class_name, "skipped": why})
                continue
        record = trace.did(name, step.class_name, partial(step.transform.apply, record))
        if trace.failed:
            return None
        if record is None:
            trace.outcome = "dropped"
            trace.steps.append({"step": name, "class": step.class_name, "record": None})
            return None
        trace.shows(name, step.class_name, shown_record(record))
    return record


# ---- sources -------------------------------------------------------------------------------


def _run_source(trace: _Trace, parts: Parts, record: SourceRecord) -> None:
    trace.shows("poll", "", shown_record(record))
    result = _transformed(trace, parts, record)
    if result is None:
        return
    raw: list[tuple[str, bytes | None]] = []
    message: Shown = {"topic": result.topic, "partition": result.partition}
    convert = parts.header.converter.from_connect_header
    if result.headers:
        found = trace.did(
            "header.converter",
            parts.header.class_name,
            lambda: [
                (h.name, convert(result.topic, h.name, h.schema, h.value)) for h in result.headers
            ],
        )
        if trace.failed:
            return
        raw += found
    for side, part, schema, value in (
        ("key", parts.key, result.key_schema, result.key),
        ("value", parts.value, result.value_schema, result.value),
    ):
        data = trace.did(
            f"{side}.converter",
            part.class_name,
            partial(part.converter.from_connect, result.topic, schema, value, raw),
        )
        if trace.failed:
            return
        message[side] = shown_bytes(data)
        shown = {**message, "headers": [[name, shown_bytes(data)] for name, data in raw]}
        trace.shows(f"{side}.converter", part.class_name, shown)


# ---- secrets --------------------------------------------------------------------------------


def _secrets(spec: PipelineSpec) -> dict[str, str]:
    return {spec.config[key]: HIDDEN for key in secret_keys(spec.config.keys(), {})}


def _scrubbed(shown: Any, hidden: Mapping[str, str]) -> Any:
    if isinstance(shown, dict):
        return {key: _scrubbed(item, hidden) for key, item in shown.items()}
    if isinstance(shown, list):
        return [_scrubbed(item, hidden) for item in shown]
    return scrub(shown, dict(hidden)) if isinstance(shown, str) else shown
