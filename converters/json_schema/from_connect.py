"""From a Connect schema to a JSON Schema, by the rules of the JVM's JsonSchemaData."""

from __future__ import annotations

from typing import Any

from connect import DataError, Schema, Type
from connect.data.schema import DECIMAL
from converters import _jackson as jackson
from converters.json_schema import settings as marks
from converters.json_schema.settings import JsonSchemaSettings
from converters.json_schema.to_connect import is_union
from converters.json_schema.writing import compile_shape
from converters.registry.settings import GENERAL_ENUM

_NUMBERS = {
    Type.INT8: "integer",
    Type.INT16: "integer",
    Type.INT32: "integer",
    Type.INT64: "integer",
    Type.FLOAT32: "number",
    Type.FLOAT64: "number",
}


def json_schema(schema: Schema, settings: JsonSchemaSettings) -> str:
    """The text of the JSON Schema."""
    conversion = _Conversion(settings)
    conversion.find_cycles(schema, set())
    return jackson.dump(conversion.convert(schema)).decode()


class _Conversion:
    def __init__(self, settings: JsonSchemaSettings) -> None:
        self._settings = settings
        # Structs that contain themselves, by their fields, and the ids they are referred to by.
        self._ids: dict[int, str] = {}
        self._written: set[str] = set()

    def find_cycles(self, schema: Schema, under_way: set[int]) -> None:
        here = id(schema.fields)
        if schema.type is Type.STRUCT and schema.fields:
            if here in under_way:
                given = schema.parameters.get(marks.ID)
                self._ids.setdefault(here, given or f"#id{len(self._ids) + 1}")
                return
            under_way.add(here)
        for part in (*(f.schema for f in schema.fields), schema.key_schema, schema.value_schema):
            if part is not None:
                self.find_cycles(part, under_way)
        under_way.discard(here)

    def convert(
        self, schema: Schema, index: int | None = None, *, ignore_optional: bool = False
    ) -> dict[str, Any]:
        known = self._ids.get(id(schema.fields)) if schema.fields else None
        if known in self._written:
            built: dict[str, Any] = {"$ref": known}
        elif is_union(schema):
            return self._union(schema, index)
        else:
            built = self._described(schema, known)
        if schema.optional and not ignore_optional:
            built = {"oneOf": [{"type": "null"}, built]}
        if index is not None:
            built["connect.index"] = index
        return built

    def _union(self, schema: Schema, index: int | None) -> dict[str, Any]:
        branches: list[dict[str, Any]] = [{"type": "null"}] if schema.optional else []
        branches += [
            self.convert(f.schema.as_required(), f.index, ignore_optional=True)
            for f in schema.fields
        ]
        built: dict[str, Any] = {"oneOf": branches}
        if index is not None:
            built["connect.index"] = index
        return built

    def _described(self, schema: Schema, known: str | None) -> dict[str, Any]:
        built: dict[str, Any] = {}
        if known is not None:
            built["$id"] = known
            self._written.add(known)
        built.update(self._shape(schema))
        if schema.name is not None:
            built["title"] = schema.name
        if schema.doc is not None:
            built["description"] = schema.doc
        if schema.version is not None:
            built["connect.version"] = schema.version
        parameters = {
            k: v for k, v in schema.parameters.items() if not k.startswith(marks.NAMESPACE)
        }
        if parameters:
            built["connect.parameters"] = parameters
        if schema.default is not None:
            shape = compile_shape(schema.as_required(), self._settings)
            built["default"] = shape(schema.default)
        return built

    def _shape(self, schema: Schema) -> dict[str, Any]:
        match schema.type:
            case kind if kind in _NUMBERS:
                return {"type": _NUMBERS[kind], "connect.type": kind.value}
            case Type.BOOLEAN:
                return {"type": "boolean"}
            case Type.STRING:
                return self._string(schema)
            case Type.BYTES:
                numeric = schema.name == DECIMAL and self._settings.numeric_decimals
                return {"type": "number" if numeric else "string", "connect.type": "bytes"}
            case Type.ARRAY:
                assert schema.value_schema is not None
                return {"type": "array", "items": self.convert(schema.value_schema)}
            case Type.MAP:
                return self._map(schema)
            case _:
                built: dict[str, Any] = {
                    "type": "object",
                    "properties": {f.name: self.convert(f.schema, f.index) for f in schema.fields},
                }
                if not self._settings.additional_properties:
                    built["additionalProperties"] = False
                return built

    def _string(self, schema: Schema) -> dict[str, Any]:
        for mark in (GENERAL_ENUM, marks.ENUM):
            if mark in schema.parameters:
                prefix = mark + "."
                symbols = [
                    p.removeprefix(prefix) for p in schema.parameters if p.startswith(prefix)
                ]
                return {"enum": [None if s == marks.NULL_SYMBOL else s for s in symbols]}
        return {"type": "string"}

    def _map(self, schema: Schema) -> dict[str, Any]:
        keys, values = schema.key_schema, schema.value_schema
        assert keys is not None
        assert values is not None
        if keys.type is Type.STRING and not keys.optional:
            return {
                "type": "object",
                "connect.type": "map",
                "additionalProperties": self.convert(values),
            }
        entry = {"key": self.convert(keys, 0), "value": self.convert(values, 1)}
        return {
            "type": "array",
            "connect.type": "map",
            "items": {"type": "object", "properties": entry},
        }


def name_of(schema: Schema | None) -> str | None:
    if schema is None:
        raise DataError(
            "A value without a schema can't be written as JSON Schema: use JsonConverter with "
            "schemas.enable=false, or give it a schema"
        )
    return schema.name
