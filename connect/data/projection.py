"""Projection: a value moved from the schema it was written with to the one a reader wants.

Numbers may become wider, fields may go, and fields may come if they are optional or have a
default. Names and parameters of the schemas must agree.
"""

from __future__ import annotations

from typing import Any

from connect.data.floats import exact_float32, float32, nearest_float64
from connect.data.schema import Schema, Type
from connect.errors import SchemaProjectionError

_WIDENING = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)


def project(source: Schema, value: Any, target: Schema) -> Any:
    """The value under the target schema, or SchemaProjectionError if it can't be one.

    A value that needs no change is returned as it is, not copied.
    """
    if source is target:
        return value
    _check_compatible(source, target)
    if source.optional and not target.optional:
        if target.default is None:
            raise SchemaProjectionError(
                "Writer schema is optional, however, target schema does not provide "
                "a default value."
            )
        if value is None:
            return target.default
    return None if value is None else _project_present(source, value, target)


def _check_compatible(source: Schema, target: Schema) -> None:
    if source.type is not target.type and not _widens(source.type, target.type):
        raise SchemaProjectionError(
            "Schema type mismatch. "
            f"source type: {source.type.name} and target type: {target.type.name}"
        )
    if source.name != target.name:
        raise SchemaProjectionError(
            f"Schema name mismatch. source name: {_shown(source.name)} "
            f"and target name: {_shown(target.name)}"
        )
    if source.parameters != target.parameters:
        raise SchemaProjectionError(
            f"Schema parameters not equal. source parameters: {_shown(source.parameters)} "
            f"and target parameters: {_shown(target.parameters)}"
        )


def _widens(source: Type, target: Type) -> bool:
    return (
        source in _WIDENING
        and target in _WIDENING
        and _WIDENING.index(source) <= _WIDENING.index(target)
    )


def _shown(part: Any) -> str:
    if isinstance(part, str):
        return part
    return "{" + ", ".join(f"{k}={v}" for k, v in part.items()) + "}" if part else "null"


def _project_present(source: Schema, value: Any, target: Schema) -> Any:
    match target.type:
        case Type.STRUCT:
            return _project_struct(source, value, target)
        case Type.ARRAY:
            return [_project_part(source.value_schema, v, target.value_schema) for v in value]
        case Type.MAP:
            return {
                _project_part(source.key_schema, k, target.key_schema): _project_part(
                    source.value_schema, v, target.value_schema
                )
                for k, v in value.items()
            }
        case Type.FLOAT32 if isinstance(value, int):
            return exact_float32(value)
        case Type.FLOAT32 if isinstance(value, float):
            return float32(value)
        case Type.FLOAT64 if isinstance(value, int):
            return nearest_float64(value)
    return value


def _project_part(source: Schema | None, value: Any, target: Schema | None) -> Any:
    return value if source is None or target is None else project(source, value, target)


def _project_struct(source: Schema, value: dict[str, Any], target: Schema) -> dict[str, Any]:
    projected = {}
    for field in target.fields:
        origin = source.field(field.name)
        if origin is not None:
            found = value.get(field.name)
            if found is None:
                found = origin.schema.default
            try:
                projected[field.name] = project(origin.schema, found, field.schema)
            except SchemaProjectionError as error:
                raise SchemaProjectionError(f"Error projecting {field.name}") from error
        elif field.schema.optional:
            continue
        elif field.schema.default is not None:
            projected[field.name] = field.schema.default
        else:
            raise SchemaProjectionError(
                f"Required field `{field.name}` is missing from source schema: {source!r}"
            )
    return projected
