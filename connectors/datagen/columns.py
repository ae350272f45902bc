"""Columns of primitive values, and of the logical types made of them."""

from __future__ import annotations

import datetime as dt
import decimal
import string
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from connect import DataError, Schema, Type
from connectors.datagen.arguments import Arguments, GeneratorError, Iteration
from connectors.datagen.regex import RegexError, string_maker

# Called with the source of chance, the number of the first record, and how many to make.
Column = Callable[[Random, int, int], list[Any]]

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_LETTERS = string.ascii_letters + string.digits
_LIMITS = {"int": 2**31, "long": 2**63}
# Below this, random() has enough digits to reach every number of a range.
_EXACT = 2**53

PRIMITIVES = {
    "boolean": Schema.BOOLEAN,
    "int": Schema.INT32,
    "long": Schema.INT64,
    "float": Schema.FLOAT32,
    "double": Schema.FLOAT64,
    "string": Schema.STRING,
    "bytes": Schema.BYTES,
}


class Generator(NamedTuple):
    """What a schema generates: values of `schema`, by `column`."""

    schema: Schema
    column: Column


def primitive(avro: Mapping[str, Any], kind: str, args: Arguments) -> Generator:
    if kind == "bytes" and avro.get("logicalType") == "decimal":
        return _decimals(avro, args)
    schema = PRIMITIVES[kind]
    options = args.options()
    if options is not None:
        if kind == "bytes":
            options = [o.encode() if isinstance(o, str) else o for o in options]
        column = choice(options, schema, args.where)
    else:
        column = _COLUMNS[kind](kind, args)
    return _as_logical(avro, kind, Generator(schema, column))


def choice(options: Sequence[Any], schema: Schema, where: str) -> Column:
    """One of the options at a time; each must fit the schema."""
    chosen = [_fitting(option, schema, where) for option in options]
    if not chosen:
        raise GeneratorError(f"{where}: there is nothing to choose from")
    return lambda random, _, count: random.choices(chosen, k=count)


def _fitting(option: Any, schema: Schema, where: str) -> Any:
    is_float = schema.type in (Type.FLOAT32, Type.FLOAT64)
    if is_float and isinstance(option, int) and not isinstance(option, bool):
        option = float(option)
    try:
        schema.validate(option)
    except DataError as error:
        raise GeneratorError(f"{where}: the option {option!r} does not fit: {error}") from error
    return option


def _booleans(_: str, args: Arguments) -> Column:
    iteration = args.take("iteration", dict)
    if iteration is not None:
        start = bool(iteration.get("start"))
        return lambda _, first, n: [start == (i % 2 == 0) for i in range(first, first + n)]
    odds = args.take("odds", (int, float))
    limit = 0.5 if odds is None else odds
    return lambda random, _, n: [random.random() < limit for _ in range(n)]


def _integers(kind: str, args: Arguments) -> Column:
    limit = _LIMITS[kind]
    iteration = args.iteration(whole=True)
    if iteration is not None:
        # Java's numbers wrap around, so these do.
        return lambda _, first, n: [
            (int(value) + limit) % (2 * limit) - limit for value in iteration.values(first, n)
        ]
    bounds = args.range(-limit, limit)
    low, high = int(bounds[0]), int(bounds[1])
    size = high - low
    if size < _EXACT:
        return lambda random, _, n: [low + int(random.random() * size) for _ in range(n)]
    return lambda random, _, n: [random.randrange(low, high) for _ in range(n)]


def _floats(kind: str, args: Arguments) -> Column:
    decimals = args.take("decimals", int)
    iteration = args.iteration()
    column = _counted(iteration, float) if iteration else _uniform(*args.range(0.0, 1.0))
    if decimals is not None:
        return lambda random, first, n: [round(x, decimals) for x in column(random, first, n)]
    if kind == "float":
        # A float32 holds six digits of any number, and prints no more than those.
        return lambda random, first, n: [float(f"{x:.6g}") for x in column(random, first, n)]
    return column


def _counted(iteration: Iteration, convert: Callable[[float], Any]) -> Column:
    return lambda _, first, n: [*map(convert, iteration.values(first, n))]


def _uniform(low: float, high: float) -> Column:
    size = high - low
    return lambda random, _, n: [low + random.random() * size for _ in range(n)]


def _strings(_: str, args: Arguments) -> Column:
    prefix, suffix = args.take("prefix", str) or "", args.take("suffix", str) or ""
    regex = args.take("regex", str)
    iteration = args.iteration()
    if regex is not None:
        args.take("length", (int, dict))  # the expression says how long
        column = _matching(regex, args.where)
    elif iteration is not None:
        column = _counted(iteration, str)
    else:
        column = _letters(*args.length())
    if not prefix and not suffix:
        return column
    return lambda random, first, n: [f"{prefix}{x}{suffix}" for x in column(random, first, n)]


def _matching(regex: str, where: str) -> Column:
    try:
        make = string_maker(regex)
    except RegexError as error:
        raise GeneratorError(f"{where}: {error}") from error
    return lambda random, _, n: make(random, n)


def _letters(low: int, high: int) -> Column:
    return lambda random, _, n: [
        "".join(random.choices(_LETTERS, k=random.randrange(low, high))) for _ in range(n)
    ]


def _bytes(_: str, args: Arguments) -> Column:
    low, high = args.length()
    return lambda random, _, n: [random.randbytes(random.randrange(low, high)) for _ in range(n)]


_COLUMNS: dict[str, Callable[[str, Arguments], Column]] = {
    "boolean": _booleans,
    "int": _integers,
    "long": _integers,
    "float": _floats,
    "double": _floats,
    "string": _strings,
    "bytes": _bytes,
}


def _decimals(avro: Mapping[str, Any], args: Arguments) -> Generator:
    precision, scale = avro.get("precision"), avro.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int) or not 0 <= scale <= precision:
        raise GeneratorError(f"{args.where}: a decimal needs a precision and a scale below it")
    schema = Schema.decimal(scale).build()
    unit = decimal.Decimal(1).scaleb(-scale)
    options = args.options()
    if options is not None:
        try:
            exact = [decimal.Decimal(str(option)).quantize(unit) for option in options]
        except decimal.InvalidOperation as error:
            raise GeneratorError(f"{args.where}: options must be numbers: {options!r}") from error
        return Generator(schema, choice(exact, schema, args.where))
    low, high = (int(x * 10**scale) for x in args.range(0, 10 ** (precision - scale)))
    return Generator(
        schema,
        lambda random, _, n: [
            decimal.Decimal(random.randrange(low, high)).scaleb(-scale) for _ in range(n)
        ],
    )


def _as_logical(avro: Mapping[str, Any], kind: str, plain: Generator) -> Generator:
    convert: Callable[[int], Any]
    match kind, avro.get("logicalType"):
        case "long", "timestamp-millis":
            schema, convert = Schema.timestamp(), _moment
        case "int", "date":
            schema, convert = Schema.date(), lambda days: (_EPOCH + dt.timedelta(days)).date()
        case "int", "time-millis":
            schema, convert = Schema.time(), lambda milliseconds: _moment(milliseconds).time()
        case _:
            return plain  # as in Avro: what is not known is not there
    column = plain.column
    return Generator(
        schema.build(), lambda random, first, n: [*map(convert, column(random, first, n))]
    )


def _moment(milliseconds: int) -> dt.datetime:
    return _EPOCH + dt.timedelta(milliseconds=milliseconds)
