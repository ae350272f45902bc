"""What each converter reads and writes: picked by hand, after the JVM's own tests and beyond."""

from __future__ import annotations

import json

from tests.conformance.samples import FEW, HEADERS, KEYS, VALUES, field, schemaless_samples
from tests.conformance.scenarios import (
    SinkScenario,
    SourceScenario,
    envelope,
    line,
    messages,
    timed,
)

CONVERTERS = "org.apache.kafka.connect.converters."
STRING = "org.apache.kafka.connect.storage.StringConverter"
SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
_LOGICAL = "org.apache.kafka.connect.data."

NUMBERS = ("Short", "Integer", "Long", "Float", "Double", "Boolean")
_BYTES = [
    b"",
    b"\x00",
    b"\x01",
    b"\x02",
    b"\x00\x01",
    b"\xff\xfe",
    b"\x00\x00\x00\x2a",
    b"\x3f\xc0\x00\x00",
    b"\x7f\xc0\x00\x00",
    b"\x00" * 7 + b"\x2a",
    b"\x40\x09\x21\xfb\x54\x44\x2d\x18",
    b"123456789",
    None,
]
_BROKEN_JSON = [
    "",
    " ",
    "{",
    "nope",
    "[1,2",
    '{"a":1}x',
    "{'a':1}",
    "NaN",
    "1e400",
    "01",
    "0012",
    '"\\ud800"',
    "\ufeff1",
    b"\xff\xfe",
    b'{"a":"\xc3\x28"}',
    "123456789012345678901234567890",
    "1.0",
    "-0.0",
    "1E5",
    "12345678901234567890.125",
    '{"a":1,"a":2}',
    "/* c */ 1",
    "[1,]",
    "tru",
    '"tab\there"',
]


def scenarios():
    return [
        *_json_reading(),
        *_plain_reading(),
        *_header_reading(),
        *_json_writing(),
        *_plain_writing(),
    ]


# ---- reading -------------------------------------------------------------------------------


def _types():
    """A payload that fits, one that is null and some that don't fit, for every type."""
    odd = (None, True, 1, 1.5, "x", "AQ==", [1], [[1, 2]], {"a": 1}, 300, 2**40, 1e39)
    kinds = [
        {"type": t}
        for t in ("int8", "int16", "int32", "int64", "float", "double", "boolean", "string")
    ]
    kinds += [
        {"type": "bytes"},
        {"type": "array", "items": {"type": "int32"}},
        {"type": "map", "keys": {"type": "string"}, "values": {"type": "int32"}},
        {"type": "map", "keys": {"type": "int32"}, "values": {"type": "string"}},
        {"type": "struct", "fields": [field("a", "int32")]},
        {"type": "bytes", "name": _LOGICAL + "Decimal", "parameters": {"scale": "2"}},
        {"type": "int32", "name": _LOGICAL + "Date"},
        {"type": "int32", "name": _LOGICAL + "Time"},
        {"type": "int64", "name": _LOGICAL + "Timestamp"},
    ]
    for kind in kinds:
        for payload in odd:
            yield envelope({**kind, "optional": payload is None}, payload)


def _envelopes():
    """Envelopes that are odd in themselves."""
    whole = {"type": "int32", "optional": False}
    yield from (
        json.dumps(odd)
        for odd in (
            {"schema": whole},
            {"payload": 1},
            {"schema": whole, "payload": 1, "more": 2},
            {"schema": {"type": "nope"}, "payload": 1},
            {"schema": {}, "payload": 1},
            {"schema": 5, "payload": 1},
            {"schema": {"type": "array"}, "payload": []},
            {"schema": {"type": "map", "keys": whole}, "payload": []},
            {"schema": {"type": "struct"}, "payload": {}},
            {"schema": {"type": "struct", "fields": [{"type": "int32"}]}, "payload": {}},
            {"schema": {"type": "struct", "fields": [1]}, "payload": {}},
            {"schema": {"type": "int32", "version": "x"}, "payload": 1},
            {"schema": {"type": "int32", "name": 5}, "payload": 1},
            {"schema": {"type": "int32", "doc": 5}, "payload": 1},
            {"schema": {"type": "int32", "parameters": {"a": 1}}, "payload": 1},
            {"schema": {"type": "int32", "parameters": 1}, "payload": 1},
            {"schema": {"type": "int32", "optional": "true"}, "payload": None},
            {"schema": {"type": "int32", "default": 5}, "payload": None},
            {"schema": {"type": "int32", "default": "x"}, "payload": None},
            {"schema": {"type": "int32", "optional": True, "default": 5}, "payload": None},
            {"schema": whole, "payload": None},
            {"schema": None, "payload": None},
            {"schema": None, "payload": {"a": [1, {"b": 1.5}]}},
            {"schema": FEW, "payload": {"id": 1}},
            {"schema": FEW, "payload": {"id": 1, "x": None}},
            {"schema": FEW, "payload": {"id": 1, "x": "y", "z": 5}},
            {"schema": FEW, "payload": [1, "y"]},
            5,
            [],
            None,
        )
    )


