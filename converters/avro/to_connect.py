"""From an Avro schema to a Connect schema, by the rules of the JVM's AvroData."""

from __future__ import annotations

import logging
from typing import Any

from connect import DataError, Field, Schema, Type
from connect.data.floats import float32
from connect.data.logical import from_base
from connect.data.schema import DATE, DECIMAL, TIME, TIMESTAMP
from converters.avro import names
from converters.avro.model import NAMED, NO_DEFAULT, AvroType
from converters.avro.settings import AvroSettings
from converters.registry.settings import GENERAL_ENUM, GENERAL_UNION

_LOG = logging.getLogger(__name__)

_PRIMITIVE = {
    "boolean": Type.BOOLEAN,
    "int": Type.INT32,
    "long": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "string": Type.STRING,
    "bytes": Type.BYTES,
    "fixed": Type.BYTES,
    "enum": Type.STRING,
}
_LOGICAL = {
    ("int", "date"): DATE,
    ("int", "time-millis"): TIME,
    ("long", "timestamp-millis"): TIMESTAMP,
    ("bytes", "decimal"): DECIMAL,
    ("fixed", "decimal"): DECIMAL,
}


class ConnectSchemas:
    """Makes Connect schemas of Avro ones."""

    def __init__(self, settings: AvroSettings) -> None:
        self._settings = settings
        self._unions = 0

    def of(self, avro: AvroType, version: int | None) -> Schema | None:
        """The Connect schema, with the registry's version if it brings none of its own.

        None for the type in which schemaless values are written.
        """
        if avro.name == names.ANYTHING:
            return None
        return _Conversion(self._settings, self._next_union).convert(avro, version=version)

    def _next_union(self) -> int:
        self._unions += 1
        return self._unions - 1


