"""From a Connect schema to the text of a .proto file, by the rules of the JVM's ProtobufData."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import quote_plus

from connect import DataError, Field, Schema, Type
from connect.data.schema import DATE, DECIMAL, TIME, TIMESTAMP
from converters.protobuf import settings as marks
from converters.protobuf.settings import WRAPPERS, ProtobufSettings, enum_mark, is_union
from converters.registry.settings import GENERAL_UNION

_SCALARS = {
    Type.INT8: "int32",
    Type.INT16: "int32",
    Type.INT32: "int32",
    Type.INT64: "int64",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "bool",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
_LOGICAL = {
    DECIMAL: (marks.DECIMAL_MESSAGE, "confluent/type/decimal.proto"),
    DATE: (marks.DATE_MESSAGE, "google/type/date.proto"),
    TIME: (marks.TIME_MESSAGE, "google/type/timeofday.proto"),
    TIMESTAMP: (marks.TIMESTAMP_MESSAGE, "google/protobuf/timestamp.proto"),
}
_WRAPPER_OF = {scalar: name for name, (scalar, _) in WRAPPERS.items()}
_MAP_KEYS = frozenset({Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.BOOLEAN, Type.STRING})
_GOOD_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def proto_file(schema: Schema | None, settings: ProtobufSettings) -> tuple[str, str]:
    """The text of the .proto file and the full name of the record's message in it."""
    if schema is None:
        raise DataError("A value without a schema can't be written as Protobuf: give it a schema")
    if schema.type.is_primitive:
        return _wrappers(), _WRAPPER_OF[_SCALARS[schema.type]]
    if schema.type is not Type.STRUCT:
        raise DataError(
            f"A record that is {schema.type.name} can't be written as Protobuf: put it into a "
            f"struct, for example with the transform HoistField"
        )
    return _Writing(settings).file(schema)


def _wrappers() -> str:
    messages = (
        f"message {name.rpartition('.')[2]} {{\n  {scalar} value = 1;\n}}\n"
        for name, (scalar, _) in WRAPPERS.items()
    )
    return 'syntax = "proto3";\npackage google.protobuf;\n\n' + "\n".join(messages)


def scrub(name: str) -> str:
    """The name with what Protobuf does not allow percent-encoded, and the percent signs as `_`."""
    if not name or _GOOD_NAME.fullmatch(name):
        return name
    encoded = quote_plus(name, safe="*-._").replace("~", "%7E")
    if encoded[0].isdigit() or encoded[0] == "_":
        encoded = "x" + encoded
    return re.sub(r"[^A-Za-z0-9_]", "_", encoded)


@dataclass
class _Message:
    """A message being written: its full name, its lines, and the types inside it."""

    full_name: str
    lines: list[str] = field(default_factory=list)
    types: dict[str, Schema] = field(default_factory=dict)
    # Types and fields share their names.
    fields: set[str] = field(default_factory=set)
    inner: list[str] = field(default_factory=list)
    tags: set[int] = field(default_factory=set)

    def text(self, indent: str) -> str:
        short = self.full_name.rpartition(".")[2]
        body = "".join(f"{indent}  {line}\n" for line in self.lines)
        return f"{indent}message {short} {{\n{body}{''.join(self.inner)}{indent}}}\n"


