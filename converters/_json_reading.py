"""From JSON to values: by the book for any node, and compiled for one schema.

The two agree. A compiled reader decodes and checks in C and then touches only the fields that need
it; as soon as a document is not just what the schema says it raises one of UNUSUAL, and the caller
reads that document by the book.
"""

from __future__ import annotations

import decimal
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NotRequired, TypedDict

import msgspec

from connect.data import logical
from connect.data.columns import Columns
from connect.data.floats import float32
from connect.data.schema import DECIMAL, Schema, Type
from connect.errors import DataError
from converters import _jackson
from converters._compiling import (
    PRIMITIVE,
    Change,
    FieldWork,
    NotPlainError,
    RowReader,
    SchemaCompiler,
    compile_fields,
)

# ---- by the book --------------------------------------------------------------------------


def read_node(schema: Schema | None, node: Any, *, replace_null: bool) -> Any:
    """The value of a node. What is not of the schema's type becomes what the JVM makes of it.

    That is 0, false, null or an empty array for another kind of node, and the low bits for a
    number that is too large. A required part that is null is an error.
    """
    if schema is None:
        return _schemaless(node)
    if node is None:
        if schema.default is not None and replace_null:
            return schema.default
        if schema.optional:
            return None
        raise DataError(f"Invalid null value for required {schema.type.name} field")
    from_base = _logical_reader(schema)
    if from_base is not None:
        return from_base(node)
    match schema.type:
        case Type.ARRAY:
            items = node.values() if isinstance(node, dict) else node
            if not isinstance(node, (dict, list)):
                items = ()
            return [read_node(schema.value_schema, i, replace_null=replace_null) for i in items]
        case Type.MAP:
            return _read_map(schema, node, replace_null=replace_null)
        case Type.STRUCT:
            return _read_struct(schema, node, replace_null=replace_null)
    return _READ_PRIMITIVE[schema.type](node)


def _schemaless(node: Any) -> Any:
    match node:
        case decimal.Decimal():
            return _jackson.float64_value(node)
        case list():
            return [_schemaless(item) for item in node]
        case dict():
            return {key: _schemaless(item) for key, item in node.items()}
        case _jackson.MISSING:
            return None
    return node


def _read_binary(node: Any) -> bytes | None:
    try:
        return _jackson.binary_value(node)
    except DataError as error:
        raise DataError("Invalid bytes field") from error


_READ_PRIMITIVE: dict[Type, Callable[[Any], Any]] = {
    Type.BOOLEAN: lambda node: node is True,
    Type.INT8: lambda node: _jackson.int_value(node, 8),
    Type.INT16: lambda node: _jackson.int_value(node, 16),
    Type.INT32: lambda node: _jackson.int_value(node, 32),
    Type.INT64: lambda node: _jackson.int_value(node, 64),
    Type.FLOAT32: _jackson.float32_value,
    Type.FLOAT64: _jackson.float64_value,
    Type.STRING: lambda node: node if isinstance(node, str) else None,
    Type.BYTES: _read_binary,
}


def _read_map(schema: Schema, node: Any, *, replace_null: bool) -> dict[Any, Any]:
    keys, values = schema.key_schema, schema.value_schema
    if keys is not None and keys.type is Type.STRING:
        if not isinstance(node, dict):
            raise DataError(
                "Maps with string fields should be encoded as JSON objects, "
                f"but found {_jackson.kind(node)}"
            )
        return {k: read_node(values, v, replace_null=replace_null) for k, v in node.items()}
    if not isinstance(node, list):
        raise DataError(
            "Maps with non-string fields should be encoded as JSON array of tuples, "
            f"but found {_jackson.kind(node)}"
        )
    found = {}
    for entry in node:
        if not isinstance(entry, list):
            raise DataError(
                f"Found invalid map entry instead of array tuple: {_jackson.kind(entry)}"
            )
        if len(entry) != 2:
            raise DataError(f"Found invalid map entry, expected length 2 but found :{len(entry)}")
        key = read_node(keys, entry[0], replace_null=replace_null)
        try:
            found[key] = read_node(values, entry[1], replace_null=replace_null)
        except TypeError:
            raise DataError(
                f"A map with keys of type {keys.type.name if keys else None} "
                "can't be held: Python needs keys that don't change"
            ) from None
    return found


