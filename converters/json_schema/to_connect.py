"""From a JSON Schema to a Connect schema, by the rules of the JVM's JsonSchemaData."""

from __future__ import annotations

import base64
import decimal
import json
from typing import Any

from connect import DataError, Field, Schema, Type
from connect.data.floats import float32
from connect.data.logical import from_base
from connect.data.schema import DECIMAL
from converters.json_schema import settings as marks
from converters.json_schema.documents import Document, resolve
from converters.json_schema.settings import JsonSchemaSettings
from converters.registry.settings import GENERAL_ENUM, GENERAL_UNION

_NUMBERS = {t.value: t for t in Type if t.is_primitive}
_NULL: Any = {"type": "null"}


def connect_schema(document: Document, settings: JsonSchemaSettings, version: int | None) -> Schema:
    """The Connect schema, with the registry's version if it brings none of its own."""
    return _Conversion(settings).convert(document.root, document.resolver, version=version)


class _Conversion:
    def __init__(self, settings: JsonSchemaSettings) -> None:
        self._settings = settings
        self._unions = 0
        self._ids = 0
        # Objects under way, by identity, with the schemas handed out by whether they are optional.
        self._open: dict[int, dict[bool, Schema]] = {}

    def convert(
        self, json_schema: Any, resolver: Any, *, optional: bool = False, version: int | None = None
    ) -> Schema:
        under_way = self._open.get(id(json_schema))
        if under_way is not None:
            return self._again(under_way, optional)
        if not isinstance(json_schema, dict) or not _says_something(json_schema):
            raise DataError(
                f"The JSON Schema allows anything at {_short(json_schema)}: Connect has no type "
                f"for that, give it one"
            )
        if "$ref" in json_schema:
            target, inside = resolve(resolver, json_schema["$ref"])
            return self.convert(target, inside, optional=optional, version=version)
        for keyword in ("oneOf", "anyOf"):
            if keyword in json_schema and "properties" not in json_schema:
                branches = json_schema[keyword]
                return self._sum(json_schema, branches, resolver, optional, version)
        if "allOf" in json_schema:
            return self._all_of(json_schema, resolver, optional, version)
        kind = json_schema.get("type")
        if isinstance(kind, list):
            branches = [_NULL if one == "null" else {**json_schema, "type": one} for one in kind]
            return self._sum({}, branches, resolver, optional, version)
        return self._plain(json_schema, resolver, optional, version)

    def _again(self, under_way: dict[bool, Schema], optional: bool) -> Schema:
        first = next(iter(under_way.values()))
        if marks.ID not in first.parameters:
            self._ids += 1
            first.parameters = {**first.parameters, marks.ID: f"#id{self._ids}"}
        if optional not in under_way:
            under_way[optional] = Schema(Type.STRUCT, optional=optional)
        return under_way[optional]

    # -- one schema -------------------------------------------------------------------------

    def _plain(
        self, json_schema: dict[str, Any], resolver: Any, optional: bool, version: int | None
    ) -> Schema:
        kind = _kind(json_schema)
        connect_type = json_schema.get("connect.type")
        built = Schema(Type.STRUCT, optional=optional)
        if kind == "boolean":
            built.type = Type.BOOLEAN
        elif kind in ("integer", "number"):
            built.type = Type.INT64 if kind == "integer" else Type.FLOAT64
            if connect_type is not None:
                if connect_type not in _NUMBERS:
                    raise DataError(f"Unsupported connect.type {connect_type!r} of a number")
                built.type = _NUMBERS[connect_type]
        elif kind == "string":
            built.type = Type.BYTES if connect_type == "bytes" else Type.STRING
        elif kind == "enum":
            built.type = Type.STRING
            built.parameters = self._symbols(json_schema)
        elif kind == "array":
            self._array(json_schema, resolver, built)
        elif kind == "object" and connect_type == "map":
            built.type = Type.MAP
            built.key_schema = Schema.STRING
            built.value_schema = self.convert(json_schema["additionalProperties"], resolver)
        elif kind == "object":
            self._object(json_schema, resolver, built)
        else:
            raise DataError(f"Unsupported schema type {kind!r} in the JSON Schema")
        _describe(json_schema, built, version)
        if kind == "object":
            self._close(json_schema, built)
        return built

    def _symbols(self, json_schema: dict[str, Any]) -> dict[str, str]:
        general = self._settings.generalized_sums
        mark = GENERAL_ENUM if general else marks.ENUM
        parameters = {mark: ""}
        values = json_schema["enum"] if "enum" in json_schema else [json_schema["const"]]
        for index, value in enumerate(values):
            symbol = marks.NULL_SYMBOL if value is None else _symbol(value)
            parameters[f"{mark}.{symbol}"] = str(index) if general else symbol
        return parameters

    def _array(self, json_schema: dict[str, Any], resolver: Any, built: Schema) -> None:
        items = json_schema.get("items")
        if not isinstance(items, dict):
            raise DataError("Array schema did not specify the items type")
        entry = items.get("properties", {})
        if json_schema.get("connect.type") == "map" and {"key", "value"} <= entry.keys():
            built.type = Type.MAP
            built.key_schema = self.convert(entry["key"], resolver)
            built.value_schema = self.convert(entry["value"], resolver)
        else:
            built.type = Type.ARRAY
            built.value_schema = self.convert(items, resolver)

    def _object(self, json_schema: dict[str, Any], resolver: Any, built: Schema) -> None:
        self._open[id(json_schema)] = {built.optional: built}
        properties: dict[str, Any] = json_schema.get("properties", {})
        required = set(json_schema.get("required", ()))
        built.fields = self._fields(
            {name: (part, resolver, name in required) for name, part in properties.items()}
        )

    def _fields(self, properties: dict[str, tuple[Any, Any, bool]]) -> tuple[Field, ...]:
        """Fields in the order of connect.index, otherwise in that of the document."""
        ordered = sorted(
            enumerate(properties.items()),
            key=lambda item: (
                item[1][1][0].get("connect.index", item[0])
                if isinstance(item[1][1][0], dict)
                else item[0]
            ),
        )
        maybe_missing = self._settings.optional_for_nonrequired
        return tuple(
            Field(name, index, self.convert(part, inside, optional=maybe_missing and not required))
            for index, (_, (name, (part, inside, required))) in enumerate(ordered)
        )

    def _close(self, json_schema: dict[str, Any], built: Schema) -> None:
        for twin in self._open.pop(id(json_schema), {}).values():
            if twin is not built:
                twin.name, twin.version, twin.doc = built.name, built.version, built.doc
                twin.parameters, twin.fields = built.parameters, built.fields
                twin.default = built.default

    # -- combinations -----------------------------------------------------------------------

    def _sum(
        self,
        json_schema: dict[str, Any],
        branches: list[Any],
        resolver: Any,
        optional: bool,
        version: int | None,
    ) -> Schema:
        others = [b for b in branches if not _is_null(b)]
        if len(branches) == 1 and self._settings.flatten_singleton_unions:
            return self.convert(branches[0], resolver, optional=optional)
        if len(others) == 1 and len(branches) == 2:
            return self.convert(others[0], resolver, optional=True, version=version)
        built = Schema(Type.STRUCT, optional=optional or len(others) < len(branches))
        if self._settings.generalized_sums:
            name = f"connect_union_{self._unions}"
            self._unions += 1
            built.parameters = {GENERAL_UNION: name}
            prefix = "connect_union_field_"
        else:
            name = marks.ONE_OF
            prefix = f"{name}.field."
        built.name = name
        ordered = sorted(
            enumerate(others),
            key=lambda item: (
                item[1].get("connect.index", item[0]) if isinstance(item[1], dict) else item[0]
            ),
        )
        built.fields = tuple(
            Field(f"{prefix}{index}", index, self.convert(branch, resolver, optional=True))
            for index, (_, branch) in enumerate(ordered)
        )
        _describe(json_schema, built, version)
        return built

    def _all_of(
        self, json_schema: dict[str, Any], resolver: Any, optional: bool, version: int | None
    ) -> Schema:
        parts = [(part, resolver) for part in json_schema["allOf"]]
        own = {k: v for k, v in json_schema.items() if k != "allOf"}
        if _says_something(own):
            parts.append((own, resolver))
        properties: dict[str, tuple[Any, Any, bool]] = {}
        for part, inside in parts:
            self._collect(part, inside, properties, set())
        if properties:
            built = Schema(Type.STRUCT, optional=optional)
            self._open[id(json_schema)] = {optional: built}
            built.fields = self._fields(properties)
            _describe(json_schema, built, version)
            self._close(json_schema, built)
            return built
        for wanted in ("oneOf", "anyOf", "allOf", "$ref"):
            for part, inside in parts:
                if isinstance(part, dict) and wanted in part:
                    return self.convert(part, inside, optional=optional, version=version)
        # What is left are constraints on one plain type: the last that names it has it.
        merged: dict[str, Any] = {}
        for part, _ in parts:
            if isinstance(part, dict):
                merged.update(part)
        return self.convert(merged, resolver, optional=optional, version=version)

    def _collect(
        self, part: Any, resolver: Any, properties: dict[str, Any], seen: set[int]
    ) -> None:
        if not isinstance(part, dict) or id(part) in seen:
            return
        seen.add(id(part))
        if "$ref" in part:
            target, inside = resolve(resolver, part["$ref"])
            self._collect(target, inside, properties, seen)
            return
        for other in part.get("allOf", ()):
            self._collect(other, resolver, properties, seen)
        required = set(part.get("required", ()))
        for name, schema in part.get("properties", {}).items():
            properties[name] = (schema, resolver, name in required)


