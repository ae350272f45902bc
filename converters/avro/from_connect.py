"""From a Connect schema to an Avro schema's text, by the rules of the JVM's AvroData.

The order of attributes is Avro's own for Java too: a registry may tell schemas apart by their
text, and then a topic that JVM and Python workers write in turn would gain a version each time.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

from connect import DataError, Schema, Type
from connect.data.logical import to_base
from connect.data.schema import DATE, DECIMAL, TIME, TIMESTAMP
from converters import _jackson as jackson
from converters.avro import names
from converters.avro.settings import AvroSettings
from converters.registry.settings import GENERAL_ENUM

_LOG = logging.getLogger(__name__)

_PRIMITIVE = {
    Type.INT8: "int",
    Type.INT16: "int",
    Type.INT32: "int",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
_LOGICAL_TYPE = {TIME: "time-millis", TIMESTAMP: "timestamp-millis", DATE: "date"}

_ANYTHING: dict[str, Any] = {
    "type": "record",
    "name": "Anything",
    "namespace": names.NAMESPACE,
    "fields": [
        *(
            {"name": kind, "type": ["null", kind], "default": None}
            for kind in ("boolean", "bytes", "double", "float", "int", "long", "string")
        ),
        {
            "name": "array",
            "type": ["null", {"type": "array", "items": "Anything"}],
            "default": None,
        },
        {
            "name": "map",
            "type": [
                "null",
                {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": names.MAP_ENTRY,
                        "fields": [
                            {"name": "key", "type": "Anything"},
                            {"name": "value", "type": "Anything"},
                        ],
                    },
                },
            ],
            "default": None,
        },
    ],
}


def avro_schema(schema: Schema | None, settings: AvroSettings) -> tuple[str, str | None]:
    """The text of the Avro schema and the name of its record, if it is one."""
    if schema is None:
        return _dump(_ANYTHING), names.ANYTHING
    built = _Conversion(settings).convert(schema, None)
    return _dump(built), _full_name(built)


def _dump(schema: Any) -> str:
    # Java writes this one to a string, where characters beyond U+FFFF need no escapes.
    return _PAIR.sub(_character, jackson.dump(schema).decode())


_PAIR = re.compile(r"\\\\|\\u(D[89AB]..)\\u(D[C-F]..)")


def _character(found: re.Match[str]) -> str:
    if found[1] is None:
        return found[0]
    return bytes.fromhex(found[1] + found[2]).decode("utf-16-be")


def _full_name(built: Any) -> str | None:
    """The record's name, also of an optional one."""
    if isinstance(built, list):
        named = [_full_name(branch) for branch in built]
        return next((name for name in named if name is not None), None)
    if not isinstance(built, dict) or "name" not in built:
        return None
    space = built.get("namespace")
    return f"{space}.{built['name']}" if space else built["name"]


