"""Cases nobody thought of: schemas, values, bytes and transform chains made by hypothesis.

The same seed makes the same cases on every run, as long as hypothesis stays the same.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from connect import Schema, Type
from tests.conformance.converter_cases import CONVERTERS, JSON, NUMBERS, SIMPLE, STRING
from tests.conformance.samples import FULL, HEADERS, KEYS, samples
from tests.conformance.scenarios import (
    SinkScenario,
    SourceScenario,
    line,
    messages,
    smt,
    timed,
    transforms,
)
from tests.oracle.rendering import rendered_schema, rendered_value
from tests.support import strategies

FIELDS = [*FULL, "nowhere"]
_PLAIN_FIELDS = [f for f in FULL if f not in ("address", "tags")]
_PREDICATE = "org.apache.kafka.connect.transforms.predicates."


def drawn(strategy: st.SearchStrategy[Any], count: int) -> list[Any]:
    """So many different examples, the same on every run."""
    found: dict[str, Any] = {}

    @settings(
        max_examples=count * 3,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(example: Any) -> None:
        if len(found) < count:
            found.setdefault(repr(example), example)

    collect()
    return list(found.values())


def scenarios():
    yield from _written()
    yield from _read()
    yield from _headers()
    yield from _chains()


# ---- converters ----------------------------------------------------------------------------


def _described(pair: tuple[Schema | None, Any]) -> dict[str, Any]:
    schema, value = pair
    return line(rendered_value(schema, value), rendered_schema(schema))


def _values():
    with_schema = strategies.schemas_and_values(
        map_keys=st.sampled_from([Schema.STRING, Schema.INT32, Schema.BOOLEAN])
    )
    without = strategies.schemaless_values().map(lambda value: (None, value))
    return drawn(with_schema, 160) + drawn(without, 40)


def _written():
    lines = timed([_described(pair) for pair in _values()])
    for title, more in (
        ("with schemas", {}),
        ("numeric, without schemas", {"schemas.enable": "false", "decimal.format": "NUMERIC"}),
    ):
        config = {"value.converter": JSON} | {f"value.converter.{k}": v for k, v in more.items()}
        yield SourceScenario(f"generated: json write {title}", config, lines)
    yield SourceScenario("generated: string write", {"value.converter": STRING}, lines)
    primitive = strategies.schemas_and_values(
        types=strategies.PRIMITIVES, logical=(), defaults=False, metadata=False
    )
    few = timed([_described(pair) for pair in drawn(primitive, 40)])
    for name in (*NUMBERS, "ByteArray"):
        config = {"value.converter": f"{CONVERTERS}{name}Converter"}
        yield SourceScenario(f"generated: {name} write", config, few)


def _json_schema(schema: Schema) -> dict[str, Any]:
    names = {Type.FLOAT32: "float", Type.FLOAT64: "double"}
    shown: dict[str, Any] = {
        "type": names.get(schema.type, schema.type.value),
        "optional": schema.optional,
    }
    shown |= {k: getattr(schema, k) for k in ("name", "version", "doc") if getattr(schema, k)}
    if schema.parameters:
        shown["parameters"] = dict(schema.parameters)
    if schema.type is Type.STRUCT:
        shown["fields"] = [{**_json_schema(f.schema), "field": f.name} for f in schema.fields]
    if schema.type is Type.ARRAY:
        shown["items"] = _json_schema(schema.value_schema)
    if schema.type is Type.MAP:
        shown["keys"] = _json_schema(schema.key_schema)
        shown["values"] = _json_schema(schema.value_schema)
    return shown


@st.composite
def _envelopes(draw):
    """Schemas with payloads that fit now and then."""
    schema = draw(strategies.schemas(defaults=False, max_depth=2))
    payload = draw(strategies.schemaless_values() | _payloads(schema))
    return json.dumps({"schema": _json_schema(schema), "payload": payload})


def _payloads(schema: Schema) -> st.SearchStrategy[Any]:
    """JSON that has the shape of the schema, and numbers that may be too large for it."""
    fitting = _fitting(schema)
    return st.none() | fitting if schema.optional else fitting


def _fitting(schema: Schema) -> st.SearchStrategy[Any]:
    match schema.type:
        case Type.INT8 | Type.INT16 | Type.INT32:
            return st.integers(-(2**33), 2**33) | st.integers(-100, 100)
        case Type.INT64:
            return st.integers(-(2**53), 2**53)
        case Type.FLOAT32 | Type.FLOAT64:
            return st.floats(allow_nan=False, allow_infinity=False).map(lambda f: f + 0.0)
        case Type.BOOLEAN:
            return st.booleans()
        case Type.BYTES:
            return st.sampled_from(["", "AA==", "AQID", "/w==", "BNI=", "no base64!"])
        case Type.ARRAY:
            return st.lists(_payloads(schema.value_schema), max_size=3)
        case Type.MAP:
            return st.dictionaries(strategies.TEXT, _payloads(schema.value_schema), max_size=3)
        case Type.STRUCT:
            fields = {f.name: _payloads(f.schema) for f in schema.fields}
            return st.fixed_dictionaries(fields)
    return strategies.TEXT


def _bytes():
    """Bytes that may mean anything: noise, numbers, text, JSON cut short."""
    text = strategies.TEXT.map(str.encode)
    cut = st.builds(lambda t, n: t.encode()[:n], _envelopes(), st.integers(0, 60))
    return st.binary(max_size=12) | text | cut


def _read():
    envelopes = drawn(_envelopes(), 160)
    yield SinkScenario("generated: json read", {}, messages(envelopes, KEYS, HEADERS))
    noise = drawn(_bytes(), 60)
    plain = [json.dumps(value) for value in drawn(strategies.schemaless_values(), 60)]
    off = {"value.converter": JSON, "value.converter.schemas.enable": "false"}
    yield SinkScenario("generated: json read plain", off, messages([*plain, *noise]))
    for name in (*NUMBERS, "ByteArray", "String"):
        converter = STRING if name == "String" else f"{CONVERTERS}{name}Converter"
        yield SinkScenario(
            f"generated: {name} read", {"value.converter": converter}, messages(noise[:30])
        )


def _headers():
    words = st.text(st.sampled_from('01.-+eE:T Z[]{}",\\ntrulfasdx9'), max_size=12)
    texts = [text.encode() for text in drawn(words, 100)]
    config = {"value.converter": STRING, "key.converter": STRING}
    yield SinkScenario(
        "generated: simple headers",
        config,
        messages(["v"] * len(texts), [None], [[("h", text)] for text in texts]),
    )
    headers = [
        {"key": "h", "schema": rendered_schema(s), "value": rendered_value(s, v)}
        for s, v in drawn(strategies.schemas_and_values(defaults=False), 60)
    ]
    yield SourceScenario(
        "generated: headers written",
        {"value.converter": STRING, "header.converter": SIMPLE},
        timed([line("v", headers=[header]) for header in headers]),
    )


# ---- transforms ----------------------------------------------------------------------------

_some = st.lists(st.sampled_from(FIELDS), min_size=1, max_size=3, unique=True).map(",".join)
_types = st.sampled_from(
    ["int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string"]
)
_flag = st.sampled_from(["true", "false"])
_sides = st.sampled_from(["Key", "Value", "Value", "Value"])


@st.composite
def _step(draw):
    """One transform with settings that mostly make sense."""
    side = draw(_sides)
    nulls = {"replace_null_with_default": draw(_flag)}
    field = draw(st.sampled_from(FIELDS))
    match draw(st.integers(0, 13)):
        case 0:
            fields = draw(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=3, unique=True))
            spec = ",".join(f"{f}:{draw(_types)}" for f in fields)
            return smt(f"Cast${side}", spec=spec, **nulls)
        case 1:
            return smt(f"Cast${side}", spec=draw(_types), **nulls)
        case 2:
            path = draw(st.sampled_from([*FIELDS, "address.geo", "address.geo.lat", "address.zip"]))
            version = draw(st.sampled_from(["V1", "V2"]))
            return smt(f"ExtractField${side}", field=path, field_syntax_version=version, **nulls)
        case 3:
            return smt(f"Flatten${side}", delimiter=draw(st.sampled_from([".", "_", "", "::"])))
        case 4:
            fields = draw(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=2, unique=True))
            return smt(
                f"HeaderFrom${side}", fields=",".join(fields),
                headers=",".join(f"h{n}" for n in range(len(fields))),
                operation=draw(st.sampled_from(["copy", "move"])), **nulls,
            )  # fmt: skip
        case 5:
            return smt(f"HoistField${side}", field=field)
        case 6:
            keys = draw(
                st.lists(
                    st.sampled_from(["topic_field", "partition_field", "offset_field",
                                     "timestamp_field"]),
                    min_size=1, unique=True,
                )
            )  # fmt: skip
            marks = st.sampled_from(["", "!", "?"])
            return smt(f"InsertField${side}", **{k: f"new{k[:2]}{draw(marks)}" for k in keys})
        case 7:
            replacement = draw(st.sampled_from([None, "x", "5", "-1.5", "300"]))
            more = {} if replacement is None else {"replacement": replacement}
            return smt(f"MaskField${side}", fields=draw(_some), **more, **nulls)
        case 8:
            settings = {
                "exclude": draw(_some), "include": draw(_some),
                "renames": f"{field}:renamed",
            }  # fmt: skip
            kept = draw(st.lists(st.sampled_from(sorted(settings)), min_size=1, unique=True))
            return smt(f"ReplaceField${side}", **{k: settings[k] for k in kept}, **nulls)
        case 9:
            return smt(
                f"SetSchemaMetadata${side}", schema_name=draw(st.sampled_from(["a.B", "N"])),
                schema_version=str(draw(st.integers(1, 9))), **nulls,
            )  # fmt: skip
        case 10:
            target = draw(st.sampled_from(["string", "unix", "Date", "Time", "Timestamp"]))
            of = draw(st.sampled_from(["when", "day", "tod", "text", "id", "", "name"]))
            precision = draw(
                st.sampled_from(["seconds", "milliseconds", "microseconds", "nanoseconds"])
            )
            pattern = draw(
                st.sampled_from(["yyyy-MM-dd HH:mm:ss", "yyyyMMdd", "EEE d MMM yy h:mm a", "D/y G"])
            )
            return smt(
                f"TimestampConverter${side}", field=of, target_type=target, format=pattern,
                unix_precision=precision, **nulls,
            )  # fmt: skip
        case 11:
            return smt("ValueToKey", fields=draw(_some), **nulls)
        case 12:
            literal = draw(st.sampled_from(["1", "a", "[1,2]", "2020-01-02", '{"a":null}', "1e3"]))
            return smt("InsertHeader", header=draw(st.sampled_from(["app", "new"])),
                       value_literal=literal)  # fmt: skip
        case _:
            return smt(
                "RegexRouter", regex=draw(st.sampled_from([".*", "(.*)-(.*)", "([a-z]+).*", "x"])),
                replacement=draw(st.sampled_from(["r", "$1", "a$1b", "${1}"])),
            )  # fmt: skip


_guards = st.sampled_from(
    [
        None,
        None,
        {"type": _PREDICATE + "RecordIsTombstone"},
        {"type": _PREDICATE + "HasHeaderKey", "name": "app"},
        {"type": _PREDICATE + "TopicNameMatches", "pattern": ".*[0-9]"},
    ]
)


@st.composite
def _configs(draw):
    steps = draw(st.lists(_step(), min_size=1, max_size=4))
    guard = draw(_guards)
    if guard is None:
        return transforms(*steps)
    guarded = draw(st.integers(0, len(steps) - 1))
    steps[guarded] = {**steps[guarded], "predicate": "p", "negate": draw(_flag)}
    return transforms(*steps, p=guard)


def _chains():
    for number, config in enumerate(drawn(_configs(), 60)):
        yield SinkScenario(f"generated: chain {number}", config, samples())