def _says_something(json_schema: dict[str, Any]) -> bool:
    return any(
        keyword in json_schema
        for keyword in (
            "type", "$ref", "oneOf", "anyOf", "allOf", "enum", "const", "properties", "items",
        )
    )  # fmt: skip


def _is_null(json_schema: Any) -> bool:
    return isinstance(json_schema, dict) and json_schema.get("type") == "null"


def _kind(json_schema: dict[str, Any]) -> Any:
    kind = json_schema.get("type")
    if "enum" in json_schema and kind in (None, "string"):
        return "enum"
    if "const" in json_schema and kind is None:
        return "enum"
    if kind is None:
        return "object" if "properties" in json_schema else "array"
    return kind


def _symbol(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _describe(json_schema: dict[str, Any], built: Schema, version: int | None) -> None:
    title = json_schema.get("title")
    if title is not None and built.name is None:
        built.name = title
    built.version = json_schema.get("connect.version", version)
    built.doc = json_schema.get("description")
    parameters = json_schema.get("connect.parameters")
    if isinstance(parameters, dict):
        built.parameters = {**built.parameters, **{k: str(v) for k, v in parameters.items()}}
    default = json_schema.get("default")
    if default is not None:
        built.default = plain_value(built, default)


def plain_value(schema: Schema, value: Any) -> Any:
    """A Connect value from a default in the schema's JSON."""
    if value is None:
        return None
    match schema.type:
        case Type.STRUCT if is_union(schema):
            raise DataError("A union can't have a default")
        case Type.STRUCT:
            return {f.name: plain_value(f.schema, value.get(f.name)) for f in schema.fields}
        case Type.ARRAY:
            assert schema.value_schema is not None
            return [plain_value(schema.value_schema, item) for item in value]
        case Type.MAP:
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            pairs = value.items() if isinstance(value, dict) else [
                (entry["key"], entry["value"]) for entry in value
            ]  # fmt: skip
            return {
                plain_value(schema.key_schema, k): plain_value(schema.value_schema, v)
                for k, v in pairs
            }
        case Type.FLOAT32:
            return float32(float(value))
        case Type.FLOAT64:
            return float(value)
        case Type.BYTES:
            if schema.name == DECIMAL and not isinstance(value, str):
                return decimal.Decimal(str(value)).quantize(
                    decimal.Decimal(1).scaleb(-schema.scale)
                )
            value = base64.b64decode(value)
        case _:
            pass
    convert = from_base(schema)
    return value if convert is None else convert(value)


def is_union(schema: Schema) -> bool:
    """Whether a struct stands for a union, one field a member."""
    return schema.type is Type.STRUCT and (
        schema.name == marks.ONE_OF or GENERAL_UNION in schema.parameters
    )


def check_compatible(schema: Schema, target: Schema, path: str = "") -> None:
    """Raise DataError where a field has another type in the schema that is written with."""
    numbers = (Type.INT8, Type.INT16, Type.INT32, Type.INT64)
    same = schema.type is target.type or (
        schema.type in numbers and target.type in (*numbers, Type.FLOAT32, Type.FLOAT64)
    )
    if not same and not is_union(target):
        raise DataError(
            f"{path or 'The value'} is {schema.type.name}, and {target.type.name} in the JSON "
            f"Schema to write with"
        )
    if schema.type is Type.STRUCT and not is_union(target) and path.count(".") < 50:
        for field in target.fields:
            own = schema.field(field.name)
            if own is not None:
                check_compatible(own.schema, field.schema, f"{path}.{field.name}".lstrip("."))


def _short(json_schema: Any) -> str:
    text = json.dumps(json_schema, default=str)
    return text if len(text) <= 100 else text[:97] + "..."
