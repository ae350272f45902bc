"""Avro's binary form to Connect values, by code that is made for one schema.

fastavro asks a stream for every byte, and is asked itself for every record. This code looks at the
bytes where they are, many records in one call: two thirds of the time. It reads what is written as
everybody writes it. What it stumbles over it leaves to `converters.avro.reading`, by which it is
either read or refused for good.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from connect import Schema, Type
from connect.data.floats import float32
from connect.data.logical import from_base
from converters.avro import names
from converters.avro.model import AvroType

Lines = list[str]

# By a size's only byte. None for one that has more, and for a size below zero.
_SIZES: Final = tuple(n >> 1 if n < 128 and n % 2 == 0 else None for n in range(256))
_MOST_BYTES: Final = 10  # of a number


@dataclass(slots=True)
class Generated:
    """Readers of many payloads, which start at the same place in their data.

    All raise some error where one payload is unusual.
    """

    values: Callable[[Sequence[bytes], int], list[Any]]
    # A record's fields, a list each.
    columns: Callable[[Sequence[bytes], int], dict[str, Sequence[Any]]] | None


def generate(avro: AvroType, schema: Schema) -> Generated:
    """The readers for an Avro type, as the Connect schema wants its values."""
    code = _Code()
    if avro.type != "record":
        return Generated(code.loop(code.value(avro, schema, "v"), "found.append(v)"), None)

    def made(keep: Callable[[_Fields], str]) -> Callable[[Sequence[bytes], int], list[Any]]:
        fields = code.fields(avro, schema)
        return code.loop(fields.read, keep(fields))

    values = made(lambda fields: f"found.append({fields.as_dict})")
    if not schema.fields:
        return Generated(values, None)
    # Made when it is first wanted: code for hundreds of fields takes its time.
    rows = cache(lambda: made(lambda fields: f"found += {fields.as_tuple}"))
    keys = [field.name for field in schema.fields]

    def columns(data: Sequence[bytes], start: int) -> dict[str, Sequence[Any]]:
        found = rows()(data, start)
        return {key: found[i :: len(keys)] for i, key in enumerate(keys)}

    return Generated(values, columns)


@dataclass(slots=True)
class _Fields:
    """How a record's fields are read to variables, and what can be made of those."""

    read: Lines
    as_dict: str
    as_tuple: str


class _Code:
    """Lines that read from the bytes d at the place p on, and leave p behind what they have read.

    All functions share a namespace, so that records may be recursive. Only names made here, numbers
    and literals of strings go into the code, so no schema can inject any.
    """

    def __init__(self) -> None:
        self._namespace: dict[str, Any] = {
            "sizes": _SIZES,
            "size_at": _size_at,
            "count_at": _count_at,
            "double_at": struct.Struct("<d").unpack_from,
            "float_at": struct.Struct("<f").unpack_from,
        }
        self._records: dict[int, str] = {}

    # -- functions --------------------------------------------------------------------------

    def loop(self, read: Lines, keep: str) -> Callable[[Sequence[bytes], int], list[Any]]:
        """A function of data and where each starts, that reads and keeps one after the other."""
        name = self._new_name()
        self._define(
            f"def {name}(data, start):",
            [
                "found = []",
                "for d in data:",
                *_inside(
                    [
                        "p = start",
                        *read,
                        "if p > len(d): raise EOFError",  # the last slice was cut short
                        keep,
                    ]
                ),
                "return found",
            ],
        )
        made: Callable[[Sequence[bytes], int], list[Any]] = self._namespace[name]
        return made

    def _record(self, avro: AvroType, schema: Schema) -> str:
        """The name of a function that gives the value and the place behind it."""
        known = self._records.get(id(avro))
        if known is not None:
            return known
        name = self._records[id(avro)] = self._new_name()
        fields = self.fields(avro, schema)
        self._define(f"def {name}(d, p):", [*fields.read, f"return {fields.as_dict}, p"])
        return name

    def _blocks(self, empty: str, item: Lines) -> str:
        """The same for items that come in blocks, each with their number in front."""
        name = self._new_name()
        self._define(
            f"def {name}(d, p):",
            [
                f"found = {empty}",
                "while True:",
                *_inside(
                    [
                        *_number_of("count_at"),
                        "if not n: return found, p",
                        "for _ in range(n):",
                        *_inside(item),
                    ]
                ),
            ],
        )
        return name

    def _define(self, head: str, body: Lines) -> None:
        exec("\n".join([head, *_inside(body)]), self._namespace)  # noqa: S102

    def _named(self, thing: Any) -> str:
        name = self._new_name()
        self._namespace[name] = thing
        return name

    def _new_name(self) -> str:
        name = f"made{len(self._namespace)}"
        self._namespace[name] = None
        return name

    # -- values -----------------------------------------------------------------------------

    def fields(self, avro: AvroType, schema: Schema) -> _Fields:
        read: Lines = []
        for i, (field, own) in enumerate(zip(schema.fields, avro.fields, strict=True)):
            read += self.value(own.type, field.schema, f"v{i}")
        named = ", ".join(f"{field.name!r}: v{i}" for i, field in enumerate(schema.fields))
        listed = "".join(f"v{i}, " for i in range(len(schema.fields)))
        return _Fields(read, f"{{{named}}}", f"({listed})")

    def value(self, avro: AvroType, schema: Schema, to: str) -> Lines:
        """Reads a value to a variable."""
        match avro.type:
            case "record":
                return [f"{to}, p = {self._record(avro, schema)}(d, p)"]
            case "union":
                return self._union(avro, schema, to)
            case "array" if schema.type is Type.MAP:
                return [f"{to}, p = {self._entries(avro, schema)}(d, p)"]
            case "array":
                assert avro.items is not None
                assert schema.value_schema is not None
                item = [*self.value(avro.items, schema.value_schema, "v"), "found.append(v)"]
                return [f"{to}, p = {self._blocks('[]', item)}(d, p)"]
            case "map":
                assert avro.items is not None
                assert schema.value_schema is not None
                item = [*_STRING("k"), *self.value(avro.items, schema.value_schema, "v")]
                return [f"{to}, p = {self._blocks('{}', [*item, 'found[k] = v'])}(d, p)"]
            case "enum":
                return [*_number_of("size_at"), f"{to} = {self._named(avro.symbols)}[n]"]
        return self._primitive(avro, schema, to)

    def _entries(self, avro: AvroType, schema: Schema) -> str:
        """A map whose keys are no strings is an array of keys and values."""
        assert avro.items is not None
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        by_name = {"key": (schema.key_schema, "k"), "value": (schema.value_schema, "v")}
        item: Lines = []
        for field in avro.items.fields:
            item += self.value(field.type, *by_name[field.name])
        return self._blocks("{}", [*item, "found[k] = v"])

    def _union(self, avro: AvroType, schema: Schema, to: str) -> Lines:
        lines = ["n = d[p]", "p += 1"]
        members = iter(schema.fields) if names.is_union(schema) else None
        empty = self._named(dict.fromkeys(f.name for f in schema.fields)) if members else ""
        for i, branch in enumerate(avro.branches):
            if branch.type == "null" or members is None:
                read = self.value(branch, schema, to)
            else:
                field = next(members)
                read = self.value(branch, field.schema, to)
                read.append(f"{to} = {{**{empty}, {field.name!r}: {to}}}")
            lines += [f"{'elif' if i else 'if'} n == {2 * i}:", *_inside(read)]
        # No branch, or one whose number is written in more than a byte.
        return [*lines, "else: raise ValueError"]

    def _primitive(self, avro: AvroType, schema: Schema, to: str) -> Lines:
        if avro.type == "null":
            return [f"{to} = None"]
        if avro.type == "fixed":
            # Its end is looked at here: nothing would stop an array of them behind the data's end.
            lines = [
                f"e = p + {avro.size}",
                "if e > len(d): raise EOFError",
                f"{to} = d[p:e]",
                "p = e",
            ]
        else:
            lines = _PRIMITIVES[avro.type](to)
        convert = from_base(schema)
        if convert is None and avro.type == "float":
            convert = float32
        return lines if convert is None else [*lines, f"{to} = {self._named(convert)}({to})"]


