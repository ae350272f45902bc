"""Protobuf messages to Connect values, by code generated for each message type."""

from __future__ import annotations

import datetime as dt
import decimal
import keyword
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from connect import DataError, Schema, Type
from connect.data.floats import float32
from connect.data.logical import datetime_from_millis, decimal_from_bytes, time_from_millis
from connect.data.schema import DATE, DECIMAL, TIME, TIMESTAMP
from converters.protobuf.compiling import message_class
from converters.protobuf.settings import WRAPPERS, ProtobufSettings
from converters.protobuf.to_connect import (
    has_optional_keyword,
    is_map,
    is_repeated,
    kind_of,
    real_oneof,
    real_oneofs,
)
from converters.registry.converter import Decoder

Convert = Callable[[Any], Any]


def compile_decoder(descriptor: Any, schema: Schema, settings: ProtobufSettings) -> Decoder:
    """The way to read messages of this type as the Connect schema wants them."""
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    parse = message_class(descriptor).FromString
    many = columns = None
    if schema.type is Type.STRUCT:
        compilation = _Compilation(settings)
        convert = compilation.message(descriptor, schema)
        convert_many, convert_columns = compilation.messages(descriptor, schema)

        def many(data: Sequence[bytes], start: int) -> list[Any]:
            return convert_many(map(parse, [item[start:] for item in data]))

        def columns(data: Sequence[bytes], start: int) -> dict[str, Sequence[Any]]:
            return convert_columns([*map(parse, [item[start:] for item in data])])

    else:
        inside = _scalar(descriptor.fields_by_name["value"], schema)

        def convert(message: Any) -> Any:
            return message.value if inside is None else inside(message.value)

    def read(data: bytes, start: int) -> Any:
        try:
            return convert(parse(data[start:]))
        except DecodeError as error:
            raise DataError(f"The payload is no {descriptor.full_name}: {error}") from error

    return Decoder(schema, read, many, columns)


class _Compilation:
    """All functions share a namespace, so that message types may be recursive."""

    def __init__(self, settings: ProtobufSettings) -> None:
        self._settings = settings
        self._namespace: dict[str, Any] = {}
        self._functions: dict[tuple[str, int], str] = {}

    def message(self, descriptor: Any, schema: Schema) -> Convert:
        name = self._message(descriptor, schema)
        convert: Convert = self._namespace[name]
        return convert

    def messages(
        self, descriptor: Any, schema: Schema
    ) -> tuple[
        Callable[[Iterable[Any]], list[Any]], Callable[[Sequence[Any]], dict[str, Sequence[Any]]]
    ]:
        """The same for many at once, with no call for each: one by one, and field by field."""
        values = self._values(descriptor, schema)
        struct = ", ".join(f"{name!r}: {value}" for name, value in values.items())
        columns = ", ".join(f"{name!r}: [{value} for m in ms]" for name, value in values.items())
        made: tuple[Any, Any] = eval(  # noqa: S307 - as below
            f"lambda ms: [{{{struct}}} for m in ms], lambda ms: {{{columns}}}", self._namespace
        )
        return made

    def _message(self, descriptor: Any, schema: Schema) -> str:
        key = (descriptor.full_name, id(schema.fields))
        known = self._functions.get(key)
        if known is not None:
            return known
        name = self._functions[key] = f"message{len(self._functions)}"
        values = self._values(descriptor, schema)
        struct = ", ".join(f"{field!r}: {value}" for field, value in values.items())
        # Only names of Protobuf fields, quoted or checked, get into the source.
        exec(f"def {name}(m):\n    return {{{struct}}}\n", self._namespace)  # noqa: S102
        return name

    def _values(self, descriptor: Any, schema: Schema) -> dict[str, str]:
        """The source of each field's value in a message m."""
        values: dict[str, str] = {}
        for index, oneof in real_oneofs(descriptor):
            if self._settings.flatten_unions:
                for own in oneof.fields:
                    values[own.name] = self._value(own, schema, present=True)
            else:
                field = f"{oneof.name}_{index}" if self._settings.index_for_unions else oneof.name
                union = schema.field(field)
                assert union is not None
                values[field] = self._union(oneof, union.schema)
        for own in descriptor.fields:
            if real_oneof(own) is None:
                values[own.name] = self._value(own, schema, present=self._has_presence(own))
        return values

    def _has_presence(self, field: Any) -> bool:
        """Whether null is told from the default: as the JVM's converter does, by its settings."""
        if is_repeated(field):
            return False
        if kind_of(field) == "MESSAGE":
            return not self._settings.struct_for_nulls
        optional = has_optional_keyword(field)
        if optional and field.containing_oneof is None and not self._settings.optional_for_proto2:
            return False
        return optional and not self._settings.struct_for_nulls

    def _value(self, field: Any, schema: Schema, *, present: bool) -> str:
        own = schema.field(field.name)
        assert own is not None
        attribute = _attribute("m", field.name)
        value = self._converted(field, own.schema, attribute)
        return f"({value} if m.HasField({field.name!r}) else None)" if present else value

    def _union(self, oneof: Any, schema: Schema) -> str:
        name = f"union{len(self._namespace)}"
        empty = dict.fromkeys(f.name for f in schema.fields)
        self._namespace[f"{name}_empty"] = empty
        lines = [f"def {name}(m):", f"    which = m.WhichOneof({oneof.name!r})"]
        for field in oneof.fields:
            own = schema.field(field.name)
            assert own is not None
            value = self._converted(field, own.schema, _attribute("m", field.name))
            lines.append(
                f"    if which == {field.name!r}: "
                f"return {{**{name}_empty, {field.name!r}: {value}}}"
            )
        lines.append("    return None\n")
        exec("\n".join(lines), self._namespace)  # noqa: S102
        return f"{name}(m)"

    def _converted(self, field: Any, schema: Schema, value: str) -> str:
        """The source of a value's conversion."""
        if is_map(field):
            return self._map(field, schema, value)
        if is_repeated(field):
            assert schema.value_schema is not None
            function = self._one(field, schema.value_schema)
            return f"list({value})" if function is None else f"[{function}(x) for x in {value}]"
        function = self._one(field, schema)
        return value if function is None else f"{function}({value})"

    def _map(self, field: Any, schema: Schema, value: str) -> str:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        by_name = field.message_type.fields_by_name
        key = self._one(by_name["key"], schema.key_schema)
        item = self._one(by_name["value"], schema.value_schema)
        k, v = ("k", "v") if field.message_type.GetOptions().map_entry else ("e.key", "e.value")
        pairs = f"k, v in {value}.items()" if k == "k" else f"e in {value}"
        shown_key = k if key is None else f"{key}({k})"
        shown_item = v if item is None else f"{item}({v})"
        if k == "e.key" and by_name["value"].has_presence:
            shown_item = f"({shown_item} if e.HasField('value') else None)"
        return f"{{{shown_key}: {shown_item} for {pairs}}}"

    def _one(self, field: Any, schema: Schema) -> str | None:
        """The name of the function for one value; None where there is nothing to do."""
        if kind_of(field) == "MESSAGE":
            message = field.message_type
            special = _of_message(message.full_name, schema)
            if special is not None:
                return self._named(special)
            return self._message(message, schema)
        convert = _scalar(field, schema)
        return None if convert is None else self._named(convert)

    def _named(self, function: Convert) -> str:
        name = f"convert{len(self._namespace)}"
        self._namespace[name] = function
        return name


