"""The JSON converter: Kafka Connect's own answers, what goes beyond them, and round trips."""

import contextlib
import datetime as dt
import decimal
import json
import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from connect import ConfigError, DataError, Schema
from converters import _jackson
from converters._compiling import UNUSUAL, NotPlainError
from converters._json_reading import compile_reader, read_node
from converters._json_writing import Book, compile_writer
from converters.json import JsonConverter
from tests.support import vectors
from tests.support.cases import every
from tests.support.strategies import schemaless_values, schemas_and_values

ORDER = (
    Schema.struct("Order")
    .field("id", Schema.INT64)
    .field("note", Schema.OPTIONAL_STRING)
    .field("price", Schema.FLOAT64)
    .build()
)
MAP_KEYS = st.sampled_from([Schema.STRING, Schema.INT32, Schema.BOOLEAN, Schema.OPTIONAL_STRING])


def made(**config):
    converter = JsonConverter()
    converter.configure({k.replace("_", "."): v for k, v in config.items()}, is_key=False)
    return converter


def plain():
    return made(schemas_enable="false")


def envelope(schema, payload):
    return json.dumps({"schema": schema, "payload": payload}).encode()


@every(vectors.load("json_converter"), vectors.short)
def test_hand_picked_messages_are_read_and_written_as_by_kafka_connect(vector):
    """Values, bytes, error classes and texts are those of Kafka Connect's own converter."""
    vectors.agrees(vector)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"nope", 'Expecting value at line 1, column 1: "nope"'),
        (b'{"a":\n [1 2]}', """Expecting ',' delimiter at line 2, column 5: "2]}\""""),
        (b'{"a":1', r'Unexpected end at line 1, column 7: behind "{\"a\":1"'),
        (b'{"a":\n "' + b"x" * 99, 'end at line 2, column 102: behind "' + "x" * 24 + '"'),
        (b'{"a":"\xff', r'Unexpected end at line 1, column 8: behind "{\"a\":\"' + '\ufffd"'),
        (b"-", 'Expecting value at line 1, column 1: "-"'),
        (b"[007, 1" + b"x" * 99, "column 8: " + '"' + "x" * 24 + '…"'),
        (b'"\xff"', "Invalid utf-8 at byte 1: 0xff"),
        (b"NaN", "NaN is not JSON"),
        (b"[" * 100_000, "The value is nested too deeply"),
        (b"1" * 5000, "A number has 5000 digits, 1000 are allowed"),
    ],
)
def test_broken_json_says_what_is_wrong_and_where(data, reason):
    """The reason, its place and the beginning of what stands there, and no more of the record."""
    with pytest.raises(DataError) as caught:
        plain().to_connect("t", data)
    said = "Converting byte[] to Kafka Connect data failed due to serialization error: "
    assert str(caught.value).startswith(said)
    assert str(caught.value).endswith(reason)


@every(vectors.load("json_converter_contract"), vectors.short)
def test_every_type_is_read_and_written_as_by_kafka_connect(vector):
    """Each type plain, optional, with a default, null, as a field, absent, in both formats."""
    vectors.agrees(vector)


@every(vectors.load("json_converter_generated"), vectors.short)
def test_generated_messages_are_read_and_written_as_by_kafka_connect(vector):
    """Random schemas and values give the very bytes and values Kafka Connect gave."""
    vectors.agrees(vector)


# ---- round trips --------------------------------------------------------------------------


def filled(schema, value):
    """A value with the defaults that stand in for its nulls, and no absent fields."""
    if schema is None:
        return value
    if value is None:
        return schema.default
    match schema.type.value:
        case "struct":
            return {f.name: filled(f.schema, value.get(f.name)) for f in schema.fields}
        case "array":
            return [filled(schema.value_schema, v) for v in value]
        case "map":
            return {
                # Keys of JSON objects are strings, so a null key comes back as one.
                "null" if k is None and schema.key_schema.type.value == "string" else k: filled(
                    schema.value_schema, v
                )
                for k, v in value.items()
            }
    return value