def _json_reading():
    texts = [*_types(), *_envelopes(), *_BROKEN_JSON, *VALUES]
    yield SinkScenario("json read", {}, messages(texts, KEYS, HEADERS))
    yield SinkScenario(
        "json read null as null",
        {"value.converter": JSON, "value.converter.replace.null.with.default": "false"},
        messages([*VALUES, *_envelopes()]),
    )
    plain = {"schemas.enable": "false"}
    off = {f"{side}.converter.{k}": v for side in ("key", "value") for k, v in plain.items()}
    off |= {"key.converter": JSON, "value.converter": JSON}
    yield SinkScenario(
        "json read plain", off, [*schemaless_samples(), *messages(_BROKEN_JSON, ["{", "1", None])]
    )
    yield SinkScenario("json read broken keys", {}, messages([VALUES[0]], [None]) + messages(
        [VALUES[0]] * len(_BROKEN_JSON), _BROKEN_JSON
    ))  # fmt: skip
    content = json.dumps({"type": "struct", "fields": [field("a", "int32", optional=True)]})
    yield SinkScenario(
        "json read with a schema of the config",
        {"value.converter": JSON, "value.converter.schema.content": content},
        messages(['{"a":1}', '{"a":null}', "{}", '{"b":1}', "5", "", None, '{"a":"x"}']),
    )


def _plain_reading():
    for name in (*NUMBERS, "ByteArray"):
        converter = f"{CONVERTERS}{name}Converter"
        config = {"key.converter": converter, "value.converter": converter}
        yield SinkScenario(f"{name} read", config, messages(_BYTES, [None, _key(name)]))
    texts = [b"", "text", "ü€😀", b"\xff\xfe\x00", b"\xc3\x28", b"\xed\xa0\x80", "\x00", None]
    for encoding in ("UTF-8", "ISO-8859-1", "UTF-16", "US-ASCII"):
        config = {
            "key.converter": STRING,
            "value.converter": STRING,
            "value.converter.converter.encoding": encoding,
        }
        yield SinkScenario(f"string read {encoding}", config, messages(texts, texts[::-1]))


def _key(name):
    sizes = {"Short": 2, "Integer": 4, "Long": 8, "Float": 4, "Double": 8, "Boolean": 1}
    return b"\x00" * sizes.get(name, 3)


_HEADER_TEXTS = [
    "", " ", "null", "true", " false ", "true}", "1", "127", "128", "32768", "2147483648",
    "9223372036854775808", "1.0", "1.1", "300.0", "1e400", "1.7976931348623157E308", "-0", "+5",
    "0x10", "2019-08-23", "14:34:54.346Z", "2019-08-23T14:34:54.346Z", "2019-13-45", "{}", "[]",
    "[[]]", '{"a":{}}', "[1, 2, 300]", '[1, 2, 300, "four"]', "[1, null]", "[null]", "{3: null}",
    "{foo: 3}", "[foo]", "[1, 2, 3,,,]", '{"a": 1, "b": 2.5}', '"quoted"', '"a\\"b"', "a\\b",
    "[true, false]", "{true: false}", "[2019-08-23, 2019-08-24]", '{"t": "2019-08-23"}', "héllo",
    "[1,2", "{1:2", "\uffff", "NaN", "Infinity", "1,2", "[1 2]", "  spaced  ", "'x'", "0012",
]  # fmt: skip


def _header_reading():
    config = {"value.converter": STRING, "key.converter": STRING}
    headers = [[("h", text.encode()), ("again", text.encode())] for text in _HEADER_TEXTS]
    headers += [[("h", None)], [("h", b"\xff")], [("", b"1")], [("ü", b"1")]]
    values = ["v"] * len(headers)
    yield SinkScenario("simple header read", config, messages(values, [None], headers))
    for name, converter in (("json", JSON), ("string", STRING)):
        yield SinkScenario(
            f"headers read by {name}",
            {**config, "header.converter": converter},
            messages(values, [None], headers),
        )
    yield SinkScenario(
        "headers read by json without schemas",
        {**config, "header.converter": JSON, "header.converter.schemas.enable": "false"},
        messages(values, [None], headers),
    )
    yield SinkScenario(
        "headers read by integer",
        {**config, "header.converter": CONVERTERS + "IntegerConverter"},
        messages(["v"] * 3, [None], [[("h", b"\x00\x00\x00\x05")], [("h", b"5")], [("h", None)]]),
    )


# ---- writing -------------------------------------------------------------------------------


def S(kind, *, optional=False, **more):  # noqa: N802 - reads as the format's own letter
    nothing = dict.fromkeys(("name", "version", "doc", "parameters", "default"))
    return {"type": kind, "optional": optional, **nothing, **more}


def logical(kind, base, **more):
    return S(base, name=_LOGICAL + kind, version=1, **more)


