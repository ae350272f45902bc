"""Connect values to JSON."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import Any

from connect import DataError, Schema, Type
from connect.data.schema import DECIMAL
from converters import _jackson as jackson
from converters.json_schema.settings import JsonSchemaSettings
from converters.json_schema.to_connect import is_union
from converters.registry.shapes import (
    FieldShape,
    Shape,
    compile_struct,
    leaf,
    misfit,
    null_error,
    passes_as_is,
)


def compile_writer(
    schema: Schema, settings: JsonSchemaSettings, validate: Callable[[Any], None] | None
) -> Callable[[Any, bytes], bytes]:
    """A function from a value and the bytes before it to the bytes of both."""
    import orjson  # noqa: PLC0415

    shape = compile_shape(schema.as_required(), settings)
    # orjson has no numbers beyond a double's digits.
    dump = (
        jackson.dump if settings.numeric_decimals and _has_decimal(schema, set()) else orjson.dumps
    )

    def write(value: Any, prefix: bytes) -> bytes:
        shaped = shape(value)
        if validate is not None:
            validate(shaped)
        return prefix + dump(shaped)

    return write


def compile_shape(schema: Schema, settings: JsonSchemaSettings) -> Shape:
    """The function from a value to what stands for it in JSON."""
    return _Compilation(settings).compile(schema, "")


def _has_decimal(schema: Schema, seen: set[int]) -> bool:
    if id(schema) in seen:
        return False
    seen.add(id(schema))
    parts = (*(f.schema for f in schema.fields), schema.key_schema, schema.value_schema)
    return schema.name == DECIMAL or any(_has_decimal(p, seen) for p in parts if p is not None)


class _Compilation:
    def __init__(self, settings: JsonSchemaSettings) -> None:
        self._settings = settings
        self._namespace: dict[str, Any] = {}
        self._structs: dict[int, str] = {}

    def compile(self, schema: Schema, path: str) -> Shape:
        shape = self._required(schema, path)
        default = schema.default
        if self._settings.keep_null_with_default and schema.optional:
            default = None
        substitute = shape(default) if default is not None else None
        may_be_null = schema.optional

        def shape_or_null(value: Any) -> Any:
            if value is not None:
                return shape(value)
            if substitute is None and not may_be_null:
                raise null_error(path, schema)
            return substitute

        return shape_or_null

    def _required(self, schema: Schema, path: str) -> Shape:
        match schema.type:
            case Type.STRUCT if is_union(schema):
                return self._union(schema, path)
            case Type.STRUCT:
                return self._struct(schema, path)
            case Type.ARRAY:
                assert schema.value_schema is not None
                shape = self.compile(schema.value_schema, f"{path}[]")

                def shape_items(value: Any) -> Any:
                    if not isinstance(value, (list, tuple)):
                        raise misfit(path, schema, value)
                    return [shape(item) for item in value]

                return shape_items
            case Type.MAP:
                return self._map(schema, path)
            case Type.BYTES if schema.name == DECIMAL and self._settings.numeric_decimals:
                check = leaf(schema, path)

                def shape_decimal(value: Any) -> Any:
                    check(value)
                    return value

                return shape_decimal
            case Type.BYTES:
                plain = leaf(schema, path)
                return lambda value: base64.b64encode(plain(value)).decode()
            case Type.FLOAT32 | Type.FLOAT64:
                return _finite(leaf(schema, path), path)
            case _:
                return leaf(schema, path)

    def _struct(self, schema: Schema, path: str) -> Shape:
        namespace = self._namespace
        key = id(schema.fields)
        known = self._structs.get(key)
        if known is not None:
            # Perhaps still being generated: found when it is called.
            return lambda value: namespace[known](value)  # noqa: PLW0108
        name = f"struct{len(self._structs)}"
        if schema.fields:
            self._structs[key] = name
        shapes = [
            FieldShape(
                field.name,
                field.name,
                self.compile(field.schema, f"{path}.{field.name}".lstrip(".")),
                _passes(field.schema),
            )
            for field in schema.fields
        ]
        return compile_struct(name, shapes, {}, namespace)

    def _union(self, schema: Schema, path: str) -> Shape:
        members = [
            (f.name, self._required(f.schema, f"{path}.{f.name}".lstrip(".")))
            for f in schema.fields
        ]

        def shape_member(value: Any) -> Any:
            if not isinstance(value, dict):
                raise misfit(path, schema, value)
            for name, shape in members:
                item = value.get(name)
                if item is not None:
                    return shape(item)
            if schema.optional:
                return None
            raise DataError(f"{path or 'The value'} is a union with no member set")

        return shape_member

    def _map(self, schema: Schema, path: str) -> Shape:
        keys, values = schema.key_schema, schema.value_schema
        assert keys is not None
        assert values is not None
        shape = self.compile(values, f"{path}{{}}")
        if keys.type is Type.STRING and not keys.optional:

            def shape_values(value: Any) -> Any:
                if not isinstance(value, dict):
                    raise misfit(path, schema, value)
                for key in value:
                    if not isinstance(key, str):
                        raise DataError(f"{path or 'The map'} has a key that is no string: {key!r}")
                return {key: shape(item) for key, item in value.items()}

            return shape_values
        shape_key = self.compile(keys, f"{path}.key")

        def shape_entries(value: Any) -> Any:
            if not isinstance(value, dict):
                raise misfit(path, schema, value)
            return [{"key": shape_key(k), "value": shape(v)} for k, v in value.items()]

        return shape_entries


def _passes(schema: Schema) -> str | None:
    if schema.type in (Type.BYTES, Type.FLOAT32, Type.FLOAT64):
        return None
    test = passes_as_is(schema, "{x}")
    if test is None or not schema.optional or schema.default is not None:
        return test
    return f"{{x}} is None or {test}"


def _finite(shape: Shape, path: str) -> Shape:
    def shape_finite(value: Any) -> Any:
        number = shape(value)
        if not math.isfinite(number):
            raise DataError(f"{path or 'The value'} is {number}, for which JSON has no number")
        return number

    return shape_finite
