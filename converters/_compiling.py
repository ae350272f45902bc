"""What compiled readers and writers share: the types to check, and code made for one schema.

msgspec checks and copies a whole value in C. What it can't do is done afterwards, in one generated
function for each struct that touches the fields which need work and no other.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from connect.data.schema import Schema, Type

Change = Callable[[Any], Any]


class NotPlainError(Exception):
    """A document or value that compiled code leaves to the book."""


# What compiled code raises for anything unusual. The book then decides what it is.
UNUSUAL = (msgspec.MsgspecError, UnicodeError, RecursionError, NotPlainError)

# A float64 within these bounds is written alike by everybody: 0.001 up to 9999999.999….
PLAIN_FLOAT = "0.001 <= v < 10000000.0 or -10000000.0 < v <= -0.001 or v == 0.0"


def _whole(bits: int) -> Any:
    return Annotated[int, msgspec.Meta(ge=-(2 ** (bits - 1)), le=2 ** (bits - 1) - 1)]


PRIMITIVE: dict[Type, Any] = {
    Type.INT8: _whole(8),
    Type.INT16: _whole(16),
    Type.INT32: _whole(32),
    Type.INT64: _whole(64),
    Type.FLOAT32: float,
    Type.FLOAT64: float,
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.BYTES: bytes,
}


class RowReader:
    """Reads JSON objects with the same keys without a dict for each, and makes columns of them.

    `decode` gives a row for an object, `columns` a list for each key of all rows.
    """

    def __init__(self, types: Mapping[str, Any], *, strict: bool, float_hook: Any = None) -> None:
        names = [f"f{i}" for i in range(len(types))]
        row = msgspec.defstruct(
            "Row",
            [*zip(names, types.values(), strict=True)],
            rename=dict(zip(names, types, strict=True)),
            forbid_unknown_fields=strict,
            gc=False,  # JSON has no cycles
        )
        self.decode: Callable[[bytes | None], Any] = msgspec.json.Decoder(  # type: ignore[assignment]
            row, float_hook=float_hook
        ).decode
        # Made for these attributes it takes a third less time than by tuples.
        lists = ", ".join(f"[row.{name} for row in rows]" for name in names)
        self.columns: Callable[[Sequence[Any]], list[list[Any]]] = eval(f"lambda rows: [{lists}]")  # noqa: S307


class SchemaCompiler(abc.ABC):
    """Turns a schema into a type for msgspec and a function for what is left to do then."""

    def __init__(self, *, replace_null: bool) -> None:
        self.replace_null = replace_null

    @abc.abstractmethod
    def type_of(self, schema: Schema | None) -> Any:
        """The type of a value that is not null. Raises NotPlainError where there is none."""

    @abc.abstractmethod
    def finish(self, schema: Schema) -> Change | None:
        """What to do with a value that has the type and is not null; None for nothing."""

    @abc.abstractmethod
    def default(self, schema: Schema) -> Any:
        """What takes the place of a null, or None."""

    def nullable(self, schema: Schema) -> bool:
        return schema.optional or (schema.default is not None and self.replace_null)

    def part_type(self, schema: Schema | None) -> Any:
        """The type of a field or item, null included where it may be."""
        part = self.type_of(schema)
        assert schema is not None
        return part | None if self.nullable(schema) and part is not Any else part

    def finish_part(self, schema: Schema | None) -> Change | None:
        """What to do with a field or item that may be null."""
        assert schema is not None
        finish, default = self.finish(schema), self.default(schema)
        if finish is None:
            return None if default is None else lambda value: default if value is None else value
        if not self.nullable(schema):
            return finish
        return lambda value: default if value is None else finish(value)

    def finish_array(self, schema: Schema) -> Change | None:
        item = self.finish_part(schema.value_schema)
        return None if item is None else lambda values: [*map(item, values)]


@dataclass(frozen=True, slots=True)
class FieldWork:
    """What to do with one field, where `load` and `store` are code for its place in `o`.

    `change` makes the value of what was found; `default` stands in for null; a value that
    satisfies `plain` (an expression of v) needs no change.
    """

    load: str
    store: str
    change: Change | None
    default: Any
    nullable: bool
    plain: str | None = None


def compile_fields(works: Sequence[FieldWork]) -> Change | None:
    """A function that does the work on an object `o`, in place, and returns it."""
    if not works:
        return None
    names: dict[str, Any] = {}
    lines = ["def work(o):"]
    for i, work in enumerate(works):
        names[f"change{i}"] = work.change
        names[f"default{i}"] = work.default
        branches: list[tuple[str, str | None]] = []
        if work.default is not None:
            branches.append(("v is None", f"default{i}"))
        elif work.nullable:
            branches.append(("v is None", None))
        if work.plain:
            branches.append((work.plain, None))
        if work.change is not None:
            branches.append(("True", f"change{i}(v)"))
        lines.append(f" v = {work.load}")
        for word, (condition, result) in zip(["if", *["elif"] * 3], branches, strict=False):
            action = f"{work.store} = {result}" if result else "pass"
            lines.append(f" {word} {condition}: {action}")
    lines.append(" return o")
    # Only names made here and literals of strings go into the code, so no schema can inject any.
    exec("\n".join(lines), names)  # noqa: S102
    compiled: Change = names["work"]
    return compiled
