"""SetSchemaMetadata: gives a schema another name or version."""

from __future__ import annotations

from typing import Any, Generic

from connect import Config, ConfigDef, ConfigError, ConfigType, DataError, Schema, Type
from connect.records import R
from transforms.key_or_value import KeyOrValue, OnKey, OnValue, Plan, define_null_replacement
from transforms.struct_edit import defaults_of, failing, unchanged


class SetSchemaMetadata(KeyOrValue[R], Generic[R]):
    passes_null = False
    config_def = define_null_replacement(
        ConfigDef()
        .define("schema.name", default=None, doc="The schema's new name.")
        .define("schema.version", ConfigType.INT, default=None, doc="The schema's new version.")
    )

    def configure(self, config: Config) -> None:
        self._name: str | None = config["schema.name"]
        self._version: int | None = config["schema.version"]
        self._replace_nulls: bool = config["replace.null.with.default"]
        if self._name is None and self._version is None:
            raise ConfigError("Neither schema name nor version configured")

    def plan(self, schema: Schema | None) -> Plan:
        if schema is None:
            return Plan(None, _null_or_fail)
        builder = schema.to_builder()
        if self._name is not None:
            builder.name(self._name)
        if self._version is not None:
            builder.version(self._version)
        defaults = defaults_of(schema) if schema.type is Type.STRUCT and self._replace_nulls else ()

        def fill(value: Any) -> Any:
            if value is None:
                return None
            new = {**value}
            for name, default in defaults:
                if new.get(name) is None:
                    new[name] = default
            return new

        return Plan(builder.build(), fill if defaults else unchanged)


_fail = failing(lambda _: DataError("Schema required for [updating schema metadata]"))


def _null_or_fail(value: Any) -> Any:
    return None if value is None else _fail(value)


class SetSchemaMetadataKey(OnKey[R], SetSchemaMetadata[R]):
    """Renames the key's schema."""


class SetSchemaMetadataValue(OnValue[R], SetSchemaMetadata[R]):
    """Renames the value's schema."""
