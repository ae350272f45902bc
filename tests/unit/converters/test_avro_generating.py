"""Generated code reads what the library reads, or nothing."""

import io

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from converters.avro.from_connect import avro_schema
from converters.avro.generating import generate
from converters.avro.model import parse
from converters.avro.reading import compile_reader
from converters.avro.settings import AvroSettings
from converters.avro.to_connect import ConnectSchemas
from converters.avro.writing import compile_writer
from tests.support.registry_data import records

SETTINGS = AvroSettings.of(AvroSettings.config_def().parse({}))
GAP = b"12345"


def readers(text):
    """By generated code: values and columns; by the book; and the Connect schema."""
    avro = parse(text)
    schema = ConnectSchemas(SETTINGS).of(avro, None)
    return generate(avro, schema), compile_reader(avro, schema), schema


def outcome(read):
    try:
        return repr(read())  # which tells 1 from True, and a NaN is one
    except Exception:  # noqa: BLE001 - any will do
        return "refused"


def check(text, *payloads):
    """What the generated code reads, which the library reads alike."""
    made, by_the_book, schema = readers(text)
    data = [GAP + payload for payload in payloads]
    expected = outcome(lambda: [by_the_book(item, len(GAP)) for item in data])
    found = outcome(lambda: made.values(data, len(GAP)))
    assert found in (expected, "refused")
    if made.columns is not None:
        fields = [field.name for field in schema.fields]
        columns = outcome(
            lambda: [
                dict(zip(fields, row, strict=True))
                for row in zip(*made.columns(data, len(GAP)).values(), strict=True)
            ]
        )
        assert columns == found
    return found


def written(schema, value):
    text, _ = avro_schema(schema, SETTINGS)
    return text, compile_writer(schema, parse(text), SETTINGS, strict=False)(value, b"")


@settings(max_examples=200, deadline=None)
@given(records())
def test_whatever_is_written_is_read(record):
    """None is left to the library but nulls and bytes that stand alone."""
    schema, value = record
    text, payload = written(schema, value)
    if parse(text).type != "bytes":
        assert check(text, payload, payload) != "refused"


@settings(max_examples=300, deadline=None)
@given(records(struct_only=True), st.data())
def test_damaged_data_is_read_alike_or_refused(record, data):
    """Cut short, longer, or with other bytes in it: no value that the library does not find."""
    text, payload = written(*record)
    damaged = bytearray(payload)
    for _ in range(data.draw(st.integers(0, 3))):
        if damaged:
            place = data.draw(st.integers(0, len(damaged) - 1))
            damaged[place] = data.draw(st.sampled_from([0, 1, 2, 3, 127, 128, 255]))
    cut = data.draw(st.integers(0, len(damaged)))
    more = data.draw(st.binary(max_size=3))
    check(text, bytes(damaged[:cut]) + more)


def record_of(kind):
    return fastavro.schema.parse_schema(
        {"type": "record", "name": "r", "fields": [{"name": "f", "type": kind}]}
    )


def encoded(kind, value):
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, record_of(kind), {"f": value})
    return stream.getvalue()


def field_of(kind):
    return f'{{"type": "record", "name": "r", "fields": [{{"name": "f", "type": {kind}}}]}}'


@pytest.mark.parametrize("bits", range(64))
def test_whole_numbers_of_every_size(bits):
    """From one byte to ten, with either sign, at each power of two and beside it."""
    for number in {s * (2**bits + d) for s in (1, -1) for d in (-1, 0, 1)}:
        if -(2**63) <= number < 2**63:
            assert check(field_of('"long"'), encoded("long", number)) == repr([{"f": number}])


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 8191, 8192, 2_000_000])
def test_texts_of_every_size(size):
    """Also those whose size takes several bytes."""
    text = "é" + "x" * size
    assert check(field_of('"string"'), encoded("string", text)) == repr([{"f": text}])


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ('"long"', b"\xff" * 9 + b"\x02"),  # more than 64 bits
        ('"long"', b"\xff" * 11),
        ('"string"', b"\x01"),  # a size below zero
        ('"string"', b"\x03ab"),
        ('"string"', b"\x06ab"),  # two of three bytes
        ('"string"', b"\x04\xff\xfe"),  # no UTF-8
        ('"boolean"', b""),
        ('"double"', b"1234567"),
        ('["null", "long"]', b"\x04\x02"),  # no such branch
        ('["null", "long"]', b"\x82\x00\x02"),  # branch 1, written in two bytes
        ('{"type": "enum", "name": "e", "symbols": ["A", "B"]}', b"\x01"),
        ('{"type": "enum", "name": "e", "symbols": ["A", "B"]}', b"\x04"),
        ('{"type": "fixed", "name": "f", "size": 4}', b"abc"),
        # As many as would take for ever, if nobody saw that the data has ended.
        ('{"type": "array", "items": {"type": "fixed", "name": "f", "size": 4}}', b"\xfe" * 8),
    ],
)
def test_unusual_data_is_left_to_the_library(kind, payload):
    """It refuses most of it, and takes some for what it is."""
    assert check(field_of(kind), payload) == "refused"


@pytest.mark.parametrize(
    "payload",
    [
        b"\x04\x02\x04\x00",  # one block of two
        b"\x02\x02\x02\x04\x00",  # two blocks of one
        b"\x03\x04\x02\x04\x00",  # a block with its size in bytes
        b"\x00",
    ],
)
def test_arrays_in_blocks(payload):
    """Several blocks, and blocks that tell how long they are."""
    kind = '{"type": "array", "items": "long"}'
    assert check(field_of(kind), payload) in ("[{'f': [1, 2]}]", "[{'f': []}]")


def test_records_that_contain_themselves():
    """A list of three, made of records."""
    text = (
        '{"type": "record", "name": "node", "fields": [{"name": "n", "type": "int"}, '
        '{"name": "next", "type": ["null", "node"]}]}'
    )
    made = "{'n': 1, 'next': {'n': 2, 'next': {'n': 3, 'next': None}}}"
    assert check(text, b"\x02\x02\x04\x02\x06\x00") == f"[{made}]"


def test_data_nested_too_deeply_is_left_to_the_library():
    """It is no reason to end, and not read."""
    text = (
        '{"type": "record", "name": "node", "fields": [{"name": "next", "type": ["null", "node"]}]}'
    )
    made, _, _ = readers(text)
    with pytest.raises(RecursionError):
        made.values([b"\x02" * 100_000 + b"\x00"], 0)


def test_names_are_not_code():
    """A field's name with quotes and brackets in it is a name."""
    name = "\\\"'}); raise SystemExit({"
    schema = parse(field_of('"long"'))
    schema.fields[0].name = name
    connect_schema = ConnectSchemas(SETTINGS).of(schema, None)
    assert generate(schema, connect_schema).values([b"\x02"], 0) == [{name: 1}]