def _read_struct(schema: Schema, node: Any, *, replace_null: bool) -> dict[str, Any]:
    if not isinstance(node, dict):
        raise DataError(
            f"Structs should be encoded as JSON objects, but found {_jackson.kind(node)}"
        )
    struct = {}
    for field in schema.fields:
        try:
            value = read_node(field.schema, node.get(field.name), replace_null=replace_null)
            field.schema.validate(value, field.name)
        except DataError as error:
            error.add_note(f'in field "{field.name}"')
            raise
        if value is not None or field.name in node:
            struct[field.name] = value
    return struct


def _logical_reader(schema: Schema) -> Callable[[Any], Any] | None:
    from_base = logical.from_base(schema) if schema.name != DECIMAL else _decimal_reader(schema)
    if from_base is None:
        return None
    match schema.type, schema.name:
        case Type.BYTES, _:
            return from_base
        case Type.INT32, name:
            what = str(name).rpartition(".")[2]

            def read_int(node: Any) -> Any:
                if not _jackson.is_whole(node) or not -(2**31) <= node < 2**31:
                    raise DataError(
                        f"Invalid type for {what}, underlying representation should be integer "
                        f"but was {_jackson.kind(node)}"
                    )
                return from_base(node)

            return read_int

    def read_long(node: Any) -> Any:
        if not _jackson.is_whole(node):
            raise DataError(
                "Invalid type for Timestamp, underlying representation should be integral "
                f"but was {_jackson.kind(node)}"
            )
        return from_base(_jackson.int_value(node, 64))

    return read_long


def _decimal_reader(schema: Schema) -> Callable[[Any], decimal.Decimal] | None:
    if schema.type is not Type.BYTES:
        return None

    def read(node: Any) -> decimal.Decimal:
        if _jackson.is_number(node):
            return decimal.Decimal(node)
        if not isinstance(node, str):
            raise DataError(
                "Invalid type for Decimal, underlying representation should be numeric or bytes "
                f"but was {_jackson.kind(node)}"
            )
        try:
            data = _jackson.binary_value(node) or b""
            return logical.decimal_from_bytes(data, schema.scale)
        except DataError as error:
            raise DataError("Invalid bytes for Decimal field") from error

    return read


# ---- compiled -----------------------------------------------------------------------------


def compile_reader(schema: Schema, *, replace_null: bool) -> Callable[[bytes], Any]:
    """A reader of documents that hold one value of this schema. Raises one of UNUSUAL to pass."""
    compiler = _ReaderCompiler(replace_null=replace_null)
    try:
        decoder = msgspec.json.Decoder(compiler.type_of(schema), float_hook=decimal.Decimal)
        finish = compiler.finish(schema)
    except NotPlainError:
        return _always_by_the_book
    decode: Callable[[bytes], Any] = decoder.decode
    if finish is None:
        return decode
    return lambda data: finish(decode(data))


def _always_by_the_book(_: bytes) -> Any:
    raise NotPlainError


def compile_columns(
    schema: Schema | None, *, replace_null: bool
) -> Callable[[Iterable[bytes]], Columns]:
    """The same for many structs with all of their fields, straight to columns."""
    if schema is None or schema.type is not Type.STRUCT or not schema.fields:
        return _always_one_by_one
    compiler = _ReaderCompiler(replace_null=replace_null)
    try:
        types = {field.name: compiler.part_type(field.schema) for field in schema.fields}
        finishes = [compiler.finish_part(field.schema) for field in schema.fields]
    except NotPlainError:
        return _always_one_by_one
    rows = RowReader(types, strict=False, float_hook=decimal.Decimal)

    def read(documents: Iterable[bytes]) -> Columns:
        columns = rows.columns([*map(rows.decode, documents)])
        fields: dict[str, Sequence[Any]] = {
            field.name: column if finish is None else [*map(finish, column)]
            for field, column, finish in zip(schema.fields, columns, finishes, strict=True)
        }
        return Columns(schema, fields)

    return read