def _attribute(message: str, name: str) -> str:
    if name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__"):
        return f"{message}.{name}"
    return f"getattr({message}, {name!r})"


def _scalar(field: Any, schema: Schema) -> Convert | None:
    kind = kind_of(field)
    if kind == "FLOAT":
        return float32
    if kind in ("UINT64", "FIXED64"):
        return _signed
    if kind == "ENUM" and schema.type is Type.STRING:
        enum = field.enum_type
        names = {v.number: v.name for v in reversed(enum.values)}
        return lambda number: names.get(number) or f"UNKNOWN_ENUM_VALUE_{enum.name}_{number}"
    return None


def _signed(number: int) -> int:
    """Connect has no unsigned numbers: the same 64 bits, as on the JVM."""
    return number - 2**64 if number >= 2**63 else number


def _of_message(name: str, schema: Schema) -> Convert | None:
    if schema.name == DECIMAL:
        return _decimal
    if schema.name == DATE:
        return _date
    if schema.name == TIME:
        return _time
    if schema.name == TIMESTAMP:
        return _timestamp
    if name in WRAPPERS and schema.type is not Type.STRUCT:
        if name == "google.protobuf.FloatValue":
            return lambda message: float32(message.value)
        if name == "google.protobuf.UInt64Value":
            return lambda message: _signed(message.value)
        return lambda message: message.value
    return None


def _decimal(message: Any) -> decimal.Decimal:
    return decimal_from_bytes(message.value or b"\0", message.scale)


def _date(message: Any) -> dt.date:
    try:
        return dt.date(message.year, message.month, message.day)
    except ValueError as error:
        shown = f"{message.year}-{message.month}-{message.day}"
        raise DataError(f"{shown} is no Date: {error}") from error


def _time(message: Any) -> dt.time:
    seconds = (message.hours * 60 + message.minutes) * 60 + message.seconds
    return time_from_millis(seconds * 1000 + message.nanos // 1_000_000)


def _timestamp(message: Any) -> dt.datetime:
    return datetime_from_millis(message.seconds * 1000 + message.nanos // 1_000_000)
