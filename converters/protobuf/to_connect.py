"""From a Protobuf message type to a Connect schema, by the rules of the JVM's ProtobufData."""

from __future__ import annotations

import re
from typing import Any

from connect import DataError, Field, Schema, SchemaBuilder, Type
from converters.protobuf import settings as marks
from converters.protobuf.settings import WRAPPERS, ProtobufSettings
from converters.registry.settings import GENERAL_ENUM, GENERAL_UNION

_SCALARS = {
    "INT32": Type.INT32,
    "SINT32": Type.INT32,
    "SFIXED32": Type.INT32,
    "UINT32": Type.INT64,
    "FIXED32": Type.INT64,
    "INT64": Type.INT64,
    "UINT64": Type.INT64,
    "SINT64": Type.INT64,
    "FIXED64": Type.INT64,
    "SFIXED64": Type.INT64,
    "FLOAT": Type.FLOAT32,
    "DOUBLE": Type.FLOAT64,
    "BOOL": Type.BOOLEAN,
    "STRING": Type.STRING,
    "BYTES": Type.BYTES,
}


def connect_schema(descriptor: Any, settings: ProtobufSettings, version: int | None) -> Schema:
    """The Connect schema of a message type, with the registry's version."""
    if settings.unwrap_root and descriptor.full_name in WRAPPERS:
        return Schema(WRAPPERS[descriptor.full_name][1], version=version)
    return _Conversion(settings).message(descriptor, version)


def kind_of(field: Any) -> str:
    """The type of a field, as its keyword in capitals."""
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto  # noqa: PLC0415

    return FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_")


def is_repeated(field: Any) -> bool:
    return bool(field.is_repeated)


def is_map(field: Any) -> bool:
    """A map, or what JVM converters write for one whose keys no Protobuf map may have."""
    if not is_repeated(field) or field.message_type is None:
        return False
    entry = field.message_type
    return bool(entry.GetOptions().map_entry) or (
        entry.name.endswith("Entry")
        and [f.name for f in entry.fields] == ["key", "value"]
        and not any(is_repeated(f) for f in entry.fields)
    )


def has_optional_keyword(field: Any) -> bool:
    """`optional` in proto3, or in proto2, where it means the same."""
    from google.protobuf import descriptor_pb2  # noqa: PLC0415

    if real_oneof(field) is not None or is_repeated(field):
        return False
    if field.containing_oneof is not None:
        return True  # the synthetic one of proto3's `optional`
    file = descriptor_pb2.FileDescriptorProto()
    field.file.CopyToProto(file)
    return file.syntax in ("", "proto2") and not field.is_required


def real_oneof(field: Any) -> Any:
    """The oneof that a field is a member of, unless it only stands for `optional`."""
    oneof = field.containing_oneof
    return None if oneof is None or is_synthetic(oneof) else oneof


def is_synthetic(oneof: Any) -> bool:
    from google.protobuf import descriptor_pb2  # noqa: PLC0415

    if len(oneof.fields) != 1:
        return False
    proto = descriptor_pb2.DescriptorProto()
    oneof.containing_type.CopyToProto(proto)
    name = oneof.fields[0].name
    return any(f.name == name and f.proto3_optional for f in proto.field)


def real_oneofs(descriptor: Any) -> list[tuple[int, Any]]:
    """The oneofs of a message, each with its number among all."""
    return [(i, o) for i, o in enumerate(descriptor.oneofs) if not is_synthetic(o)]


def field_parameters(field: Any) -> dict[str, str]:
    """What the option (confluent.field_meta) says about a field."""
    from confluent_kafka.schema_registry.confluent import meta_pb2  # noqa: PLC0415

    options = field.GetOptions()
    meta = meta_pb2.DESCRIPTOR.extensions_by_name["field_meta"]
    return dict(options.Extensions[meta].params) if options.HasExtension(meta) else {}


def map_name(entry_name: str) -> str:
    """`order_lines` from `OrderLinesEntry`, as the JVM names map schemas."""
    name = entry_name.removesuffix("Entry")
    space, dot, short = name.rpartition(".")
    words = re.sub(r"(?<=.)([A-Z])", r"_\1", short).lower()
    return f"{space}{dot}{words}"