@given(schemas_and_values(map_keys=MAP_KEYS), st.sampled_from(["BASE64", "numeric"]))
def test_envelopes_come_back_as_they_went(schema_and_value, decimal_format):
    """What is written with its schema is read back with an equal schema and an equal value."""
    schema, value = schema_and_value
    converter = made(decimal_format=decimal_format)
    data = converter.from_connect("t", schema, value)
    found = converter.to_connect("t", data)
    assert found.schema == schema
    assert filled(schema, found.value) == filled(schema, value)


@given(schemas_and_values(map_keys=MAP_KEYS), st.booleans(), st.booleans())
def test_compiled_code_and_the_book_agree(schema_and_value, numeric_decimals, replace_null):
    """The quick way gives the bytes and the value of the slow and sure one."""
    schema, value = schema_and_value
    book = Book(numeric_decimals=numeric_decimals, replace_null=replace_null)
    try:
        by_the_book = _jackson.dump(book.node(schema, value))
    except DataError:
        assume(False)
    with contextlib.suppress(NotPlainError):  # it may pass, but must not differ
        write = compile_writer(schema, book)
        assert write.one(value) == by_the_book
        assert write.many([value, value]) == [by_the_book] * 2
    read = read_node(schema, _jackson.parse(by_the_book), replace_null=replace_null)
    try:
        quick = compile_reader(schema, replace_null=replace_null)(by_the_book)
    except UNUSUAL:
        return
    assert filled(schema, quick) == filled(schema, read)


def test_field_names_beyond_ascii_are_found():
    """An optional field is not taken for absent because of the letters of its name."""
    node = {"type": "struct", "fields": [{"field": "größe", "type": "int32", "optional": True}]}
    # Decoded from JSON, as the names of an envelope are: such strings hold no UTF-8 of their own.
    assert made().to_connect("t", envelope(node, {"größe": 5})).value == {"größe": 5}


@given(schemaless_values())
def test_plain_json_comes_back_as_it_went(value):
    """A value without schema survives, and its bytes are JSON that others read alike."""
    converter = plain()
    data = converter.from_connect("t", None, value)
    assert converter.to_connect("t", data).value == value
    if data is not None:
        assert json.loads(data) == value


@given(st.lists(schemas_and_values(max_depth=1), max_size=5))
def test_a_batch_is_its_records_one_by_one(records):
    """Batches of mixed schemas, nulls among them, give what single calls give."""
    schemas = [s for s, _ in records] + [None]
    values = [v for _, v in records] + [None]
    converter = made()
    written = converter.from_connect_batch("t", schemas, values, [[] for _ in values])
    singles = made()
    assert written == [
        singles.from_connect("t", s, v) for s, v in zip(schemas, values, strict=True)
    ]
    found_schemas, found = converter.to_connect_batch("t", written, [()] * len(written))
    assert [*zip(found_schemas, found, strict=True)] == [
        singles.to_connect("t", d) for d in written
    ]


# ---- schemas are shared -------------------------------------------------------------------


def test_equal_envelopes_share_one_schema_object():
    """Others cache by a schema's identity, so equal schemas are the same object, however spelt."""
    converter = made()
    node = {"type": "struct", "fields": [{"field": "a", "type": "int32"}]}
    compact = json.dumps({"schema": node, "payload": {"a": 1}}, separators=(",", ":")).encode()
    spaced = envelope(node, {"a": 2})
    reordered = json.dumps({"payload": {"a": 3}, "schema": node}).encode()
    schemas, values = converter.to_connect_batch(
        "t", [compact, spaced, reordered, spaced], [()] * 4
    )
    assert len({id(s) for s in schemas}) == 1
    assert values == [{"a": 1}, {"a": 2}, {"a": 3}, {"a": 2}]


def test_interleaved_schemas_are_told_apart():
    """Records of many schemas in turn each get their own, also beyond what is kept at hand."""
    converter = made()
    nodes = [{"type": "struct", "fields": [{"field": f"f{i}", "type": "int32"}]} for i in range(20)]
    data = [envelope(n, {f"f{i}": i}) for i, n in enumerate(nodes)] * 2
    schemas, values = converter.to_connect_batch("t", data, [()] * 40)
    assert [s.fields[0].name for s in schemas] == [f"f{i}" for i in range(20)] * 2
    assert values == [{f"f{i}": i} for i in range(20)] * 2
    assert all(a is b for a, b in zip(schemas[:20], schemas[20:], strict=True))


