"""ByteArrayConverter: bytes as they are."""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence, Sequence
from typing import Any

from connect import DataError, Schema, SchemaAndValue, Type
from connect.plugin import RawHeaders
from converters import _config
from converters._headers import AlsoForHeaders


class ByteArrayConverter(AlsoForHeaders):
    """Bytes, untouched. Any other value, or a schema that is not of bytes, is an error."""

    reads_anything = True
    config_def = _config.converter_config()

    def configure(self, config: Mapping[str, str], *, is_key: bool | None = None) -> None:
        """There is nothing to set."""

    def to_connect(
        self,
        topic: str,  # noqa: ARG002
        data: bytes | None,
        headers: RawHeaders = (),  # noqa: ARG002
    ) -> SchemaAndValue:
        return SchemaAndValue(Schema.OPTIONAL_BYTES, data)

    def to_connect_batch(
        self,
        topic: str,  # noqa: ARG002
        data: Sequence[bytes | None],
        headers: Sequence[RawHeaders],  # noqa: ARG002
    ) -> tuple[list[Schema | None], list[Any]]:
        return [Schema.OPTIONAL_BYTES] * len(data), list(data)

    def from_connect(
        self,
        topic: str,  # noqa: ARG002
        schema: Schema | None,
        value: Any,
        headers: MutableSequence[tuple[str, bytes | None]] | None = None,  # noqa: ARG002
    ) -> bytes | None:
        if schema is not None and schema.type is not Type.BYTES:
            raise DataError(f"Invalid schema type for ByteArrayConverter: {schema.type.name}")
        if value is None or value.__class__ is bytes:
            return value
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        raise DataError(
            f"ByteArrayConverter is not compatible with objects of type {type(value).__name__}"
        )
