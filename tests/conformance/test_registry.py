"""The converters with a registry: Avro beside the JVM's at work, the others beside Confluent's."""

import json

import pytest

from tests.conformance import peer_cases, registry_cases
from tests.conformance.intended import verdict
from tests.conformance.scenarios import SinkScenario, SourceScenario, messages, timed, topic_of
from tests.conformance.sides import run_sides
from tests.oracle.rendering import canonical

pytestmark = [pytest.mark.stack, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def avro_sides(sides, registry):
    theirs, ours = sides
    theirs.converters, ours.converters = (
        registry_cases.theirs(registry), registry_cases.ours(registry),
    )  # fmt: skip
    yield sides
    theirs.converters, ours.converters = {}, {}


def test_avro_is_written_and_read_as_by_the_jvm(avro_sides, registry, kafka, say, tally):
    """The same bytes and schemas, records and dead letters, or what docs/differences.md says."""
    written = registry_cases.written()
    found = run_sides(kafka, written, avro_sides, say)
    # What either wrote is read by both.
    read = [
        registry_cases.read_again(f"{scenario.title} by {side.name}", scenario, outcomes)
        for side, answers in zip(avro_sides, found, strict=True)
        for scenario, outcomes in zip(written, answers, strict=True)
        if "value.converter" in scenario.config
    ]
    read += registry_cases.read(registry)
    also = run_sides(kafka, read, avro_sides, say)
    mistakes = []
    for scenario, theirs, ours in zip(
        written + read, *(one + other for one, other in zip(found, also, strict=True)), strict=True
    ):
        for n, (one, other) in enumerate(zip(theirs, ours, strict=True)):
            judged = verdict(scenario, one, other)
            tally[judged.word] += 1
            if judged.by_mistake:
                mistakes.append(
                    f"{scenario.title}, case {n}\n  theirs {json.dumps(one)}\n"
                    f"  ours   {json.dumps(other)}"
                )
    assert not mistakes, "\n".join(mistakes)


FORMATS = {
    "Protobuf": (
        peer_cases.PROTOBUF, peer_cases.ProtobufPeer,
        peer_cases.protobuf_read, peer_cases.protobuf_written,
    ),
    "JSON Schema": (
        peer_cases.JSON_SCHEMA, peer_cases.JsonSchemaPeer,
        peer_cases.json_schema_read, peer_cases.json_schema_written,
    ),
}  # fmt: skip


def _compared(tally, pairs):
    """Count the cases, and fail for those where the two differ."""
    tally.update("equal" if theirs == ours else "mistake" for theirs, ours in pairs)
    mistakes = [
        f"case {n}\n  theirs {json.dumps(theirs)}\n  ours   {json.dumps(ours)}"
        for n, (theirs, ours) in enumerate(pairs)
        if theirs != ours
    ]
    assert not mistakes, "\n".join(mistakes)


@pytest.mark.parametrize("name", FORMATS)
def test_what_a_peer_writes_is_read(name, sides, registry, kafka, say, tally):
    """A sink gets the records that Confluent's serializer for Python wrote."""
    converter, peer, read, _ = FORMATS[name]
    cases, title = read(), f"{name} of a peer"
    values = [peer(registry).write(topic_of(title), case) for case in cases]
    scenario = SinkScenario(
        title,
        {"value.converter": converter, "value.converter.schema.registry.url": registry},
        messages(values),
    )
    [[found]] = run_sides(kafka, [scenario], [sides[1]], say)
    ours = [each.get("record", {}).get("value", each) for each in found]
    _compared(tally, list(zip([canonical(case.value) for case in cases], ours, strict=True)))


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_written_is_read_by_a_peer(name, sides, registry, kafka, say, tally):
    """Confluent's deserializer for Python sees what a source was given."""
    converter, peer, _, written = FORMATS[name]
    cases = written()
    scenario = SourceScenario(
        f"{name} for a peer",
        {"value.converter": converter, "value.converter.schema.registry.url": registry},
        timed([case.line for case in cases]),
    )
    [[found]] = run_sides(kafka, [scenario], [sides[1]], say)
    reader = peer(registry)
    seen = [
        reader.read(scenario.topic, registry_cases.as_sent(each["message"]["value"]))
        if "message" in each else each
        for each in found
    ]  # fmt: skip
    _compared(tally, list(zip(seen, [case.seen for case in cases], strict=True)))