def test_caches_stay_within_their_size():
    """A flood of schemas does not fill the memory: schemas.cache.size bounds what is kept."""
    converter = made(schemas_cache_size="10")
    for i in range(50):
        schema = Schema.struct(f"S{i}").field("a", Schema.INT32).build()
        converter.to_connect("t", converter.from_connect("t", schema, {"a": i}))
    for cache in ("_schemas", "_schemas_by_text", "_readers", "_writers", "_writers_by_id"):
        assert len(getattr(converter, cache)) <= 10


@pytest.mark.parametrize(
    "tail",
    [b',"x":1}', b',"payload":2}', b"}}", b"", b" 2}", b",}", b'} ,"x":1}'],
)
def test_an_envelope_that_begins_like_the_last_one_is_still_checked(tail):
    """A known beginning proves nothing about the rest: the verdict is that of a fresh reader."""
    good = b'{"schema":{"type":"int32","optional":false},"payload":1}'
    suspicious = good[:-1] + tail
    warm, fresh = made(), made()
    warm.to_connect("t", good)

    def verdict(converter):
        try:
            return converter.to_connect("t", suspicious)
        except DataError as error:
            return str(error)

    assert verdict(warm) == verdict(fresh)


# ---- where we differ from the JVM ---------------------------------------------------------


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**63) - 1, 10**30])
def test_whole_numbers_beyond_64_bits_keep_their_value(number):
    """Without a schema a large number stays what it is; the JVM keeps its low 64 bits."""
    converter = plain()
    data = b'{"n":%d}' % number
    assert converter.to_connect("t", data).value == {"n": number}
    assert converter.from_connect("t", None, {"n": number}) == data


def test_minus_zero_keeps_its_sign():
    """-0.0 is read as it is written; the JVM reads 0.0."""
    assert math.copysign(1, plain().to_connect("t", b"-0.0").value) == -1


def test_defaults_of_structs_are_read():
    """A struct may have a default in an envelope; the JVM refuses its own schema there."""
    node = {
        "type": "struct",
        "fields": [{"field": "a", "type": "int32"}],
        "default": {"a": 3},
    }
    assert made().to_connect("t", envelope(node, None)).value == {"a": 3}


def test_floats_are_written_with_their_shortest_digits():
    """1.0E23 as by JDK 19 and later; JDK 17 writes 9.999999999999999E22."""
    converter = plain()
    assert converter.from_connect("t", None, [1e23, 2e-3, 5e-324]) == b"[1.0E23,0.002,4.9E-324]"


@pytest.mark.parametrize(
    ("node", "payload", "value"),
    [
        ({"type": "int32", "name": "org.apache.kafka.connect.data.Date"}, 10**7, "10000000 days"),
        ({"type": "int32", "name": "org.apache.kafka.connect.data.Time"}, 86_400_000, "86400000"),
        (
            {"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"},
            10**15,
            "1000000000000000 ms",
        ),
    ],
)
def test_dates_python_can_not_hold_are_errors_that_name_them(node, payload, value):
    """A date outside the years 1 to 9999, or 24 o'clock, is a DataError with the number in it."""
    with pytest.raises(DataError, match=value):
        made().to_connect("t", envelope(node, payload))


# ---- bad input ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [b"{", b"\xff", b'{"a":NaN}', b'{"a":\x01}', b"[" * 100_000, b'{"schema":', b"\x00\x00\x00"],
)
def test_what_is_not_json_is_a_data_error_with_its_cause(data):
    """Bad bytes are reported as Kafka Connect reports them, and the parser's reason is kept."""
    for converter in (plain(), made()):
        with pytest.raises(DataError, match=r"Converting byte.. to Kafka Connect data failed") as e:
            converter.to_connect("t", data)
        assert e.value.__cause__ is not None


def test_one_bad_record_fails_its_batch():
    """The batch call raises; the pipeline then goes record by record to find the culprit."""
    with pytest.raises(DataError):
        plain().to_connect_batch("t", [b'{"a":1}', b"{", None], [()] * 3)


