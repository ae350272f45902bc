"""Vectors: what Apache Kafka Connect 4.3.1 answered, kept as JSON lines beside the tests.

A value carries its Java type: {"i32": "5"}, {"f64": "1.0E10"}, {"str": "x"}, {"date": "0"} (a
java.util.Date by its milliseconds), {"list": […]}, {"map": [[k, v], …]}, {"struct": {…}}.
`tagged` shows one of our values the same way, `untagged` makes one of ours.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
import re
from pathlib import Path
from typing import Any

from connect import ConnectError, Schema, SchemaAndValue, Type
from connect.data import values
from connect.data.floats import float32, java_text
from connect.data.logical import (
    date_from_days,
    datetime_from_millis,
    datetime_to_millis,
    time_from_millis,
    to_base,
)
from connect.data.projection import project
from connect.data.schema import DATE, TIME, TIMESTAMP
from connect.errors import class_name_of
from converters._json_envelope import schema_of
from converters._json_reading import read_node
from converters.boolean import BooleanConverter
from converters.byte_array import ByteArrayConverter
from converters.json import JsonConverter
from converters.numbers import (
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
from converters.simple_header import SimpleHeaderConverter
from converters.string import StringConverter

_INTS = {Type.INT8: "i8", Type.INT16: "i16", Type.INT32: "i32", Type.INT64: "i64"}
_DAY_MS = 86_400_000


def load(name: str) -> list[dict[str, Any]]:
    path = Path(__file__).parent.parent / "vectors" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def unpacked(data: str | None) -> bytes | None:
    return None if data is None else base64.b64decode(data)


def tagged(schema: Schema | None, value: Any) -> Any:
    """Our value as the vectors show it."""
    match value:
        case None:
            return None
        case bool():
            return {"bool": value}
        case int() | float() if schema is not None and schema.type in (Type.FLOAT32, Type.FLOAT64):
            return {"f32" if schema.type is Type.FLOAT32 else "f64": java_text(float(value))}
        case int():
            return {_INTS[schema.type] if schema else "i64": str(value)}
        case float():
            return {"f64": java_text(value)}
        case str():
            return {"str": value}
        case bytes():
            return {"bytes": base64.b64encode(value).decode()}
        case decimal.Decimal():
            exponent = value.as_tuple().exponent
            assert isinstance(exponent, int)
            return {"dec": f"{value}|{-exponent}"}
        case dt.datetime():
            return {"date": str(datetime_to_millis(value))}
        case dt.date():
            return {"date": str((value - dt.date(1970, 1, 1)).days * _DAY_MS)}
        case dt.time():
            millis = to_base(Schema.time().build())
            assert millis is not None
            return {"date": str(millis(value))}
        case list():
            return {"list": [tagged(schema.value_schema if schema else None, v) for v in value]}
        case dict() if schema is not None and schema.type is Type.STRUCT:
            return {"struct": {f.name: tagged(f.schema, value.get(f.name)) for f in schema.fields}}
        case dict():
            keys, items = (schema.key_schema, schema.value_schema) if schema else (None, None)
            return {"map": [[tagged(keys, k), tagged(items, v)] for k, v in value.items()]}
    raise TypeError(type(value))


def untagged(schema: Schema | None, value: Any) -> Any:
    """Our value for one that a vector shows."""
    if value is None:
        return None
    ((tag, inner),) = value.items()
    match tag:
        case "bool" | "str":
            return inner
        case "i8" | "i16" | "i32" | "i64" | "bigint":
            return int(inner)
        case "f32":
            return float32(float(inner))
        case "f64":
            return float(inner)
        case "bytes" | "buf":
            return base64.b64decode(inner)
        case "dec":
            return decimal.Decimal(inner.partition("|")[0])
        case "date":
            millis = int(inner)
            match schema.name if schema else TIMESTAMP:
                case name if name == DATE:
                    return date_from_days(millis // _DAY_MS)
                case name if name == TIME:
                    return time_from_millis(millis)
            return datetime_from_millis(millis)
        case "list":
            return [untagged(schema.value_schema if schema else None, v) for v in inner]
        case "map":
            keys, items = (schema.key_schema, schema.value_schema) if schema else (None, None)
            return {untagged(keys, k): untagged(items, v) for k, v in inner}
        case "struct":
            assert schema is not None
            fields = {f.name: f.schema for f in schema.fields}
            return {name: untagged(fields[name], v) for name, v in inner.items()}
    raise ValueError(tag)


def described(schema: Schema | None) -> Any:
    """Our schema as the vectors show it."""
    if schema is None:
        return None
    shown: dict[str, Any] = {"type": schema.type.value, "optional": schema.optional}
    for key in ("name", "version", "doc"):
        if getattr(schema, key) is not None:
            shown[key] = getattr(schema, key)
    if schema.parameters:
        shown["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        shown["default"] = tagged(schema, schema.default)
    if schema.type is Type.STRUCT:
        shown["fields"] = [[f.name, described(f.schema)] for f in schema.fields]
    if schema.type is Type.MAP:
        shown["keys"] = described(schema.key_schema)
    if schema.type in (Type.MAP, Type.ARRAY):
        shown["values"] = described(schema.value_schema)
    return shown


def same_maps(answer: Any) -> Any:
    """An answer with the entries of its maps sorted: Java's HashMap keeps no order."""
    if isinstance(answer, dict):
        return {
            k: sorted(map(same_maps, v), key=json.dumps) if k == "map" else same_maps(v)
            for k, v in answer.items()
        }
    return [same_maps(v) for v in answer] if isinstance(answer, list) else answer


