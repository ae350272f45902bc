"""Schemas: what a value is, kept beside the value and never inside it.

A value under a schema is plain Python:

    INT8 INT16 INT32 INT64   int
    FLOAT32                  float, the one that prints with the float32's own shortest digits
                             (0.1, not 0.10000000149011612)
    FLOAT64                  float
    BOOLEAN STRING BYTES     bool, str, bytes
    ARRAY MAP STRUCT         list, dict, dict by field name (an absent field is None)
    logical Decimal          decimal.Decimal with the schema's scale
    logical Date             datetime.date
    logical Time             datetime.time, naive, UTC, milliseconds
    logical Timestamp        datetime.datetime, aware, UTC, milliseconds

None is a null; whether it may stand there, `Schema.optional` says.

Schemas never change once built. Equality is by content, with a short cut for the same object, so
a cache keyed by `id(schema)` that also holds the schema is right and the quickest there is.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import threading
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, Self

from connect.errors import DataError, SchemaBuildError


class Type(enum.StrEnum):
    """The kinds of value, by Kafka Connect's own names."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"

    @property
    def is_primitive(self) -> bool:
        return self not in (Type.ARRAY, Type.MAP, Type.STRUCT)


_INT_RANGE = {
    Type.INT8: (-(2**7), 2**7 - 1),
    Type.INT16: (-(2**15), 2**15 - 1),
    Type.INT32: (-(2**31), 2**31 - 1),
    Type.INT64: (-(2**63), 2**63 - 1),
}

_PYTHON: dict[Type, tuple[type, ...]] = {
    # An int stands for a float of the same value, as everywhere in Python.
    Type.FLOAT32: (float, int),
    Type.FLOAT64: (float, int),
    Type.BOOLEAN: (bool,),
    Type.STRING: (str,),
    Type.BYTES: (bytes, bytearray, memoryview),
    Type.ARRAY: (list, tuple),
    Type.MAP: (dict,),
    Type.STRUCT: (dict,),
}

DECIMAL = "org.apache.kafka.connect.data.Decimal"
DATE = "org.apache.kafka.connect.data.Date"
TIME = "org.apache.kafka.connect.data.Time"
TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"

_LOGICAL: dict[str, tuple[type, Type]] = {
    DECIMAL: (decimal.Decimal, Type.BYTES),
    DATE: (dt.date, Type.INT32),
    TIME: (dt.time, Type.INT32),
    TIMESTAMP: (dt.datetime, Type.INT64),
}


class Field:
    """A field of a struct schema: its name, its place, its schema."""

    __slots__ = ("index", "name", "schema")

    def __init__(self, name: str, index: int, schema: Schema) -> None:
        self.name = name
        self.index = index
        self.schema = schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Field) and (
            self.name == other.name and self.index == other.index and self.schema == other.schema
        )

    def __hash__(self) -> int:
        return hash((self.name, self.index))

    def __repr__(self) -> str:
        return f"Field({self.name!r}, {self.index}, {self.schema!r})"


