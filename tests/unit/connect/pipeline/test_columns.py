"""Batches by columns: the same outcome as record by record, or no columns at all."""

import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect import DataError, Schema
from connect.data.java_lines import java_lines, java_lines_of
from connect.pipeline import PipelineSpec, RawMessage, SinkPipeline
from converters.avro import AvroConverter
from converters.protobuf import ProtobufConverter
from converters.string import StringConverter

APACHE = "org.apache.kafka.connect"
JSON = {
    "key.converter": f"{APACHE}.storage.StringConverter",
    "value.converter": f"{APACHE}.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
CHAIN = {
    **JSON,
    "transforms": "origin,shape,mask,cast",
    "transforms.origin.type": f"{APACHE}.transforms.InsertField$Value",
    "transforms.origin.static.field": "origin",
    "transforms.origin.static.value": "here",
    "transforms.shape.type": f"{APACHE}.transforms.ReplaceField$Value",
    "transforms.shape.exclude": "note",
    "transforms.shape.renames": "customer:client,origin:place",
    "transforms.mask.type": f"{APACHE}.transforms.MaskField$Value",
    "transforms.mask.fields": "email,missing",
    "transforms.cast.type": f"{APACHE}.transforms.Cast$Value",
    "transforms.cast.spec": "amount:string",
}
PREDICATE = {
    "predicates": "p",
    "predicates.p.type": f"{APACHE}.transforms.predicates.RecordIsTombstone",
    "transforms.mask.predicate": "p",
    "transforms.mask.negate": "true",
}
COUNT = 100


def pipeline(config=CHAIN):
    spec = PipelineSpec("c", 0, config)
    return SinkPipeline(spec, spec.retry())


def messages(*values):
    """As many as a batch by columns needs, the values in turn."""
    texts = [v if isinstance(v, bytes | None) else json.dumps(v).encode() for v in values]
    return [RawMessage("t", texts[n % len(texts)], b"k%d" % n, offset=n) for n in range(COUNT)]


def order(n=1, **more):
    return {"id": n, "customer": "c", "email": "a@b", "amount": 1.5, "note": "n", **more}


def told(failures):
    return [
        (f.record.offset(), f.stage, f.class_name, type(f.error), str(f.error)) for f in failures
    ]


def compare(config, batch):
    """The batch by columns, after a check that it tells the same as the records one by one."""
    made = pipeline(config)
    records, failures = made.run(batch)
    found, failed = made.run_batch(batch)
    assert told(failed) == told(failures)
    assert found.records == records
    assert len(found) == len(records)
    if found.columns is not None:
        names = found.columns.fields
        rows = [dict(zip(names, row, strict=True)) for row in zip(*names.values(), strict=True)]
        assert rows == [record.value for record in records]
        expected = java_lines([r.value for r in records], [r.value_schema for r in records])
        assert java_lines_of(found.columns) == expected
    return found


def test_values_of_one_shape_come_as_columns():
    """Through transforms that insert, drop, rename, mask and cast."""
    found = compare(CHAIN, messages(*[order(n) for n in range(7)]))
    assert found.columns is not None
    assert [*found.columns.fields] == [*found.records[0].value]


def without(*names):
    """A chain that drops these fields."""
    config = {key: value for key, value in CHAIN.items() if "renames" not in key}
    return {**config, "transforms": "shape", "transforms.shape.exclude": ",".join(names)}


def test_values_of_which_nothing_is_left_are_empty():
    """A transform may drop every field: columns would not tell how many values there are."""
    found = compare(without(*order()), messages(order()))
    assert found.columns is None
    assert [record.value for record in found.records] == [{}] * COUNT


def test_values_of_which_nothing_was_left_may_get_fields_again():
    """What steps leave on the way does not matter."""
    config = {**without(*order()), "transforms": "shape,origin"}
    found = compare(config, messages(order()))
    assert found.columns is not None
    assert java_lines_of(found.columns) == "{origin=here}\n" * COUNT


def test_records_of_a_batch_by_columns_are_not_read_again():
    """They are made of the columns, with the keys and all that Kafka tells of them."""
    made = pipeline(CHAIN)
    made.run(messages(order()))
    found, _ = made.run_batch(messages(order(7)))
    made.parts.value.converter.to_connect_batch = made.parts.value.converter.to_connect_each = None
    assert [(r.key, r.offset, r.value["id"]) for r in found.records[:2]] == [
        ("k0", 0, 7), ("k1", 1, 7),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "column", [[1, True, 1], [0, 0.0, -0.0, 0], ["a", "a"], [True], [None], [1, None], [[], []]]
)
def test_columns_of_equal_values_are_printed_as_each_of_them(column):
    """What is equal to the first may still be printed otherwise."""
    assert compare(JSON, messages(*[order(same=value) for value in column])).columns is not None


@pytest.mark.parametrize(
    "changed",
    [
        [{"id": None}], [{"id": 1.0}], [{"id": True}], [{"id": "1"}], [{"id": 2**70}],
        [{"customer": None}], [{"email": 7}], [{"id": None}, {"customer": None}],
        [{"id": None}, {"customer": None}, {"email": [1]}, {"note": {"a": 1}}, {"amount": 2}],
    ],
    ids=str,
)  # fmt: skip
def test_a_field_may_be_of_another_type_in_a_few(changed):
    """Wherever they stand, and however many fields it are: all is told as record by record."""
    batch = messages(*[order(n) for n in range(7)])
    for place, change in enumerate(changed, 50):  # of which none is among those looked at first
        batch[place] = messages(order(**change))[place]
    assert compare(CHAIN, batch).columns is not None
    assert compare(JSON, batch).columns is not None


def test_a_field_that_has_changed_its_type_once_is_taken_for_anything():
    """Batches that follow one with a null come by columns, with a null or without."""
    made = pipeline(JSON)
    plain, mixed = messages(order()), messages(order())
    mixed[50] = messages(order(id=None))[50]
    kinds = []
    for batch in (plain, mixed, plain, mixed):
        columns = made.run_batch(batch)[0].columns
        assert columns is not None
        assert columns.fields["id"] == [json.loads(m.value())["id"] for m in batch]
        kinds.append([getattr(columns.fields[name], "kind", None) for name in ("id", "customer")])
    assert kinds == [[int, str], [None, str], [None, str], [None, str]]


@pytest.mark.parametrize("bad", [b"{broken", b'{"id": 1', b'{"other": 1', b'{"id" 1}', b"nothing"])
def test_values_that_can_not_be_read_are_failures_beside_columns(bad):
    """A tenth is no JSON; the rest keeps its columns."""
    assert compare(CHAIN, messages(*[order(n) for n in range(9)], bad)).columns is not None


@pytest.mark.parametrize(
    "other",
    [None, [1], "text", 7, {}, order(more=1), {"id": 1}, dict(reversed(order().items()))],
    ids=["null", "list", "text", "number", "empty", "more", "less", "other order"],
)
def test_values_of_several_shapes_have_no_columns(other):
    """They are done one by one, with the same outcome as ever."""
    assert compare(JSON, messages(order(), None if other is None else other)).columns is None


@pytest.mark.parametrize(
    "config",
    [
        {**JSON, "value.converter.schemas.enable": "true"},
        {**CHAIN, **PREDICATE},
        {**CHAIN, "transforms.origin.topic.field": "topic"},
        {**CHAIN, "transforms.cast.spec": "client:int32"},
        {**JSON, "key.converter": f"{APACHE}.converters.IntegerConverter"},
    ],
    ids=["envelope", "predicate", "what a record knows", "a step that fails", "keys that fail"],
)  # fmt: skip
def test_what_wants_records_gets_records(config):
    assert compare(config, messages(*[order(n) for n in range(7)])).columns is None


def test_records_with_headers_have_no_columns():
    """Headers are read record by record."""
    batch = messages(order())
    batch[50] = RawMessage("t", batch[50].value(), b"k", offset=50, headers=[("h", b"1")])
    assert compare(CHAIN, batch).columns is None


def test_columns_in_vain_are_tried_less_and_less_often():
    """A topic of several shapes does not pay twice for every batch."""
    made = pipeline(JSON)
    mixed, same = messages(order(), {"id": 1}), messages(order())
    tried = 0
    for _ in range(20):
        assert made.run_batch(mixed)[0].columns is None
        tried += made._records_left == 2**made._misses
    assert tried == 4
    until = next(n for n in range(200) if made.run_batch(same)[0].columns is not None)
    assert until <= 16
    assert made.run_batch(same)[0].columns is not None


numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
plain = st.none() | st.booleans() | numbers | st.text(max_size=5)
nested = st.lists(plain, max_size=2) | st.dictionaries(st.text(max_size=3), plain, max_size=2)
shapes = st.lists(st.text(max_size=5), min_size=1, max_size=5, unique=True)


def of_one_shape(keys):
    value = st.fixed_dictionaries(dict.fromkeys(keys, plain | nested))
    return st.lists(value, min_size=1, max_size=4)


@settings(max_examples=50)
@given(shapes.flatmap(of_one_shape))
def test_any_values_come_out_as_from_records(some):
    """Whatever JSON holds: numbers beyond 64 bits, half characters, nested things."""
    compare(JSON, messages(*some))


def test_a_key_that_a_choosy_converter_refuses_is_found():
    """A class that inherits from one which reads anything is asked for each key."""

    class Choosy(StringConverter):
        def to_connect_batch(self, topic, data, headers):
            if b"k7" in data:
                raise DataError("not seven")
            return super().to_connect_batch(topic, data, headers)

    made = pipeline()
    chooser = Choosy()
    chooser.configure({}, is_key=True)
    made.parts.key.converter = chooser
    again = SinkPipeline(made.spec, made.spec.retry(), made.parts)
    found, failed = again.run_batch(messages(order()))
    assert [str(f.error) for f in failed] == ["not seven"]
    assert len(found) == COUNT - 1


# ---- with schemas in a registry ------------------------------------------------------------------

PRICED = (
    Schema.struct("order")
    .field("id", Schema.INT64)
    .field("customer", Schema.OPTIONAL_STRING)
    .field("email", Schema.STRING)
    .field("amount", Schema.FLOAT64)
    .field("paid", Schema.BOOLEAN)
    .field("price", Schema.decimal(2).build())
    .field("tags", Schema.array(Schema.STRING).build())
    .field("to", Schema.struct("place").field("town", Schema.STRING).build())
    .build()
)
FORMATS = {"Avro": AvroConverter, "Protobuf": ProtobufConverter}


def registered(kind):
    return {
        **JSON,
        "value.converter": f"io.confluent.connect.{kind.lower()}.{kind}Converter",
        "value.converter.schema.registry.url": f"mock://columns-{kind}",
    }


def priced(kind, schema=PRICED, **more):
    """A message's value, with its schema in the registry."""
    converter = FORMATS[kind]()
    converter.configure({"schema.registry.url": f"mock://columns-{kind}"}, is_key=False)
    value = {
        "id": 1, "customer": "c", "email": "a@b", "amount": 1.5, "paid": True,
        "price": Decimal("1.56"), "tags": ["a", "b"], "to": {"town": "Ulm"}, **more,
    }  # fmt: skip
    return converter.from_connect("t", schema, value)


def empty_message():
    converter = ProtobufConverter()
    converter.configure({"schema.registry.url": "mock://columns-Protobuf"}, is_key=False)
    return converter.from_connect("t", Schema.struct("Nothing").build(), {})


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("transforms", ["", "origin", "origin,shape,mask,cast"])
def test_registered_structs_are_the_same_by_columns(kind, transforms):
    """Fields of many kinds, nulls among them, through transforms or none."""
    values = [priced(kind, id=n, customer=None if n % 3 else "c") for n in range(7)]
    config = {**CHAIN, **registered(kind), "transforms": transforms}
    found = compare(config, messages(*values))
    assert found.columns is not None
    assert found.columns.schema.name == "order"


def test_registered_messages_without_a_field_have_no_columns():
    """They are empty structs."""
    found = compare(registered("Protobuf"), messages(empty_message()))
    assert found.columns is None
    assert [record.value for record in found.records] == [{}] * COUNT


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("other", ["null", "unframed", "cut short", "unknown", "other schema"])
def test_registered_structs_with_something_else_have_no_columns(kind, other):
    """They are done one by one, with the same outcome as ever."""
    good = priced(kind)
    bad = {
        "null": None,
        "unframed": b"{}",
        "cut short": good[:-3],
        "unknown": b"\0\0\0\x7f\x7f" + good[5:],
        "other schema": priced(
            kind, PRICED.to_builder().name("other" if kind == "Avro" else "Other").build()
        ),
    }[other]
    assert compare(registered(kind), messages(good, bad)).columns is None


# ---- with schemas --------------------------------------------------------------------------------

ENVELOPED = {**JSON, "value.converter.schemas.enable": "true"}
FIELDS = [
    {"field": "id", "type": "int64", "optional": False},
    {"field": "customer", "type": "string", "optional": True},
    {"field": "email", "type": "string", "optional": False},
    {"field": "amount", "type": "double", "optional": False},
    {"field": "note", "type": "string", "optional": True, "default": "none"},
    {
        "field": "price", "type": "bytes", "optional": True,
        "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"},
    },
    {
        "field": "at", "type": "int64", "optional": False,
        "name": "org.apache.kafka.connect.data.Timestamp", "version": 1,
    },
    {
        "field": "tags", "type": "array", "optional": True,
        "items": {"type": "string", "optional": False},
    },
]  # fmt: skip


