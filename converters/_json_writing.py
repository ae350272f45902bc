"""From values to JSON: by the book for any value, and compiled for one schema.

The two agree. A compiled writer checks and encodes in C and in between touches only the fields
that need it; a value that is not just what the schema says raises one of UNUSUAL, and the caller
writes that value by the book, which knows every error by name.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

import msgspec

from connect.data import logical
from connect.data.columns import has_null
from connect.data.floats import float32
from connect.data.schema import DECIMAL, Schema, Type
from connect.errors import DataError
from converters import _jackson
from converters._compiling import (
    PLAIN_FLOAT,
    PRIMITIVE,
    Change,
    FieldWork,
    NotPlainError,
    SchemaCompiler,
    compile_fields,
)

_INT_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}


class Book:
    """How values are written: the converter's settings, and the slow and sure way to do it."""

    def __init__(self, *, numeric_decimals: bool, replace_null: bool) -> None:
        self.numeric_decimals = numeric_decimals
        self.replace_null = replace_null

    def node(self, schema: Schema | None, value: Any) -> Any:
        """The node for a value, or DataError if it does not fit the schema."""
        if schema is None:
            return self._schemaless(value)
        if value is None:
            if schema.default is not None and self.replace_null:
                return self.node(schema, schema.default)
            if schema.optional:
                return None
            raise DataError(
                "Conversion error: null value for field that is required and has no default value"
            )
        to_base = self.logical_writer(schema)
        if to_base is not None:
            return to_base(value)
        match schema.type:
            case Type.ARRAY if isinstance(value, (list, tuple)):
                return [self.node(schema.value_schema, item) for item in value]
            case Type.MAP if isinstance(value, dict):
                return self._map_node(schema, value)
            case Type.STRUCT if isinstance(value, dict):
                return self._struct_node(schema, value)
        return _primitive_node(schema, value)

    def _schemaless(self, value: Any) -> Any:
        match value:
            case None | bool() | int() | float() | str() | bytes() | bytearray() | memoryview():
                return value
            case list() | tuple():
                return [self._schemaless(item) for item in value]
            case dict() if all(isinstance(key, str) for key in value):
                return {key: self._schemaless(item) for key, item in value.items()}
            case dict():
                return [[self._schemaless(k), self._schemaless(v)] for k, v in value.items()]
        raise DataError(
            f"Python class {_name(value)} does not have corresponding schema type: "
            "give the record a schema, or send a string or number"
        )

    def _map_node(self, schema: Schema, value: dict[Any, Any]) -> Any:
        keys, values = schema.key_schema, schema.value_schema
        pairs = [(self.node(keys, k), self.node(values, v)) for k, v in value.items()]
        if keys is not None and keys.type is Type.STRING:
            return {"null" if k is None else k: v for k, v in pairs}
        return pairs

    def _struct_node(self, schema: Schema, value: dict[str, Any]) -> dict[str, Any]:
        struct = {}
        for field in schema.fields:
            try:
                struct[field.name] = self.node(field.schema, value.get(field.name))
            except DataError as error:
                error.add_note(f'in field "{field.name}"')
                raise
        for name in value:
            if name not in struct:
                raise DataError(f"{name} is not a valid field name")
        return struct

    def logical_writer(self, schema: Schema) -> Callable[[Any], Any] | None:
        if schema.name == DECIMAL and schema.type is Type.BYTES and self.numeric_decimals:
            return _checked_decimal
        return logical.to_base(schema)


def _primitive_node(schema: Schema, value: Any) -> Any:
    bits = _INT_BITS.get(schema.type)
    match value:
        case bool() if schema.type is Type.BOOLEAN:
            return value
        case bool():
            pass
        case int() if bits is not None:
            if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
                return value
            raise DataError(f"Invalid value for {schema.type.name}: {value} is out of its range")
        case int() | float() if schema.type is Type.FLOAT64:
            return float(value)
        case int() | float() if schema.type is Type.FLOAT32:
            return float32(float(value))
        case str() if schema.type is Type.STRING:
            return value
        case bytes() | bytearray() | memoryview() if schema.type is Type.BYTES:
            return bytes(value)
    what = "bytes type" if schema.type is Type.BYTES else schema.type.name
    raise DataError(f"Invalid type for {what}: {_name(value)}")


