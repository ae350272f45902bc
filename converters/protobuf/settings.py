"""The keys of the Protobuf converter's data side, and what they are called in the code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connect import Schema, Type
from converters.registry.settings import GENERAL_ENUM, GENERAL_UNION, FormatSettings, setting

NAMESPACE: Final = "io.confluent.connect.protobuf"
DEFAULT_NAME: Final = "ConnectDefault"
ENUM: Final = f"{NAMESPACE}.Enum"
UNION: Final = f"{NAMESPACE}.Union"
# The parameters that keep a field's number and its exact type.
TAG: Final = f"{NAMESPACE}.Tag"
TYPE: Final = f"{NAMESPACE}.Type"
WRAPPER: Final = f"{NAMESPACE}.Wrapper"
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


@dataclass(frozen=True, slots=True)
class ProtobufSettings(FormatSettings):
    enhanced: bool = setting(
        "enhanced.protobuf.schema.support", False,
        "Whether names of messages, enums and oneofs keep their package.",
    )  # fmt: skip
    scrub_names: bool = setting(
        "scrub.invalid.names", False,
        "Whether characters that Protobuf does not allow in names are replaced.",
    )  # fmt: skip
    int_for_enums: bool = setting(
        "int.for.enums", False,
        "Whether enums are numbers, not the names of their values.",
    )  # fmt: skip
    optional_for_nullables: bool = setting(
        "optional.for.nullables", False,
        "Whether optional fields are written with the keyword `optional`, and only those are read "
        "as optional.",
    )  # fmt: skip
    optional_for_proto2: bool = setting(
        "optional.for.proto2", True,
        "Whether an `optional` field of proto2 that is not set is read as null.",
    )  # fmt: skip
    wrapper_for_nullables: bool = setting(
        "wrapper.for.nullables", False,
        "Whether optional fields are written as Google's wrapper messages, and those are read as "
        "optional fields.",
    )  # fmt: skip
    unwrap_root: bool = setting(
        "wrapper.for.raw.primitives", True,
        "Whether a record that is a single wrapper message is read as the value in it.",
    )  # fmt: skip
    struct_for_nulls: bool = setting(
        "generate.struct.for.nulls", False,
        "Whether a message field that is not set is read as a struct of defaults, not as null.",
    )  # fmt: skip
    index_for_unions: bool = setting(
        "generate.index.for.unions", True,
        "Whether the field of a oneof has the oneof's number after its name.",
    )  # fmt: skip
    flatten_unions: bool = setting(
        "flatten.unions", False,
        "Whether the members of a oneof are fields of the struct itself.",
    )  # fmt: skip


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
