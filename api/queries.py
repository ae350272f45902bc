"""Reads query strings and says which parameter has which problem."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar, get_args, get_origin

import msgspec
from starlette.datastructures import QueryParams

from connect.cluster.herder import BadRequestError

S = TypeVar("S", bound=msgspec.Struct)

# What scripts write for booleans, beside true, false, 1 and 0.
_WORDS = dict.fromkeys(("yes", "y", "t", "on"), True)
_WORDS |= dict.fromkeys(("no", "n", "f", "off"), False)


def read_query(given: QueryParams, shape: type[S]) -> S:
    """The parameters in a shape; of one that is given twice and is no list, the last counts.

    BadRequestError names all that don't fit.
    """
    values, problems = {}, []
    fields = _fields(shape)
    for name in given:
        if name in fields:
            type_ = fields[name]
            value: Any = given.getlist(name) if _has(type_, list) else given[name]
            meant = _WORDS.get(value.lower(), value) if _has(type_, bool) else value
            try:
                values[name] = msgspec.convert(meant, type_, strict=False)
            except msgspec.ValidationError as error:
                problems.append(f"query parameter {name}={value}: {error}")
        elif shape.__struct_config__.forbid_unknown_fields:
            problems.append(f"query parameter {name}={given[name]}: there is no such parameter")
    if problems:
        raise BadRequestError("; ".join(problems))
    return shape(**values)


@cache
def _fields(shape: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.name: field.type for field in msgspec.structs.fields(shape)}


def _has(type_: Any, kind: type) -> bool:
    """Whether a type is of a kind, without what Annotated and None add."""
    return kind in (type_, get_origin(type_)) or any(_has(part, kind) for part in get_args(type_))