def _always_one_by_one(_: Iterable[bytes]) -> Columns:
    raise NotPlainError


class _ReaderCompiler(SchemaCompiler):
    def default(self, schema: Schema) -> Any:
        return schema.default if self.replace_null else None

    def type_of(self, schema: Schema | None) -> Any:
        if schema is None:
            raise NotPlainError
        match schema.type:
            case Type.BYTES if schema.name == DECIMAL:
                return Any  # base64 or a number, and a number with all its digits: see float_hook
            case Type.ARRAY:
                return list[self.part_type(schema.value_schema)]  # type: ignore[misc]
            case Type.MAP:
                values = self.part_type(schema.value_schema)
                if schema.key_schema is not None and schema.key_schema.type is Type.STRING:
                    return dict[str, values]  # type: ignore[valid-type]
                if schema.key_schema is None or not schema.key_schema.type.is_primitive:
                    raise NotPlainError
                return list[tuple[self.part_type(schema.key_schema), values]]  # type: ignore[misc]
            case Type.STRUCT:
                fields = {}
                for field in schema.fields:
                    part = self.part_type(field.schema)
                    fields[field.name] = NotRequired[part] if self.nullable(field.schema) else part
                # msgspec looks keys up by their UTF-8 form and takes for granted that the string
                # holds it already, which is only so once it was encoded. Else 'é' is not found.
                msgspec.json.encode([*fields])
                return TypedDict("Fields", fields)  # type: ignore[operator]
        return PRIMITIVE[schema.type]

    def finish(self, schema: Schema) -> Change | None:
        if schema.name == DECIMAL and schema.type is Type.BYTES:
            return _finish_decimal(schema)
        from_base = logical.from_base(schema)
        if from_base is not None:
            return from_base
        match schema.type:
            case Type.FLOAT32:
                return float32
            case Type.ARRAY:
                return self.finish_array(schema)
            case Type.MAP:
                return self._finish_map(schema)
            case Type.STRUCT:
                return compile_fields([*self._field_works(schema)])
        return None

    def _finish_map(self, schema: Schema) -> Change | None:
        assert schema.key_schema is not None
        finish = self.finish_part(schema.value_schema)
        if schema.key_schema.type is Type.STRING:
            if finish is None:
                return None
            return lambda found: {k: finish(v) for k, v in found.items()}
        finish_key = self.finish_part(schema.key_schema)
        if finish is None and finish_key is None:
            return dict
        key, item = finish_key or _same, finish or _same
        return lambda pairs: {key(k): item(v) for k, v in pairs}

    def _field_works(self, schema: Schema) -> Iterator[FieldWork]:
        for field in schema.fields:
            change, default = self.finish(field.schema), self.default(field.schema)
            if change is not None or default is not None:
                yield FieldWork(
                    load=f"o.get({field.name!r})",
                    store=f"o[{field.name!r}]",
                    change=change,
                    default=default,
                    nullable=self.nullable(field.schema),
                )


def _same(value: Any) -> Any:
    return value


def _finish_decimal(schema: Schema) -> Callable[[Any], decimal.Decimal]:
    try:
        scale = schema.scale
    except DataError:  # numbers can be read even so
        raise NotPlainError from None

    def finish(value: Any) -> decimal.Decimal:
        kind = value.__class__
        if kind is str:
            try:
                data = a2b_base64(value, strict_mode=True)
            except ValueError:
                raise NotPlainError from None
            if data:
                return logical.decimal_from_bytes(data, scale)
        elif kind is decimal.Decimal:
            return value  # type: ignore[no-any-return]
        elif kind is int:
            return decimal.Decimal(value)
        raise NotPlainError

    return finish
