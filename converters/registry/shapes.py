"""Values checked and shaped before they are written: what all formats do alike.

A shape is a function from a Connect value to the one a format's library takes. It refuses what
does not fit, because the libraries would cut 1.5 to 1, take "x" for true and wrap 300 into a byte.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connect import DataError, Schema, Type
from connect.data.logical import to_base

Shape = Callable[[Any], Any]

INT_LIMIT: Final = {
    Type.INT8: 2**7,
    Type.INT16: 2**15,
    Type.INT32: 2**31,
    Type.INT64: 2**63,
}
# Half a step above the largest float32: what is below still rounds to it.
_TOO_LARGE_FOR_FLOAT32: Final = 3.4028235677973366e38


def leaf(schema: Schema, path: str) -> Shape:
    """The shape of a value that is not null: itself, or what stands for a logical one."""
    plain = to_base(schema)
    if plain is not None:
        return plain
    kind = schema.type
    if kind in INT_LIMIT:
        limit = INT_LIMIT[kind]

        def shape_int(value: Any) -> Any:
            if isinstance(value, bool) or not isinstance(value, int):
                raise misfit(path, schema, value)
            if not -limit <= value < limit:
                raise DataError(f"{path or 'The value'} is too large for {kind.name}: {value}")
            return value

        return shape_int
    if kind in (Type.FLOAT32, Type.FLOAT64):

        def shape_float(value: Any) -> Any:
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise misfit(path, schema, value)
            if (
                kind is Type.FLOAT32
                and abs(value) >= _TOO_LARGE_FOR_FLOAT32
                and math.isfinite(value)
            ):
                raise DataError(f"{path or 'The value'} is too large for FLOAT32: {value}")
            return float(value)

        return shape_float
    wanted = {
        Type.BOOLEAN: (bool,),
        Type.STRING: (str,),
        Type.BYTES: (bytes, bytearray, memoryview),
    }[kind]

    def shape_other(value: Any) -> Any:
        if not isinstance(value, wanted):
            raise misfit(path, schema, value)
        return value

    def shape_bytes(value: Any) -> bytes:
        return bytes(shape_other(value))

    return shape_bytes if kind is Type.BYTES else shape_other


def passes_as_is(schema: Schema, x: str) -> str | None:
    """A test, as source code, that the value in `x` is good as it is. None: there is no quick one.

    What fails the test may still be good; the shape decides.
    """
    if to_base(schema) is not None:
        return None
    match schema.type:
        case Type.STRING:
            return f"type({x}) is str"
        case Type.BOOLEAN:
            return f"{x} is True or {x} is False"
        case Type.FLOAT64:
            return f"type({x}) is float"
        case Type.BYTES:
            return f"type({x}) is bytes"
        case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64:
            limit = INT_LIMIT[schema.type]
            return f"type({x}) is int and {-limit} <= {x} < {limit}"
        case _:
            return None


@dataclass(frozen=True, slots=True)
class FieldShape:
    """How one field of a struct gets from the value into the result."""

    source: str
    target: str
    shape: Shape
    # A test under which the shape is not called, with {x} for the value.
    passes: str | None = None


def compile_struct(
    name: str,
    fields: Sequence[FieldShape],
    constants: dict[str, Any],
    namespace: dict[str, Any],
    missing: Any = None,
) -> Shape:
    """Generates the function that shapes a struct, under a name that others may call it by.

    A loop over fields would call a function for each; this costs a look-up and a type test. The
    shape of a field that the value does not have is given `missing`.
    """
    namespace[f"{name}_missing"] = missing
    otherwise = "" if missing is None else f", {name}_missing"
    body = [f"def {name}(value):"]
    result = []
    for index, field in enumerate(fields):
        x = f"x{index}"
        call = f"{x} = {name}_{index}({x})"
        namespace[f"{name}_{index}"] = field.shape
        body.append(f"    {x} = value.get({field.source!r}{otherwise})")
        body.append(
            f"    if not ({field.passes.format(x=x)}): {call}" if field.passes else f"    {call}"
        )
        result.append(f"{field.target!r}: {x}")
    for index, (target, constant) in enumerate(constants.items()):
        namespace[f"{name}_c{index}"] = constant
        result.append(f"{target!r}: {name}_c{index}")
    body.append(f"    return {{{', '.join(result)}}}")
    # Only names quoted by repr() and numbers of our own get into the source.
    exec("\n".join(body), namespace)  # noqa: S102
    shape: Shape = namespace[name]
    return shape


def not_null(schema: Schema, shape: Shape, path: str, default: Any) -> Shape:
    """The shape with nulls replaced by the default, or refused."""
    substitute = shape(default) if default is not None else None

    def shape_not_null(value: Any) -> Any:
        if value is None:
            if substitute is None:
                raise null_error(path, schema)
            return substitute
        return shape(value)

    return shape_not_null


def misfit(path: str, schema: Schema, value: Any) -> DataError:
    try:
        schema.as_optional().validate(value, path or None)
    except DataError as error:
        return error
    return DataError(f"{path or 'The value'} does not fit {schema!r}: {type(value).__name__}")


def null_error(path: str, schema: Schema) -> DataError:
    where = f'field: "{path}", ' if path else ""
    return DataError(
        f"Invalid value: null used for required {where}schema type: {schema.type.name}"
    )