class _Conversion:
    def __init__(self, settings: ProtobufSettings) -> None:
        self._settings = settings
        # Message types under way, and the schemas handed out for them before they were done.
        self._open: dict[str, list[Schema]] = {}

    def message(self, descriptor: Any, version: int | None = None) -> Schema:
        name = self._name(descriptor)
        built = Schema(Type.STRUCT, name=name, version=version)
        self._open[descriptor.full_name] = []
        fields: list[tuple[str, Schema]] = []
        for index, oneof in real_oneofs(descriptor):
            if self._settings.flatten_unions:
                fields += [(f.name, self.field(f, member=True)) for f in oneof.fields]
            else:
                fields.append((self.union_field(index, oneof), self._union(oneof)))
        fields += [(f.name, self.field(f)) for f in descriptor.fields if real_oneof(f) is None]
        built.fields = tuple(Field(n, i, s) for i, (n, s) in enumerate(fields))
        for twin in self._open.pop(descriptor.full_name):
            twin.fields = built.fields
        return built

    def _name(self, descriptor: Any) -> str:
        name: str = descriptor.full_name if self._settings.enhanced else descriptor.name
        return name

    def union_field(self, index: int, oneof: Any) -> str:
        return f"{oneof.name}_{index}" if self._settings.index_for_unions else oneof.name

    def _union(self, oneof: Any) -> Schema:
        builder = SchemaBuilder(Type.STRUCT).optional()
        if self._settings.generalized_sums:
            builder.name(oneof.name).parameter(GENERAL_UNION, oneof.name)
        else:
            builder.name(f"{marks.UNION}.{self._name(oneof)}")
        for field in oneof.fields:
            builder.field(field.name, self.field(field, member=True))
        return builder.build()

    def field(self, field: Any, *, member: bool = False) -> Schema:
        settings = self._settings
        kind = kind_of(field)
        schema: Schema
        if kind == "ENUM":
            schema = self._enum(field.enum_type)
        elif kind == "MESSAGE":
            schema = self._of_message(field)
        elif kind in _SCALARS:
            schema = self._scalar(field, kind)
        else:
            raise DataError(f"The field {field.full_name} is a {kind.lower()}, which is too old")
        if is_repeated(field) and schema.type is not Type.MAP:
            schema = Schema(Type.ARRAY, optional=True, value_schema=_optional(schema))
        parameters = dict(schema.parameters)
        if member:
            schema = _optional(schema)
            wrapped = kind == "MESSAGE" and field.message_type.full_name in WRAPPERS
            if settings.wrapper_for_nullables and wrapped:
                parameters[marks.WRAPPER] = "true"
        elif has_optional_keyword(field) or not (
            settings.optional_for_nullables or settings.wrapper_for_nullables
        ):
            schema = _optional(schema)
        # Made here and nowhere else handed out, so it may still change.
        schema.parameters = {**parameters, marks.TAG: str(field.number)}
        return schema

    def _scalar(self, field: Any, kind: str) -> Schema:
        schema = Schema(_SCALARS[kind])
        if schema.type is Type.INT32:
            small = field_parameters(field).get("connect.type")
            if small in ("int8", "int16"):
                return Schema(Type(small))
        if schema.type in (Type.INT32, Type.INT64) and kind not in ("INT32", "INT64"):
            schema.parameters = {marks.TYPE: kind.lower()}
        return schema

    def _enum(self, enum: Any) -> Schema:
        mark = GENERAL_ENUM if self._settings.generalized_sums else marks.ENUM
        parameters = {mark: enum.name}
        parameters.update({f"{mark}.{v.name}": str(v.number) for v in enum.values})
        kind = Type.INT32 if self._settings.int_for_enums else Type.STRING
        return Schema(kind, name=self._name(enum), parameters=parameters, optional=True)

    def _of_message(self, field: Any) -> Schema:
        message = field.message_type
        name = message.full_name
        if is_map(field):
            key, value = message.fields_by_name["key"], message.fields_by_name["value"]
            return Schema(
                Type.MAP,
                optional=True,
                name=map_name(self._name(message)),
                key_schema=self.field(key),
                value_schema=self.field(value),
            )
        if name == marks.DECIMAL_MESSAGE:
            parameters = field_parameters(field)
            scale = parameters.get("scale", "0")
            builder = Schema.decimal(int(scale) if re.fullmatch(r"-?\d+", scale) else 0)
            if re.fullmatch(r"\d+", parameters.get("precision", "")):
                builder.parameter(marks.DECIMAL_PRECISION, parameters["precision"])
            return builder.optional().build()
        if name == marks.DATE_MESSAGE:
            return Schema.date().optional().build()
        if name == marks.TIME_MESSAGE:
            return Schema.time().optional().build()
        if name == marks.TIMESTAMP_MESSAGE:
            return Schema.timestamp().optional().build()
        if self._settings.wrapper_for_nullables and name in WRAPPERS:
            return Schema(WRAPPERS[name][1], optional=True)
        if name in self._open:
            twin = Schema(Type.STRUCT, optional=True, name=self._name(message))
            self._open[name].append(twin)
            return twin
        return _optional(self.message(message))


def _optional(schema: Schema) -> Schema:
    schema.optional = True
    return schema