DECIMAL = logical("Decimal", "BYTES", parameters={"scale": "2"})
_FIELDS = [
    {"name": "a", "schema": S("INT32", optional=True, default=5)},
    {"name": "b", "schema": S("STRING", optional=True, doc="said")},
]
STRUCT = S("STRUCT", name="Pair", version=3, parameters={"p": "q"}, fields=_FIELDS)
_WRITTEN = [
    line(None),
    line("text"),
    line(5),
    line(2**62),
    line({"float64": "0.1"}),
    line({"float64": "1.0E100"}),
    line(True),
    line({"bytes": "AP8="}),
    line([1, "a", None, [True]]),
    line({"map": [["k", 1], ["l", {"map": []}]]}),
    line({"map": [[1, 2]]}),
    line({"decimal": "1.50"}),
    line({"epochMillis": 1577934245678}),
    line(-128, S("INT8")),
    line(300, S("INT16")),
    line(7, S("INT32", doc="ü")),
    line(-(2**63), S("INT64")),
    line({"float32": "0.10000000149011612"}, S("FLOAT32")),
    line({"float32": "1.0E10"}, S("FLOAT32")),
    line({"float64": "NaN"}, S("FLOAT64")),
    line({"float64": "Infinity"}, S("FLOAT64")),
    line({"float64": "123456789.125"}, S("FLOAT64")),
    line({"float64": "1.0E-7"}, S("FLOAT64")),
    line(False, S("BOOLEAN")),
    line('q"\\\n\t\u0001 ü😀/', S("STRING")),
    line("", S("STRING", default="d")),
    line(None, S("STRING", optional=True)),
    line(None, S("STRING", optional=True, default="d")),
    line({"bytes": "AQID"}, S("BYTES")),
    line({"decimal": "12.34"}, DECIMAL),
    line({"decimal": "-0.01"}, DECIMAL),
    line({"decimal": "1.5"}, DECIMAL),
    line({"decimal": "123456789012345678901234567890.12"}, DECIMAL),
    line({"epochMillis": 86400000}, logical("Date", "INT32")),
    line({"epochMillis": -86400000}, logical("Date", "INT32")),
    line({"epochMillis": 14400000}, logical("Time", "INT32")),
    line({"epochMillis": 4000000000}, logical("Timestamp", "INT64")),
    line(None, logical("Timestamp", "INT64", optional=True)),
    line([1, 2, 3], S("ARRAY", valueSchema=S("INT32"))),
    line([], S("ARRAY", valueSchema=S("STRING"))),
    line([None, "a"], S("ARRAY", valueSchema=S("STRING", optional=True))),
    line({"map": [["k", 1]]}, S("MAP", keySchema=S("STRING"), valueSchema=S("INT32"))),
    line({"map": [[1, "x"]]}, S("MAP", keySchema=S("INT32"), valueSchema=S("STRING"))),
    line({"map": []}, S("MAP", keySchema=S("INT32"), valueSchema=S("STRING"))),
    line({"struct": {"a": 1, "b": "x"}}, STRUCT),
    line({"struct": {"a": None, "b": None}}, STRUCT),
    line(None, S("STRUCT", optional=True, fields=_FIELDS)),
    line(
        {"struct": {"in": {"struct": {"a": 1, "b": "x"}}}},
        S("STRUCT", fields=[{"name": "in", "schema": STRUCT}]),
    ),
    line(None, S("STRING")),
    line(None, S("INT32", default=4)),
    # Values that are not what their schema says.
    line("x", S("INT32")),
    line(5, S("STRING")),
    line(True, S("INT64")),
    line([1], S("STRING")),
    line({"bytes": "AQ=="}, S("STRING")),
]
# The JVM's own class of headers refuses the last ones.
_MISFITS = 7


def _json_writing():
    keyed = [
        {**each, "key": other["value"], "keySchema": other["valueSchema"]}
        for each, other in zip(_WRITTEN, _WRITTEN[7:] + _WRITTEN[:7], strict=True)
    ]
    yield SourceScenario("json write", {}, timed(_WRITTEN))
    yield SourceScenario("json write keys", {}, timed(keyed))
    for title, settings in (
        ("without schemas", {"schemas.enable": "false"}),
        ("numeric decimals", {"decimal.format": "NUMERIC"}),
        ("plain numeric", {"decimal.format": "numeric", "schemas.enable": "false"}),
        ("null as null", {"replace.null.with.default": "false"}),
    ):
        config = {"value.converter": JSON}
        config |= {f"value.converter.{k}": v for k, v in settings.items()}
        yield SourceScenario(f"json write {title}", config, timed(_WRITTEN))


def _plain_writing():
    headers = [
        {"key": f"h{n}", "schema": each["valueSchema"], "value": each["value"]}
        for n, each in enumerate(_WRITTEN[:-_MISFITS])
    ]
    for name in (*NUMBERS, "ByteArray", "String"):
        converter = STRING if name == "String" else f"{CONVERTERS}{name}Converter"
        yield SourceScenario(
            f"{name} write", {"value.converter": converter, "key.converter": STRING},
            timed(_WRITTEN),
        )  # fmt: skip
    for name, converter in (
        ("simple", SIMPLE),
        ("json", JSON),
        ("string", STRING),
        ("long", CONVERTERS + "LongConverter"),
    ):
        yield SourceScenario(
            f"headers written by {name}",
            {"value.converter": STRING, "header.converter": converter},
            timed([line("v", headers=[header]) for header in headers]),
        )
