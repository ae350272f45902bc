"""Neighbouring transforms that are done together do what they do one by one."""

from connect import Schema, SinkRecord
from connect.pipeline.assembly import PipelineSpec, assemble

APACHE = "org.apache.kafka.connect.transforms"
CONFIG = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "transforms": "origin,shape,mask",
    "transforms.origin.type": f"{APACHE}.InsertField$Value",
    "transforms.origin.static.field": "origin",
    "transforms.origin.static.value": "here",
    "transforms.origin.topic.field": "topic",
    "transforms.shape.type": f"{APACHE}.ReplaceField$Value",
    "transforms.shape.exclude": "note",
    "transforms.shape.renames": "id:number",
    "transforms.mask.type": f"{APACHE}.MaskField$Value",
    "transforms.mask.fields": "email",
}
STRUCT = (
    Schema.struct("Order")
    .field("id", Schema.INT64)
    .field("email", Schema.OPTIONAL_STRING)
    .field("note", Schema.STRING)
    .build()
)
VALUE = {"id": 1, "email": "a@b", "note": "n"}
BATCH = [(None, VALUE), (STRUCT, VALUE), (None, None), (STRUCT, {**VALUE, "email": None}),
         (None, {"other": 1})]  # fmt: skip


def chain(**more):
    spec = PipelineSpec("c", 0, {**CONFIG, **more})
    return assemble(spec, spec.retry()).chain


def records(batch):
    return [SinkRecord("t", 0, None, None, schema, value) for schema, value in batch]


def run(transforms, batch):
    return transforms.run(records(batch), lambda i: records(batch)[i])


def test_together_is_as_one_by_one():
    """Structs, maps and nulls in one batch, and nobody's dict is changed."""
    found, failed = run(chain(), BATCH)
    alone = [chain()._singly(1, lambda _, i=i: records(BATCH)[i])[0][0] for i in range(len(BATCH))]
    assert not failed
    assert found == alone
    assert VALUE == {"id": 1, "email": "a@b", "note": "n"}
    assert found[0].value == {"number": 1, "email": "", "origin": "here", "topic": "t"}


def test_what_fails_together_is_found():
    """A value that is no map fails alone, in the transform that could not do it."""
    found, failed = run(chain(), [(None, VALUE), (None, "text")])
    assert found[0].value["number"] == 1
    assert found[1] is None
    assert failed[1][0].alias == "origin"


def test_time_is_shared():
    """Every transform of the group has some of the time."""
    transforms = chain()
    run(transforms, BATCH)
    assert all(step.seconds > 0 for step in transforms.steps)


def test_a_transform_that_can_not_be_joined_stops_nobody():
    """Nested fields are edited one transform after the other."""
    nested = {"transforms.mask.field.syntax.version": "V2", "transforms.mask.fields": "in.email"}
    found, failed = run(chain(**nested), [(None, {"in": {"email": "a@b"}, "note": "n"})])
    assert not failed
    assert found[0].value == {"in": {"email": ""}, "origin": "here", "topic": "t"}