def _checked_decimal(value: Any) -> decimal.Decimal:
    if not isinstance(value, decimal.Decimal) or not value.is_finite():
        raise DataError(
            f"Invalid type for Decimal, expected decimal.Decimal but was {_name(value)}"
        )
    return value


def _name(value: object) -> str:
    kind = type(value)
    plain = kind.__module__ == "builtins"
    return kind.__qualname__ if plain else f"{kind.__module__}.{kind.__qualname__}"


# ---- compiled -----------------------------------------------------------------------------


class Writer(NamedTuple):
    """Writes values of one schema. Raises one of UNUSUAL, or DataError, to pass."""

    one: Callable[[Any], bytes]
    many: Callable[[Sequence[Any]], list[bytes]]


def compile_writer(schema: Schema, book: Book) -> Writer:
    compiler = _WriterCompiler(book)
    try:
        expected = compiler.type_of(schema)
        finish = compiler.finish(schema)
    except (NotPlainError, RecursionError):  # or a schema that contains itself
        return Writer(_always_by_the_book, _always_by_the_book)
    convert, encode, escaped = msgspec.convert, msgspec.json.encode, _jackson.with_jackson_escapes

    def write(value: Any) -> bytes:
        if value is None:
            raise NotPlainError
        checked = convert(value, expected, builtin_types=_AS_THEY_ARE)
        text = encode(checked if finish is None else finish(checked))
        return escaped(text) if not text.isascii() or b"\\u00" in text else text

    def write_many(values: Sequence[Any]) -> list[bytes]:
        if has_null(values):
            raise NotPlainError
        checked = convert(values, list[expected], builtin_types=_AS_THEY_ARE)  # type: ignore[valid-type]
        return encode_many(checked if finish is None else [*map(finish, checked)])

    return Writer(write, write_many)


_encode_lines = msgspec.json.Encoder().encode_lines


def encode_many(values: Sequence[Any]) -> list[bytes]:
    """The JSON of each, with Jackson's escapes; all encoded at once."""
    lines = _encode_lines(values)
    texts = lines.split(b"\n")
    texts.pop()
    # One byte is found much sooner than four.
    if not lines.isascii() or (b"\\" in lines and b"\\u00" in lines):
        texts = [*map(_jackson.with_jackson_escapes, texts)]
    return texts


# Types that msgspec would otherwise take a string for.
_AS_THEY_ARE = (bytes, bytearray, memoryview, decimal.Decimal)


def _always_by_the_book(_: Any) -> NoReturn:
    raise NotPlainError


def _float64(value: float) -> Any:
    if 0.001 <= value < 1e7 or -1e7 < value <= -0.001 or value == 0.0:
        return value
    return msgspec.Raw(_jackson.float_text(value).encode())


def _float32(value: float) -> Any:
    return _float64(float32(value))


def _numeric_decimal(value: Any) -> msgspec.Raw:
    return msgspec.Raw(_jackson.decimal_text(_checked_decimal(value)).encode())


