"""The names and attributes by which Avro schemas carry what only Connect knows."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote_plus

from connect import Schema, Type
from converters.registry.settings import GENERAL_ENUM, GENERAL_UNION

NAMESPACE: Final = "io.confluent.connect.avro"
DEFAULT_NAME: Final = "ConnectDefault"
DEFAULT_FULL_NAME: Final = f"{NAMESPACE}.{DEFAULT_NAME}"
MAP_ENTRY: Final = "MapEntry"
ANYTHING: Final = f"{NAMESPACE}.Anything"
UNION: Final = f"{NAMESPACE}.Union"
ENUM: Final = f"{NAMESPACE}.Enum"

CONNECT_NAME: Final = "connect.name"
CONNECT_DOC: Final = "connect.doc"
CONNECT_VERSION: Final = "connect.version"
CONNECT_DEFAULT: Final = "connect.default"
CONNECT_PARAMETERS: Final = "connect.parameters"
CONNECT_TYPE: Final = "connect.type"
CONNECT_INTERNAL_TYPE: Final = "connect.internal.type"
CONNECT_RECORD_DOC: Final = "connect.record.doc"
CONNECT_ENUM_DOC: Final = "connect.enum.doc"

RECORD_DOC: Final = f"{NAMESPACE}.record.doc"
FIELD_DOC: Final = f"{NAMESPACE}.field.doc."
FIELD_DEFAULT: Final = f"{NAMESPACE}.field.default"
ENUM_DOC: Final = f"{NAMESPACE}.enum.doc."
ENUM_DEFAULT: Final = f"{NAMESPACE}.enum.default."

FIXED_SIZE: Final = "connect.fixed.size"
DECIMAL_PRECISION: Final = "connect.decimal.precision"
DEFAULT_PRECISION: Final = 64

_GOOD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BAD = re.compile(r"[^A-Za-z0-9_]")


def is_union(schema: Schema) -> bool:
    """Whether a struct stands for a union, one field a member."""
    return schema.type is Type.STRUCT and (
        schema.name == UNION or GENERAL_UNION in schema.parameters
    )


def is_enum(schema: Schema) -> bool:
    return schema.type is Type.STRING and (
        GENERAL_ENUM in schema.parameters or ENUM in schema.parameters
    )


def is_fixed(schema: Schema) -> bool:
    return schema.type is Type.BYTES and schema.name is not None and FIXED_SIZE in schema.parameters


def scrub(name: str) -> str:
    """The name with what Avro does not allow percent-encoded, and the percent signs as `_`."""
    if not name or _GOOD.fullmatch(name):
        return name
    encoded = quote_plus(name, safe="*-._").replace("~", "%7E")
    if encoded[0].isdigit():
        encoded = "x" + encoded
    return _BAD.sub("_", encoded)


def split(full_name: str, *, scrubbed: bool) -> tuple[str | None, str]:
    """Namespace and name of a dotted name, each part scrubbed if that is asked for."""
    # As Java splits: empty parts at the end are dropped.
    parts = full_name.split(".")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    if scrubbed:
        parts = [scrub(part) for part in parts]
    if len(parts) == 1:
        return None, parts[0]
    return ".".join(parts[:-1]), parts[-1]
