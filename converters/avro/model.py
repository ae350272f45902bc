"""Avro schemas, parsed: names resolved, references followed, every attribute kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from connect import DataError

PRIMITIVES: Final = frozenset(
    {"null", "boolean", "int", "long", "float", "double", "bytes", "string"}
)
NAMED: Final = frozenset({"record", "enum", "fixed"})

# What an attribute of a field is when it is absent, since null is a default like any other.
NO_DEFAULT: Final = object()


@dataclass(eq=False, slots=True)
class AvroType:
    """One Avro type. A recursive one is met again as the same object."""

    type: str
    name: str | None = None
    doc: str | None = None
    fields: list[AvroField] = field(default_factory=list)
    symbols: list[str] = field(default_factory=list)
    size: int = 0
    # Of an array or a map.
    items: AvroType | None = None
    branches: list[AvroType] = field(default_factory=list)
    # The default symbol of an enum.
    default: str | None = None
    # What Avro itself gives no meaning to, and logicalType, scale and precision.
    props: dict[str, Any] = field(default_factory=dict)

    @property
    def short_name(self) -> str:
        return (self.name or "").rpartition(".")[2]

    @property
    def optional_of(self) -> AvroType | None:
        """The other branch, in a union of null and one type."""
        if self.type == "union" and len(self.branches) == 2:
            first, second = self.branches
            if first.type == "null":
                return second
            if second.type == "null":
                return first
        return None


@dataclass(eq=False, slots=True)
class AvroField:
    name: str
    type: AvroType
    doc: str | None
    default: Any
    props: dict[str, Any]


_RESERVED = {
    "record": {"type", "name", "namespace", "doc", "aliases", "fields"},
    "enum": {"type", "name", "namespace", "doc", "aliases", "symbols", "default"},
    "fixed": {"type", "name", "namespace", "doc", "aliases", "size"},
    "array": {"type", "items"},
    "map": {"type", "values"},
}
_RESERVED_IN_FIELD = {"name", "type", "doc", "default", "order", "aliases"}


def parse(text: str, references: Mapping[str, str] | None = None) -> AvroType:
    """The type that a schema's text describes.

    References are the texts that define the names it uses, each after those it uses itself.
    """
    names: dict[str, AvroType] = {}
    for referred in (references or {}).values():
        _Parser(names).parse(_json(referred), "")
    return _Parser(names).parse(_json(text), "")


def _json(text: str) -> Any:
    stripped = text.strip()
    if stripped in PRIMITIVES:  # registries take a bare name too
        return stripped
    try:
        return json.loads(stripped)
    except ValueError as error:
        raise DataError(f"The Avro schema is no JSON: {error}") from error


class _Parser:
    def __init__(self, names: dict[str, AvroType]) -> None:
        self.names = names

    def parse(self, schema: Any, namespace: str) -> AvroType:
        if isinstance(schema, str):
            return self._by_name(schema, namespace)
        if isinstance(schema, list):
            return AvroType("union", branches=[self.parse(branch, namespace) for branch in schema])
        if not isinstance(schema, dict) or "type" not in schema:
            raise DataError(f"The Avro schema has no type at {_short(schema)}")
        kind = schema["type"]
        if kind == "error":
            kind = "record"
        if not isinstance(kind, str):
            # {"type": {"type": "string", …}}: another wrapping of the same, whose inside counts.
            return self.parse(kind, namespace)
        if kind in PRIMITIVES:
            return AvroType(kind, props={k: v for k, v in schema.items() if k != "type"})
        if kind not in _RESERVED:
            return self._by_name(kind, namespace)
        try:
            return self._complex(kind, schema, namespace)
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"The Avro schema is broken at {_short(schema)}: {error!r}") from error

    def _by_name(self, name: str, namespace: str) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name)
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        found = self.names.get(full) or self.names.get(name)
        if found is None:
            raise DataError(f"The Avro schema uses the type {full}, which nothing defines")
        return found

    def _complex(self, kind: str, schema: dict[str, Any], namespace: str) -> AvroType:
        reserved = _RESERVED[kind]
        parsed = AvroType(kind, props={k: v for k, v in schema.items() if k not in reserved})
        if kind == "array":
            parsed.items = self.parse(schema["items"], namespace)
            return parsed
        if kind == "map":
            parsed.items = self.parse(schema["values"], namespace)
            return parsed
        name: str = schema["name"]
        if "." in name:
            namespace = name.rpartition(".")[0]
        else:
            namespace = schema.get("namespace", namespace) or ""
            name = f"{namespace}.{name}" if namespace else name
        parsed.name = name
        parsed.doc = schema.get("doc")
        if name in self.names and self.names[name].type != kind:
            raise DataError(f"The Avro schema defines {name} twice")
        self.names[name] = parsed
        if kind == "enum":
            parsed.symbols = list(schema["symbols"])
            parsed.default = schema.get("default")
        elif kind == "fixed":
            parsed.size = int(schema["size"])
        else:
            parsed.fields = [
                AvroField(
                    name=f["name"],
                    type=self.parse(f["type"], namespace),
                    doc=f.get("doc"),
                    default=f.get("default", NO_DEFAULT),
                    props={k: v for k, v in f.items() if k not in _RESERVED_IN_FIELD},
                )
                for f in schema["fields"]
            ]
        return parsed


def _short(schema: Any) -> str:
    text = json.dumps(schema, default=str)
    return text if len(text) <= 100 else text[:97] + "..."