# ---- asking our side ----------------------------------------------------------------------

_PREFIX = "org.apache.kafka.connect."
_CONVERTERS: dict[str, type[Any]] = {
    "json.JsonConverter": JsonConverter,
    "storage.StringConverter": StringConverter,
    "storage.SimpleHeaderConverter": SimpleHeaderConverter,
    "converters.ByteArrayConverter": ByteArrayConverter,
    "converters.BooleanConverter": BooleanConverter,
    "converters.ShortConverter": ShortConverter,
    "converters.IntegerConverter": IntegerConverter,
    "converters.LongConverter": LongConverter,
    "converters.FloatConverter": FloatConverter,
    "converters.DoubleConverter": DoubleConverter,
}


def converter(query: dict[str, Any]) -> Any:
    made = _CONVERTERS[query["class"].removeprefix(_PREFIX)]()
    made.configure(query["config"])
    return made


def schema_from(node: Any) -> Schema | None:
    """A schema written as in the JSON converter's envelope."""
    exact = json.loads(json.dumps(node), parse_float=decimal.Decimal)
    return schema_of(exact, lambda schema, n: read_node(schema, n, replace_null=True))


def our_answer(query: dict[str, Any]) -> dict[str, Any]:
    """What our side answers to a vector's question, in the vectors' words."""
    try:
        return _answer(query)
    except ConnectError as error:
        return {"error": class_name_of(error), "message": str(error)}


def _answer(query: dict[str, Any]) -> dict[str, Any]:
    match query["cmd"]:
        case "read":
            return _shown(converter(query).to_connect("topic", unpacked(query["data"])))
        case "hread":
            found = converter(query).to_connect_header("topic", "h", unpacked(query["data"]))
            return _shown(found)
        case "write" | "hwrite":
            schema = schema_from(query["schema"])
            value = untagged(schema, query["value"])
            if query["cmd"] == "write":
                data = converter(query).from_connect("topic", schema, value)
            else:
                data = converter(query).from_connect_header("topic", "h", schema, value)
            return {"bytes": None if data is None else base64.b64encode(data).decode()}
        case "parse":
            found = values.parse_string(query["text"])
            primitive = found.schema is not None and found.schema.type.is_primitive
            shown = tagged(found.schema if primitive else None, found.value)
            return without_widths({"schema": described(found.schema), "value": shown})
        case "convert":
            return _converted(query)
        case "project":
            source, target = schema_from(query["source"]), schema_from(query["target"])
            assert source is not None
            assert target is not None
            return {
                "value": tagged(target, project(source, untagged(source, query["value"]), target))
            }
    raise ValueError(query["cmd"])


def _shown(found: SchemaAndValue) -> dict[str, Any]:
    return {"schema": described(found.schema), "value": tagged(found.schema, found.value)}


def _converted(query: dict[str, Any]) -> dict[str, Any]:
    schema, to = schema_from(query["schema"]), query["to"]
    value = untagged(schema, query["value"])
    convert = getattr(values, f"convert_to_{to}")
    result = convert(schema, value, query["scale"]) if to == "decimal" else convert(schema, value)
    narrow = {"int8": Schema.INT8, "int16": Schema.INT16, "int32": Schema.INT32}
    return {"value": tagged(narrow.get(to) or _FLOATS.get(to), result)}


_FLOATS = {"float32": Schema.FLOAT32, "float64": Schema.FLOAT64}


def without_widths(answer: Any) -> Any:
    """An answer whose numbers say nothing of their width: Python's have none."""
    text = re.sub(r'"(i8|i16|i32|i64)"', '"i"', json.dumps(answer))
    return json.loads(re.sub(r'"(f32|f64)"', '"f"', text))


def agrees(vector: dict[str, Any]) -> None:
    """Assert that our side answers as the vector says. Java's class names are not compared."""
    expected, found = vector["answer"], our_answer(vector["ask"])
    if expected.keys() == {"error"}:
        found = {"error": found.get("error")}
    said = expected.get("message", "")
    if said.endswith(" serialization error: ") and found.get("message", "").startswith(said):
        found["message"] = said  # ours goes on with the reason
    assert same_maps(found) == same_maps(expected), (
        f"\n  theirs {json.dumps(expected)}\n  ours   {json.dumps(found)}"
    )


def short(vector: dict[str, Any]) -> str:
    """A name for a vector."""
    asked = {k: v for k, v in vector["ask"].items() if k not in ("cmd", "class", "config")}
    if isinstance(asked.get("data"), str):
        asked["data"] = base64.b64decode(asked["data"]).decode("latin-1")
    return f"{vector['ask']['cmd']} {json.dumps([*asked.values()])}"[:60]
