"""Dry runs: a record after every step, or the error with its step."""

import pytest

from connect.errors import ConfigError
from connect.pipeline import PipelineSpec, RawMessage, SinkPipeline, dry_run

JSON = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}
SINK = {"connector.class": "FileStreamSink", "topics": "orders, more", "key.converter": "String"}
MASK = {
    "transforms": "mask,cast",
    "transforms.mask.type": "MaskField$Value",
    "transforms.mask.fields": "card",
    "transforms.cast.type": "Cast$Value",
    "transforms.cast.spec": "id:int32",
}


def traced(sample, config, *, source=False, **more):
    [result] = dry_run(
        PipelineSpec("c", 0, {**SINK, **JSON, **config}), [sample], source=source, **more
    )
    return result


def steps(result):
    return [step["step"] for step in result["steps"]]


def test_every_step_is_shown():
    """Converters first, then each transform, with the record as it left the step."""
    result = traced({"value": {"id": "7", "card": "4111"}, "key": "k", "headers": {"n": "5"}}, MASK)
    assert result["outcome"] == "passed"
    assert steps(result) == [
        "key.converter", "value.converter", "header.converter", "transforms.mask",
        "transforms.cast",
    ]  # fmt: skip
    records = [step["record"] for step in result["steps"]]
    assert records[0]["topic"] == "orders"
    assert (records[0]["key"], records[0]["value"]) == ("k", None)
    assert [r["value"] for r in records[1:]] == [
        {"id": "7", "card": "4111"},
        {"id": "7", "card": "4111"},
        {"id": "7", "card": ""},
        {"id": 7, "card": ""},
    ]
    assert records[2]["headers"] == [
        {"key": "n", "value": 5, "schema": {"type": "int8", "optional": False}}
    ]


def test_the_last_record_is_what_the_pipeline_gives():
    """A dry run and a real one agree."""
    spec = PipelineSpec("c", 0, {**SINK, **JSON, **MASK})
    [record], _ = SinkPipeline(spec, spec.retry()).run([RawMessage("orders", b'{"id":"7"}')])
    result = traced({"value": {"id": "7"}}, MASK)
    assert result["steps"][-1]["record"]["value"] == record.value == {"id": 7, "card": None}


def test_an_error_names_its_step_and_ends_the_trace():
    """The step, the class, the exception and what caused it."""
    result = traced({"value": {"id": "x"}}, MASK)
    assert result["outcome"] == "failed"
    assert steps(result)[-1] == "transforms.cast"
    last = result["steps"][-1]
    assert last["class"] == "org.apache.kafka.connect.transforms.Cast$Value"
    assert last["error"]["exception"] == "org.apache.kafka.connect.errors.DataException"
    assert last["error"]["message"] == "Value (x) was out of range for requested data type"
    broken = traced({"value": "{"}, MASK)
    assert steps(broken) == ["key.converter", "value.converter"]
    assert "Unexpected end" in broken["steps"][-1]["error"]["cause"]


def test_dropped_and_passed_over():
    """A record that a transform takes out is dropped; one its predicate passes over goes on."""
    config = {
        "transforms": "drop",
        "transforms.drop.type": "Filter",
        "transforms.drop.predicate": "p",
        "predicates": "p",
        "predicates.p.type": "RecordIsTombstone",
    }
    gone = traced({"value": None}, config)
    assert gone["outcome"] == "dropped"
    assert gone["steps"][-1]["record"] is None
    stays = traced({"value": 5}, config)
    assert stays["outcome"] == "passed"
    assert stays["steps"][-1]["skipped"] == "its predicate is false"


def test_bytes_and_schemas_can_be_given_and_are_shown():
    """Base64 in, base64 out; a schema is shown beside its value."""
    config = {"value.converter": "ByteArrayConverter"}
    record = traced({"value": {"base64": "AP8="}}, config)["steps"][-1]["record"]
    assert record["value"] == {"base64": "AP8="}
    assert record["valueSchema"] == {"type": "bytes", "optional": True}


def test_a_source_ends_with_the_message():
    """Transforms come first, then the converters; the end is what Kafka would get."""
    schema = {"type": "struct", "optional": False, "fields": [{"field": "id", "type": "int64"}]}
    sample = {"value": {"id": 1}, "valueSchema": schema, "key": "k", "topic": "t"}
    config = {
        "value.converter": "JsonConverter",
        "transforms": "hoist",
        "transforms.hoist.type": "HoistField$Value",
        "transforms.hoist.field": "in",
    }
    spec = PipelineSpec("c", 0, {"key.converter": "String", **config})
    [result] = dry_run(spec, [sample], source=True)
    assert steps(result) == ["poll", "transforms.hoist", "key.converter", "value.converter"]
    message = result["steps"][-1]["record"]
    assert (message["topic"], message["key"]) == ("t", "k")
    assert message["value"].endswith('"payload":{"in":{"id":1}}}')


def test_secrets_are_not_shown():
    """Neither a password of the config nor what a provider gave, wherever they turn up."""
    config = {
        "transforms": "put",
        "transforms.put.type": "InsertField$Value",
        "transforms.put.static.field": "by",
        "transforms.put.static.value": "from-the-vault",
        "db.password": "hunter22",
    }
    result = traced(
        {"value": {"said": "hunter22"}}, config, hidden={"from-the-vault": "${vault:by}"}
    )
    assert result["steps"][-1]["record"]["value"] == {"said": "[hidden]", "by": "${vault:by}"}


@pytest.mark.parametrize(
    ("sample", "said"),
    [
        ({"valu": 1}, "unknown field 'valu'"),
        ({"topic": 5}, "topic is 5"),
        ({"headers": [1]}, "list of \\[name, value\\]"),
        ({"value": {"base64": "?"}}, "base64 is broken"),
    ],
)
def test_a_sample_that_is_none_is_told(sample, said):
    """A typo is an error that names it, not a record without a value."""
    with pytest.raises(ConfigError, match=said):
        traced(sample, {})