def enveloped(value, fields=FIELDS):
    schema = {"type": "struct", "optional": False, "name": "order", "fields": fields}
    return {"schema": schema, "payload": value}


def struct(n=1, **more):
    return order(n, price="AJw=", at=n * 1000, tags=["a", f"b{n}"], **more)


@pytest.mark.parametrize(
    "transforms",
    [
        {},
        {key: value for key, value in CHAIN.items() if key.startswith("transforms.origin")}
        | {"transforms": "origin"},
        {key: value for key, value in CHAIN.items() if key.startswith("transforms.shape")}
        | {"transforms": "shape"},
        {key: value for key, value in CHAIN.items() if key.startswith("transforms")},
    ],
    ids=["none", "insert", "replace", "all"],
)
def test_structs_of_one_schema_are_the_same_by_columns(transforms):
    """Every kind of field, with nulls and defaults, through transforms or none."""
    values = [struct(n) | {"note": None if n % 2 else "n", "customer": None} for n in range(5)]
    found = compare(ENVELOPED | transforms, messages(*map(enveloped, values)))
    assert found.columns is not None
    assert found.columns.schema.name == "order"
    assert found.topic == "t"


def test_structs_without_nulls_are_printed_by_columns():
    """As Java prints a Struct."""
    found = compare(ENVELOPED, messages(*[enveloped(struct(n)) for n in range(5)]))
    assert java_lines_of(found.columns).startswith("Struct{id=0,customer=c,")


