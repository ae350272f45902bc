"""HeaderFrom: copies or moves fields of the key or value into headers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic

from connect import (
    Config,
    ConfigDef,
    ConfigError,
    ConfigType,
    DataError,
    Header,
    Headers,
    Importance,
    Record,
    Schema,
    Type,
)
from connect.config.validators import non_empty_list, one_of
from connect.records import R
from transforms.field_path import (
    FieldPath,
    define_field_syntax,
    parse_field_path,
    schema_at,
    value_at,
)
from transforms.key_or_value import (
    Convert,
    KeyOrValue,
    OnKey,
    OnValue,
    Plan,
    define_null_replacement,
)
from transforms.requirements import only_maps, only_structs
from transforms.selection import Selection
from transforms.struct_edit import failing, unchanged


class HeaderFrom(KeyOrValue[R], Generic[R]):
    passes_null = False
    sees_record = True
    config_def = define_field_syntax(
        define_null_replacement(
            ConfigDef()
            .define(
                "fields",
                ConfigType.LIST,
                validator=non_empty_list,
                importance=Importance.HIGH,
                doc="The fields to copy or move to headers.",
            )
            .define(
                "headers",
                ConfigType.LIST,
                validator=non_empty_list,
                importance=Importance.HIGH,
                doc="The names of the headers, one for each of the fields and in their order.",
            )
            .define(
                "operation",
                validator=one_of("move", "copy"),
                importance=Importance.HIGH,
                doc="Whether the fields move, and so leave the key or value, or are copied.",
            )
        )
    )

    def configure(self, config: Config) -> None:
        if len(config["fields"]) != len(config["headers"]):
            raise ConfigError(
                "'fields' config must have the same number of elements as 'headers' config."
            )
        self._replace_nulls: bool = config["replace.null.with.default"]
        paths = [parse_field_path(field, config) for field in config["fields"]]
        self._headers = list(zip(config["headers"], paths, strict=True))
        self._purpose = f"header {config['operation']}"
        self._rest: Selection | None = None
        if config["operation"] == "move":
            self._rest = Selection(self._purpose, replace_nulls=self._replace_nulls)
            for path in paths:
                self._rest.exclude(path)

    def plan(self, schema: Schema | None) -> Plan:
        new_schema, rest, _ = self._rest.plan(schema) if self._rest else Plan(schema, unchanged)
        if schema is None:
            return Plan(None, _from_map(self._headers, rest, self._purpose))
        if schema.type is not Type.STRUCT:
            return Plan(schema, failing(lambda value: only_structs(self._purpose, value, schema)))
        parts: list[tuple[str, FieldPath, Schema]] = []
        for name, path in self._headers:
            inner = schema_at(schema, path)
            if inner is None:
                return Plan(schema, failing(self._missing(path, schema)))
            parts.append((name, path, inner))
        return Plan(new_schema, self._from_struct(schema, parts, rest))

    def _missing(self, path: FieldPath, schema: Schema) -> Callable[[Any], Exception]:
        def error(value: Any) -> Exception:
            if value is None:
                return only_structs(self._purpose, value, schema)
            return DataError(f"Field does not exist: {'.'.join(path)}")

        return error

    def _from_struct(
        self, schema: Schema, parts: Sequence[tuple[str, FieldPath, Schema]], rest: Convert
    ) -> Convert:
        replace_nulls = self._replace_nulls

        def convert(value: Any, record: Record) -> Any:
            if value is None:
                raise only_structs(self._purpose, value, schema)
            new = rest(value)
            added = []
            for name, path, inner in parts:
                found = value_at(value, path)
                if found is None and replace_nulls:
                    found = inner.default
                added.append(Header(name, found, inner))
            record.headers = Headers((*record.headers, *added))
            return new

        return convert


def _from_map(headers: Sequence[tuple[str, FieldPath]], rest: Convert, purpose: str) -> Convert:
    def convert(value: Any, record: Record) -> Any:
        if not isinstance(value, dict):
            raise only_maps(purpose, value)
        new = rest(value)
        added = [Header(name, value_at(value, path)) for name, path in headers]
        record.headers = Headers((*record.headers, *added))
        return new

    return convert


class HeaderFromKey(OnKey[R], HeaderFrom[R]):
    """Fields of the key become headers."""


class HeaderFromValue(OnValue[R], HeaderFrom[R]):
    """Fields of the value become headers."""
