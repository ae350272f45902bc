"""Samples for a dry run, and records shown in one: both as plain JSON."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
import math
from collections.abc import Mapping
from typing import Any

from connect.data.headers import Header, Headers
from connect.data.schema import Schema, Type
from connect.errors import ConfigError
from connect.pipeline.assembly import PipelineSpec
from connect.pipeline.failures import RawMessage
from connect.plugins import PluginType
from connect.plugins.registry import load_plugin
from connect.records import Record, SourceRecord

Shown = dict[str, Any]

_FIELDS = frozenset({"value", "key", "headers", "topic", "partition", "offset", "timestamp"})
_SOURCE_FIELDS = _FIELDS | {"valueSchema", "keySchema"}
_DEFAULT_TOPIC = "topic"

# ---- samples -------------------------------------------------------------------------------


def sink_sample(spec: PipelineSpec, sample: Mapping[str, Any], number: int) -> RawMessage:
    _check(sample, _FIELDS, number)
    timestamp = sample.get("timestamp")
    return RawMessage(
        sample.get("topic") or _first_topic(spec),
        _as_bytes(sample.get("value")),
        _as_bytes(sample.get("key")),
        partition=sample.get("partition", 0),
        offset=sample.get("offset", number),
        headers=[(name, _as_bytes(value)) for name, value in _headers(sample)],
        timestamp=(0, -1) if timestamp is None else (1, timestamp),
    )


def source_sample(spec: PipelineSpec, sample: Mapping[str, Any], number: int) -> SourceRecord:
    _check(sample, _SOURCE_FIELDS, number)
    key_schema, key = _typed(spec, sample.get("keySchema"), sample.get("key"))
    schema, value = _typed(spec, sample.get("valueSchema"), sample.get("value"))
    return SourceRecord.of(
        sample.get("topic") or spec.config.get("topic") or _DEFAULT_TOPIC,
        value,
        schema=schema,
        key=key,
        key_schema=key_schema,
        partition=sample.get("partition"),
        headers=Headers(Header(name, item) for name, item in _headers(sample)),
        timestamp=sample.get("timestamp"),
    )


def _typed(spec: PipelineSpec, schema: Any, value: Any) -> tuple[Schema | None, Any]:
    """A value under a schema that is written as in the JSON converter's envelope."""
    if schema is None:
        return None, value
    converter = load_plugin(spec.plugins.find(PluginType.CONVERTER, "JsonConverter"))()
    converter.configure({}, is_key=False)
    envelope = json.dumps({"schema": schema, "payload": value}).encode()
    found, read = converter.to_connect(_DEFAULT_TOPIC, envelope)
    return found, read


def _check(sample: Mapping[str, Any], known: frozenset[str], number: int) -> None:
    if not isinstance(sample, Mapping):
        raise ConfigError(f'Record {number} is no JSON object: write {{"value": …}}')
    if unknown := sorted(sample.keys() - known):
        raise ConfigError(
            f"Record {number} has the unknown field '{unknown[0]}'; the fields are: "
            f"{', '.join(sorted(known))}"
        )
    for name, kind in (("topic", str), ("partition", int), ("offset", int), ("timestamp", int)):
        value = sample.get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise ConfigError(f"Record {number}: {name} is {value!r}, not a {kind.__name__}")


def _headers(sample: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Headers as an object, or as a list of pairs where a name occurs twice."""
    given = sample.get("headers") or {}
    if isinstance(given, Mapping):
        return list(given.items())
    try:
        return [(str(name), value) for name, value in given]
    except (TypeError, ValueError):
        raise ConfigError(
            "headers are an object of names and values, or a list of [name, value]"
        ) from None


def _as_bytes(value: Any) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and value.keys() == {"base64"}:
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"base64 is broken: {error}") from error
    return json.dumps(value, ensure_ascii=False).encode()


def _first_topic(spec: PipelineSpec) -> str:
    topics = spec.config.get("topics") or _DEFAULT_TOPIC
    return topics.partition(",")[0].strip()


# ---- showing -------------------------------------------------------------------------------


def shown_record(record: Record) -> Shown:
    """A record as JSON for people: values readable, schemas beside them."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "timestamp": record.timestamp,
        "key": shown_value(record.key),
        "keySchema": shown_schema(record.key_schema),
        "value": shown_value(record.value),
        "valueSchema": shown_schema(record.value_schema),
        "headers": [
            {"key": h.name, "value": shown_value(h.value), "schema": shown_schema(h.schema)}
            for h in record.headers
        ],
    }


def shown_schema(schema: Schema | None) -> Shown | None:
    """The schema as in the JSON converter's envelope, without what it does not say."""
    if schema is None:
        return None
    shown: Shown = {"type": schema.type.value, "optional": schema.optional}
    if schema.name:
        shown["name"] = schema.name
    if schema.version is not None:
        shown["version"] = schema.version
    if schema.parameters:
        shown["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        shown["default"] = shown_value(schema.default)
    if schema.type is Type.STRUCT:
        shown["fields"] = [
            {"field": f.name, **(shown_schema(f.schema) or {})} for f in schema.fields
        ]
    if schema.type is Type.ARRAY:
        shown["items"] = shown_schema(schema.value_schema)
    if schema.type is Type.MAP:
        shown["keys"] = shown_schema(schema.key_schema)
        shown["values"] = shown_schema(schema.value_schema)
    return shown


def shown_value(value: Any) -> Any:
    match value:
        case dict():
            return {
                key if isinstance(key, str) else str(shown_value(key)): shown_value(item)
                for key, item in value.items()
            }
        case list() | tuple():
            return [shown_value(item) for item in value]
        case bytes() | bytearray() | memoryview():
            return {"base64": base64.b64encode(value).decode()}
        case decimal.Decimal():
            return str(value)
        case dt.date() | dt.time():
            return value.isoformat()
        case float() if not math.isfinite(value):
            return str(value)
        case None | bool() | int() | float() | str():
            return value
    return str(value)


def shown_bytes(data: bytes | None) -> Any:
    """Bytes as text where they are text, else as base64."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