class Schema:
    """What a value is. Build one with `Schema.struct()`, `Schema.array(…)`, … or take a constant.

    `Schema.INT32` and its like are required (not optional); `Schema.OPTIONAL_INT32` may be null.
    """

    __slots__ = (
        "_by_name", "_hash", "default", "doc", "fields", "key_schema", "name",
        "optional", "parameters", "type", "value_schema", "version",
    )  # fmt: skip

    type: Type
    optional: bool
    default: Any
    name: str | None
    version: int | None
    doc: str | None
    parameters: Mapping[str, str]
    fields: tuple[Field, ...]
    key_schema: Schema | None
    value_schema: Schema | None

    INT8: ClassVar[Schema]
    INT16: ClassVar[Schema]
    INT32: ClassVar[Schema]
    INT64: ClassVar[Schema]
    FLOAT32: ClassVar[Schema]
    FLOAT64: ClassVar[Schema]
    BOOLEAN: ClassVar[Schema]
    STRING: ClassVar[Schema]
    BYTES: ClassVar[Schema]
    OPTIONAL_INT8: ClassVar[Schema]
    OPTIONAL_INT16: ClassVar[Schema]
    OPTIONAL_INT32: ClassVar[Schema]
    OPTIONAL_INT64: ClassVar[Schema]
    OPTIONAL_FLOAT32: ClassVar[Schema]
    OPTIONAL_FLOAT64: ClassVar[Schema]
    OPTIONAL_BOOLEAN: ClassVar[Schema]
    OPTIONAL_STRING: ClassVar[Schema]
    OPTIONAL_BYTES: ClassVar[Schema]

    def __init__(
        self,
        type: Type,
        *,
        optional: bool = False,
        default: Any = None,
        name: str | None = None,
        version: int | None = None,
        doc: str | None = None,
        parameters: Mapping[str, str] | None = None,
        fields: Iterable[Field] = (),
        key_schema: Schema | None = None,
        value_schema: Schema | None = None,
    ) -> None:
        self.type = type
        self.optional = optional
        self.default = default
        self.name = name
        self.version = version
        self.doc = doc
        self.parameters = dict(parameters) if parameters else {}
        self.fields = tuple(fields)
        self.key_schema = key_schema
        self.value_schema = value_schema
        self._by_name: dict[str, Field] | None = None
        self._hash: int | None = None

    # -- building ---------------------------------------------------------------------------

    @classmethod
    def builder(cls, type: Type) -> SchemaBuilder:
        return SchemaBuilder(type)

    @classmethod
    def struct(cls, name: str | None = None) -> SchemaBuilder:
        return SchemaBuilder(Type.STRUCT).name(name)

    @classmethod
    def array(cls, items: Schema | None) -> SchemaBuilder:
        if items is None:
            raise SchemaBuildError("valueSchema cannot be null.")
        return SchemaBuilder(Type.ARRAY, value_schema=items)

    @classmethod
    def map(cls, keys: Schema | None, values: Schema | None) -> SchemaBuilder:
        if keys is None:
            raise SchemaBuildError("keySchema cannot be null.")
        if values is None:
            raise SchemaBuildError("valueSchema cannot be null.")
        return SchemaBuilder(Type.MAP, key_schema=keys, value_schema=values)

    @classmethod
    def decimal(cls, scale: int) -> SchemaBuilder:
        return SchemaBuilder(Type.BYTES).name(DECIMAL).version(1).parameter("scale", str(scale))

    @classmethod
    def date(cls) -> SchemaBuilder:
        return SchemaBuilder(Type.INT32).name(DATE).version(1)

    @classmethod
    def time(cls) -> SchemaBuilder:
        return SchemaBuilder(Type.INT32).name(TIME).version(1)

    @classmethod
    def timestamp(cls) -> SchemaBuilder:
        return SchemaBuilder(Type.INT64).name(TIMESTAMP).version(1)

    def to_builder(self) -> SchemaBuilder:
        """A builder that starts as a copy of this schema, fields included."""
        builder = SchemaBuilder(
            self.type, key_schema=self.key_schema, value_schema=self.value_schema
        )
        builder._optional = self.optional
        builder._default = self.default
        builder._name = self.name
        builder._version = self.version
        builder._doc = self.doc
        builder._parameters = dict(self.parameters)
        builder._fields = {f.name: f.schema for f in self.fields}
        return builder

    def as_optional(self) -> Schema:
        return self if self.optional else self.to_builder().optional().build()

    def as_required(self) -> Schema:
        return self.to_builder().required().build() if self.optional else self

    # -- reading ----------------------------------------------------------------------------

    def field(self, name: str) -> Field | None:
        by_name = self._by_name
        if by_name is None:
            if self.type is not Type.STRUCT:
                raise DataError("Cannot look up fields on non-struct type")
            by_name = self._by_name = {f.name: f for f in self.fields}
        return by_name.get(name)

    @property
    def is_logical(self) -> bool:
        """Whether values are Decimal, date, time or datetime instead of the type's own."""
        return self.name in _LOGICAL

    @property
    def scale(self) -> int:
        """The scale of a Decimal schema."""
        try:
            return int(self.parameters["scale"])
        except KeyError:
            raise DataError("Invalid Decimal schema: scale parameter not found.") from None
        except ValueError as error:
            raise DataError("Invalid scale parameter found in Decimal schema: ") from error

    def validate(self, value: Any, field: str | None = None) -> None:
        """Raise DataError unless value fits this schema, to its depths.

        None fits an optional schema, and a struct's field that has a default. For the edges where
        a plugin hands us data; the hot paths don't call it.
        """
        self._validate(value, f'field: "{field}"' if field else "value")

    def _validate(self, value: Any, place: str) -> None:
        if value is None:
            if self.optional:
                return
            raise DataError(
                f"Invalid value: null used for required {place}, schema type: {self.type.name}"
            )
        if not self._fits(value):
            named = f' "{self.name}"' if self.name else ""
            raise DataError(
                f"Invalid Python object for schema{named} with type {self.type.name}: "
                f"{type(value).__name__} {_short(value)} for {place}"
            )
        if self.type is Type.STRUCT:
            for f in self.fields:
                item = value.get(f.name)
                if item is not None or f.schema.default is None:
                    f.schema._validate(item, f'field: "{f.name}"')
            for key in value:
                if self.field(key) is None:
                    raise DataError(f"{key} is not a valid field name")
        elif self.type is Type.ARRAY:
            where = f"element of array {place}"
            items = _known(self.value_schema, where)
            for item in value:
                items._validate(item, where)
        elif self.type is Type.MAP:
            key_place, value_place = f"key of map {place}", f"value of map {place}"
            keys = _known(self.key_schema, key_place)
            items = _known(self.value_schema, value_place)
            for key, item in value.items():
                keys._validate(key, key_place)
                items._validate(item, value_place)

    def _fits(self, value: Any) -> bool:
        """Whether value is of the Python type that stands for this schema's, its parts aside."""
        logical = _LOGICAL.get(self.name) if self.name else None
        if logical is not None:
            kind, base = logical
            # datetime is a subclass of date; a Date holds no time of day.
            mixed = self.name == DATE and isinstance(value, dt.datetime)
            return base is self.type and isinstance(value, kind) and not mixed
        if self.type in _INT_RANGE:
            low, high = _INT_RANGE[self.type]
            return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        if isinstance(value, bool):
            return self.type is Type.BOOLEAN
        return isinstance(value, _PYTHON[self.type])

    # -- comparing --------------------------------------------------------------------------

    def _key(self) -> tuple[Any, ...]:
        # 0.0 equals -0.0, which is another default, and not a number does not equal itself.
        default = repr(self.default) if isinstance(self.default, float) else self.default
        return (
            self.type, self.optional, self.name, self.version, self.doc, default,
            self.parameters, self.fields, self.key_schema, self.value_schema,
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Schema) or hash(self) != hash(other):
            return False
        # Recursive schemas: a pair under comparison is taken as equal when met again.
        pair = (id(self), id(other))
        comparing = _under_comparison.pairs
        if pair in comparing:
            return True
        comparing.add(pair)
        try:
            return self._key() == other._key()
        finally:
            comparing.discard(pair)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(
                (
                    self.type,
                    self.optional,
                    self.name,
                    self.version,
                    tuple(f.name for f in self.fields),
                )
            )
        return self._hash

    def __repr__(self) -> str:
        return (
            f"Schema{{{self.name}:{self.type.name}}}"
            if self.name
            else f"Schema{{{self.type.name}}}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.type,), {s: getattr(self, s) for s in _STATE}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for slot, value in state.items():
            setattr(self, slot, value)


class SchemaAndValue(NamedTuple):
    """A value beside its schema, which is None where it has none."""

    schema: Schema | None
    value: Any


class _UnderComparison(threading.local):
    def __init__(self) -> None:
        self.pairs: set[tuple[int, int]] = set()


_under_comparison = _UnderComparison()
_STATE = (
    "optional", "default", "name", "version", "doc", "parameters",
    "fields", "key_schema", "value_schema",
)  # fmt: skip


def _rebuild(type: Type) -> Schema:
    return Schema(type)


class SchemaBuilder:
    """Puts a schema together, one call a property, `build()` at the end.

    Schema.struct("Order").field("id", Schema.INT64).field("note", Schema.OPTIONAL_STRING).build()
    """

    def __init__(
        self,
        type: Type,
        *,
        key_schema: Schema | None = None,
        value_schema: Schema | None = None,
    ) -> None:
        self.type = type
        self._key_schema = key_schema
        self._value_schema = value_schema
        self._optional = False
        self._default: Any = None
        self._name: str | None = None
        self._version: int | None = None
        self._doc: str | None = None
        self._parameters: dict[str, str] = {}
        self._fields: dict[str, Schema] = {}

    def optional(self) -> Self:
        self._optional = True
        return self

    def required(self) -> Self:
        self._optional = False
        return self

    def default(self, value: Any) -> Self:
        """The value that stands in for null. It must fit the schema built so far."""
        self._default = value
        return self

    def name(self, name: str | None) -> Self:
        self._name = name
        return self

    def version(self, version: int | None) -> Self:
        self._version = version
        return self

    def doc(self, doc: str | None) -> Self:
        self._doc = doc
        return self

    def parameter(self, key: str, value: str) -> Self:
        self._parameters[key] = value
        return self

    def parameters(self, parameters: Mapping[str, str]) -> Self:
        self._parameters.update(parameters)
        return self

    def field(self, name: str, schema: Schema) -> Self:
        """Append a field to a struct."""
        if self.type is not Type.STRUCT:
            raise SchemaBuildError(f"Cannot create fields on type {self.type.name}")
        if not name:
            raise SchemaBuildError("fieldName cannot be null.")
        if name in self._fields:
            raise SchemaBuildError(f"Cannot create field because of field name duplication {name}")
        self._fields[name] = schema
        return self

    def without_fields(self) -> Self:
        """Drop the fields copied by `to_builder`, keeping everything else."""
        self._fields = {}
        return self

    def build(self) -> Schema:
        schema = Schema(
            self.type,
            optional=self._optional,
            default=self._default,
            name=self._name,
            version=self._version,
            doc=self._doc,
            parameters=self._parameters,
            fields=[Field(n, i, s) for i, (n, s) in enumerate(self._fields.items())],
            key_schema=self._key_schema,
            value_schema=self._value_schema,
        )
        if self._default is not None:
            try:
                schema.validate(self._default)
            except DataError as error:
                raise SchemaBuildError("Invalid default value") from error
        return schema


def _known(schema: Schema | None, place: str) -> Schema:
    # Parsed headers can hold arrays and maps whose parts have no schema in common.
    if schema is None:
        raise DataError(f"No schema defined for {place}")
    return schema


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else text[:97] + "..."


for _type in Type:
    if _type.is_primitive:
        setattr(Schema, _type.name, Schema(_type))
        setattr(Schema, f"OPTIONAL_{_type.name}", Schema(_type, optional=True))
