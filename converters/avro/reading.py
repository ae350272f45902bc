"""Avro's binary form to Connect values, in fastavro's one pass.

Bytes do not depend on names, so each schema is rewritten into one that fastavro reads to exactly
what Connect wants: record fields under Connect's names, and, where the values differ, a logical
type of our own that calls a function. A type with a single field has the bytes of that field, so
a member of a union is wrapped in one to learn which member it is.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, Final

from connect import Schema, Type
from connect.data.floats import float32
from connect.data.logical import from_base
from converters.avro import names
from converters.avro.model import AvroType
from converters.avro.to_connect import is_map_entry

# Our logical type, and the attribute that holds its function.
_OURS: Final = "penstock"
_CALL: Final = "penstock.call"
# The field of a record that only wraps another type.
_INSIDE: Final = "v"


def compile_reader(avro: AvroType, schema: Schema | None) -> Callable[[bytes, int], Any]:
    """A function from data and where the payload starts to the value."""
    if schema is None:
        return _compile_schemaless(avro)
    if avro.type == "bytes":
        return _compile_raw_bytes(schema)
    wire = _Rewriting().rewrite(avro, schema)
    read = _reader(wire if avro.type == "record" else _wrapped("root", wire))
    if avro.type == "record":
        return read
    return lambda data, start: read(data, start)[_INSIDE]


def _reader(wire: dict[str, Any]) -> Callable[[bytes, int], Any]:
    from fastavro import parse_schema, schemaless_reader  # noqa: PLC0415
    from fastavro.read import LOGICAL_READERS  # noqa: PLC0415

    for kind in ("float", "int", "long", "bytes", "fixed", "array", "record"):
        LOGICAL_READERS.setdefault(f"{kind}-{_OURS}", _call)
    parsed = parse_schema(wire)
    stream = io.BytesIO

    def read(data: bytes, start: int) -> Any:
        payload = stream(data)
        payload.seek(start)
        return schemaless_reader(payload, parsed, None)

    return read


def _call(data: Any, writer_schema: Any = None, _reader_schema: Any = None) -> Any:
    return writer_schema[_CALL](data)


def _compile_raw_bytes(schema: Schema) -> Callable[[bytes, int], Any]:
    """Bytes that are all there is of a record have no length in front, as on the JVM."""
    convert = from_base(schema)
    if convert is not None:
        return lambda data, start: convert(data[start:])
    return lambda data, start: data[start:]


class _Rewriting:
    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._count = 0

    def rewrite(self, avro: AvroType, schema: Schema) -> Any:
        match avro.type:
            case "record":
                return self._record(avro, schema)
            case "union":
                return self._union(avro, schema)
            case "array":
                assert avro.items is not None
                if schema.type is Type.MAP:
                    return self._map_of_entries(avro, schema)
                assert schema.value_schema is not None
                return {"type": "array", "items": self.rewrite(avro.items, schema.value_schema)}
            case "map":
                assert avro.items is not None
                assert schema.value_schema is not None
                return {"type": "map", "values": self.rewrite(avro.items, schema.value_schema)}
            case "enum":
                return {"type": "enum", "name": self._fresh(), "symbols": avro.symbols}
            case _:
                return self._primitive(avro, schema)

    def _fresh(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def _record(self, avro: AvroType, schema: Schema) -> Any:
        known = self._names.get(id(avro))
        if known is not None:
            return known
        name = self._names[id(avro)] = self._fresh()
        return {
            "type": "record",
            "name": name,
            "fields": [
                {"name": field.name, "type": self.rewrite(own.type, field.schema)}
                for field, own in zip(schema.fields, avro.fields, strict=True)
            ],
        }

    def _union(self, avro: AvroType, schema: Schema) -> Any:
        if not names.is_union(schema):
            return [
                "null" if branch.type == "null" else self.rewrite(branch, schema)
                for branch in avro.branches
            ]
        empty = dict.fromkeys(f.name for f in schema.fields)
        fields = iter(schema.fields)
        branches: list[Any] = []
        for branch in avro.branches:
            if branch.type == "null":
                branches.append("null")
                continue
            field = next(fields)
            wrapped = _wrapped(self._fresh(), self.rewrite(branch, field.schema))
            branches.append({**wrapped, **_calling(_member(empty, field.name))})
        return branches

    def _map_of_entries(self, avro: AvroType, schema: Schema) -> Any:
        assert avro.items is not None
        assert is_map_entry(avro.items)
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        by_name = {"key": schema.key_schema, "value": schema.value_schema}
        entry = {
            "type": "record",
            "name": self._fresh(),
            "fields": [
                {"name": f.name, "type": self.rewrite(f.type, by_name[f.name])}
                for f in avro.items.fields
            ],
        }
        return {"type": "array", "items": entry, **_calling(_as_map)}

    def _primitive(self, avro: AvroType, schema: Schema) -> Any:
        kind: dict[str, Any] = {"type": avro.type}
        if avro.type == "fixed":
            kind.update(name=self._fresh(), size=avro.size)
        convert = from_base(schema)
        if convert is None and avro.type == "float":
            convert = float32
        if convert is not None:
            return {**kind, **_calling(convert)}
        return kind if avro.type == "fixed" else avro.type


def _wrapped(name: str, wire: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": _INSIDE, "type": wire}]}


def _calling(call: Callable[[Any], Any]) -> dict[str, Any]:
    return {"logicalType": _OURS, _CALL: call}


def _member(empty: dict[str, Any], name: str) -> Callable[[Any], dict[str, Any]]:
    return lambda wrapped: {**empty, name: wrapped[_INSIDE]}


def _as_map(entries: list[dict[str, Any]]) -> dict[Any, Any]:
    return {entry["key"]: entry["value"] for entry in entries}


# ---- schemaless values ------------------------------------------------------------------------


def _compile_schemaless(avro: AvroType) -> Callable[[bytes, int], Any]:
    read = _reader(_Plain().plain(avro))
    return lambda data, start: _anything(read(data, start))


class _Plain:
    """An Avro type as fastavro reads it without our functions."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def plain(self, avro: AvroType) -> Any:
        if avro.type == "union":
            return [self.plain(branch) for branch in avro.branches]
        if avro.type == "array":
            assert avro.items is not None
            return {"type": "array", "items": self.plain(avro.items)}
        if avro.type != "record":
            return avro.type
        if id(avro) in self._seen:
            return avro.name
        self._seen.add(id(avro))
        fields = [{"name": f.name, "type": self.plain(f.type)} for f in avro.fields]
        return {"type": "record", "name": avro.name, "fields": fields}


def _anything(record: dict[str, Any]) -> Any:
    for kind, value in record.items():
        if value is None:
            continue
        if kind == "array":
            return [_anything(item) for item in value]
        if kind == "map":
            return {_anything(e["key"]): _anything(e["value"]) for e in value}
        return float32(value) if kind == "float" else value
    return None
