"""Runs scenarios through the pipeline alone, without Kafka and without a worker."""

from __future__ import annotations

from connect.errors import ConnectError, class_name_of
from connect.pipeline import PipelineSpec, RawMessage, SinkPipeline, SourcePipeline
from dlq.letter import error_headers, letter_of
from tests.conformance.scenarios import (
    FIRST_TIME,
    Outcome,
    Scenario,
    SinkScenario,
    SourceScenario,
    as_bytes,
)
from tests.conformance.sides import letter_outcome, message_outcome
from tests.oracle.rendering import canonical, rendered, source_record


def run(scenario: Scenario) -> list[Outcome]:
    """The outcomes, as a worker would give them."""
    config = scenario.connector("letters") if _is_sink(scenario) else scenario.connector()
    spec = PipelineSpec("NAME", 0, config)
    try:
        if isinstance(scenario, SinkScenario):
            return _sink(SinkPipeline(spec, spec.retry()), scenario)
        return _source(SourcePipeline(spec, spec.retry()), scenario)
    except ConnectError as error:
        return [{"failed": f"{class_name_of(error)}: {error}"}] * scenario.cases


def _is_sink(scenario: Scenario) -> bool:
    return isinstance(scenario, SinkScenario)


def _sink(pipeline: SinkPipeline, scenario: SinkScenario) -> list[Outcome]:
    outcomes: list[Outcome] = [{"none": True}] * scenario.cases
    messages = [
        RawMessage(
            scenario.topic,
            as_bytes(m.value),
            as_bytes(m.key),
            offset=n,
            headers=m.headers,
            timestamp=(1, m.timestamp),
        )
        for n, m in enumerate(scenario.messages)
    ]
    records, failures = pipeline.run(messages)
    for record in records:
        outcomes[record.offset] = {"record": canonical(rendered(record))}
    for failure in failures:
        offset = failure.record.offset()
        message = scenario.messages[offset]
        same = letter_of(failure.record) == (
            as_bytes(message.key),
            as_bytes(message.value),
            list(message.headers or ()),
            message.timestamp,
        )
        told = dict(error_headers(failure, "NAME", 0))
        outcomes[offset] = letter_outcome(told, {}, as_sent=same)
    return outcomes


def _source(pipeline: SourcePipeline, scenario: SourceScenario) -> list[Outcome]:
    outcomes: list[Outcome] = [{"none": True}] * scenario.cases
    records = [source_record(each, scenario.topic) for each in scenario.records]
    for some in pipeline.run(records)[0]:
        for original, key, value, headers in zip(
            some.records, some.keys, some.values, some.headers, strict=True
        ):
            assert original.timestamp is not None
            outcomes[original.timestamp - FIRST_TIME] = message_outcome(key, value, headers)
    return outcomes
