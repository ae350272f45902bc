"""Schemas in the JSON converter's envelope: from its nodes, and to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from connect.data.schema import Schema, SchemaBuilder, Type
from connect.errors import DataError, SchemaBuildError
from converters import _jackson

_TYPE_WORDS = {**{t: t.value for t in Type}, Type.FLOAT32: "float", Type.FLOAT64: "double"}
_TYPES = {word: kind for kind, word in _TYPE_WORDS.items()}


def schema_of(node: Any, read: Callable[[Schema, Any], Any]) -> Schema | None:
    """The schema that a node describes, None for null. `read` makes values of default nodes."""
    if node is None:
        return None
    get = node.get if isinstance(node, dict) else {}.get
    word: Any = get("type")
    if not isinstance(word, str):
        raise DataError("Schema must contain 'type' field")
    if word not in _TYPES:
        raise DataError(f"Unknown schema type: {word}")
    builder = _bare_builder(_TYPES[word], node, read)
    if get("optional") is True:
        builder.optional()
    if isinstance(name := get("name"), str):
        builder.name(name)
    if _jackson.is_whole(version := get("version")):
        builder.version(_jackson.int_value(version, 32))
    if isinstance(doc := get("doc"), str):
        builder.doc(doc)
    if isinstance(parameters := get("parameters"), dict):
        if not all(isinstance(value, str) for value in parameters.values()):
            raise DataError("Schema parameters must have string values.")
        builder.parameters(parameters)
    if "default" in node:
        default = read(builder.build(), node["default"])
        if default is None and get("optional") is not True:
            raise SchemaBuildError("Invalid default value")
        builder.default(default)
    return builder.build()


def _bare_builder(
    type: Type, node: dict[str, Any], read: Callable[[Schema, Any], Any]
) -> SchemaBuilder:
    match type:
        case Type.ARRAY:
            if node.get("items") is None:
                raise DataError("Array schema did not specify the element type")
            return Schema.array(schema_of(node["items"], read))
        case Type.MAP:
            for part, word in (("keys", "key"), ("values", "value")):
                if part not in node:
                    raise DataError(f"Map schema did not specify the {word} type")
            return Schema.map(schema_of(node["keys"], read), schema_of(node["values"], read))
        case Type.STRUCT:
            builder = Schema.struct()
            fields = node.get("fields")
            if not isinstance(fields, list):
                raise DataError('Struct schema\'s "fields" argument is not an array.')
            for field in fields:
                name = field.get("field") if isinstance(field, dict) else None
                if not isinstance(name, str):
                    raise DataError("Struct schema's field name not specified properly")
                schema = schema_of(field, read)
                assert schema is not None
                builder.field(name, schema)
            return builder
    return Schema.builder(type)


def node_of(schema: Schema | None, write: Callable[[Schema, Any], Any]) -> dict[str, Any] | None:
    """The node that describes a schema, its keys in the JVM's order."""
    if schema is None:
        return None
    node: dict[str, Any] = {"type": _TYPE_WORDS[schema.type]}
    match schema.type:
        case Type.ARRAY:
            node["items"] = node_of(schema.value_schema, write)
        case Type.MAP:
            node["keys"] = node_of(schema.key_schema, write)
            node["values"] = node_of(schema.value_schema, write)
        case Type.STRUCT:
            node["fields"] = [
                {**(node_of(f.schema, write) or {}), "field": f.name} for f in schema.fields
            ]
    node["optional"] = schema.optional
    if schema.name is not None:
        node["name"] = schema.name
    if schema.version is not None:
        node["version"] = schema.version
    if schema.doc is not None:
        node["doc"] = schema.doc
    if schema.parameters:
        node["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        node["default"] = write(schema, schema.default)
    return node
