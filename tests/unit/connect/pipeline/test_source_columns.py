"""A source's batch by columns: the same messages as record by record, or record by record."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect import Schema, SourceBatch
from connect.pipeline import PipelineSpec, SourcePipeline
from converters.string import StringConverter

APACHE = "org.apache.kafka.connect"
PLAIN = {
    "key.converter": f"{APACHE}.storage.StringConverter",
    "value.converter": f"{APACHE}.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
HOIST = {
    **PLAIN,
    "transforms": "line",
    "transforms.line.type": f"{APACHE}.transforms.HoistField$Value",
    "transforms.line.field": "line",
}
INSERT = {
    **HOIST,
    "transforms": "line,origin",
    "transforms.origin.type": f"{APACHE}.transforms.InsertField$Value",
    "transforms.origin.static.field": "origin",
    "transforms.origin.static.value": 'here "100 %"',
}
ENVELOPE = {**INSERT, "value.converter.schemas.enable": "true"}
BY_RECORDS = {
    "timestamps": {**INSERT, "transforms.origin.timestamp.field": "at"},
    "a path": {
        **HOIST,
        "transforms.line.field": "a.b",
        "transforms.line.field.syntax.version": "V2",
    },
    "a predicate": {
        **HOIST,
        "predicates": "p",
        "predicates.p.type": f"{APACHE}.transforms.predicates.RecordIsTombstone",
        "transforms.line.predicate": "p",
        "transforms.line.negate": "true",
    },
    "another first step": {**INSERT, "transforms": "origin,line"},
    "a format without columns": {**INSERT, "value.converter": f"{APACHE}.storage.StringConverter"},
}
LINES = ["a", "b ü", 'c "quoted" \\ \n', "100 % %b %s", "\x01\u2028😀", ""]


def batch(values=LINES, schema=Schema.STRING):
    return SourceBatch(
        "t",
        values,
        schema=schema,
        timestamp=1234,
        source_partition={"file": "f"},
        offset_of=lambda i: {"position": i + 1},
    )


def pipeline(config):
    spec = PipelineSpec("c", 0, config)
    return SourcePipeline(spec, spec.retry())


def seen(result):
    outgoing, dropped, failures = result
    told = [(f.record.value, f.stage, f.class_name, type(f.error), str(f.error)) for f in failures]
    messages = [
        (
            o.topic,
            *map(list, (o.records, o.partitions, o.timestamps, o.keys, o.values)),
            [headers or [] for headers in o.headers],
        )
        for o in outgoing
    ]
    return messages, dropped, told


def compare(config, values=LINES, schema=Schema.STRING):
    """The outcome, which must be that of records; and whether records were made for it."""
    given_batch = batch(values, schema)
    result = pipeline(config).run(given_batch)
    made = given_batch._records is not None
    assert seen(result) == seen(pipeline(config).run([*given_batch]))
    return result, made


@pytest.mark.parametrize("config", [PLAIN, HOIST, INSERT, ENVELOPE])
@pytest.mark.parametrize("schema", [Schema.STRING, Schema.OPTIONAL_STRING, None])
def test_messages_are_those_of_records(config, schema):
    """With a schema and without, in an envelope or not; no record is made for it."""
    ([messages], _, _), made = compare(config, schema=schema)
    assert len(messages.values) == len(LINES)
    assert not made


@pytest.mark.parametrize("config", BY_RECORDS.values(), ids=BY_RECORDS)
def test_steps_that_want_records_get_them(config):
    """A step or a converter that does not work on columns changes nothing but the time."""
    _, made = compare(config)
    assert made


@pytest.mark.parametrize("schema", [Schema.STRING, None])
@pytest.mark.parametrize("envelope", ["true", "false"])
def test_values_of_which_nothing_is_left_are_messages_too(schema, envelope):
    """A transform may drop the only field: there are as many messages as values."""
    config = {
        **HOIST,
        "value.converter.schemas.enable": envelope,
        "transforms": "line,empty",
        "transforms.empty.type": f"{APACHE}.transforms.ReplaceField$Value",
        "transforms.empty.exclude": "line",
    }
    ([messages], _, _), _ = compare(config, schema=schema)
    assert len(messages.values) == len(LINES)


ZERO = 0.0


@pytest.mark.parametrize("values", [[1, True, 1], [True, 1, True], [ZERO, -0.0, ZERO], [0, 0.0, 0]])
def test_values_that_are_equal_are_written_as_each_of_them(values):
    """What is equal to the first may still be written otherwise."""
    compare(HOIST, values, None)


@pytest.mark.parametrize("config", [PLAIN, INSERT])
def test_a_null_and_a_value_of_another_type_are_told_as_ever(config):
    """One bad value fails alone, under its own name; a null goes its way."""
    (_, _, failures), _ = compare(config, ["a", 5, "b"])
    assert len(failures) == 1
    compare(config, ["a", None, "b"], Schema.OPTIONAL_STRING)


def test_a_key_made_of_nothing_is_kept():
    """A key converter may write something where there is no key."""

    class Stubborn(StringConverter):
        def from_connect(self, topic, schema, value, headers=None):
            return b"" if value is None else super().from_connect(topic, schema, value, headers)

        def from_connect_batch(self, topic, schemas, values, headers):
            return [self.from_connect(topic, s, v) for s, v in zip(schemas, values, strict=True)]

    made = pipeline(INSERT)
    made.parts.key.converter = Stubborn()
    made.parts.key.converter.configure({}, is_key=True)
    [messages], _, _ = made.run(batch())
    assert messages.keys == [b""] * len(LINES)


@given(st.lists(st.text(), min_size=1), st.sampled_from([PLAIN, INSERT, ENVELOPE]))
def test_any_texts(values, config):
    """Whatever the characters, the bytes are those of records."""
    compare(config, values)


@given(st.lists(st.floats() | st.integers() | st.booleans(), min_size=1))
def test_any_numbers(values):
    """Numbers that the fields' schema does not take fail as records do."""
    compare(INSERT, values, Schema.FLOAT64)
    compare(INSERT, values, None)


def test_a_batch_is_a_sequence_of_its_records():
    """Made once, when somebody asks."""
    whole = batch()
    first, *_, last = whole
    assert (len(whole), first.value, first.timestamp) == (6, "a", 1234)
    assert last.source_offset == whole.last_offset == {"position": 6}
    assert whole[0] is first
    assert [r.value for r in whole[1:3]] == LINES[1:3]