# -- pieces of code -----------------------------------------------------------------------------


def _inside(lines: Lines) -> Lines:
    return [" " + line for line in lines]


def _whole(to: str) -> Lines:
    """A whole number, seven bits a byte: each has a byte less to hope for than the one before.

    The bits that say that more follow are taken off at the end, all at once.
    """
    lines = ["n = d[p]", "if n < 128: p += 1", "else:"]
    margin = " "
    marks = 128
    for i in range(1, _MOST_BYTES):
        shift = 7 * i
        last = i == _MOST_BYTES - 1  # of whose bits one is left
        lines += [
            f"{margin}b = d[p + {i}]",
            f"{margin}if b < {2 if last else 128}:",
            f"{margin} n += (b << {shift}) - {marks}",
            f"{margin} p += {i + 1}",
            f"{margin}else:",
        ]
        margin += " "
        lines.append(f"{margin}{'raise ValueError' if last else f'n += b << {shift}'}")
        marks += 128 << shift
    return [*lines, f"{to} = n >> 1 ^ -(n & 1)"]


def _number_of(far: str) -> Lines:
    """A size or a number of items, with a function for those that are not a byte."""
    return ["n = sizes[d[p]]", f"if n is None: n, p = {far}(d, p)", "else: p += 1"]


def _sized(end: str) -> Callable[[str], Lines]:
    return lambda to: [*_number_of("size_at"), "e = p + n", f"{to} = d[p:e]{end}", "p = e"]


_STRING: Final = _sized(".decode()")
_PRIMITIVES: Final[dict[str, Callable[[str], Lines]]] = {
    "int": _whole,
    "long": _whole,
    "string": _STRING,
    "bytes": _sized(""),
    "boolean": lambda to: [f"{to} = d[p] != 0", "p += 1"],
    "double": lambda to: [f"({to},) = double_at(d, p)", "p += 8"],
    "float": lambda to: [f"({to},) = float_at(d, p)", "p += 4"],
}


def _size_at(data: bytes, place: int) -> tuple[int, int]:
    """A size of any number of bytes, and the place behind it."""
    size, place = _long_at(data, place)
    if size < 0:
        raise ValueError(size)
    return size, place


def _count_at(data: bytes, place: int) -> tuple[int, int]:
    """How many items follow, and where. Below zero, the size of all of them stands in between."""
    count, place = _long_at(data, place)
    return (count, place) if count >= 0 else (-count, _long_at(data, place)[1])


def _long_at(data: bytes, place: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 7 * (_MOST_BYTES - 1), 7):
        byte = data[place]
        place += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number >> 1 ^ -(number & 1), place
    raise ValueError(number)