class _WriterCompiler(SchemaCompiler):
    def __init__(self, book: Book) -> None:
        super().__init__(replace_null=book.replace_null)
        self.book = book

    def default(self, schema: Schema) -> msgspec.Raw | None:
        if schema.default is None or not self.replace_null:
            return None
        return msgspec.Raw(_jackson.dump(self.book.node(schema, schema.default)))

    def type_of(self, schema: Schema | None) -> Any:
        if schema is None:
            raise NotPlainError
        if logical.to_base(schema) is not None:
            return Any
        match schema.type:
            case Type.ARRAY:
                return list[self.part_type(schema.value_schema)]  # type: ignore[misc]
            case Type.MAP:
                if schema.key_schema is None or schema.key_schema.optional:
                    raise NotPlainError
                keys, values = self.type_of(schema.key_schema), self.part_type(schema.value_schema)
                return dict[keys, values]  # type: ignore[valid-type]
            case Type.STRUCT:
                return self._struct_type(schema)
        return PRIMITIVE[schema.type]

    def _struct_type(self, schema: Schema) -> Any:
        fields: list[Any] = []
        for field in schema.fields:
            attribute, part = f"f{field.index}", self.part_type(field.schema)
            fields.append(
                (attribute, part, None) if self.nullable(field.schema) else (attribute, part)
            )
        names = {f"f{field.index}": field.name for field in schema.fields}
        try:
            return msgspec.defstruct(
                "Fields", fields, rename=names, kw_only=True, forbid_unknown_fields=True, gc=False
            )
        except ValueError:  # a name with quotes or control characters
            raise NotPlainError from None

    def finish(self, schema: Schema) -> Change | None:
        if schema.name == DECIMAL and schema.type is Type.BYTES and self.book.numeric_decimals:
            return _numeric_decimal
        to_base = logical.to_base(schema)
        if to_base is not None:
            return to_base
        match schema.type:
            case Type.FLOAT32:
                return _float32
            case Type.FLOAT64:
                return _float64
            case Type.ARRAY:
                return self.finish_array(schema)
            case Type.MAP:
                return self._finish_map(schema)
            case Type.STRUCT:
                return compile_fields([*self._field_works(schema)])
        return None

    def _finish_map(self, schema: Schema) -> Change | None:
        assert schema.key_schema is not None
        item = self.finish_part(schema.value_schema)
        if schema.key_schema.type is Type.STRING:
            return None if item is None else lambda value: {k: item(v) for k, v in value.items()}
        finish_key, finish_item = self.finish(schema.key_schema) or _same, item or _same
        return lambda value: [(finish_key(k), finish_item(v)) for k, v in value.items()]

    def _field_works(self, schema: Schema) -> Iterator[FieldWork]:
        for field in schema.fields:
            change, default = self.finish(field.schema), self.default(field.schema)
            if change is not None or default is not None:
                yield FieldWork(
                    load=f"o.f{field.index}",
                    store=f"o.f{field.index}",
                    change=change,
                    default=default,
                    nullable=self.nullable(field.schema),
                    plain=PLAIN_FLOAT if change is _float64 else None,
                )


def _same(value: Any) -> Any:
    return value


# ---- without a schema ---------------------------------------------------------------------


_PLAIN_TYPES = frozenset({str, int, bool, type(None)})


def is_plain(value: Any) -> bool:
    """Whether msgspec writes a schemaless value byte for byte as the book does."""
    kind = value.__class__
    if kind is dict:
        "".join(value)  # TypeError unless all keys are strings, which msgspec would not mind
        items = value.values()
    elif kind is list:
        items = value
    else:
        return kind in _PLAIN_TYPES
    for item in items:
        kind = item.__class__
        if kind in _PLAIN_TYPES:
            continue
        if kind is float:
            if not (0.001 <= item < 1e7 or -1e7 < item <= -0.001 or item == 0.0):
                return False
        elif (kind is not dict and kind is not list) or not is_plain(item):
            return False
    return True


def encode_plain(values: Sequence[Any]) -> list[bytes]:
    """The JSON of each, without a schema. NotPlainError for what needs the book."""
    if not all(map(is_plain, values)):
        raise NotPlainError
    return encode_many(values)


def made_plain(value: Any) -> Any:
    """A copy with floats written as Java writes them. NotPlainError for what needs the book."""
    kind = value.__class__
    if kind is float:
        return _float64(value)
    if kind is dict:
        return {key: made_plain(item) for key, item in value.items()}
    if kind is list:
        return [*map(made_plain, value)]
    if kind in _PLAIN_TYPES:
        return value
    raise NotPlainError
