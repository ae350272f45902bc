"""MaskField: hides the values of fields behind an empty value of their type, or a fixed one."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable
from typing import Any, Generic

from connect import Config, ConfigDef, ConfigType, DataError, Importance, Schema, Type
from connect.config.validators import non_empty
from connect.data.schema import DATE, DECIMAL, TIME, TIMESTAMP
from connect.javalang.numbers import parse_big_decimal
from connect.records import R
from transforms.casting import from_decimal
from transforms.field_path import as_tree, define_field_syntax, parse_field_path
from transforms.key_or_value import (
    Convert,
    KeyOrValue,
    OnKey,
    OnValue,
    Plan,
    define_null_replacement,
)
from transforms.lists import some_items
from transforms.requirements import java_class
from transforms.struct_edit import EditTree, edit_map, edit_struct

PURPOSE = "mask fields"

_EPOCH = dt.datetime.fromtimestamp(0, dt.UTC)
_EMPTY: dict[Type, Any] = {
    Type.INT8: 0,
    Type.INT16: 0,
    Type.INT32: 0,
    Type.INT64: 0,
    Type.FLOAT32: 0.0,
    Type.FLOAT64: 0.0,
    Type.BOOLEAN: False,
    Type.STRING: "",
    Type.ARRAY: [],
    Type.MAP: {},
}
_EMPTY_LOGICAL: dict[str, Any] = {
    DATE: _EPOCH.date(),
    TIME: dt.time(),
    TIMESTAMP: _EPOCH,
}
_EMPTY_SCHEMALESS: tuple[tuple[type, Any], ...] = (
    (bool, False),
    (int, 0),
    (float, 0.0),
    (str, ""),
    (list, []),
    (dict, {}),
    (decimal.Decimal, decimal.Decimal(0)),
    (dt.datetime, _EPOCH),
    (dt.date, _EPOCH.date()),
    (dt.time, dt.time()),
)
_NUMBERS = (
    Type.INT8,
    Type.INT16,
    Type.INT32,
    Type.INT64,
    Type.FLOAT32,
    Type.FLOAT64,
)


# Decimals without a schema: they have whatever scale they have.
_UNSCALED = Schema.decimal(0).build()


class MaskField(KeyOrValue[R], Generic[R]):
    config_def = define_field_syntax(
        define_null_replacement(
            ConfigDef()
            .define(
                "fields",
                ConfigType.LIST,
                validator=some_items,
                importance=Importance.HIGH,
                doc="The fields to mask.",
            )
            .define(
                "replacement",
                default=None,
                validator=non_empty,
                importance=Importance.LOW,
                doc="What masked fields hold instead of their type's empty value. It must be a "
                "number where a field is numeric; only numeric and text fields can have one.",
            )
        )
    )

    def configure(self, config: Config) -> None:
        self._replacement: str | None = config["replacement"]
        self._replace_nulls: bool = config["replace.null.with.default"]
        self._masks: EditTree = as_tree(
            "fields", [(parse_field_path(field, config), self._mask) for field in config["fields"]]
        )

    def plan(self, schema: Schema | None) -> Plan:
        if schema is None:
            return edit_map(self._masks, PURPOSE, by_type=True)
        return edit_struct(
            schema, self._masks, PURPOSE, replace_nulls=self._replace_nulls, keep_flags=True
        )

    def _mask(self, schema: Schema | None) -> Plan:
        if schema is None:
            return Plan(None, self._by_type())
        return Plan(schema, self._constant(schema))

    def _constant(self, schema: Schema) -> Convert:
        """A mask is the same for every value of a schema: a constant, or an error."""
        try:
            mask = self._replaced(schema) if self._replacement else self._emptied(schema)
        except DataError as error:
            text = str(error)

            def refuse(value: Any) -> Any:
                if value is not None:
                    raise DataError(text)

            return refuse

        def constant(value: Any) -> Any:
            return None if value is None else mask

        return constant

    def _emptied(self, schema: Schema) -> Any:
        if schema.name == DECIMAL:
            return decimal.Decimal(0).scaleb(-schema.scale)
        if schema.is_logical:
            return _EMPTY_LOGICAL[schema.name or ""]
        if schema.type not in _EMPTY:
            raise DataError(f"Cannot mask value of type: class {_class_of(schema)}")
        return _EMPTY[schema.type]

    def _replaced(self, schema: Schema) -> Any:
        text = self._replacement or ""
        parse = _parser(schema)
        if parse is None:
            raise DataError(
                f"Cannot mask value of type class {_class_of(schema)} with custom replacement."
            )
        try:
            return parse(text)
        except (ValueError, ArithmeticError) as error:
            number = "number" if schema.name == DECIMAL else "a number"
            raise DataError(
                f"Unable to convert {text} (class java.lang.String) to {number}"
            ) from error

    def _by_type(self) -> Convert:
        masks: dict[type, Any] = {type(None): None}

        def mask(value: Any) -> Any:
            kind = type(value)
            if kind not in masks:
                masks[kind] = self._mask_schemaless(value)
            return masks[kind]

        return mask

    def _mask_schemaless(self, value: Any) -> Any:
        if self._replacement:
            if isinstance(value, str):
                return self._replacement
            if isinstance(value, float):
                return self._replaced(Schema.FLOAT64)
            if isinstance(value, int) and not isinstance(value, bool):
                return self._replaced(Schema.INT64)
            if isinstance(value, decimal.Decimal):
                return self._replaced(_UNSCALED)
            raise DataError(
                f"Cannot mask value of type class {java_class(value)} with custom replacement."
            )
        for kind, mask in _EMPTY_SCHEMALESS:
            if isinstance(value, kind):
                return mask
        raise DataError(f"Cannot mask value of type: class {java_class(value)}")


def _parser(schema: Schema) -> Callable[[str], Any] | None:
    """How a replacement is read for a field of this schema; None if it can't have one."""
    if schema.name == DECIMAL:
        if schema is _UNSCALED:
            return parse_big_decimal
        unit = decimal.Decimal(1).scaleb(-schema.scale)
        exact = decimal.Context(prec=1000, traps=[decimal.Inexact, decimal.InvalidOperation])
        return lambda text: parse_big_decimal(text).quantize(unit, context=exact)
    if schema.is_logical:
        return None
    if schema.type is Type.STRING:
        return str
    if schema.type in _NUMBERS:
        cast = from_decimal(schema.type)
        return lambda text: cast(parse_big_decimal(text))
    return None


def _class_of(schema: Schema) -> str:
    samples: dict[Type, Any] = {Type.BOOLEAN: True, Type.BYTES: b"", Type.ARRAY: [], Type.MAP: {}}
    sample = _EPOCH if schema.is_logical else samples.get(schema.type, "")
    return java_class(sample, schema)


class MaskFieldKey(OnKey[R], MaskField[R]):
    """Masks fields of the key."""


class MaskFieldValue(OnValue[R], MaskField[R]):
    """Masks fields of the value."""
