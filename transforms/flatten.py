"""Flatten: lifts nested fields to the top, their names joined by a delimiter."""

from __future__ import annotations

from typing import Any, Generic

from connect import Config, ConfigDef, DataError, Importance, Schema, SchemaBuilder, Type
from connect.records import R
from transforms.key_or_value import KeyOrValue, OnKey, OnValue, Plan
from transforms.requirements import java_class, only_maps, only_structs
from transforms.struct_edit import failing, same_basics

PURPOSE = "flattening"

_PLAIN = (str, int, float, bool, list, bytes)


class Flatten(KeyOrValue[R], Generic[R]):
    config_def = ConfigDef().define(
        "delimiter",
        default=".",
        importance=Importance.MEDIUM,
        doc="What stands between the names of the outer and the inner field in the new name.",
    )

    def configure(self, config: Config) -> None:
        self._delimiter: str = config["delimiter"]

    def plan(self, schema: Schema | None) -> Plan:
        if schema is None:
            return Plan(None, self._flatten_map)
        if schema.type is not Type.STRUCT:
            return Plan(schema, failing(lambda value: only_structs(PURPOSE, value, schema)))
        builder = same_basics(schema)
        flat = self._flatten_schema(
            schema, "", builder, optional=schema.optional, default=schema.default
        )
        return Plan(builder.build(), flat.convert)

    # -- without a schema -------------------------------------------------------------------

    def _flatten_map(self, value: Any) -> Any:
        if not isinstance(value, dict):
            raise only_maps(PURPOSE, value)
        flat: dict[str, Any] = {}
        self._fill(value, "", flat)
        return flat

    def _fill(self, value: dict[str, Any], prefix: str, flat: dict[str, Any]) -> None:
        for name, item in value.items():
            full = prefix + name
            if type(item) is dict:
                self._fill(item, full + self._delimiter, flat)
            elif item is None or type(item) in _PLAIN:
                flat[full] = item
            else:
                raise DataError(
                    f"Flatten transformation was passed a value of type class {java_class(item)} "
                    f"which is not supported by Connect's data API"
                )

    # -- with a schema ----------------------------------------------------------------------

    def _flatten_schema(
        self, schema: Schema, prefix: str, builder: SchemaBuilder, *, optional: bool, default: Any
    ) -> _Branch:
        """Add the schema's fields, and those inside of them, to the builder."""
        branch = _Branch()
        for field in schema.fields:
            name = prefix + field.name
            inner = field.schema
            may_be_null = optional or inner.optional
            field_default = inner.default
            if field_default is None and default is not None:
                field_default = default.get(field.name)
            if inner.type is Type.STRUCT:
                deeper = self._flatten_schema(
                    inner,
                    name + self._delimiter,
                    builder,
                    optional=may_be_null,
                    default=field_default,
                )
                branch.inner.append((field.name, inner.default, deeper))
            elif inner.type is Type.MAP:
                raise DataError(
                    "Flatten transformation does not support MAP for record with schemas "
                    f"(for field {name})."
                )
            else:
                branch.leaves.append((name, field.name, inner.default))
                leaf = inner.to_builder()
                leaf = leaf.optional() if may_be_null else leaf.required()
                builder.field(name, leaf.default(field_default).build())
        return branch


class _Branch:
    """The fields of one struct: those that are lifted, and the structs to go on in."""

    def __init__(self) -> None:
        self.leaves: list[tuple[str, str, Any]] = []
        self.inner: list[tuple[str, Any, _Branch]] = []

    def fill(self, value: dict[str, Any], flat: dict[str, Any]) -> None:
        get = value.get
        for name, own_name, default in self.leaves:
            item = get(own_name)
            flat[name] = default if item is None else item
        for own_name, default, branch in self.inner:
            item = get(own_name)
            if item is None:
                item = default
            if item is not None:
                branch.fill(item, flat)

    def convert(self, value: dict[str, Any]) -> dict[str, Any]:
        flat: dict[str, Any] = {}
        self.fill(value, flat)
        return flat


class FlattenKey(OnKey[R], Flatten[R]):
    """Flattens the key."""


class FlattenValue(OnValue[R], Flatten[R]):
    """Flattens the value."""
