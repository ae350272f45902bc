"""The lines of the echo sink, from our records and back. The format is told in echo.py."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
import struct
from typing import Any

from connect import Header, Headers, Schema, SinkRecord, SourceRecord, Type
from connect.data.floats import float32
from connect.data.logical import (
    date_from_days,
    date_to_days,
    datetime_from_millis,
    datetime_to_millis,
    time_from_millis,
    time_to_millis,
)
from connect.data.schema import DATE, TIME, TIMESTAMP, SchemaBuilder

_DAY_MS = 86_400_000

# ---- writing -------------------------------------------------------------------------------


def rendered(record: SinkRecord) -> dict[str, Any]:
    """A record as the echo sink writes it."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestampType": str(record.timestamp_type),
        "keySchema": rendered_schema(record.key_schema),
        "key": rendered_value(record.key_schema, record.key),
        "valueSchema": rendered_schema(record.value_schema),
        "value": rendered_value(record.value_schema, record.value),
        "headers": [
            {
                "key": h.name,
                "schema": rendered_schema(h.schema),
                "value": rendered_value(h.schema, h.value),
            }
            for h in record.headers
        ],
    }


def rendered_schema(schema: Schema | None) -> dict[str, Any] | None:
    if schema is None:
        return None
    shown: dict[str, Any] = {
        "type": schema.type.name,
        "optional": schema.optional,
        "name": schema.name,
        "version": schema.version,
        "doc": schema.doc,
        "parameters": dict(schema.parameters) or None,
        "default": rendered_value(schema, schema.default),
    }
    if schema.type is Type.STRUCT:
        shown["fields"] = [
            {"name": f.name, "schema": rendered_schema(f.schema)} for f in schema.fields
        ]
    if schema.type is Type.MAP:
        shown["keySchema"] = rendered_schema(schema.key_schema)
    if schema.type in (Type.MAP, Type.ARRAY):
        shown["valueSchema"] = rendered_schema(schema.value_schema)
    return shown


def rendered_value(schema: Schema | None, value: Any) -> Any:
    match value:
        case None | bool() | str():
            return value
        case int() | float() if schema is not None and schema.type is Type.FLOAT32:
            return {"float32": repr(_widened(value))}
        case float():
            return {"float64": repr(value)}
        case int() if schema is not None and schema.type is Type.FLOAT64:
            return {"float64": repr(float(value))}
        case int():
            return value
        case bytes() | bytearray() | memoryview():
            return {"bytes": base64.b64encode(value).decode()}
        case decimal.Decimal():
            return {"decimal": str(value)}
        case dt.datetime():
            return {"epochMillis": datetime_to_millis(value)}
        case dt.date():
            return {"epochMillis": date_to_days(value) * _DAY_MS}
        case dt.time():
            return {"epochMillis": time_to_millis(value)}
        case list() | tuple():
            items = schema.value_schema if schema else None
            return [rendered_value(items, item) for item in value]
        case dict() if schema is not None and schema.type is Type.STRUCT:
            unknown = value.keys() - {f.name for f in schema.fields}
            assert not unknown, f"a struct has fields that its schema has not: {unknown}"
            fields = {f.name: rendered_value(f.schema, value.get(f.name)) for f in schema.fields}
            return {"struct": fields}
        case dict():
            keys, items = (schema.key_schema, schema.value_schema) if schema else (None, None)
            return {
                "map": [
                    [rendered_value(keys, k), rendered_value(items, v)] for k, v in value.items()
                ]
            }
    return {"python": f"{type(value).__qualname__}: {value!r}"}


def _widened(value: float) -> float:
    """The double that a float32 is, where ours prints as the float32 does."""
    try:
        widened: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:  # beyond a float32, which is worth seeing
        return value
    return widened


# ---- reading -------------------------------------------------------------------------------


def source_record(line: dict[str, Any], topic: str, number: int = 0) -> SourceRecord:
    """The record that a line describes, as the replay source emits it."""
    key_schema, value_schema = read_schema(line["keySchema"]), read_schema(line["valueSchema"])
    headers = []
    for header in line["headers"]:
        schema = read_schema(header["schema"])
        headers.append(Header(header["key"], read_value(schema, header["value"]), schema))
    return SourceRecord.of(
        topic,
        read_value(value_schema, line["value"]),
        schema=value_schema,
        key=read_value(key_schema, line["key"]),
        key_schema=key_schema,
        headers=Headers(headers),
        timestamp=line["timestamp"],
        source_partition={"file": "f"},
        source_offset={"n": number},
    )


def read_schema(shown: dict[str, Any] | None) -> Schema | None:
    if shown is None:
        return None
    builder = SchemaBuilder(
        Type[shown["type"]],
        key_schema=read_schema(shown.get("keySchema")),
        value_schema=read_schema(shown.get("valueSchema")),
    )
    for field in shown.get("fields", ()):
        schema = read_schema(field["schema"])
        assert schema is not None
        builder.field(field["name"], schema)
    builder.name(shown.get("name")).version(shown.get("version")).doc(shown.get("doc"))
    builder.parameters(shown.get("parameters") or {})
    if shown["optional"]:
        builder.optional()
    if shown.get("default") is not None:
        builder.default(read_value(builder.build(), shown["default"]))
    return builder.build()


def read_value(schema: Schema | None, shown: Any) -> Any:
    if isinstance(shown, list):
        items = schema.value_schema if schema else None  # None too for what is no list at all
        return [read_value(items, item) for item in shown]
    if not isinstance(shown, dict):
        return shown
    [(kind, inner)] = shown.items()
    match kind:
        case "float32":
            return float32(float(inner))
        case "float64":
            return float(inner)
        case "bytes":
            return base64.b64decode(inner)
        case "decimal":
            return decimal.Decimal(inner)
        case "epochMillis":
            return _temporal(schema, inner)
        case "map":
            keys, items = (schema.key_schema, schema.value_schema) if schema else (None, None)
            return {read_value(keys, k): read_value(items, v) for k, v in inner}
        case "struct":
            assert schema is not None
            return {f.name: read_value(f.schema, inner.get(f.name)) for f in schema.fields}
    raise ValueError(kind)


def _temporal(schema: Schema | None, millis: int) -> dt.date | dt.time:
    match schema.name if schema else TIMESTAMP:
        case name if name == DATE:
            return date_from_days(millis // _DAY_MS)
        case name if name == TIME:
            return time_from_millis(millis)
    return datetime_from_millis(millis)


# ---- comparing -----------------------------------------------------------------------------


def canonical(shown: Any) -> Any:
    """A line or a part of one, such that equal records have equal ones.

    The entries of a map are sorted, floats are written alike, empty parameters are none.
    """
    if isinstance(shown, list):
        return [canonical(item) for item in shown]
    if not isinstance(shown, dict):
        return shown
    if shown.keys() == {"map"}:
        return {"map": sorted(map(canonical, shown["map"]), key=json.dumps)}
    if shown.keys() in ({"float32"}, {"float64"}):
        # Without a schema, Python's floats have no width.
        [text] = shown.values()
        return {"float": repr(float32(float(text)) if "float32" in shown else float(text))}
    return {k: canonical(v) for k, v in shown.items() if v is not None and (k, v) != NO_PARAMETERS}


NO_PARAMETERS: tuple[str, Any] = ("parameters", {})
