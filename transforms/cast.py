"""Cast: changes the types of fields, or of the whole key or value, as Java's casts do."""

from __future__ import annotations

from typing import Generic

from connect import Config, ConfigDef, ConfigError, ConfigType, Importance, Schema, Type
from connect.records import R
from transforms.casting import TARGETS, caster, schemaless_caster
from transforms.field_path import as_tree, define_field_syntax, parse_field_path
from transforms.key_or_value import (
    KeyOrValue,
    OnKey,
    OnValue,
    Plan,
    define_null_replacement,
)
from transforms.struct_edit import EditTree, FieldEdit, edit_map, edit_struct

PURPOSE = "cast types"


class Cast(KeyOrValue[R], Generic[R]):
    config_def = define_field_syntax(
        define_null_replacement(
            ConfigDef().define(
                "spec",
                ConfigType.LIST,
                validator=lambda _, value: _check_spec(value),
                importance=Importance.HIGH,
                doc="Fields and the types to cast them to, as field:type,field:type; or one type "
                "for the whole. Types are int8, int16, int32, int64, float32, float64, boolean "
                "and string. Bytes can be cast to string only, which gives base64.",
            )
        )
    )

    def configure(self, config: Config) -> None:
        self._replace_nulls: bool = config["replace.null.with.default"]
        spec = _parse_spec(config["spec"])
        self._whole = spec[0][1] if spec[0][0] is None else None
        self._casts: EditTree = as_tree(
            "spec",
            [
                (parse_field_path(field, config), _cast_field(target))
                for field, target in spec
                if field is not None
            ],
        )

    def plan(self, schema: Schema | None) -> Plan:
        if self._whole is not None:
            return _cast_whole(schema, self._whole)
        if schema is None:
            return edit_map(self._casts, PURPOSE)
        return edit_struct(
            schema, self._casts, PURPOSE, replace_nulls=self._replace_nulls, keep_flags=True
        )


def _parse_spec(items: list[str]) -> list[tuple[str | None, Type]]:
    """Fields and their types; None is the field of a type for the whole."""
    if not items:
        raise ConfigError("Must specify at least one field to cast.")
    spec: list[tuple[str | None, Type]] = []
    for item in items:
        field, colon, type_name = item.rpartition(":")
        spec.append((field.strip() if colon else None, _target(type_name.strip(), item)))
    if len(spec) > 1 and any(field is None for field, _ in spec):
        raise ConfigError(
            "Cast transformations that specify a type to cast the entire value to "
            "may only specify a single cast in their spec"
        )
    return spec


def _target(name: str, item: str) -> Type:
    try:
        target = Type(name.lower())
    except ValueError:
        types = ", ".join(TARGETS)
        raise ConfigError(
            "spec", item, f"Invalid type found in casting spec: {name}. Types are {types}"
        ) from None
    if target not in TARGETS:
        supported = ", ".join(t.name for t in TARGETS)
        raise ConfigError(
            f"Cast transformation does not support casting to {target.name}; "
            f"supported types are [{supported}]"
        )
    return target


def _check_spec(items: list[str] | None) -> None:
    _parse_spec(items or [])


def _cast_whole(schema: Schema | None, target: Type) -> Plan:
    new_schema, cast, _ = _cast_field(target)(schema)
    if schema is None or new_schema is None or schema.is_logical:
        return Plan(new_schema, cast)
    # The name of a logical type would say that the value still is one; others are kept.
    named = new_schema.to_builder().name(schema.name).version(schema.version).doc(schema.doc)
    return Plan(named.parameters(schema.parameters).build(), cast)


def _cast_field(target: Type) -> FieldEdit:
    def edit(schema: Schema | None) -> Plan:
        if schema is None:
            return Plan(None, schemaless_caster(target))
        cast = caster(schema, target)
        builder = Schema.builder(target)
        if schema.optional:
            builder.optional()
        if schema.default is not None:
            builder.default(cast(schema.default))
        return Plan(builder.build(), cast)

    return edit


class CastKey(OnKey[R], Cast[R]):
    """Casts the key or fields of it."""


class CastValue(OnValue[R], Cast[R]):
    """Casts the value or fields of it."""