def test_lenient_records_do_not_fail_their_batch():
    """Leading zeros, text after the value, an empty message: read as Jackson reads them."""
    data = [b'{"a":1}', b"0012", b"{} and more", b"", None, b"\xef\xbb\xbf[1]"]
    schemas, values = plain().to_connect_batch("t", data, [()] * 6)
    assert values == [{"a": 1}, 12, {}, None, None, [1]]
    assert schemas == [None] * 6


def test_errors_name_the_field_on_the_way_down():
    """The text is Kafka Connect's; the path to the field is added as notes."""
    outer = Schema.struct().field("order", ORDER).build()
    with pytest.raises(DataError, match="Invalid type for INT64: str") as found:
        made().from_connect("t", outer, {"order": {"id": "x", "price": 1.0}})
    assert found.value.__notes__ == ['in field "id"', 'in field "order"']


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"id": 2**63, "price": 1.0}, "out of its range"),
        ({"id": True, "price": 1.0}, "Invalid type for INT64: bool"),
        ({"id": 1, "price": "1"}, "Invalid type for FLOAT64: str"),
        ({"id": 1, "price": 1.0, "nte": "x"}, "nte is not a valid field name"),
        ({"id": 1}, "null value for field that is required"),
        ("x", "Invalid type for STRUCT: str"),
    ],
)
def test_values_that_do_not_fit_their_schema_are_errors(value, reason):
    """Nothing is written that a reader with the schema could not read."""
    with pytest.raises(DataError, match=reason):
        made().from_connect("t", ORDER, value)


def test_an_int_is_written_as_a_float_where_the_schema_says_so():
    """A Python int in a float64 field is a float."""
    data = plain().from_connect("t", ORDER, {"id": 1, "price": 3})
    assert data == b'{"id":1,"note":null,"price":3.0}'


@pytest.mark.parametrize(
    "value", [decimal.Decimal(1), dt.datetime.now(dt.UTC), {1, 2}, {"a": [object()]}]
)
def test_values_without_schema_that_json_can_not_hold_are_errors(value):
    """A decimal or a date needs a schema to be written, as in the JVM."""
    with pytest.raises(DataError, match="does not have corresponding schema type"):
        plain().from_connect("t", None, value)


def test_a_schema_that_contains_itself_is_an_error():
    """JSON can't describe a recursive schema, and says so."""
    node = Schema.struct("Node").field("next", Schema.OPTIONAL_INT32).build()
    node.fields[0].schema = node
    with pytest.raises(DataError, match="Node contains itself"):
        made().from_connect("t", node, {"next": None})


def test_wrong_settings_are_config_errors():
    """A decimal format that does not exist is refused with Kafka's words."""
    with pytest.raises(ConfigError, match=r"decimal\.format.*BASE64, NUMERIC"):
        made(decimal_format="hex")


def test_headers_are_converted_like_values():
    """The same converter serves headers."""
    converter = JsonConverter()
    converter.configure({})
    data = converter.from_connect_header("t", "h", Schema.INT32, 5)
    assert data == b'{"schema":{"type":"int32","optional":false},"payload":5}'
    assert converter.to_connect_header("t", "h", data) == (Schema.INT32, 5)


@pytest.mark.parametrize("enveloped", ["true", "false"])
def test_a_column_with_bad_ones_is_read_around_them(enveloped):
    """Each that can't be read is told by its place, whatever is wrong with it."""
    int32 = {"type": "int32"}
    if enveloped == "true":
        good = envelope(int32, 5)
        bad = [b"{", b"5", envelope({"type": "nope"}, 5), envelope(int32, None)]
    else:
        good, bad = b"5", [b"{", b"\xff", b"nul"]
    data = [good, *bad, None, good]
    schemas, values, failed = made(schemas_enable=enveloped).to_connect_each(
        "t", data, [()] * len(data)
    )
    assert sorted(failed) == [*range(1, 1 + len(bad))]
    assert all(isinstance(error, DataError) for error in failed.values())
    assert values == [5, *[None] * len(bad), None, 5]
    assert schemas[0] == schemas[-1]