class _Conversion:
    def __init__(self, settings: AvroSettings) -> None:
        self._settings = settings
        # The Connect schemas, taken as required, behind the named types written so far.
        self._named: dict[str, Schema] = {}
        self._unnamed: list[tuple[Schema, str]] = []
        self._map_entries: list[tuple[Schema, Schema]] = []
        self._seen_names: set[str] = set()

    def convert(
        self, schema: Schema, namespace: str | None, *, ignore_optional: bool = False
    ) -> Any:
        """A schema in JSON. Inside a namespace, names are written relative to it."""
        if names.is_union(schema):
            return self._union(schema, namespace)
        match schema.type:
            case Type.STRUCT:
                base = self._record(schema, namespace)
            case Type.ARRAY:
                assert schema.value_schema is not None
                base = {"type": "array", "items": self.convert(schema.value_schema, namespace)}
                self._annotate(base, schema)
            case Type.MAP:
                base = self._map(schema, namespace)
                self._annotate(base, schema)
            case _:
                base = self._primitive(schema, namespace)
        if isinstance(base, dict) and base.keys() == {"type"}:
            base = base["type"]
        if ignore_optional or not schema.optional:
            return base
        return [base, "null"] if schema.default is not None else ["null", base]

    # -- kinds ------------------------------------------------------------------------------

    def _union(self, schema: Schema, namespace: str | None) -> list[Any]:
        nothing = ["null"] if schema.optional else []
        return nothing + [
            self.convert(field.schema.as_required(), namespace, ignore_optional=True)
            for field in schema.fields
        ]

    def _primitive(self, schema: Schema, namespace: str | None) -> Any:
        settings = self._settings
        if names.is_enum(schema) and (settings.generalized_sums or settings.enhanced):
            return self._enum(schema, namespace)
        if names.is_fixed(schema):
            size = int(schema.parameters[names.FIXED_SIZE])
            return self._define(
                ("fixed", *self._name_of(schema)),
                schema,
                namespace,
                lambda base: base.update({"size": size}),
            )
        base: dict[str, Any] = {"type": _PRIMITIVE[schema.type]}
        self._annotate(base, schema)
        return base

    def _enum(self, schema: Schema, namespace: str | None) -> Any:
        settings = self._settings
        mark = GENERAL_ENUM if settings.generalized_sums else names.ENUM
        if mark not in schema.parameters:
            mark = names.ENUM if mark == GENERAL_ENUM else GENERAL_ENUM
        symbols = [
            p.removeprefix(mark + ".") for p in schema.parameters if p.startswith(mark + ".")
        ]
        space, name = names.split(schema.parameters[mark], scrubbed=settings.scrub_names)
        own_name = names.split(schema.name or "", scrubbed=settings.scrub_names)[1]

        def fill(base: dict[str, Any]) -> None:
            if settings.discard_type_doc_default:
                doc = schema.parameters.get(names.CONNECT_ENUM_DOC)
                default = None
            else:
                doc = schema.parameters.get(names.ENUM_DOC + own_name)
                default = schema.parameters.get(names.ENUM_DEFAULT + own_name)
            if doc is not None:
                base["doc"] = doc
            base["symbols"] = symbols
            if default is not None:
                base["default"] = default

        return self._define(("enum", space, name), schema, namespace, fill)

    def _map(self, schema: Schema, namespace: str | None) -> dict[str, Any]:
        keys, values = schema.key_schema, schema.value_schema
        assert keys is not None
        assert values is not None
        if self.has_string_keys(schema):
            return {"type": "map", "values": self.convert(values, namespace)}
        if schema.name is not None:
            space, name = names.split(schema.name, scrubbed=self._settings.scrub_names)
        else:
            space, name = names.NAMESPACE, names.MAP_ENTRY
            if (keys, values) in self._map_entries:
                index = self._map_entries.index((keys, values))
                name += str(index + 1) if index else ""
                return {"type": "array", "items": _relative(space, name, namespace)}
            self._map_entries.append((keys, values))
            if len(self._map_entries) > 1:
                # The JVM gives all entries one name, which no schema with two such maps survives.
                name += str(len(self._map_entries))
        entry = _header("record", space, name, namespace)
        entry["fields"] = [
            self._field("key", keys, None, space),
            self._field("value", values, None, space),
        ]
        if name != names.MAP_ENTRY or space != names.NAMESPACE:
            entry[names.CONNECT_INTERNAL_TYPE] = names.MAP_ENTRY
        return {"type": "array", "items": entry}

    def has_string_keys(self, schema: Schema) -> bool:
        keys = schema.key_schema
        assert keys is not None
        return keys.type is Type.STRING and (not keys.optional or self._settings.optional_map_keys)

    def _record(self, schema: Schema, namespace: str | None) -> Any:
        settings = self._settings
        space, name = self._name_of(schema)
        inner = space

        def fill(base: dict[str, Any]) -> None:
            doc = schema.parameters.get(
                names.CONNECT_RECORD_DOC if settings.discard_type_doc_default else names.RECORD_DOC
            )
            if doc is not None:
                base["doc"] = doc
            base["fields"] = [
                self._field(
                    names.scrub(field.name) if settings.scrub_names else field.name,
                    field.schema,
                    schema.parameters.get(names.FIELD_DOC + field.name),
                    inner,
                )
                for field in schema.fields
            ]

        return self._define(("record", space, name), schema, namespace, fill)

    def _field(
        self, name: str, schema: Schema, doc: str | None, namespace: str | None
    ) -> dict[str, Any]:
        settings = self._settings
        seen = schema.name is not None and schema.name in self._seen_names
        if schema.name is not None:
            self._seen_names.add(schema.name)
        kind = self.convert(schema, namespace)
        field: dict[str, Any] = {"name": name, "type": kind}
        doc = schema.doc if settings.discard_type_doc_default else doc
        if doc is not None:
            field["doc"] = doc
        if schema.default is not None:
            try:
                field["default"] = self._default(schema, schema.default)
            except (DataError, TypeError, ValueError, AttributeError) as error:
                _LOG.warning("Ignoring invalid default for field %s: %s", name, error)
        elif schema.optional:
            field["default"] = None
        if settings.metadata and seen and _is_named(schema, settings):
            parameters = self._parameters(schema)
            if parameters:
                field[names.CONNECT_PARAMETERS] = parameters
        return field

    # -- names ------------------------------------------------------------------------------

    def _name_of(self, schema: Schema) -> tuple[str | None, str]:
        if schema.name is not None:
            return names.split(schema.name, scrubbed=self._settings.scrub_names)
        required = schema.as_required()
        for known, name in self._unnamed:
            if known == required:
                return names.NAMESPACE, name
        count = len(self._unnamed) + 1
        name = names.DEFAULT_NAME + (str(count) if count > 1 else "")
        self._unnamed.append((required, name))
        return names.NAMESPACE, name

    def _define(
        self,
        what: tuple[str, str | None, str],
        schema: Schema,
        namespace: str | None,
        fill: Callable[[dict[str, Any]], None],
    ) -> Any:
        """A named type: in full where it is met first, by its name afterwards."""
        kind, given, name = what
        space = given or ""
        full = f"{space}.{name}" if space else name
        required = schema.as_required()
        known = self._named.get(full)
        if known is not None:
            if known != required and not _same_type(known, required):
                raise DataError(
                    f"Two different schemas have the name {full}, which Avro does not allow: "
                    f"rename one, for example with the transform SetSchemaMetadata"
                )
            return _relative(space, name, namespace)
        self._named[full] = required
        base = _header(kind, space or None, name, namespace)
        fill(base)
        self._annotate(base, schema)
        return base

    # -- what only Connect knows ------------------------------------------------------------

    def _annotate(self, base: dict[str, Any], schema: Schema) -> None:
        settings = self._settings
        if schema.name == DECIMAL:
            base["scale"] = schema.scale
            base["precision"] = _precision(schema)
        if settings.metadata:
            if schema.doc is not None:
                base[names.CONNECT_DOC] = schema.doc
            if schema.version is not None:
                base[names.CONNECT_VERSION] = schema.version
            parameters = self._parameters(schema)
            if parameters:
                base[names.CONNECT_PARAMETERS] = parameters
            if schema.default is not None and (
                settings.discard_type_doc_default or names.FIELD_DEFAULT not in schema.parameters
            ):
                base[names.CONNECT_DEFAULT] = self._default(schema, schema.default)
            if schema.name is not None:
                base[names.CONNECT_NAME] = schema.name
            if schema.type in (Type.INT8, Type.INT16):
                base[names.CONNECT_TYPE] = schema.type.value
        if schema.name == DECIMAL:
            base["logicalType"] = "decimal"
        elif schema.name in _LOGICAL_TYPE:
            base["logicalType"] = _LOGICAL_TYPE[schema.name]
        base.update({k: v for k, v in schema.parameters.items() if k.startswith("avro")})

    def _parameters(self, schema: Schema) -> dict[str, str]:
        return {
            k: v
            for k, v in schema.parameters.items()
            if self._settings.discard_type_doc_default or k != names.FIELD_DEFAULT
        }

    def _default(self, schema: Schema, value: Any) -> Any:
        """A default in JSON."""
        if value is None:
            return None
        plain = to_base(schema)
        if plain is not None:
            value = plain(value)
        match schema.type:
            case Type.BYTES:
                return bytes(value).decode("latin-1")
            case Type.ARRAY:
                assert schema.value_schema is not None
                return [self._default(schema.value_schema, item) for item in value]
            case Type.MAP:
                assert schema.key_schema is not None
                assert schema.value_schema is not None
                if self.has_string_keys(schema):
                    return {k: self._default(schema.value_schema, v) for k, v in value.items()}
                return [
                    {
                        "key": self._default(schema.key_schema, k),
                        "value": self._default(schema.value_schema, v),
                    }
                    for k, v in value.items()
                ]
            case Type.STRUCT if names.is_union(schema):
                # A union's default is one of its first branch.
                first = schema.fields[0]
                if value.get(first.name) is None:
                    raise DataError("a default of a union must be of its first member")
                return self._default(first.schema, value[first.name])
            case Type.STRUCT:
                scrub = self._settings.scrub_names
                return {
                    names.scrub(f.name) if scrub else f.name: self._default(
                        f.schema, value.get(f.name)
                    )
                    for f in schema.fields
                }
            case Type.FLOAT32 | Type.FLOAT64:
                return float(value)
            case _:
                return value


def _header(kind: str, space: str | None, name: str, namespace: str | None) -> dict[str, Any]:
    header: dict[str, Any] = {"type": kind, "name": name}
    if space is not None and space != namespace:
        header["namespace"] = space
    elif space is None and namespace:
        header["namespace"] = ""
    return header


def _relative(space: str, name: str, namespace: str | None) -> str:
    if space == (namespace or ""):
        return name
    return f"{space}.{name}" if space else name


def _precision(schema: Schema) -> int:
    text = schema.parameters.get(names.DECIMAL_PRECISION)
    try:
        return names.DEFAULT_PRECISION if text is None else int(text)
    except ValueError as error:
        raise DataError(f"{names.DECIMAL_PRECISION} is no number: {text!r}") from error


def _is_named(schema: Schema, settings: AvroSettings) -> bool:
    return (
        schema.type is Type.STRUCT
        or names.is_fixed(schema)
        or (names.is_enum(schema) and (settings.generalized_sums or settings.enhanced))
    )


def _same_type(one: Schema, other: Schema) -> bool:
    """Whether two schemas make the same Avro type: what stands at the field does not count."""
    return (one.type, one.fields, one.name, one.version) == (
        other.type,
        other.fields,
        other.name,
        other.version,
    )
