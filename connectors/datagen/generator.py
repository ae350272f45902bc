"""Random data from an Avro schema with `arg.properties`, a column of values at a time.

The annotations are those of the Avro random generator that the JVM's Datagen uses: options,
iteration, range, length, regex, prefix, suffix, keys, odds. Ours are `decimals` (digits after the
point of a float or double), `range` of a decimal and `iteration` of a string.

Columns, because a list of a thousand numbers is made in a fraction of the time of a thousand single
calls. A column depends on nothing but the random numbers and the number of its first record, so
that generation can begin anywhere. Inside arrays and maps, `iteration` counts on from the number of
the record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from connect import Schema
from connectors.datagen.arguments import Arguments, GeneratorError
from connectors.datagen.columns import PRIMITIVES, Column, Generator, choice, primitive

__all__ = ["Column", "Generator", "GeneratorError", "generator"]


def generator(text: str) -> Generator:
    """The generator of an Avro record schema given as JSON, or GeneratorError."""
    try:
        parsed = json.loads(text)
    except ValueError as error:
        raise GeneratorError(f"it is not JSON: {error}") from error
    made = _Compiler().compile(parsed, "schema")
    if not made.schema.fields:
        raise GeneratorError("it must be a record with at least one field")
    return made


class _Compiler:
    def __init__(self) -> None:
        self._named: dict[str, Generator] = {}
        self._namespace = ""

    def compile(self, avro: Any, where: str) -> Generator:
        if isinstance(avro, list):
            return self._union(avro, where)
        if isinstance(avro, str):
            avro = {"type": avro}
        if not isinstance(avro, dict) or "type" not in avro:
            raise GeneratorError(f"{where}: expected an Avro type, found {avro!r}")
        kind = avro["type"]
        if not isinstance(kind, str):  # {"type": {"type": …}}
            return self.compile(kind, where)
        if kind in self._named:
            return self._named[kind]
        args = Arguments(avro.get("arg.properties"), where)
        match kind:
            case "record":
                made = self._record(avro, args)
            case "array":
                made = self._array(avro, args)
            case "map":
                made = self._map(avro, args)
            case "enum":
                symbols = args.options() or avro.get("symbols") or []
                made = Generator(Schema.STRING, choice(symbols, Schema.STRING, where))
            case "fixed":
                made = self._fixed(avro, where)
            case _ if kind in PRIMITIVES:
                made = primitive(avro, kind, args)
            case _:
                raise GeneratorError(f"{where}: unknown type {kind!r}")
        args.done()
        if "name" in avro:
            self._named[avro["name"]] = self._named[self._full_name(avro)] = made
        return made

    def _full_name(self, avro: Mapping[str, Any]) -> str:
        name: str = avro["name"]
        namespace = avro.get("namespace", self._namespace)
        return name if "." in name or not namespace else f"{namespace}.{name}"

    def _record(self, avro: Mapping[str, Any], args: Arguments) -> Generator:
        where = args.where
        if not isinstance(avro.get("name"), str):
            raise GeneratorError(f"{where}: a record needs a name")
        self._namespace = avro.get("namespace", self._namespace)
        builder = Schema.struct(self._full_name(avro)).doc(avro.get("doc"))
        columns: dict[str, Column] = {}
        for field in avro.get("fields") or []:
            if not isinstance(field, dict) or not field.get("name") or "type" not in field:
                raise GeneratorError(f"{where}: a field needs a name and a type, found {field!r}")
            name = field["name"]
            if name in columns:
                raise GeneratorError(f"{where}: there are two fields {name!r}")
            made = self.compile(field["type"], f"{where}.{name}")
            builder.field(name, made.schema)
            columns[name] = made.column
        schema = builder.build()
        options = args.options()
        if options is not None:
            return Generator(schema, choice(options, schema, where))
        names = list(columns)

        def rows(random: Random, first: int, count: int) -> list[Any]:
            made = [column(random, first, count) for column in columns.values()]
            return [dict(zip(names, row, strict=True)) for row in zip(*made, strict=True)]

        return Generator(schema, rows)

    def _array(self, avro: Mapping[str, Any], args: Arguments) -> Generator:
        items = self.compile(avro.get("items"), f"{args.where}.items")
        schema = Schema.array(items.schema).build()
        options = args.options()
        if options is not None:
            return Generator(schema, choice(options, schema, args.where))
        low, high = args.length()

        def lists(random: Random, first: int, count: int) -> list[Any]:
            sizes = [random.randrange(low, high) for _ in range(count)]
            return [items.column(random, first + i, size) for i, size in enumerate(sizes)]

        return Generator(schema, lists)

    def _map(self, avro: Mapping[str, Any], args: Arguments) -> Generator:
        values = self.compile(avro.get("values"), f"{args.where}.values")
        schema = Schema.map(Schema.STRING, values.schema).build()
        options = args.options()
        if options is not None:
            return Generator(schema, choice(options, schema, args.where))
        keys = self.compile(
            {"type": "string", "arg.properties": args.take("keys", dict)}, f"{args.where}.keys"
        )
        low, high = args.length()

        def one(random: Random, number: int) -> dict[str, Any]:
            size = random.randrange(low, high)
            names = keys.column(random, number, size)
            return dict(zip(names, values.column(random, number, size), strict=True))

        return Generator(
            schema, lambda random, first, n: [one(random, i) for i in range(first, first + n)]
        )

    def _fixed(self, avro: Mapping[str, Any], where: str) -> Generator:
        size = avro.get("size")
        if not isinstance(size, int) or size < 0:
            raise GeneratorError(f"{where}: a fixed needs a size, found {size!r}")
        return Generator(
            Schema.BYTES, lambda random, _, n: [random.randbytes(size) for _ in range(n)]
        )

    def _union(self, branches: Sequence[Any], where: str) -> Generator:
        others = [branch for branch in branches if branch not in ("null", {"type": "null"})]
        if len(others) != 1 or len(branches) > 2:
            raise GeneratorError(
                f"{where}: a union must be of one type, or of null and one type; found {branches!r}"
            )
        made = self.compile(others[0], where)
        if len(branches) == 1:
            return made

        def sometimes(random: Random, first: int, count: int) -> list[Any]:
            values = made.column(random, first, count)
            return [value if random.random() < 0.5 else None for value in values]

        return Generator(made.schema.as_optional(), sometimes)
