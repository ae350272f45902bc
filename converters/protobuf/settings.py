"""The keys of the Protobuf converter's data side, and what they are called in the code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connect import Config, ConfigDef, ConfigType, Importance, Schema, Type

NAMESPACE: Final = "io.confluent.connect.protobuf"
DEFAULT_NAME: Final = "ConnectDefault"
ENUM: Final = f"{NAMESPACE}.Enum"
UNION: Final = f"{NAMESPACE}.Union"
# The parameters that keep a field's number and its exact type.
TAG: Final = f"{NAMESPACE}.Tag"
TYPE: Final = f"{NAMESPACE}.Type"
WRAPPER: Final = f"{NAMESPACE}.Wrapper"
GENERAL_UNION: Final = "org.apache.kafka.connect.data.Union"
GENERAL_ENUM: Final = "org.apache.kafka.connect.data.Enum"
DECIMAL_PRECISION: Final = "connect.decimal.precision"

DECIMAL_MESSAGE: Final = "confluent.type.Decimal"
DATE_MESSAGE: Final = "google.type.Date"
TIME_MESSAGE: Final = "google.type.TimeOfDay"
TIMESTAMP_MESSAGE: Final = "google.protobuf.Timestamp"
# In the order of google/protobuf/wrappers.proto, which message indexes count.
WRAPPERS: Final = {
    "google.protobuf.DoubleValue": ("double", Type.FLOAT64),
    "google.protobuf.FloatValue": ("float", Type.FLOAT32),
    "google.protobuf.Int64Value": ("int64", Type.INT64),
    "google.protobuf.UInt64Value": ("uint64", Type.INT64),
    "google.protobuf.Int32Value": ("int32", Type.INT32),
    "google.protobuf.UInt32Value": ("uint32", Type.INT64),
    "google.protobuf.BoolValue": ("bool", Type.BOOLEAN),
    "google.protobuf.StringValue": ("string", Type.STRING),
    "google.protobuf.BytesValue": ("bytes", Type.BYTES),
}


def _flag(config: ConfigDef, name: str, *, default: bool, doc: str) -> ConfigDef:
    return config.define(
        name,
        ConfigType.BOOLEAN,
        default=default,
        importance=Importance.MEDIUM,
        doc=doc,
        group="Data",
    )


def _config() -> ConfigDef:
    config = ConfigDef()
    _flag(
        config,
        "enhanced.protobuf.schema.support",
        default=False,
        doc="Whether names of messages, enums and oneofs keep their package.",
    )
    _flag(
        config,
        "scrub.invalid.names",
        default=False,
        doc="Whether characters that Protobuf does not allow in names are replaced.",
    )
    _flag(
        config,
        "int.for.enums",
        default=False,
        doc="Whether enums are numbers, not the names of their values.",
    )
    _flag(
        config,
        "optional.for.nullables",
        default=False,
        doc="Whether optional fields are written with the keyword `optional`, and only those are "
        "read as optional.",
    )
    _flag(
        config,
        "optional.for.proto2",
        default=True,
        doc="Whether an `optional` field of proto2 that is not set is read as null.",
    )
    _flag(
        config,
        "wrapper.for.nullables",
        default=False,
        doc="Whether optional fields are written as Google's wrapper messages, and those are read "
        "as optional fields.",
    )
    _flag(
        config,
        "wrapper.for.raw.primitives",
        default=True,
        doc="Whether a record that is a single wrapper message is read as the value in it.",
    )
    _flag(
        config,
        "generate.struct.for.nulls",
        default=False,
        doc="Whether a message field that is not set is read as a struct of defaults, not as null.",
    )
    _flag(
        config,
        "generate.index.for.unions",
        default=True,
        doc="Whether the field of a oneof has the oneof's number after its name.",
    )
    return _flag(
        config,
        "flatten.unions",
        default=False,
        doc="Whether the members of a oneof are fields of the struct itself.",
    )


PROTOBUF_CONFIG: Final = _config()


@dataclass(frozen=True, slots=True)
class ProtobufSettings:
    enhanced: bool = False
    scrub_names: bool = False
    int_for_enums: bool = False
    optional_for_nullables: bool = False
    optional_for_proto2: bool = True
    wrapper_for_nullables: bool = False
    unwrap_root: bool = True
    struct_for_nulls: bool = False
    index_for_unions: bool = True
    flatten_unions: bool = False
    generalized_sums: bool = False
    keep_null_with_default: bool = False

    @classmethod
    def of(cls, config: Config) -> ProtobufSettings:
        return cls(
            enhanced=config["enhanced.protobuf.schema.support"],
            scrub_names=config["scrub.invalid.names"],
            int_for_enums=config["int.for.enums"],
            optional_for_nullables=config["optional.for.nullables"],
            optional_for_proto2=config["optional.for.proto2"],
            wrapper_for_nullables=config["wrapper.for.nullables"],
            unwrap_root=config["wrapper.for.raw.primitives"],
            struct_for_nulls=config["generate.struct.for.nulls"],
            index_for_unions=config["generate.index.for.unions"],
            flatten_unions=config["flatten.unions"],
            generalized_sums=config["generalized.sum.type.support"],
            keep_null_with_default=config["ignore.default.for.nullables"],
        )


def is_union(schema: Schema) -> bool:
    """Whether a struct stands for a oneof, one field a member."""
    return schema.type is Type.STRUCT and (
        (schema.name is not None and schema.name.startswith(UNION))
        or GENERAL_UNION in schema.parameters
    )


def enum_mark(schema: Schema) -> str | None:
    """The parameter that makes a string or number an enum, if there is one."""
    if schema.type not in (Type.STRING, Type.INT32):
        return None
    return next((m for m in (GENERAL_ENUM, ENUM) if m in schema.parameters), None)
