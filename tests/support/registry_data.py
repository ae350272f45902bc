"""Hypothesis strategies for Connect schemas with values that fit them."""

from __future__ import annotations

import datetime as dt
import decimal
from dataclasses import dataclass
from itertools import count
from typing import Any

from hypothesis import strategies as st

from connect import Schema, Type
from connect.data.floats import float32

_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
_WORD = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True)


_PRIMITIVES: dict[Type, st.SearchStrategy[Any]] = {
    Type.INT8: st.integers(-(2**7), 2**7 - 1),
    Type.INT16: st.integers(-(2**15), 2**15 - 1),
    Type.INT32: st.integers(-(2**31), 2**31 - 1),
    Type.INT64: st.integers(-(2**63), 2**63 - 1),
    Type.FLOAT32: st.floats(width=32, allow_nan=False, allow_infinity=False).map(float32),
    Type.FLOAT64: st.floats(allow_nan=False, allow_infinity=False),
    Type.BOOLEAN: st.booleans(),
    Type.STRING: _TEXT,
    Type.BYTES: st.binary(max_size=12),
}


@dataclass
class Sample:
    """A schema and how to draw values for it."""

    schema: Schema
    values: st.SearchStrategy[Any]


def _milliseconds(value: dt.datetime) -> dt.datetime:
    return value.replace(microsecond=value.microsecond // 1000 * 1000)


@st.composite
def _logical(draw: Any) -> Sample:
    match draw(st.sampled_from(["decimal", "date", "time", "timestamp"])):
        case "decimal":
            scale = draw(st.integers(0, 6))
            exact = decimal.Context(prec=100)
            values = st.integers(-(10**30), 10**30).map(
                lambda n: exact.scaleb(decimal.Decimal(n), -scale)
            )
            return Sample(Schema.decimal(scale).build(), values)
        case "date":
            return Sample(Schema.date().build(), st.dates())
        case "time":
            times = st.times().map(
                lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000, fold=0)
            )
            return Sample(Schema.time().build(), times)
        case _:
            stamps = st.datetimes(timezones=st.just(dt.UTC)).map(_milliseconds)
            return Sample(Schema.timestamp().build(), stamps)


@st.composite
def samples(
    draw: Any,
    *,
    depth: int = 2,
    defaults: bool = True,
    metadata: bool = True,
    map_keys: tuple[Type, ...] = (Type.STRING, Type.INT32, Type.INT64, Type.BOOLEAN),
    top: bool = True,
    struct_only: bool = False,
    numbering: Any = None,
) -> Sample:
    """A schema of any kind, optional or not, described or not, and its values."""
    numbering = numbering or count()
    kinds = ["primitive", "logical"] if not struct_only else []
    if depth > 0:
        kinds += ["struct"] if struct_only else ["struct", "array", "map"]
    inner = {
        "depth": depth - 1, "defaults": defaults, "metadata": metadata, "map_keys": map_keys,
        "top": False, "numbering": numbering,
    }  # fmt: skip
    match draw(st.sampled_from(kinds)):
        case "primitive":
            kind = draw(st.sampled_from(sorted(_PRIMITIVES)))
            sample = Sample(Schema(kind), _PRIMITIVES[kind])
        case "logical":
            sample = draw(_logical())
        case "array":
            items = draw(samples(**inner))
            sample = Sample(Schema.array(items.schema).build(), st.lists(items.values, max_size=3))
        case "map":
            kind = draw(st.sampled_from(map_keys))
            items = draw(samples(**inner))
            sample = Sample(
                Schema.map(Schema(kind), items.schema).build(),
                st.dictionaries(_PRIMITIVES[kind], items.values, max_size=3),
            )
        case _:
            fields = draw(st.lists(_WORD, min_size=1, max_size=4, unique=True))
            members = {name: draw(samples(**inner)) for name in fields}
            builder = Schema.struct()
            for name, member in members.items():
                builder = builder.field(name, member.schema)
            sample = Sample(
                builder.build(),
                st.fixed_dictionaries({n: m.values for n, m in members.items()}),
            )
    builder = sample.schema.to_builder()
    if sample.schema.type is Type.STRUCT and (struct_only or draw(st.booleans())):
        builder = builder.name(f"test.ns.Rec{next(numbering)}")
    if metadata and draw(st.booleans()):
        if sample.schema.name is None:
            builder = builder.version(draw(st.integers(1, 9)))
        if draw(st.booleans()):
            builder = builder.doc(draw(_TEXT))
        if draw(st.booleans()):
            builder = builder.parameter(draw(_WORD), draw(_TEXT))
    values = sample.values
    schema = builder.build()
    optional = draw(st.booleans()) and not struct_only
    default = None
    if defaults and not top and schema.type.is_primitive and draw(st.booleans()):
        default = draw(sample.values)
    if isinstance(default, float):
        default += 0.0  # no -0.0: it equals 0.0, but is written in another way
    if default is not None:
        schema = schema.to_builder().default(default).build()
    if optional:
        schema = schema.as_optional()
        if default is None and not top:
            values = st.none() | values
    return Sample(schema, values)


@st.composite
def records(draw: Any, **options: Any) -> tuple[Schema, Any]:
    """A schema and one value that fits it."""
    sample = draw(samples(**options))
    return sample.schema, draw(sample.values)


def protobuf_records() -> st.SearchStrategy[tuple[Schema, Any]]:
    """Records that Protobuf can hold."""
    found = records(
        struct_only=True, defaults=False, metadata=False, map_keys=(Type.STRING, Type.INT64)
    )
    return found.filter(lambda record: _fits_protobuf(record[0]))


def _fits_protobuf(schema: Schema) -> bool:
    """Protobuf has no lists of lists or maps, and no maps of them."""
    inner = schema.value_schema
    if inner is not None and (
        inner.type in (Type.ARRAY, Type.MAP) or inner.optional or not _fits_protobuf(inner)
    ):
        return False
    return all(_fits_protobuf(f.schema) for f in schema.fields)


def as_protobuf_keeps(schema: Schema, value: Any) -> Any:
    """A value as it comes back: a null that Protobuf can't tell from a default is that default."""
    if schema.type is Type.STRUCT and value is not None:
        return {f.name: as_protobuf_keeps(f.schema, value[f.name]) for f in schema.fields}
    if value is None:
        return {Type.ARRAY: [], Type.MAP: {}}.get(schema.type)
    return value
