"""A record that comes alone takes a shorter way, to the same outcome as in a batch."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect import DataError, Schema, Transformation
from connect.data.java_lines import java_lines
from connect.pipeline import PipelineSpec, RawMessage, SinkPipeline
from connect.pipeline.chain import Chain, Step
from connect.plugin import ValueEdit
from connectors.file.sink import _lines
from converters.string import StringConverter
from tests.unit.connect.pipeline.test_columns import (
    CHAIN,
    FORMATS,
    JSON,
    PREDICATE,
    nested,
    order,
    pipeline,
    plain,
    priced,
    registered,
    told,
)

APACHE = "org.apache.kafka.connect"
ENVELOPES = {**CHAIN, "value.converter.schemas.enable": "true"}
FILTER = {
    **CHAIN,
    "transforms": "origin,drop,mask",
    "transforms.drop.type": f"{APACHE}.transforms.Filter",
}


def enveloped(payload, kind="int64"):
    field = {"field": "id", "type": kind, "optional": True}
    return {"schema": {"type": "struct", "fields": [field]}, "payload": payload}


def message(value, key=b"k", **more):
    data = value if isinstance(value, bytes | None) else json.dumps(value).encode()
    return RawMessage("t", data, key, offset=7, partition=3, **more)


def compare(config, one):
    """Its record or failure, after a check that a batch of it comes to the same."""
    made = pipeline(config)
    records, failures = made.run([one])
    found, failed = made.run_records([one])
    assert found.columns is None
    assert found.records == records
    assert len(found) == len(records)
    assert told(failed) == told(failures)
    values, schemas = [r.value for r in records], [r.value_schema for r in records]
    assert _lines(records).decode() == java_lines(values, schemas)
    return [*found.records, *failed]


@pytest.mark.parametrize(
    ("config", "value"),
    [
        (CHAIN, order()),
        (CHAIN, order(amount=None, email=1)),
        (CHAIN, {}),
        (CHAIN, None),
        (CHAIN, 7),
        (CHAIN, b"{"),
        (CHAIN, b"\xff"),
        (CHAIN, b"[1e400]"),
        (CHAIN, b'{"id": 123456789012345678901234567890}'),
        ({**CHAIN, **PREDICATE}, order()),
        ({**CHAIN, **PREDICATE}, None),
        (FILTER, order()),
        (JSON, [1, {"a": 2.0}]),
        (ENVELOPES, enveloped({"id": 1})),
        (ENVELOPES, enveloped({"id": "x"})),
        (ENVELOPES, order()),
        (ENVELOPES, None),
    ],
)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"key": None},
        {"key": b"\xff"},
        {"timestamp": (1, 1_700_000_000_000)},
        {"timestamp": (2, 1_700_000_000_000)},
        {"headers": [("a", b"1")]},
        {"headers": []},
    ],
)
def test_outcome_is_the_same(config, value, more):
    """Records, what is dropped, and what fails at which stage, with or without keys and headers."""
    compare(config, message(value, **more))


@settings(max_examples=100)
@given(st.dictionaries(st.text(max_size=5), plain | nested, max_size=5))
def test_any_value_comes_out_as_in_a_batch(value):
    """Whatever JSON holds, and names with signs in them that mean something to printing."""
    compare(JSON, message(value))
    compare(JSON, message({f"%{key}%s": each for key, each in value.items()}))


@pytest.mark.parametrize("kind", FORMATS)
def test_registered_struct_is_the_same(kind):
    compare({**CHAIN, **registered(kind)}, message(priced(kind)))
    compare({**CHAIN, **registered(kind)}, message(priced(kind)[:-3]))


def test_what_is_in_memory_already_is_not_changed():
    """A converter may hand out one and the same dict again and again."""
    made = pipeline(CHAIN)
    shared = order()
    made.parts.value.converter.to_connect = lambda *_: (None, shared)
    for _ in range(2):
        found, _failures = made.run_records([message(b"")])
        assert found.records[0].value["place"] == "here"
    assert shared == order()


class Looking(Transformation):
    """Tells which schema the record has while it is changed, and gives it another."""

    def apply(self, record):
        raise AssertionError("it is done together with its neighbour")

    def value_edit(self, schema):
        changed = Schema.struct("changed").build()
        return ValueEdit(changed, lambda v, r: {**v, "had": r.value_schema}, in_place=False)


def test_transforms_see_the_record_as_in_a_batch():
    spec = PipelineSpec("c", 0, JSON)
    parts = pipeline(JSON).parts
    parts.chain = Chain([Step(name, Looking(), "Looking") for name in "ab"], spec.retry())
    made = SinkPipeline(spec, spec.retry(), parts)
    (expected,), _ = made.run([message(order())])
    (found,) = made.run_records([message(order())])[0].records
    assert (found.value["had"], found.value_schema.name) == (None, "changed")
    assert found.value == expected.value


def test_time_is_counted_at_each_stage():
    made = pipeline(CHAIN)
    made.run_records([message(order())])
    parts = made.parts
    assert all(part.seconds > 0 for part in (parts.key, parts.value, *parts.chain.steps))


def test_converter_that_is_choosier_with_many_is_asked_so():
    """A class that changes how many are read means one, too."""

    class Choosy(StringConverter):
        def to_connect_batch(self, topic, data, headers):
            raise DataError("not today")

        to_connect_each = StringConverter.to_connect_each

    spec = PipelineSpec("c", 0, JSON)
    parts = pipeline(JSON).parts
    chooser = Choosy()
    chooser.configure({}, is_key=True)
    parts.key.converter = chooser
    made = SinkPipeline(spec, spec.retry(), parts)
    assert made._run_one(message(order())) is None
