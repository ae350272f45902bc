"""Connect values to Protobuf messages."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable
from typing import Any

from connect import DataError, Schema, Type
from connect.data.logical import datetime_to_millis, decimal_to_bytes, time_to_millis
from connect.data.schema import DATE, DECIMAL, TIME, TIMESTAMP
from converters.protobuf.compiling import message_class
from converters.protobuf.from_connect import scrub
from converters.protobuf.settings import (
    DATE_MESSAGE,
    DECIMAL_MESSAGE,
    TIME_MESSAGE,
    TIMESTAMP_MESSAGE,
    WRAPPERS,
    ProtobufSettings,
    enum_mark,
    is_union,
)
from converters.protobuf.to_connect import is_map, is_repeated, kind_of
from converters.registry.shapes import (
    FieldShape,
    Shape,
    compile_struct,
    leaf,
    misfit,
    null_error,
    passes_as_is,
)

_ACCEPTS = {
    Type.INT8: "INT32 SINT32 SFIXED32 INT64 SINT64 SFIXED64 FLOAT DOUBLE",
    Type.INT16: "INT32 SINT32 SFIXED32 INT64 SINT64 SFIXED64 FLOAT DOUBLE",
    Type.INT32: "INT32 SINT32 SFIXED32 INT64 SINT64 SFIXED64 UINT32 FIXED32 DOUBLE ENUM",
    Type.INT64: "INT64 SINT64 SFIXED64 UINT32 FIXED32 UINT64 FIXED64",
    Type.FLOAT32: "FLOAT DOUBLE",
    Type.FLOAT64: "DOUBLE",
    Type.BOOLEAN: "BOOL",
    Type.STRING: "STRING ENUM",
    Type.BYTES: "BYTES",
}


def compile_writer(
    schema: Schema, descriptor: Any, settings: ProtobufSettings
) -> Callable[[Any, bytes], bytes]:
    """A function from a value and the bytes before it to the bytes of both."""
    compilation = _Compilation(settings)
    if schema.type is Type.STRUCT:
        shape = compilation.message(schema, descriptor, "")
    else:
        shape = _wrapper(schema, descriptor, "")
    return lambda value, prefix: prefix + shape(value).SerializeToString()


class _Compilation:
    def __init__(self, settings: ProtobufSettings) -> None:
        self._settings = settings
        self._messages: dict[tuple[int, str], list[Shape]] = {}
        self._kept: list[Schema] = []  # so that their ids stay theirs
        self._scrub = scrub if settings.scrub_names else str

    def message(self, schema: Schema, descriptor: Any, path: str) -> Shape:
        key = (id(schema.fields), descriptor.full_name)
        known = self._messages.get(key)
        if known is not None:
            # Perhaps still being compiled: found when it is called.
            return lambda value: known[0](value)  # noqa: PLW0108
        cell = self._messages[key] = []
        self._kept.append(schema)
        fields: list[FieldShape] = []
        unions: list[tuple[str, Shape]] = []
        for field in schema.fields:
            where = f"{path}.{field.name}".lstrip(".")
            name = self._scrub(field.name)
            target = descriptor.fields_by_name.get(name)
            if target is not None:
                shape = self._field(field.schema, target, where)
                passes = _passes(field.schema, target)
                fields.append(FieldShape(field.name, name, shape, passes))
            elif is_union(field.schema):
                unions.append((field.name, self._union(field.schema, descriptor, where)))
            else:
                raise DataError(f"The message {descriptor.full_name} has no field for {where}")
        struct = compile_struct(f"struct{len(self._messages)}", fields, {}, {})
        make = message_class(descriptor)

        def shape_message(value: Any) -> Any:
            if not isinstance(value, dict):
                raise misfit(path, schema, value)
            return make(**struct(value))

        def shape_with_unions(value: Any) -> Any:
            if not isinstance(value, dict):
                raise misfit(path, schema, value)
            parts = struct(value)
            for name, shape_union in unions:
                union = value.get(name)
                if union is not None:
                    parts.update(shape_union(union))
            return make(**parts)

        cell.append(shape_with_unions if unions else shape_message)
        return cell[0]

    def _field(self, schema: Schema, field: Any, path: str) -> Shape:
        """The shape of a field: None is left out, where that is allowed."""
        shape = self._required(schema, field, path)
        default = schema.default
        if self._settings.keep_null_with_default and schema.optional:
            default = None
        substitute = shape(default) if default is not None else None

        def shape_or_null(value: Any) -> Any:
            if value is not None:
                return shape(value)
            if substitute is None and not schema.optional:
                raise null_error(path, schema)
            return substitute

        return shape_or_null

    def _union(self, schema: Schema, descriptor: Any, path: str) -> Shape:
        members = []
        for member in schema.fields:
            name = self._scrub(member.name)
            target = descriptor.fields_by_name.get(name)
            where = f"{path}.{member.name}"
            if target is None:
                raise DataError(f"The message {descriptor.full_name} has no field for {where}")
            members.append((member.name, name, self._required(member.schema, target, where)))

        def shape_member(value: Any) -> Any:
            if not isinstance(value, dict):
                raise misfit(path, schema, value)
            for source, target, shape in members:
                item = value.get(source)
                if item is not None:
                    return {target: shape(item)}
            raise DataError(f"{path} is a union with no member set")

        return shape_member

    def _required(self, schema: Schema, field: Any, path: str) -> Shape:
        if is_map(field):
            return self._map(schema, field, path)
        if is_repeated(field):
            if schema.type is not Type.ARRAY:
                raise _unfit(schema, field, path)
            assert schema.value_schema is not None
            item_schema = schema.value_schema
            shape = self._one(item_schema, field, f"{path}[]")

            def shape_items(value: Any) -> Any:
                if not isinstance(value, (list, tuple)):
                    raise misfit(path, schema, value)
                if None in value:
                    raise DataError(f"{path}[] is null, and Protobuf has no null in a list")
                return [shape(item) for item in value]

            return shape_items
        return self._one(schema, field, path)

    def _map(self, schema: Schema, field: Any, path: str) -> Shape:
        if schema.type is not Type.MAP:
            raise _unfit(schema, field, path)
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        entry = field.message_type
        key = self._one(schema.key_schema, entry.fields_by_name["key"], f"{path}.key")
        item = self._one(schema.value_schema, entry.fields_by_name["value"], f"{path}{{}}")
        if not entry.GetOptions().map_entry:
            make = message_class(entry)

            def shape_entries(value: Any) -> Any:
                if not isinstance(value, dict):
                    raise misfit(path, schema, value)
                return [
                    make(key=key(k), value=None if v is None else item(v)) for k, v in value.items()
                ]

            return shape_entries

        def shape_values(value: Any) -> Any:
            if not isinstance(value, dict):
                raise misfit(path, schema, value)
            if None in value.values():
                raise DataError(f"{path}{{}} is null, and Protobuf has no null in a map")
            return {key(k): item(v) for k, v in value.items()}

        return shape_values

    def _one(self, schema: Schema, field: Any, path: str) -> Shape:
        """The shape of one value that is not null."""
        kind = kind_of(field)
        if kind == "MESSAGE":
            message = field.message_type
            special = _special(schema, message)
            if special is not None:
                return special
            if message.full_name in WRAPPERS and schema.type.is_primitive:
                return _wrapper(schema, message, path)
            if schema.type is not Type.STRUCT or is_union(schema):
                raise _unfit(schema, field, path)
            return self.message(schema, message, path)
        if kind not in _ACCEPTS.get(schema.type, "").split():
            raise _unfit(schema, field, path)
        if kind == "ENUM":
            return _enum(schema, field, path)
        return _number(schema, kind, path)


def _passes(schema: Schema, field: Any) -> str | None:
    """The quick test of a value that goes into its field as it is."""
    if is_repeated(field) or kind_of(field) in (
        "MESSAGE", "ENUM", "UINT32", "FIXED32", "UINT64", "FIXED64",
    ):  # fmt: skip
        return None
    test = passes_as_is(schema, "{x}")
    if test is not None and schema.optional and schema.default is None:
        return f"{{x}} is None or {test}"
    return test


def _number(schema: Schema, kind: str, path: str) -> Shape:
    shape = leaf(schema, path)
    if kind in ("UINT64", "FIXED64"):
        # The same 64 bits: Connect has no unsigned numbers.
        return lambda value: shape(value) % 2**64
    if kind in ("UINT32", "FIXED32"):

        def shape_unsigned(value: Any) -> Any:
            number = shape(value)
            if not 0 <= number < 2**32:
                raise DataError(f"{path or 'The value'} is too large for {kind}: {number}")
            return number

        return shape_unsigned
    return shape


def _enum(schema: Schema, field: Any, path: str) -> Shape:
    enum = field.enum_type
    if schema.type is not Type.STRING:
        return leaf(schema, path)
    numbers = {v.name: v.number for v in enum.values}

    def shape_symbol(value: Any) -> Any:
        number = numbers.get(value)
        if number is None:
            raise DataError(f"{path or 'The value'} is no value of {enum.full_name}: {value!r}")
        return number

    return shape_symbol


def _wrapper(schema: Schema, message: Any, path: str) -> Shape:
    field = message.fields_by_name["value"]
    kind = kind_of(field)
    if kind not in _ACCEPTS[schema.type].split() or enum_mark(schema) is not None:
        raise _unfit(schema, field, path)
    make = message_class(message)
    shape = _number(schema, kind, path)
    return lambda value: make(value=shape(value))


def _special(schema: Schema, message: Any) -> Shape | None:
    """The shapes of logical values in the messages that stand for them."""
    make = message_class(message)
    pair = (schema.name if schema.is_logical else None, message.full_name)
    if pair == (DECIMAL, DECIMAL_MESSAGE):
        scale = schema.scale

        def shape_decimal(value: decimal.Decimal) -> Any:
            data = leaf(schema, "")(value) if not isinstance(value, decimal.Decimal) else (
                decimal_to_bytes(value, scale)
            )  # fmt: skip
            digits = len(value.as_tuple().digits)
            return make(value=data, precision=digits, scale=scale)

        return shape_decimal
    if pair == (DATE, DATE_MESSAGE):

        def shape_date(value: dt.date) -> Any:
            leaf(schema, "")(value)
            return make(year=value.year, month=value.month, day=value.day)

        return shape_date
    if pair == (TIME, TIME_MESSAGE):

        def shape_time(value: dt.time) -> Any:
            seconds, millis = divmod(time_to_millis(value), 1000)
            minutes, seconds = divmod(seconds, 60)
            hours, minutes = divmod(minutes, 60)
            return make(hours=hours, minutes=minutes, seconds=seconds, nanos=millis * 1_000_000)

        return shape_time
    if pair == (TIMESTAMP, TIMESTAMP_MESSAGE):

        def shape_timestamp(value: dt.datetime) -> Any:
            seconds, millis = divmod(datetime_to_millis(value), 1000)
            return make(seconds=seconds, nanos=millis * 1_000_000)

        return shape_timestamp
    return None


def _unfit(schema: Schema, field: Any, path: str) -> DataError:
    kind = kind_of(field).lower()
    shown = f"repeated {kind}" if is_repeated(field) else kind
    return DataError(
        f"{path or 'The value'} is {schema!r}, and {field.full_name} is {shown} in the schema to "
        f"write with"
    )
