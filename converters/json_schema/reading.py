"""JSON to Connect values."""

from __future__ import annotations

import base64
import binascii
import decimal
import json
from collections.abc import Callable
from typing import Any

from connect import DataError, Schema, Type
from connect.data.floats import float32
from connect.data.logical import from_base
from connect.data.schema import DECIMAL
from converters.json_schema.to_connect import is_union
from converters.registry.shapes import INT_LIMIT, FieldShape, compile_struct, passes_as_is

Shape = Callable[[Any], Any]
_EXACT = decimal.Context(prec=decimal.MAX_PREC, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
# What a property that is not there is taken for, since null is something else.
_MISSING: Any = object()


def compile_reader(
    schema: Schema, validate: Callable[[Any], None] | None
) -> Callable[[bytes, int], Any]:
    """A function from data and where the payload starts to the value."""
    import orjson  # noqa: PLC0415

    shape = _Compilation().compile(schema, "")
    load = orjson.loads

    def read(data: bytes, start: int) -> Any:
        payload = memoryview(data)[start:]
        try:
            parsed = load(payload)
        except ValueError as error:
            raise DataError(f"The payload is no JSON: {error}") from error
        if validate is not None:
            validate(parsed)
        try:
            return shape(parsed)
        except _InexactError:
            return shape(_load_exactly(payload))

    return read


class _InexactError(Exception):
    """A decimal was read as a double, which has too few digits for it."""


def _load_exactly(data: memoryview) -> Any:
    return json.loads(bytes(data), parse_float=decimal.Decimal, parse_constant=_refuse)


def _refuse(token: str) -> None:
    raise ValueError(f"{token} is not JSON")


class _Compilation:
    def __init__(self) -> None:
        self._namespace: dict[str, Any] = {}
        self._structs: dict[int, str] = {}

    def compile(self, schema: Schema, path: str) -> Shape:
        """The shape of a value: null becomes the default, or stays where it may."""
        shape = self._required(schema, path)

        def shape_or_null(value: Any) -> Any:
            if value is not None:
                return shape(value)
            if schema.default is None and not schema.optional:
                where = path or "The value"
                raise DataError(
                    f"Invalid null value for required {schema.type.name} field: {where}"
                )
            return schema.default

        return shape_or_null

    def _property(self, schema: Schema, path: str) -> Shape:
        """The same for a property, which may be missing: then it is left null, as on the JVM."""
        shape = self.compile(schema, path)
        default = schema.default
        return lambda value: default if value is _MISSING else shape(value)

    def _required(self, schema: Schema, path: str) -> Shape:
        match schema.type:
            case Type.STRUCT if is_union(schema):
                return self._union(schema, path)
            case Type.STRUCT:
                return self._struct(schema, path)
            case Type.ARRAY:
                assert schema.value_schema is not None
                shape = self.compile(schema.value_schema, f"{path}[]")

                def shape_items(value: Any) -> Any:
                    if type(value) is not list:
                        raise _misfit(path, "an array", value)
                    return [shape(item) for item in value]

                return shape_items
            case Type.MAP:
                return self._map(schema, path)
            case _:
                return _leaf(schema, path)

    def _struct(self, schema: Schema, path: str) -> Shape:
        namespace = self._namespace
        key = id(schema.fields)
        known = self._structs.get(key)
        if known is None:
            known = f"struct{len(self._structs)}"
            if schema.fields:
                self._structs[key] = known
            shapes = []
            for field in schema.fields:
                where = f"{path}.{field.name}".lstrip(".")
                test = passes_as_is(field.schema, "{x}")
                if field.schema.type is Type.BYTES:
                    test = None
                elif test is not None and field.schema.optional and field.schema.default is None:
                    test = f"{{x}} is None or {test}"
                shapes.append(
                    FieldShape(field.name, field.name, self._property(field.schema, where), test)
                )
            compile_struct(known, shapes, {}, namespace, _MISSING)

        def shape_object(value: Any) -> Any:
            if type(value) is not dict:
                raise _misfit(path, "an object", value)
            return namespace[known](value)

        return shape_object

    def _map(self, schema: Schema, path: str) -> Shape:
        keys, values = schema.key_schema, schema.value_schema
        assert keys is not None
        assert values is not None
        shape = self.compile(values, f"{path}{{}}")
        if keys.type is Type.STRING and not keys.optional:

            def shape_values(value: Any) -> Any:
                if type(value) is not dict:
                    raise _misfit(path, "an object", value)
                return {key: shape(item) for key, item in value.items()}

            return shape_values
        shape_key = self.compile(keys, f"{path}.key")

        def shape_entries(value: Any) -> Any:
            if type(value) is not list:
                raise _misfit(path, "an array of entries", value)
            result = {}
            for entry in value:
                if type(entry) is not dict or entry.keys() != {"key", "value"}:
                    raise _misfit(path, "an entry with key and value", entry)
                result[shape_key(entry["key"])] = shape(entry["value"])
            return result

        return shape_entries

    def _union(self, schema: Schema, path: str) -> Shape:
        """The first member of the value's plain type, or the struct that knows most of it."""
        members = [
            (f.name, f.schema, self._required(f.schema, f"{path}.{f.name}".lstrip(".")))
            for f in schema.fields
        ]
        empty = dict.fromkeys(f.name for f in schema.fields)

        def shape_member(value: Any) -> Any:
            best = None
            most = 0
            for name, member, shape in members:
                if _is_plainly(member, value):
                    return {**empty, name: shape(value)}
                matching = _matching(member, value)
                if matching > most:
                    best, most = (name, shape), matching
            if best is None:
                raise DataError(f"Did not find matching oneof field for data at {path or 'root'}")
            return {**empty, best[0]: best[1](value)}

        return shape_member


def _is_plainly(schema: Schema, value: Any) -> bool:
    match schema.type:
        case Type.STRUCT:
            return False
        case Type.BOOLEAN:
            return isinstance(value, bool)
        case Type.STRING:
            return isinstance(value, str)
        case Type.BYTES:
            return isinstance(value, (str, decimal.Decimal)) or (
                schema.name == DECIMAL and isinstance(value, float)
            )
        case Type.ARRAY:
            return isinstance(value, list)
        case Type.MAP:
            return isinstance(value, (dict, list))
        case Type.FLOAT32 | Type.FLOAT64:
            return isinstance(value, (int, float, decimal.Decimal)) and not isinstance(value, bool)
        case _:
            return isinstance(value, int) and not isinstance(value, bool)


def _matching(schema: Schema, value: Any) -> int:
    """How many properties of the value a struct knows, to all depths."""
    if schema.type is not Type.STRUCT or not isinstance(value, dict):
        return 0
    known = [f for f in schema.fields if f.name in value]
    return len(known) + sum(_matching(f.schema, value[f.name]) for f in known)


def _leaf(schema: Schema, path: str) -> Shape:
    kind = schema.type
    convert = from_base(schema)
    if kind is Type.BYTES:
        return _bytes(schema, path, convert)
    if kind in INT_LIMIT:
        limit = INT_LIMIT[kind]

        def shape_int(value: Any) -> Any:
            if isinstance(value, (float, decimal.Decimal)) and value == int(value):
                value = int(value)
            if type(value) is not int:
                raise _misfit(path, "an integer", value)
            if not -limit <= value < limit:
                raise DataError(f"{path or 'The value'} is too large for {kind.name}: {value}")
            return value if convert is None else convert(value)

        return shape_int
    if kind in (Type.FLOAT32, Type.FLOAT64):
        narrow = float32 if kind is Type.FLOAT32 else float

        def shape_float(value: Any) -> Any:
            if isinstance(value, bool) or not isinstance(value, (int, float, decimal.Decimal)):
                raise _misfit(path, "a number", value)
            return narrow(float(value))

        return shape_float
    wanted, word = (bool, "a boolean") if kind is Type.BOOLEAN else (str, "a string")

    def shape_other(value: Any) -> Any:
        if type(value) is not wanted:
            raise _misfit(path, word, value)
        return value

    return shape_other


def _bytes(schema: Schema, path: str, convert: Shape | None) -> Shape:
    is_decimal = schema.name == DECIMAL
    quantum = decimal.Decimal(1).scaleb(-schema.scale) if is_decimal else None

    def shape_bytes(value: Any) -> Any:
        if quantum is not None and type(value) is float:
            raise _InexactError
        if quantum is not None and type(value) in (int, decimal.Decimal):
            number = decimal.Decimal(value)
            scaled = number.quantize(quantum, context=_EXACT)
            # More digits than the schema has room for are kept, as on the JVM.
            return scaled if scaled == number else number
        if type(value) is not str:
            raise _misfit(path, "base64", value)
        try:
            data = base64.b64decode(value, validate=True)
        except binascii.Error as error:
            raise _misfit(path, "base64", value) from error
        return data if convert is None else convert(data)

    return shape_bytes


def _misfit(path: str, wanted: str, value: Any) -> DataError:
    text = repr(value)
    shown = text if len(text) <= 100 else text[:97] + "..."
    return DataError(f"{path or 'The value'} should be {wanted}, but is {shown}")