class _Writing:
    def __init__(self, settings: ProtobufSettings) -> None:
        self._settings = settings
        self._imports: set[str] = set()
        self._unnamed = 0
        # Structs under way, by their fields, with the messages they became.
        self._open: dict[int, str] = {}

    def file(self, schema: Schema) -> tuple[str, str]:
        full_name = self._scrubbed(schema.name or self._next_name())
        package, _, short = full_name.rpartition(".")
        message = self._message(schema, package, short)
        text = message.text("")
        head = 'syntax = "proto3";\n' + (f"package {package};\n" if package else "") + "\n"
        imports = "".join(f'import "{path}";\n' for path in sorted(self._imports))
        return head + imports + ("\n" if imports else "") + text, full_name

    # -- names ------------------------------------------------------------------------------

    def _next_name(self) -> str:
        self._unnamed += 1
        return f"{marks.DEFAULT_NAME}{self._unnamed}"

    def _scrubbed(self, name: str) -> str:
        if self._settings.scrub_names:
            return ".".join(scrub(part) for part in name.split("."))
        return name

    def _short_name(self, name: str | None) -> str:
        return self._scrubbed((name or self._next_name()).rpartition(".")[2])

    def _field_name(self, name: str) -> str:
        name = scrub(name) if self._settings.scrub_names else name
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise DataError(
                f"{name!r} is no name for a Protobuf field: set scrub.invalid.names=true, or "
                f"rename it with the transform ReplaceField"
            )
        return name

    # -- messages ---------------------------------------------------------------------------

    def _message(self, schema: Schema, scope: str, name: str, depth: int = 0) -> _Message:
        message = _Message(f"{scope}.{name}".lstrip("."))
        self._open[id(schema.fields)] = message.full_name
        message.fields = self._field_names(schema)
        message.tags = {
            int(s.parameters[marks.TAG]) for s in _members(schema) if marks.TAG in s.parameters
        }
        for one in schema.fields:
            if is_union(one.schema):
                self._oneof(message, one, depth)
            else:
                message.lines.append(self._field(message, one.name, one.schema, depth))
        del self._open[id(schema.fields)]
        return message

    def _oneof(self, message: _Message, union: Field, depth: int) -> None:
        schema = union.schema
        name = schema.parameters.get(GENERAL_UNION)
        if name is None:
            given = (schema.name or "").removeprefix(marks.UNION).lstrip(".")
            name = given.rpartition(".")[2] or union.name
        message.lines.append(f"oneof {self._field_name(name)} {{")
        for member in schema.fields:
            if member.schema.type in (Type.ARRAY, Type.MAP):
                raise DataError(f"{union.name}.{member.name}: a oneof can't hold lists and maps")
            line = self._field(message, member.name, member.schema, depth, member=True)
            message.lines.append(f"  {line}")
        message.lines.append("}")

    def _field(
        self, message: _Message, name: str, schema: Schema, depth: int, *, member: bool = False
    ) -> str:
        name = self._field_name(name)
        tag = self._tag(message, schema)
        label = ""
        inner = schema
        if schema.type is Type.ARRAY:
            assert schema.value_schema is not None
            inner = schema.value_schema
            label = "repeated "
            if inner.type in (Type.ARRAY, Type.MAP):
                raise DataError(
                    f"{name}: Protobuf has no lists of lists or maps, put a struct between them"
                )
        elif (
            self._settings.optional_for_nullables
            and schema.optional
            and not member
            and schema.type is not Type.MAP
        ):
            label = "optional "
        options: dict[str, str] = {}
        if inner.type is Type.MAP:
            return f"{self._map(message, name, inner, depth)} {name} = {tag};"
        kind = self._type(message, inner, depth, options, member=member)
        shown = ""
        if options:
            self._imports.add("confluent/meta.proto")
            pairs = ", ".join(
                f"{{ key: {json.dumps(k)}, value: {json.dumps(v)} }}" for k, v in options.items()
            )
            shown = f" [(confluent.field_meta) = {{ params: [ {pairs} ] }}]"
        return f"{label}{kind} {name} = {tag}{shown};"

    def _tag(self, message: _Message, schema: Schema) -> int:
        given = schema.parameters.get(marks.TAG)
        if given is not None:
            return int(given)
        # Protobuf keeps 19000 to 19999 for itself.
        tag = next(n for n in range(1, 2**29) if n not in message.tags and not 19000 <= n <= 19999)
        message.tags.add(tag)
        return tag

    def _type(
        self,
        message: _Message,
        schema: Schema,
        depth: int,
        options: dict[str, str],
        *,
        member: bool,
    ) -> str:
        logical = _LOGICAL.get(schema.name or "") if schema.is_logical else None
        if logical is not None:
            if schema.name == DECIMAL:
                precision = schema.parameters.get(marks.DECIMAL_PRECISION)
                if precision is not None:
                    options["precision"] = precision
                options["scale"] = str(schema.scale)
            self._imports.add(logical[1])
            return self._absolute(message, logical[0])
        if enum_mark(schema) is not None:
            return self._enum(message, schema, depth)
        if schema.type is Type.STRUCT:
            return self._nested(message, schema, depth)
        if schema.type in (Type.INT8, Type.INT16):
            options["connect.type"] = schema.type.value
        scalar = schema.parameters.get(marks.TYPE, _SCALARS[schema.type])
        wraps = (
            self._settings.wrapper_for_nullables
            and schema.optional
            and (not member or schema.parameters.get(marks.WRAPPER) == "true")
        )
        if wraps:
            self._imports.add("google/protobuf/wrappers.proto")
            plain = {"sint32": "int32", "sfixed32": "int32", "fixed32": "uint32",
                     "sint64": "int64", "sfixed64": "int64", "fixed64": "uint64"}  # fmt: skip
            return self._absolute(message, _WRAPPER_OF[plain.get(scalar, scalar)])
        return scalar

    @staticmethod
    def _absolute(message: _Message, name: str) -> str:
        """With a dot in front where a package of ours would be looked into first."""
        return f".{name}" if name.partition(".")[0] in message.full_name.split(".") else name

    def _field_names(self, schema: Schema) -> set[str]:
        found: set[str] = set()
        for one in schema.fields:
            members = one.schema.fields if is_union(one.schema) else (one,)
            found.update(self._field_name(member.name) for member in members)
        return found

    def _nested(self, message: _Message, schema: Schema, depth: int) -> str:
        under_way = self._open.get(id(schema.fields))
        if under_way is not None:
            return f".{under_way}"
        name = self._short_name(schema.name)
        if name in message.fields:
            name += "Message"
        name = _free_name(message, name, schema)
        if name not in message.types:
            message.types[name] = schema
            inner = self._message(schema, message.full_name, name, depth + 1)
            message.inner.append(inner.text("  " * (depth + 1)))
        return name

    def _map(self, message: _Message, name: str, schema: Schema, depth: int) -> str:
        keys, values = schema.key_schema, schema.value_schema
        assert keys is not None
        assert values is not None
        if values.type in (Type.ARRAY, Type.MAP):
            raise DataError(
                f"{name}: Protobuf has no maps of lists or maps, put a struct between them"
            )
        options: dict[str, str] = {}
        simple = keys.type in _MAP_KEYS and not keys.is_logical and enum_mark(keys) is None
        if simple and not values.is_logical and values.type not in (Type.INT8, Type.INT16):
            key = keys.parameters.get(marks.TYPE, _SCALARS[keys.type])
            kind = self._type(message, values, depth, options, member=False)
            return f"map<{key}, {kind}>"
        # What a map can't say about its parts, the entries of a list can.
        entry = Schema.struct().field("key", _untagged(keys)).field("value", _untagged(values))
        words = "".join(part.capitalize() for part in name.split("_"))
        entry_name = _free_name(message, f"{words}Entry", schema)
        message.types[entry_name] = schema
        inner = self._message(entry.build(), message.full_name, entry_name, depth + 1)
        message.inner.append(inner.text("  " * (depth + 1)))
        return f"repeated {entry_name}"

    def _enum(self, message: _Message, schema: Schema, depth: int) -> str:
        mark = enum_mark(schema)
        assert mark is not None
        name = self._short_name(schema.parameters[mark] or schema.name)
        if name in message.fields:
            name += "Enum"
        name = _free_name(message, name, schema)
        if name in message.types:
            return name
        message.types[name] = schema
        prefix = f"{mark}."
        try:
            symbols = sorted(
                ((p.removeprefix(prefix), int(v)) for p, v in schema.parameters.items()
                 if p.startswith(prefix)),
                key=lambda symbol: symbol[1] != 0,
            )  # fmt: skip
        except ValueError as error:
            raise DataError(f"The enum {name} has a value that is no number: {error}") from error
        pad = "  " * (depth + 1)
        alias = len({number for _, number in symbols}) < len(symbols)
        lines = [f"{pad}  option allow_alias = true;\n"] if alias else []
        lines += [f"{pad}  {symbol} = {number};\n" for symbol, number in symbols]
        message.inner.append(f"{pad}enum {name} {{\n{''.join(lines)}{pad}}}\n")
        return name


def _members(schema: Schema) -> Sequence[Schema]:
    """The schemas of all fields of a message, those inside unions too."""
    found: list[Schema] = []
    for one in schema.fields:
        if is_union(one.schema):
            found += [member.schema for member in one.schema.fields]
        else:
            found.append(one.schema)
    return found


def _untagged(schema: Schema) -> Schema:
    """Without the number that it had as part of another entry."""
    if marks.TAG not in schema.parameters:
        return schema
    builder = schema.to_builder()
    builder._parameters.pop(marks.TAG)
    return builder.build()


def _free_name(message: _Message, name: str, schema: Schema) -> str:
    """The name, or one with a number where another type inside the message has it."""
    candidate = name
    number = 1
    while candidate in message.types and not _same_type(message.types[candidate], schema):
        number += 1
        candidate = f"{name}{number}"
    return candidate


def _same_type(one: Schema, other: Schema) -> bool:
    return one.fields == other.fields and one.type is other.type and one.name == other.name