def test_a_fixed_schema_has_columns_too():
    """schema.content: messages are the payloads alone."""
    schema = json.dumps(enveloped(None)["schema"])
    config = ENVELOPED | {"value.converter.schema.content": schema}
    assert compare(config, messages(*[struct(n) for n in range(5)])).columns is not None


@pytest.mark.parametrize(
    "other",
    [
        None,
        b"{broken",
        b'{"schema":null,"payload":{"id":1}}',
        enveloped(struct(), FIELDS[:-1]),
        enveloped({k: v for k, v in struct().items() if k != "customer"}),
        enveloped({**struct(), "id": "text"}),
        enveloped(None),
        json.dumps(enveloped(struct())).encode() + b" ",
    ],
    ids=["null", "broken", "no schema", "other schema", "absent", "misfit", "no struct", "space"],
)
def test_structs_with_something_unusual_have_no_columns(other):
    """They are done one by one, with the same outcome as ever."""
    assert compare(ENVELOPED, messages(enveloped(struct()), other)).columns is None


def test_structs_of_which_nothing_is_left_are_empty():
    """The same with a schema: Java prints Struct{}."""
    config = ENVELOPED | without(*struct())
    config["value.converter.schemas.enable"] = "true"
    found = compare(config, messages(enveloped(struct())))
    assert found.columns is None
    assert found.records[0].value_schema.name == "order"
    assert found.records[0].value == {}
