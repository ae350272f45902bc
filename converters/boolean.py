"""BooleanConverter: one byte, 1 or 0."""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence
from typing import Any

from connect import (
    DataError,
    Schema,
    SchemaAndValue,
    SerializationError,
    Type,
)
from connect.plugin import RawHeaders
from converters import _config
from converters._headers import AlsoForHeaders


class BooleanConverter(AlsoForHeaders):
    """Booleans as Kafka's own serializer writes them."""

    config_def = _config.converter_config()

    def configure(self, config: Mapping[str, str], *, is_key: bool | None = None) -> None:
        _config.parse(self.config_def, config, is_key=is_key)

    def to_connect(
        self,
        topic: str,  # noqa: ARG002
        data: bytes | None,
        headers: RawHeaders = (),  # noqa: ARG002
    ) -> SchemaAndValue:
        try:
            return _READ[data]
        except KeyError:
            if data is not None and len(data) != 1:
                reason = "Size of data received by BooleanDeserializer is not 1"
            else:
                reason = f"Unexpected byte received by BooleanDeserializer: {data!r}"
            raise DataError("Failed to deserialize boolean: ") from SerializationError(reason)

    def from_connect(
        self,
        topic: str,  # noqa: ARG002
        schema: Schema | None,
        value: Any,
        headers: MutableSequence[tuple[str, bytes | None]] | None = None,  # noqa: ARG002
    ) -> bytes | None:
        if schema is not None and schema.type is not Type.BOOLEAN:
            raise DataError(f"Invalid schema type for BooleanConverter: {schema.type.name}")
        if value is None:
            return None
        if not isinstance(value, bool):
            raise DataError(
                f"BooleanConverter is not compatible with objects of type {type(value).__name__}"
            )
        return b"\x01" if value else b"\x00"


_READ: dict[bytes | None, SchemaAndValue] = {
    None: SchemaAndValue(Schema.OPTIONAL_BOOLEAN, None),
    b"\x01": SchemaAndValue(Schema.OPTIONAL_BOOLEAN, True),
    b"\x00": SchemaAndValue(Schema.OPTIONAL_BOOLEAN, False),
}
