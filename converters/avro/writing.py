"""Connect values to Avro's binary form.

A Connect schema and an Avro schema are compiled together into a function that checks and shapes a
value, and a schema under which fastavro then writes it: its unions are told by name which branch
to take and never guess. Structs become generated code, so that a field costs a look-up and a type
test.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, Final

from connect import DataError, Schema, Type
from connect.data.schema import DECIMAL
from converters.avro import names
from converters.avro.model import NO_DEFAULT, AvroField, AvroType
from converters.avro.settings import AvroSettings
from converters.registry.shapes import (
    INT_LIMIT,
    FieldShape,
    Shape,
    compile_struct,
    leaf,
    misfit,
    not_null,
    null_error,
    passes_as_is,
)

# The field of a record that only wraps another type.
_INSIDE: Final = "v"

_NUMBERS = ("int", "long", "float", "double")
_ACCEPTED: Final[dict[Type, tuple[str, ...]]] = {
    Type.INT8: _NUMBERS,
    Type.INT16: _NUMBERS,
    Type.INT32: _NUMBERS,
    Type.INT64: ("long", "float", "double"),
    Type.FLOAT32: ("float", "double"),
    Type.FLOAT64: ("double",),
    Type.BOOLEAN: ("boolean",),
    Type.STRING: ("string", "enum", "bytes"),
    Type.BYTES: ("bytes", "fixed", "string"),
}


def compile_writer(
    schema: Schema | None, avro: AvroType, settings: AvroSettings, *, strict: bool
) -> Callable[[Any, bytes], bytes]:
    """A function from a value and the bytes before it to the bytes of both.

    Strict: an optional schema must meet an Avro type that can be null, and so on; otherwise only
    the values that don't fit fail.
    """
    if schema is None:
        return _compile_schemaless(avro)
    compilation = _Compilation(settings, strict=strict)
    if avro.type == "bytes" and schema.type is Type.BYTES:
        shape = compilation.primitive(schema, avro)[1]
        # Bytes that are all there is of a record have no length in front, as on the JVM.
        return lambda value, prefix: prefix + shape(value)
    wire, shape = compilation.compile(schema, avro, "")
    if avro.type == "record":
        return _writer(wire, shape)
    root = {"type": "record", "name": "root", "fields": [{"name": _INSIDE, "type": wire}]}
    return _writer(root, lambda value: {_INSIDE: shape(value)})


def _writer(wire: dict[str, Any], shape: Shape) -> Callable[[Any, bytes], bytes]:
    from fastavro import parse_schema, schemaless_writer  # noqa: PLC0415

    parsed = parse_schema(wire)
    stream = io.BytesIO

    def write(value: Any, prefix: bytes) -> bytes:
        shaped = shape(value)
        out = stream()
        out.write(prefix)
        schemaless_writer(out, parsed, shaped)
        return out.getvalue()

    return write


class _Compilation:
    """One pair of schemas. All generated functions share a namespace, so they may be recursive."""

    def __init__(self, settings: AvroSettings, *, strict: bool) -> None:
        self._settings = settings
        self._strict = strict
        self._namespace: dict[str, Any] = {}
        self._structs: dict[tuple[int, int], str] = {}
        self._kept: list[Schema] = []  # so that their ids stay theirs
        self._count = 0

    def compile(self, schema: Schema, avro: AvroType, path: str) -> tuple[Any, Shape]:
        """The type to write under, and the function that shapes a value, null included."""
        if names.is_union(schema) and avro.type == "union" and avro.optional_of is None:
            return self._sum(schema, avro, path)
        if avro.type != "union":
            if self._strict and schema.optional:
                raise DataError(
                    f"{path or 'The value'} is optional, and the Avro schema has no null there"
                )
            wire, shape = self._required(schema, avro, path)
            return wire, not_null(schema, shape, path, self._default(schema))
        return self._optional(schema, avro, path)

    def _default(self, schema: Schema) -> Any:
        """What a null becomes, if anything."""
        return None if self._settings.keep_null_with_default and schema.optional else schema.default

    def _optional(self, schema: Schema, avro: AvroType, path: str) -> tuple[Any, Shape]:
        others = [branch for branch in avro.branches if branch.type != "null"]
        nullable = len(others) < len(avro.branches)
        if len(others) != 1:
            others = [b for b in others if _fits(schema, b)]
        if len(others) != 1:
            raise DataError(
                f"{path or 'The value'} is {schema!r}, and the Avro schema has a union there of "
                f"which {len(others)} members fit"
            )
        if self._strict and schema.optional and not nullable:
            raise DataError(f"{path} is optional, and the Avro schema has no null there")
        inner, shape = self._required(schema, others[0], path)
        wire = ["null" if b.type == "null" else _blank(b) for b in avro.branches]
        wire[avro.branches.index(others[0])] = inner
        branch = _branch_name(inner)
        default = self._default(schema)
        substitute = (branch, shape(default)) if default is not None else None

        def shape_or_null(value: Any) -> Any:
            if value is None:
                if substitute is None and not (nullable and schema.optional):
                    raise null_error(path, schema)
                return substitute
            return (branch, shape(value))

        return wire, shape_or_null

    def _sum(self, schema: Schema, avro: AvroType, path: str) -> tuple[Any, Shape]:
        branches = [b for b in avro.branches if b.type != "null"]
        if len(branches) != len(schema.fields):
            raise DataError(
                f"{path or 'The value'} is a union of {len(schema.fields)} members, and the Avro "
                f"schema has {len(branches)} there"
            )
        wire: list[Any] = ["null" if b.type == "null" else None for b in avro.branches]
        members: list[tuple[str, str, Shape]] = []
        free = [i for i, slot in enumerate(wire) if slot is None]
        for slot, field, branch in zip(free, schema.fields, branches, strict=True):
            inner, shape = self._required(field.schema, branch, f"{path}.{field.name}".lstrip("."))
            name = self._fresh("w")
            wire[slot] = {
                "type": "record",
                "name": name,
                "fields": [{"name": _INSIDE, "type": inner}],
            }
            members.append((field.name, name, shape))
        default = self._default(schema)

        def shape_member(value: Any) -> Any:
            if value is None:
                value = default
            if value is not None:
                if not isinstance(value, dict):
                    raise misfit(path, schema, value)
                for field_name, name, shape in members:
                    item = value.get(field_name)
                    if item is not None:
                        return (name, {_INSIDE: shape(item)})
            if len(free) == len(wire):
                raise DataError(f"{path or 'The value'} is a union with no member set")
            return None

        return wire, shape_member

    def _required(self, schema: Schema, avro: AvroType, path: str) -> tuple[Any, Shape]:
        if not _fits(schema, avro):
            raise DataError(
                f"{path or 'The value'} is {schema!r}, and the Avro schema has {avro.type} there"
            )
        if avro.type == "record":
            return self._struct(schema, avro, path)
        if schema.type is Type.ARRAY:
            return self._array(schema, avro, path)
        if schema.type is Type.MAP:
            return self._map(schema, avro, path)
        return self.primitive(schema, avro, path)

    def _array(self, schema: Schema, avro: AvroType, path: str) -> tuple[Any, Shape]:
        assert avro.items is not None
        assert schema.value_schema is not None
        wire, shape = self.compile(schema.value_schema, avro.items, f"{path}[]")

        def shape_items(value: Any) -> Any:
            if type(value) is not list and not isinstance(value, (list, tuple)):
                raise misfit(path, schema, value)
            return [shape(item) for item in value]

        return {"type": "array", "items": wire}, shape_items

    def _map(self, schema: Schema, avro: AvroType, path: str) -> tuple[Any, Shape]:
        assert avro.items is not None
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        if avro.type == "map":
            wire, shape = self.compile(schema.value_schema, avro.items, f"{path}{{}}")

            def shape_values(value: Any) -> Any:
                if not isinstance(value, dict):
                    raise misfit(path, schema, value)
                for key in value:
                    if not isinstance(key, str):
                        raise DataError(f"{path or 'The map'} has a key that is no string: {key!r}")
                return {key: shape(item) for key, item in value.items()}

            return {"type": "map", "values": wire}, shape_values

        by_name = {f.name: f.type for f in avro.items.fields}
        key_wire, shape_key = self.compile(schema.key_schema, by_name["key"], f"{path}.key")
        wire, shape_item = self.compile(schema.value_schema, by_name["value"], f"{path}.value")
        wires = {"key": key_wire, "value": wire}
        entry = {
            "type": "record",
            "name": self._fresh("e"),
            "fields": [{"name": f.name, "type": wires[f.name]} for f in avro.items.fields],
        }

        def shape_entries(value: Any) -> Any:
            if not isinstance(value, dict):
                raise misfit(path, schema, value)
            return [{"key": shape_key(k), "value": shape_item(v)} for k, v in value.items()]

        return {"type": "array", "items": entry}, shape_entries

    # -- structs ----------------------------------------------------------------------------

    def _struct(self, schema: Schema, avro: AvroType, path: str) -> tuple[Any, Shape]:
        key = (id(schema), id(avro))
        namespace = self._namespace
        known = self._structs.get(key)
        if known is not None:
            # Perhaps still being generated: found when it is called.
            return known, lambda value: namespace[known](value)  # noqa: PLW0108
        name = self._structs[key] = self._fresh("r")
        self._kept.append(schema)
        scrub = names.scrub if self._settings.scrub_names else str
        by_name = {scrub(f.name): f for f in schema.fields}
        wires: list[Any] = []
        shapes: list[FieldShape] = []
        constants: dict[str, Any] = {}
        for own in avro.fields:
            field = by_name.get(own.name)
            if field is None:
                if own.default is NO_DEFAULT:
                    raise DataError(
                        f"The Avro schema has the field {own.name}, without a default, and "
                        f"{schema!r} does not"
                    )
                wire, constants[own.name] = self._constant(own.type, own.default)
            else:
                where = f"{path}.{field.name}".lstrip(".")
                wire, shape = self.compile(field.schema, own.type, where)
                passes = passes_as_is(field.schema, "{x}") if _is_same(field.schema, own) else None
                shapes.append(FieldShape(field.name, own.name, shape, passes))
            wires.append({"name": own.name, "type": wire})
        compiled = compile_struct(name, shapes, constants, namespace)
        return {"type": "record", "name": name, "fields": wires}, compiled

    def _constant(self, avro: AvroType, default: Any) -> tuple[Any, Any]:
        """A field that the record does not have, written with its default."""
        from converters.avro.to_connect import (  # noqa: PLC0415
            ConnectSchemas,
            default_value,
        )

        schema = ConnectSchemas(self._settings).of(avro, None)
        assert schema is not None
        wire, shape = self.compile(schema, avro, "")
        return wire, shape(default_value(avro, schema, default))

    # -- leaves -----------------------------------------------------------------------------

    def primitive(self, schema: Schema, avro: AvroType, path: str = "") -> tuple[Any, Shape]:
        if avro.type == "enum":
            wire: Any = {"type": "enum", "name": self._fresh("n"), "symbols": avro.symbols}
            return wire, _symbol(avro, schema, path)
        if avro.type == "fixed":
            wire = {"type": "fixed", "name": self._fresh("x"), "size": avro.size}
            return wire, _fixed(avro, schema, path)
        shape = leaf(schema, path)
        if schema.type in INT_LIMIT and avro.type in ("float", "double"):
            return avro.type, lambda value: float(shape(value))
        if schema.type is Type.STRING and avro.type == "bytes":
            return avro.type, lambda value: shape(value).encode()
        if schema.type is Type.BYTES and avro.type == "string":
            return avro.type, lambda value: shape(value).decode()
        return avro.type, shape

    def _fresh(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"


def _is_same(schema: Schema, field: AvroField) -> bool:
    """Whether a value of the schema goes into the field as it is.

    Not into a union: its values need the name of the branch.
    """
    kind = field.type.type
    if schema.type in INT_LIMIT:
        return kind in ("int", "long")
    if kind in ("union", "enum", "fixed"):
        return False
    return kind == {Type.STRING: "string", Type.BYTES: "bytes"}.get(schema.type, kind)


def _fits(schema: Schema, avro: AvroType) -> bool:
    match schema.type:
        case Type.STRUCT:
            return avro.type == "record"
        case Type.ARRAY:
            return avro.type == "array"
        case Type.MAP:
            return avro.type == "map" or (
                avro.type == "array"
                and avro.items is not None
                and {f.name for f in avro.items.fields} == {"key", "value"}
            )
        case _:
            return avro.type in _ACCEPTED[schema.type]


def _blank(avro: AvroType) -> Any:
    """A branch that is never taken: only its place matters."""
    return avro.type if avro.type in _NUMBERS else "null"


def _branch_name(wire: Any) -> str:
    if isinstance(wire, dict):
        return str(wire.get("name", wire["type"]))
    return str(wire)


def _symbol(avro: AvroType, schema: Schema, path: str) -> Shape:
    symbols = frozenset(avro.symbols)

    def shape_symbol(value: Any) -> Any:
        if value not in symbols:
            raise DataError(
                f"{path or 'The value'} is no symbol of the enum {avro.name or schema.name}: "
                f"{value!r}"
            )
        return value

    return shape_symbol


def _fixed(avro: AvroType, schema: Schema, path: str) -> Shape:
    size = avro.size
    shape = leaf(schema, path)

    def shape_fixed(value: Any) -> Any:
        data: bytes = shape(value)
        if len(data) < size and schema.name == DECIMAL:
            filler = b"\xff" if data[0] & 0x80 else b"\x00"
            data = filler * (size - len(data)) + data
        if len(data) != size:
            raise DataError(
                f"{path or 'The value'} has {len(data)} bytes, and the fixed {avro.name} has {size}"
            )
        return data

    return shape_fixed


# ---- schemaless values ------------------------------------------------------------------------


def _compile_schemaless(avro: AvroType) -> Callable[[Any, bytes], bytes]:
    from converters.avro.reading import _Plain  # noqa: PLC0415

    if avro.name != names.ANYTHING:
        raise DataError("A value without a schema can't be written with a schema of the registry")
    return _writer(_Plain().plain(avro), _anything)


def _anything(value: Any) -> dict[str, Any]:
    match value:
        case None:
            return {}
        case bool():
            return {"boolean": ("boolean", value)}
        case int():
            if not -(2**63) <= value < 2**63:
                raise DataError(f"The value is too large for INT64: {value}")
            return {"long": ("long", value)}
        case float():
            return {"double": ("double", value)}
        case str():
            return {"string": ("string", value)}
        case bytes() | bytearray() | memoryview():
            return {"bytes": ("bytes", bytes(value))}
        case list() | tuple():
            return {"array": ("array", [_anything(item) for item in value])}
        case dict():
            entries = [{"key": _anything(k), "value": _anything(v)} for k, v in value.items()]
            return {"map": ("array", entries)}
        case _:
            raise DataError(f"A {type(value).__name__} can't be written without a schema")