class _Conversion:
    """One schema's conversion. Records under way are kept, for types that contain themselves."""

    def __init__(self, settings: AvroSettings, next_union: Any) -> None:
        self._settings = settings
        self._next_union = next_union
        # The schemas handed out for a record under way, by whether they are optional.
        self._open: dict[int, dict[bool, Schema]] = {}

    def convert(
        self,
        avro: AvroType,
        *,
        optional: bool = False,
        default: Any = NO_DEFAULT,
        doc: str | None = None,
        version: int | None = None,
    ) -> Schema:
        under_way = self._open.get(id(avro))
        if under_way is not None:
            if optional not in under_way:
                under_way[optional] = Schema(Type.STRUCT, optional=optional)
            return under_way[optional]
        if avro.type == "union":
            inner = self._plain_union(avro)
            if inner is not None:
                # What the union's field has for a default is lost here, as it is on the JVM;
                # connect.default inside the type is what counts.
                return self.convert(inner, optional=optional or len(avro.branches) == 2, doc=doc)
        built = Schema(_PRIMITIVE.get(avro.type, Type.STRUCT), optional=optional)
        built.parameters = {}
        if avro.type == "record":
            self._open[id(avro)] = {optional: built}
        self._shape(avro, built)
        self._describe(avro, built, doc, version)
        self._name(avro, built)
        self._set_default(avro, built, default)
        if avro.type == "record":
            for twin in self._open.pop(id(avro)).values():
                if twin is not built:
                    twin.name, twin.version, twin.doc = built.name, built.version, built.doc
                    twin.parameters, twin.fields = built.parameters, built.fields
                    twin.default = built.default
        return built

    def _plain_union(self, avro: AvroType) -> AvroType | None:
        if len(avro.branches) == 1 and self._settings.flatten_singleton_unions:
            return avro.branches[0]
        return avro.optional_of

    # -- the type itself --------------------------------------------------------------------

    def _shape(self, avro: AvroType, built: Schema) -> None:
        match avro.type:
            case "record":
                built.fields = self._fields(avro, built)
            case "union":
                built.fields = self._members(avro, built)
            case "array":
                assert avro.items is not None
                if is_map_entry(avro.items):
                    by_name = {f.name: f.type for f in avro.items.fields}
                    built.type = Type.MAP
                    built.key_schema = self.convert(by_name["key"])
                    built.value_schema = self.convert(by_name["value"])
                else:
                    built.type = Type.ARRAY
                    built.value_schema = self.convert(avro.items)
            case "map":
                assert avro.items is not None
                built.type = Type.MAP
                built.key_schema = Schema.STRING
                built.value_schema = self.convert(avro.items)
            case "enum":
                self._enum(avro, built)
            case "null":
                raise DataError("Standalone null schemas are not supported by this converter")
            case _:
                self._primitive(avro, built)

    def _primitive(self, avro: AvroType, built: Schema) -> None:
        named = avro.props.get("logicalType")
        kind = named.lower() if isinstance(named, str) else None
        connect_type = avro.props.get(names.CONNECT_TYPE)
        logical_name = _LOGICAL.get((avro.type, kind or ""))
        parameters = dict[str, str]()
        if logical_name is not None:
            built.name, built.version = logical_name, 1
            if logical_name == DECIMAL:
                scale = avro.props.get("scale")
                parameters["scale"] = str(scale if isinstance(scale, int) else 0)
                precision = avro.props.get("precision")
                if precision is not None and not isinstance(precision, int):
                    raise DataError(f"precision property must be a JSON Integer, not {precision!r}")
                if precision is not None and precision != names.DEFAULT_PRECISION:
                    parameters[names.DECIMAL_PRECISION] = str(precision)
        elif avro.type == "int" and kind is None and connect_type is not None:
            if connect_type not in ("int8", "int16"):
                raise DataError(f"Connect type annotation for Avro int is {connect_type!r}")
            built.type = Type(connect_type)
        if avro.type == "fixed":
            parameters[names.FIXED_SIZE] = str(avro.size)
        built.parameters = parameters

    def _enum(self, avro: AvroType, built: Schema) -> None:
        settings = self._settings
        parameters = dict[str, str]()
        if settings.metadata:
            if avro.doc is not None:
                key = (
                    names.CONNECT_ENUM_DOC
                    if settings.discard_type_doc_default
                    else names.ENUM_DOC + avro.short_name
                )
                parameters[key] = avro.doc
            if not settings.discard_type_doc_default and avro.default is not None:
                parameters[names.ENUM_DEFAULT + avro.short_name] = avro.default
        mark = GENERAL_ENUM if settings.generalized_sums else names.ENUM
        parameters[mark] = avro.name or ""
        for index, symbol in enumerate(avro.symbols):
            parameters[f"{mark}.{symbol}"] = str(index) if settings.generalized_sums else symbol
        built.parameters = parameters

    def _fields(self, avro: AvroType, built: Schema) -> tuple[Field, ...]:
        keep_docs = self._settings.metadata and not self._settings.discard_type_doc_default
        parameters = dict[str, str]()
        if keep_docs and avro.doc is not None:
            parameters[names.RECORD_DOC] = avro.doc
        fields = []
        for index, field in enumerate(avro.fields):
            if keep_docs and field.doc is not None:
                parameters[names.FIELD_DOC + field.name] = field.doc
            # A default of null says no more than that the field is optional.
            default = NO_DEFAULT if field.default is None else field.default
            schema = self.convert(field.type, default=default, doc=field.doc)
            own = field.props.get(names.CONNECT_PARAMETERS)
            if self._settings.metadata and isinstance(own, dict):
                schema = _with_parameters(schema, own)
            fields.append(Field(field.name, index, schema))
        built.parameters = parameters
        return tuple(fields)

    def _members(self, avro: AvroType, built: Schema) -> tuple[Field, ...]:
        if self._settings.generalized_sums:
            built.name = f"connect_union_{self._next_union()}"
            built.parameters = {GENERAL_UNION: built.name}
        else:
            built.name = names.UNION
        fields: list[Field] = []
        for index, branch in enumerate(avro.branches):
            if branch.type == "null":
                built.optional = True
                continue
            name = self.member_name(branch, index)
            if any(f.name == name for f in fields):
                raise DataError(
                    f"Multiple union schemas map to the Connect union field name {name}: set "
                    f"enhanced.avro.schema.support=true to tell them by namespace"
                )
            fields.append(Field(name, len(fields), self.convert(branch, optional=True)))
        return tuple(fields)

    def member_name(self, branch: AvroType, index: int) -> str:
        if self._settings.generalized_sums:
            return f"connect_union_field_{index}"
        if branch.type in NAMED:
            return (branch.name or "") if self._settings.enhanced else branch.short_name
        return branch.type

    # -- what is said about it --------------------------------------------------------------

    def _describe(
        self, avro: AvroType, built: Schema, doc: str | None, version: int | None
    ) -> None:
        settings = self._settings
        own_doc = avro.props.get(names.CONNECT_DOC)
        parameters = dict(built.parameters)
        if settings.discard_type_doc_default:
            built.doc = doc or avro.doc or own_doc
            if settings.metadata and avro.doc is not None:
                parameters[names.CONNECT_RECORD_DOC] = avro.doc
        elif settings.metadata:
            built.doc = own_doc
        own_version = avro.props.get(names.CONNECT_VERSION)
        if own_version is not None:
            if not isinstance(own_version, int):
                raise DataError(f"Invalid Connect version found: {own_version!r}")
            if built.version is not None and built.version != own_version:
                raise DataError(
                    f"Mismatched versions: {built.name} has {built.version}, the Avro schema "
                    f"says {own_version}"
                )
            built.version = own_version
        elif built.version is None:
            built.version = version
        given = avro.props.get(names.CONNECT_PARAMETERS)
        if settings.metadata and given is not None:
            if not isinstance(given, dict) or not all(isinstance(v, str) for v in given.values()):
                raise DataError(f"Expected an object of strings for {names.CONNECT_PARAMETERS}")
            parameters.update(given)
        parameters.update({k: _text(v) for k, v in avro.props.items() if k.startswith("avro")})
        built.parameters = parameters

    def _set_default(self, avro: AvroType, built: Schema, default: Any) -> None:
        connect_default = avro.props.get(names.CONNECT_DEFAULT)
        if default is NO_DEFAULT:
            default = connect_default
        elif (
            connect_default is None
            and self._settings.metadata
            and not self._settings.discard_type_doc_default
        ):
            built.parameters = {**built.parameters, names.FIELD_DEFAULT: "true"}
        if default is None:
            return
        try:
            value = default_value(avro, built, default)
            built.validate(value)
        except (DataError, ValueError, TypeError, AttributeError, KeyError) as error:
            _LOG.warning("Ignoring invalid default for schema %s: %s", avro.name, error)
            return
        built.default = value

    def _name(self, avro: AvroType, built: Schema) -> None:
        name = avro.props.get(names.CONNECT_NAME)
        if name is not None and not isinstance(name, str):
            raise DataError(f"Invalid schema name: {name!r}")
        if name is None and (
            avro.type in ("record", "enum") or (avro.type == "fixed" and built.name != DECIMAL)
        ):
            name = avro.name
        if name is None or name.startswith(names.DEFAULT_FULL_NAME):
            return
        if built.name is not None and built.name != name:
            raise DataError(f"Mismatched names: {built.name} and, in {names.CONNECT_NAME}, {name}")
        built.name = name


