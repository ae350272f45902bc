"""The wire format: how a record says which schema it was written with.

Before the payload: 0, the id as four bytes. In a header, `__key_schema_id` or `__value_schema_id`:
1, the GUID as sixteen bytes, and the payload bare. For Protobuf both go on with the path to the
message type inside its file, as zigzag varints: their number, then each; [0] is a single 0.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import Final

from connect import DataError

KEY_HEADER: Final = "__key_schema_id"
VALUE_HEADER: Final = "__value_schema_id"
PREFIX_LENGTH: Final = 5


@dataclass(frozen=True, slots=True)
class Frame:
    """What a record says about its schema, and how long it takes to say it."""

    id: int | None
    guid: str | None
    indexes: tuple[int, ...]
    length: int

    def __str__(self) -> str:
        return f"schema id {self.id}" if self.guid is None else f"schema GUID {self.guid}"


def parse(data: bytes, schema_type: str) -> Frame:
    """The frame at the start of a payload or a header's value."""
    from confluent_kafka.schema_registry.common.serde import SchemaId  # noqa: PLC0415
    from confluent_kafka.serialization import SerializationError  # noqa: PLC0415

    schema_id = SchemaId(schema_type)
    buffer = io.BytesIO(data)
    try:
        schema_id.from_bytes(buffer)
    except SerializationError as error:
        if data[0] in (0, 1):
            raise DataError(f"The path to the message type is broken: {error}") from error
        raise DataError(
            f"Unknown magic byte {data[0]}, where 0 was expected: the data was not written by a "
            f"serializer that uses the schema registry"
        ) from error
    except (struct.error, EOFError, ValueError) as error:
        what = "the GUID that its magic byte 1 announces" if data[:1] == b"\1" else "a schema id"
        raise DataError(f"The data ends too early for {what}: {len(data)} bytes") from error
    return Frame(
        schema_id.id,
        None if schema_id.guid is None else str(schema_id.guid),
        tuple(schema_id.message_indexes or ()),
        buffer.tell(),
    )


def prefix(schema_type: str, schema_id: int, indexes: tuple[int, ...] | None) -> bytes:
    """The bytes before a payload."""
    from confluent_kafka.schema_registry.common.serde import SchemaId  # noqa: PLC0415

    path = None if indexes is None else list(indexes)
    framed: bytes = SchemaId(schema_type, schema_id, None, path).id_to_bytes()
    return framed


def header(schema_type: str, guid: str, indexes: tuple[int, ...] | None) -> bytes:
    """The value of the header that names a schema."""
    from confluent_kafka.schema_registry.common.serde import SchemaId  # noqa: PLC0415

    path = None if indexes is None else list(indexes)
    framed: bytes = SchemaId(schema_type, None, guid, path).guid_to_bytes()
    return framed
