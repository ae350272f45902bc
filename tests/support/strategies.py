"""Hypothesis strategies: schemas, and values that fit them.

    @given(schemas_and_values())
    def test_round_trip(schema_and_value): ...

Narrow them where a format can't hold everything: `schemas(types=…, names=…, max_depth=…)`.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from connect import Schema, SchemaBuilder, Type
from connect.data.floats import float32
from connect.data.schema import DATE, DECIMAL, TIME, TIMESTAMP

LOGICAL = (DECIMAL, DATE, TIME, TIMESTAMP)
PRIMITIVES = tuple(t for t in Type if t.is_primitive)
# Any text but lone surrogates, which no format can store.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
FIELD_NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
# Names that Avro and Protobuf allow too.
PLAIN_NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,7}", fullmatch=True)

STRING_KEYS = st.just(Schema.STRING)

_INT_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}


@st.composite
def schemas(
    draw: st.DrawFn,
    *,
    types: Sequence[Type] = tuple(Type),
    logical: Sequence[str] = LOGICAL,
    names: st.SearchStrategy[str] = FIELD_NAMES,
    map_keys: st.SearchStrategy[Schema] = STRING_KEYS,
    defaults: bool = True,
    metadata: bool = True,
    max_depth: int = 3,
) -> Schema:
    """A schema: its type, its parts, and now and then a default, a name, a version, a doc."""
    inner = schemas(
        types=types, logical=logical, names=names, map_keys=map_keys, defaults=defaults,
        metadata=metadata, max_depth=max_depth - 1,
    )  # fmt: skip
    usable = [t for t in types if t.is_primitive or max_depth > 0]
    chosen: Type | str = draw(st.sampled_from([*usable, *logical]))
    builder: SchemaBuilder
    if isinstance(chosen, Type) and chosen is Type.STRUCT:
        builder = Schema.struct()
        for name in draw(st.lists(names, unique=True, max_size=4)):
            builder.field(name, draw(inner))
    elif chosen == Type.ARRAY:
        builder = Schema.array(draw(inner))
    elif chosen == Type.MAP:
        builder = Schema.map(draw(map_keys), draw(inner))
    elif chosen == DECIMAL:
        builder = Schema.decimal(draw(st.integers(0, 12)))
    elif chosen == DATE:
        builder = Schema.date()
    elif chosen == TIME:
        builder = Schema.time()
    elif chosen == TIMESTAMP:
        builder = Schema.timestamp()
    else:
        builder = Schema.builder(Type(chosen))
    if metadata and chosen in tuple(Type) and draw(st.booleans()):
        builder.name(draw(names)).version(draw(st.none() | st.integers(1, 9)))
    if metadata and draw(st.booleans()):
        builder.doc(draw(TEXT)).parameters(draw(st.dictionaries(names, TEXT, max_size=2)))
    if draw(st.booleans()):
        builder.optional()
    schema = builder.build()
    if defaults and schema.type.is_primitive and draw(st.integers(0, 3)) == 0:
        builder.default(draw(values(schema.as_required())))
    return builder.build()


def values(schema: Schema) -> st.SearchStrategy[Any]:
    """A value that fits the schema, sometimes None where that is allowed."""
    present = _present(schema)
    return st.none() | present if schema.optional else present


def _present(schema: Schema) -> st.SearchStrategy[Any]:
    match schema.name:
        case "org.apache.kafka.connect.data.Decimal":
            scale = schema.scale
            return st.integers(-(10**30), 10**30).map(
                lambda n: decimal.Decimal((n < 0, tuple(map(int, str(abs(n)))), -scale))
            )
        case "org.apache.kafka.connect.data.Date":
            return st.dates()
        case "org.apache.kafka.connect.data.Time":
            return st.times().map(_in_milliseconds)
        case "org.apache.kafka.connect.data.Timestamp":
            return st.datetimes(timezones=st.just(dt.UTC)).map(_in_milliseconds)
    match schema.type:
        case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64:
            high = 2 ** (_INT_BITS[schema.type] - 1)
            return st.integers(-high, high - 1)
        case Type.FLOAT32:
            return st.floats(width=32, allow_nan=False, allow_infinity=False).map(float32)
        case Type.FLOAT64:
            return st.floats(allow_nan=False, allow_infinity=False)
        case Type.BOOLEAN:
            return st.booleans()
        case Type.STRING:
            return TEXT
        case Type.BYTES:
            return st.binary(max_size=20)
        case Type.ARRAY:
            assert schema.value_schema is not None
            return st.lists(values(schema.value_schema), max_size=4)
        case Type.MAP:
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            return st.dictionaries(
                values(schema.key_schema), values(schema.value_schema), max_size=4
            )
        case Type.STRUCT:
            return st.fixed_dictionaries({f.name: values(f.schema) for f in schema.fields})


def _in_milliseconds(value: Any) -> Any:
    return value.replace(microsecond=value.microsecond // 1000 * 1000)


@st.composite
def schemas_and_values(draw: st.DrawFn, **narrowed: Any) -> tuple[Schema, Any]:
    """A schema and a value that fits it; the arguments are those of `schemas`."""
    schema = draw(schemas(**narrowed))
    return schema, draw(values(schema))


def schemaless_values() -> st.SearchStrategy[Any]:
    """What a record without schema holds: maps, lists, strings, int64, float64, booleans, nulls."""
    leaves = (
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**63 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | TEXT
    )
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
        max_leaves=12,
    )
