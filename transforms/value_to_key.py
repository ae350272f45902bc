"""ValueToKey: makes the record's key from fields of its value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic

from connect import (
    Config,
    ConfigDef,
    ConfigError,
    ConfigType,
    DataError,
    Importance,
    Schema,
    Transformation,
    Type,
)
from connect.records import R
from transforms.field_path import (
    FieldPath,
    define_field_syntax,
    parse_field_path,
    schema_at,
    value_at,
)
from transforms.key_or_value import Convert, Plan, PlanCache, define_null_replacement
from transforms.lists import some_items
from transforms.requirements import only_maps, only_structs
from transforms.struct_edit import failing

PURPOSE = "copying fields from value to key"


class ValueToKey(Transformation[R], Generic[R]):
    """Makes the key from fields of the value."""

    config_def = define_field_syntax(
        define_null_replacement(
            ConfigDef().define(
                "fields",
                ConfigType.LIST,
                validator=some_items,
                importance=Importance.HIGH,
                doc="The value's fields that make the key. A nested one gets its last name there.",
            )
        )
    )

    def configure(self, config: Config) -> None:
        self._paths = {path[-1]: path for path in _paths(config)}
        self._replace_nulls: bool = config["replace.null.with.default"]
        self._plans = PlanCache(self._plan)

    def apply(self, record: R) -> R | None:
        schema, convert, _ = self._plans.plan_for(record.value_schema)
        record.key = convert(record.value)
        record.key_schema = schema
        return record

    def apply_batch(self, records: Sequence[R]) -> list[R | None]:
        plan_for = self._plans.plan_for
        seen: object = self
        key_schema: Schema | None = None
        convert: Convert
        for record in records:
            schema = record.value_schema
            if schema is not seen:
                key_schema, convert, _ = plan_for(schema)
                seen = schema
            record.key = convert(record.value)
            record.key_schema = key_schema
        return [*records]

    def _plan(self, schema: Schema | None) -> Plan:
        if schema is None:
            return Plan(None, _key_of_map(self._paths))
        if schema.type is not Type.STRUCT:
            return Plan(None, failing(lambda value: only_structs(PURPOSE, value, schema)))
        builder = Schema.struct()
        defaults: list[tuple[str, Any]] = []
        for name, path in self._paths.items():
            inner = schema_at(schema, path)
            if inner is None:
                text = f"Field does not exist: {'.'.join(path)}"
                return Plan(None, failing(_missing(text, schema)))
            builder.field(name, inner)
            if self._replace_nulls and inner.default is not None:
                defaults.append((name, inner.default))
        return Plan(builder.build(), _key_of_struct(self._paths, tuple(defaults), schema))


def _paths(config: Config) -> list[FieldPath]:
    paths = [parse_field_path(text, config) for text in config["fields"]]
    names: dict[str, FieldPath] = {}
    for path in paths:
        if names.setdefault(path[-1], path) != path:
            raise ConfigError(
                "fields",
                ",".join(config["fields"]),
                f"two fields would be called {path[-1]!r} in the key",
            )
    return paths


def _missing(text: str, schema: Schema) -> Callable[[Any], Exception]:
    return lambda value: only_structs(PURPOSE, None, schema) if value is None else DataError(text)


def _key_of_map(paths: dict[str, FieldPath]) -> Convert:
    nested = any(len(path) > 1 for path in paths.values())

    def key(value: Any) -> Any:
        if not isinstance(value, dict):
            raise only_maps(PURPOSE, value)
        get = value.get
        return {name: get(name) for name in paths}

    def key_from_inside(value: Any) -> Any:
        if not isinstance(value, dict):
            raise only_maps(PURPOSE, value)
        return {name: value_at(value, path) for name, path in paths.items()}

    return key_from_inside if nested else key


def _key_of_struct(
    paths: dict[str, FieldPath], defaults: tuple[tuple[str, Any], ...], schema: Schema
) -> Convert:
    nested = any(len(path) > 1 for path in paths.values())

    def key(value: Any) -> Any:
        if value is None:
            raise only_structs(PURPOSE, value, schema)
        get = value.get
        return {name: get(name) for name in paths}

    def key_in_full(value: Any) -> Any:
        if value is None:
            raise only_structs(PURPOSE, value, schema)
        new = {name: value_at(value, path) for name, path in paths.items()}
        for name, default in defaults:
            if new[name] is None:
                new[name] = default
        return new

    return key_in_full if nested or defaults else key
