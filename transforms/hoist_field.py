"""HoistField: wraps the whole key or value in a struct with one field."""

from __future__ import annotations

from typing import Any, Generic

from connect import Config, ConfigDef, Importance, Schema
from connect.plugin import ValueEdit
from connect.records import R
from transforms.field_path import define_field_syntax, parse_field_path
from transforms.key_or_value import KeyOrValue, OnKey, OnValue, Plan


class HoistField(KeyOrValue[R], Generic[R]):
    passes_null = False
    config_def = define_field_syntax(
        ConfigDef().define(
            "field",
            importance=Importance.MEDIUM,
            doc="The name of the field that will hold what was there before. "
            "A path makes nested structs.",
        )
    )

    def configure(self, config: Config) -> None:
        *self._outer, self._name = parse_field_path(config["field"], config)

    def plan(self, schema: Schema | None) -> Plan:
        name = self._name

        def hoist(value: Any) -> Any:
            return {name: value}

        def hoist_deep(value: Any) -> Any:
            value = {name: value}
            for outer in reversed(self._outer):
                value = {outer: value}
            return value

        if schema is not None:
            for step in (name, *reversed(self._outer)):
                schema = Schema.struct().field(step, schema).build()
        if self._outer:
            return Plan(schema, hoist_deep)
        edit = ValueEdit(schema, lambda value, _: {name: value}, in_place=False, hoists=name)
        return Plan(schema, hoist, edit)


class HoistFieldKey(OnKey[R], HoistField[R]):
    """Wraps the key."""


class HoistFieldValue(OnValue[R], HoistField[R]):
    """Wraps the value."""
