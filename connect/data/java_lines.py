"""Whole batches as text, each value the way Java prints it: see `java_text`.

Most batches hold values of one shape, structs of one schema or maps with the same keys. Those are
printed column by column, with a few calls a batch where there were a few a field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import orjson

from connect.data.columns import Columns, by_columns, is_constant, kind_of
from connect.data.floats import java_text as float_text
from connect.data.java_text import (
    Writer,
    _any,
    _boolean,
    _fields,
    _hash_map_order,
    _whole,
    are_texts,
    writer_for,
)
from connect.data.schema import Schema, Type

_BOOLEANS = {True: "true", False: "false"}.__getitem__
# Fewer are printed one by one: a record that comes alone must not wait for what columns take.
_FEW = 4
# Between these JSON's digits are Java's; beyond, Java writes an exponent.
_LOW, _HIGH = 1e-3, 1e7


def java_lines(values: Sequence[Any], schemas: Sequence[Schema | None]) -> str:
    """What Java prints for each value, each with a line end behind it."""
    text = None
    if len(values) >= _FEW and set(map(type, values)) == {dict} and len(set(map(id, schemas))) == 1:
        text = _maps(values) if schemas[0] is None else _structs(values, schemas[0])
    if text is None:
        lines = [f"{writer_for(s)(v)}\n" for v, s in zip(values, schemas, strict=True)]
        text = "".join(lines)
    return text


def java_lines_of(columns: Columns) -> str:
    """The same for values that are there by columns."""
    if columns.schema is not None:
        return _printed_structs(columns.schema, columns.fields)
    order = _hash_map_order(tuple(columns.fields), longs=True)
    return _printed_maps(order, [columns.fields[key] for key in order])


def _maps(values: Sequence[Mapping[Any, Any]]) -> str | None:
    keys = tuple(values[0])
    if not are_texts(keys):
        return None  # another map's may equal them and be printed in another way
    order = _hash_map_order(keys, longs=True)
    columns = _columns(values, order)
    if columns is None:
        return None
    # Where two keys share a slot of Java's map, the one that came first stands first.
    shares_slots = order != _hash_map_order(keys[::-1], longs=True)
    if shares_slots and len(set(map(tuple, values))) > 1:
        return None
    return _printed_maps(order, columns)


def _printed_maps(order: tuple[Any, ...], columns: Sequence[Sequence[Any]]) -> str:
    named = ((_any(key), column, _any) for key, column in zip(order, columns, strict=True))
    return _joined("{", ", ", named, len(columns[0]))


def _structs(values: Sequence[Mapping[Any, Any]], schema: Schema) -> str | None:
    if schema.type is not Type.STRUCT:
        return None
    names = tuple(field.name for field in schema.fields)
    columns = _columns(values, names)
    if columns is None:
        return None
    return _printed_structs(schema, dict(zip(names, columns, strict=True)))


def _printed_structs(schema: Schema, columns: Mapping[str, Sequence[Any]]) -> str:
    if any(None in column for column in columns.values()):
        # Java's Struct leaves nulls out, so that lines have several shapes.
        write = writer_for(schema)
        rows = zip(*columns.values(), strict=True)
        return "".join([f"{write(dict(zip(columns, row, strict=True)))}\n" for row in rows])
    named = [(name, columns[name], write) for name, write in _fields(schema)]
    return _joined("Struct{", ",", named, len(named[0][1]))


def _columns(values: Sequence[Mapping[Any, Any]], names: tuple[Any, ...]) -> list[list[Any]] | None:
    """The values by name; None if they don't all have these names and no others."""
    if len(names) < 2 or set(map(len, values)) != {len(names)}:
        return None
    try:
        return by_columns(map(itemgetter(*names), values), len(names))
    except KeyError:
        return None


def _texts(column: Sequence[Any], write: Writer) -> Iterable[str]:
    """What `write` gives for each; at once where all are of one simple kind."""
    kind = kind_of(column)
    if kind is str and write is _any:
        return column
    if kind is int and write in (_any, _whole):
        return _digits(column)
    if kind is bool and write in (_any, _boolean):
        return map(_BOOLEANS, column)
    if kind is float and write in (_any, float_text) and _are_plain(column):
        return _digits(column)
    return map(write, column)


def _digits(column: Sequence[Any]) -> Iterable[str]:
    """Numbers as JSON has them: several times as quick as one after the other."""
    try:
        return orjson.dumps(column)[1:-1].decode().split(",")
    except TypeError:  # beyond 64 bits
        return map(str, column)


def _are_plain(column: Sequence[float]) -> bool:
    total = sum(column)  # not a number if one of them is none
    return total == total and min(column) >= _LOW and max(column) < _HIGH  # noqa: PLR0124


def _joined(
    begin: str, between: str, fields: Iterable[tuple[str, Sequence[Any], Writer]], count: int
) -> str:
    """The lines: texts of columns in turn with what stands between them.

    A column that holds one thing only is part of what stands between the others. One that begins
    with text is taken for text, and looked through only if something in it is not.
    """
    around = [begin]  # what stands before, between and behind the texts of columns
    varying: list[tuple[Sequence[Any], Writer]] = []
    for name, column, write in fields:
        around[-1] += f"{name}="
        if is_constant(column):
            around[-1] += write(column[0])
        else:
            varying.append((column, write))
            around.append("")
        around[-1] += between
    *before, end = around
    end = end.removesuffix(between) + "}\n"
    if not varying:
        return end * count
    try:
        return _mixed(before, [_text(*each) for each in varying], end, count)
    except TypeError:
        return _mixed(before, [_texts(*each) for each in varying], end, count)


def _mixed(before: Sequence[str], texts: Sequence[Iterable[str]], end: str, count: int) -> str:
    line = [part for each in before for part in (each, "")] + [end]
    parts = line * count
    for i, column in enumerate(texts):
        parts[2 * i + 1 :: len(line)] = column
    return "".join(parts)


def _text(column: Sequence[Any], write: Writer) -> Iterable[str]:
    return column if write is _any and type(column[0]) is str else _texts(column, write)
