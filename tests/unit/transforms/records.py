"""Records for these tests: made by hand, or read from and written to the vectors' JSON."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import math
from typing import Any

from connect import Header, Headers, Record, Schema, SchemaBuilder, SinkRecord, SourceRecord, Type
from connect.data.logical import from_base, to_base

TYPES = {"float": "float32", "double": "float64"}


def sink(value: Any = None, schema: Schema | None = None, **attributes: Any) -> SinkRecord:
    """A sink record with these and otherwise the usual attributes."""
    record = SinkRecord("t", 3, None, None, schema, value, Headers(), 1588888888123, 42)
    for name, attribute in attributes.items():
        setattr(record, name, attribute)
    return record


def source(value: Any = None, schema: Schema | None = None, **attributes: Any) -> SourceRecord:
    record = SourceRecord.of("t", value, schema=schema)
    for name, attribute in attributes.items():
        setattr(record, name, attribute)
    return record


def configured(kind: type[Any], **settings: str) -> Any:
    """A transform or predicate with these settings; `_` in names stands for a dot."""
    transform = kind()
    transform.configure(
        kind.config_def.parse({name.replace("_", "."): text for name, text in settings.items()})
    )
    return transform


# ---- the vectors' JSON --------------------------------------------------------------------


def read_schema(json: dict[str, Any] | None) -> Schema | None:
    if json is None:
        return None
    kind = Type(TYPES.get(json["type"], json["type"]))
    builder = SchemaBuilder(
        kind,
        key_schema=read_schema(json.get("keys")),
        value_schema=read_schema(json.get("items") or json.get("values")),
    )
    for field in json.get("fields", ()):
        builder.field(field["field"], _schema(field))
    builder.name(json.get("name")).version(json.get("version")).doc(json.get("doc"))
    builder.parameters(json.get("parameters", {}))
    if json["optional"]:
        builder.optional()
    if "default" in json:
        builder.default(read_value(builder.build(), json["default"]))
    return builder.build()


def _schema(json: dict[str, Any]) -> Schema:
    schema = read_schema(json)
    assert schema is not None
    return schema


def read_value(schema: Schema | None, json: Any) -> Any:
    if json is None:
        return None
    if schema is None:
        return _read_plain(json)
    if schema.type is Type.STRUCT:
        return {f.name: read_value(f.schema, json.get(f.name)) for f in schema.fields}
    if schema.type is Type.ARRAY:
        return [read_value(schema.value_schema, item) for item in json]
    if schema.type is Type.MAP:
        return {key: read_value(schema.value_schema, item) for key, item in json.items()}
    plain = base64.b64decode(json) if schema.type is Type.BYTES else json
    if schema.type in (Type.FLOAT32, Type.FLOAT64):
        plain = float(json)
    convert = from_base(schema)
    return plain if convert is None else convert(plain)


def _read_plain(json: Any) -> Any:
    if isinstance(json, list):
        return [_read_plain(item) for item in json]
    if not isinstance(json, dict):
        return json
    match json.get("$t"), json.get("v"):
        case "bytes", text:
            return base64.b64decode(text)
        case "dec", text:
            return decimal.Decimal(text)
        case "f64", text:
            return float(text)
        case "date", millis:
            return dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(milliseconds=millis)
    return {key: _read_plain(item) for key, item in json.items()}


def write_schema(schema: Schema | None) -> dict[str, Any] | None:
    """A schema as the vectors have it, so that nothing in it goes uncompared."""
    if schema is None:
        return None
    names = {"float32": "float", "float64": "double"}
    json: dict[str, Any] = {
        "type": names.get(schema.type.value, schema.type.value),
        "optional": schema.optional,
    }
    if schema.name:
        json["name"] = schema.name
    if schema.version is not None:
        json["version"] = schema.version
    if schema.doc:
        json["doc"] = schema.doc
    if schema.parameters:
        json["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        json["default"] = write_value(schema, schema.default)
    if schema.type is Type.STRUCT:
        json["fields"] = [
            {**(write_schema(f.schema) or {}), "field": f.name} for f in schema.fields
        ]
    if schema.type is Type.ARRAY:
        json["items"] = write_schema(schema.value_schema)
    if schema.type is Type.MAP:
        json["keys"] = write_schema(schema.key_schema)
        json["values"] = write_schema(schema.value_schema)
    return json


def write_value(schema: Schema | None, value: Any) -> Any:
    if value is None:
        return None
    if schema is None:
        return _write_plain(value)
    if schema.type is Type.STRUCT:
        assert set(value) <= {f.name for f in schema.fields}, "a value has fields of its own"
        return {f.name: write_value(f.schema, value.get(f.name)) for f in schema.fields}
    if schema.type is Type.ARRAY:
        return [write_value(schema.value_schema, item) for item in value]
    if schema.type is Type.MAP:
        return {key: write_value(schema.value_schema, item) for key, item in value.items()}
    convert = to_base(schema)
    plain = value if convert is None else convert(value)
    if isinstance(plain, bytes):
        return base64.b64encode(plain).decode()
    if isinstance(plain, float) and not math.isfinite(plain):
        return _java_float(plain)
    return plain


def _write_plain(value: Any) -> Any:
    match value:
        case bytes():
            return {"$t": "bytes", "v": base64.b64encode(value).decode()}
        case decimal.Decimal():
            return {"$t": "dec", "v": str(value)}
        case float():
            text = str(value) if math.isfinite(value) else _java_float(value)
            return {"$t": "f64", "v": text}
        case dt.date() | dt.time():
            return {"$t": "date", "v": _millis(value)}
        case list():
            return [_write_plain(item) for item in value]
        case dict():
            return {key: _write_plain(item) for key, item in value.items()}
    return value


def _java_float(value: float) -> str:
    return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}[str(value)]


def _millis(value: dt.date | dt.time) -> int:
    if isinstance(value, dt.datetime):
        return to_base(Schema.timestamp().build())(value)
    if isinstance(value, dt.date):
        return to_base(Schema.date().build())(value) * 86_400_000
    return to_base(Schema.time().build())(value)


def read_record(json: dict[str, Any], schemas: list[Schema]) -> Record:
    """A record of the vectors. What is not said there has the attributes of `sink`."""

    def side(name: str) -> tuple[Schema | None, Any]:
        number = json.get(f"{name}_schema")
        schema = None if number is None else schemas[number]
        return schema, read_value(schema, json.get(name))

    make = source if json.get("kind") == "source" else sink
    record: Record = make()
    record.key_schema, record.key = side("key")
    record.value_schema, record.value = side("value")
    for name in ("topic", "partition", "timestamp", "offset"):
        if name in json:
            setattr(record, name, json[name])
    record.headers = Headers(
        Header(name, read_value(schema, value), schema)
        for name, number, value in json.get("headers", ())
        for schema in [None if number is None else schemas[number]]
    )
    return record


def seen(record: Record | None) -> dict[str, Any] | None:
    """All that a record shows to the outside, for comparing two of them."""
    if record is None:
        return None
    return {
        "topic": record.topic,
        "partition": record.partition,
        "timestamp": record.timestamp,
        "key_schema": write_schema(record.key_schema),
        "key": write_value(record.key_schema, record.key),
        "value_schema": write_schema(record.value_schema),
        "value": write_value(record.value_schema, record.value),
        "headers": [
            (h.name, write_schema(h.schema), write_value(h.schema, h.value)) for h in record.headers
        ],
    }