def is_map_entry(avro: AvroType) -> bool:
    """Whether a record is an entry of a map whose keys are not strings."""
    if avro.type != "record":
        return False
    marked = avro.name == f"{names.NAMESPACE}.{names.MAP_ENTRY}" or (
        avro.props.get(names.CONNECT_INTERNAL_TYPE) == names.MAP_ENTRY
    )
    if marked and {f.name for f in avro.fields} != {"key", "value"}:
        raise DataError(
            "Found map encoded as array of key-value pairs, but array elements do not match the "
            "expected format."
        )
    return marked


def default_value(avro: AvroType, schema: Schema, default: Any) -> Any:
    """A Connect value from a default in the schema's JSON."""
    if default is None:
        return None
    match avro.type:
        case "union":
            first = avro.branches[0]
            if first.type == "null":
                return None
            if schema.type is Type.STRUCT and names.is_union(schema):
                value = default_value(first, schema.fields[0].schema, default)
                return {f.name: value if f.index == 0 else None for f in schema.fields}
            return default_value(first, schema, default)
        case "array" if schema.type is Type.MAP:
            assert avro.items is not None
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            by_name = {f.name: f.type for f in avro.items.fields}
            pairs = [(e["key"], e["value"]) if isinstance(e, dict) else e for e in default]
            return {
                default_value(by_name["key"], schema.key_schema, k): default_value(
                    by_name["value"], schema.value_schema, v
                )
                for k, v in pairs
            }
        case "array":
            assert avro.items is not None
            assert schema.value_schema is not None
            return [default_value(avro.items, schema.value_schema, item) for item in default]
        case "map":
            assert avro.items is not None
            assert schema.value_schema is not None
            return {
                k: default_value(avro.items, schema.value_schema, v) for k, v in default.items()
            }
        case "record":
            values = {}
            for field, own in zip(schema.fields, avro.fields, strict=True):
                given = default.get(field.name, own.default)
                if given is NO_DEFAULT:
                    raise DataError(f"The default has no {field.name}")
                values[field.name] = default_value(own.type, field.schema, given)
            return values
        case "float":
            return float32(float(default))
        case "double":
            return float(default)
        case "bytes" | "fixed":
            return _logical_value(schema, default.encode("latin-1"))
        case _:
            return _logical_value(schema, default)


def _logical_value(schema: Schema, value: Any) -> Any:
    convert = from_base(schema)
    return value if convert is None else convert(value)


def _with_parameters(schema: Schema, own: dict[str, Any]) -> Schema:
    if all(schema.parameters.get(k) == str(v) for k, v in own.items()):
        return schema
    changed = schema.to_builder().parameters({k: str(v) for k, v in own.items()})
    return changed.build()


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
