"""ExtractField: puts one field of the key or value in the place of the whole."""

from __future__ import annotations

from typing import Any, Generic

from connect import Config, ConfigDef, DataError, Importance, Schema, Type
from connect.records import R
from transforms.field_path import FieldPath, define_field_syntax, parse_field_path
from transforms.key_or_value import (
    Convert,
    KeyOrValue,
    OnKey,
    OnValue,
    Plan,
    define_null_replacement,
)
from transforms.requirements import UnknownFieldError, only_maps, only_structs
from transforms.struct_edit import failing

PURPOSE = "field extraction"
_NOT_A_STRUCT = "Cannot look up fields on non-struct type"


class ExtractField(KeyOrValue[R], Generic[R]):
    passes_null = False
    config_def = define_field_syntax(
        define_null_replacement(
            ConfigDef().define("field", importance=Importance.MEDIUM, doc="The field to extract.")
        )
    )

    def configure(self, config: Config) -> None:
        self._text: str = config["field"]
        self._path = parse_field_path(self._text, config)
        self._replace_nulls: bool = config["replace.null.with.default"]

    def plan(self, schema: Schema | None) -> Plan:
        if schema is None:
            return Plan(None, _from_map(self._path))
        inner: Schema = schema
        for step in self._path:
            if inner.type is not Type.STRUCT:
                if inner is schema:
                    return Plan(schema, failing(lambda value: only_structs(PURPOSE, value, schema)))
                return Plan(schema, failing(lambda _: DataError(_NOT_A_STRUCT)))
            field = inner.field(step)
            if field is None:
                return Plan(
                    schema, failing(lambda _: UnknownFieldError(f"Unknown field: {self._text}"))
                )
            inner = field.schema
        default = inner.default if self._replace_nulls else None
        return Plan(inner, _from_struct(self._path, default))


def _from_map(path: FieldPath) -> Convert:
    def extract(value: Any) -> Any:
        if isinstance(value, dict):
            return value.get(name)
        if value is None:
            return None
        raise only_maps(PURPOSE, value)

    def extract_deep(value: Any) -> Any:
        value = extract(value)
        for step in path[1:]:
            if value is None:
                return None
            if not isinstance(value, dict):
                raise only_maps("nested field access", value)
            value = value.get(step)
        return value

    name = path[0]
    return extract if len(path) == 1 else extract_deep


def _from_struct(path: FieldPath, default: Any) -> Convert:
    *outer, name = path

    def extract(value: Any) -> Any:
        return None if value is None else value.get(name)

    def extract_in_full(value: Any) -> Any:
        for step in outer:
            if value is None:
                return None
            value = value.get(step)
        if value is None:
            return None
        found = value.get(name)
        return default if found is None else found

    return extract_in_full if outer or default is not None else extract


class ExtractFieldKey(OnKey[R], ExtractField[R]):
    """Puts a field of the key in the key's place."""


class ExtractFieldValue(OnValue[R], ExtractField[R]):
    """Puts a field of the value in the value's place."""
