"""Numbers of fixed size, big end first, as Kafka's own serializers write them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, MutableSequence, Sequence
from typing import Any, ClassVar

from connect import (
    DataError,
    Schema,
    SchemaAndValue,
    SerializationError,
)
from connect.data.floats import shortest_float32
from connect.plugin import RawHeaders
from converters import _config
from converters._headers import AlsoForHeaders


class _NumberConverter(AlsoForHeaders):
    """One number a message. Another size of message, or another kind of value, is an error."""

    config_def = _config.converter_config()

    _word: ClassVar[str]
    _schema: ClassVar[Schema]
    _layout: ClassVar[struct.Struct]
    _python: ClassVar[type | tuple[type, ...]] = int

    def configure(self, config: Mapping[str, str], *, is_key: bool | None = None) -> None:
        _config.parse(self.config_def, config, is_key=is_key)

    def to_connect(
        self, topic: str, data: bytes | None, headers: RawHeaders = ()
    ) -> SchemaAndValue:
        _, (value,) = self.to_connect_batch(topic, [data], [headers])
        return SchemaAndValue(self._schema, value)

    def to_connect_batch(
        self,
        topic: str,  # noqa: ARG002
        data: Sequence[bytes | None],
        headers: Sequence[RawHeaders],  # noqa: ARG002
    ) -> tuple[list[Schema | None], list[Any]]:
        try:
            values = self._read(data)
        except struct.error:
            raise DataError(f"Failed to deserialize {self._word}: ") from SerializationError(
                f"Size of data received by {type(self).__name__} is not {self._layout.size}"
            )
        return [self._schema] * len(data), values

    def _read(self, data: Sequence[bytes | None]) -> list[Any]:
        unpack = self._layout.unpack
        return [None if item is None else unpack(item)[0] for item in data]

    def from_connect(
        self,
        topic: str,  # noqa: ARG002
        schema: Schema | None,  # noqa: ARG002
        value: Any,
        headers: MutableSequence[tuple[str, bytes | None]] | None = None,  # noqa: ARG002
    ) -> bytes | None:
        if value is None:
            return None
        if isinstance(value, self._python) and not isinstance(value, bool):
            try:
                return self._layout.pack(value)
            except (struct.error, OverflowError) as error:
                raise DataError(
                    f"Failed to serialize to {self._word}: {value} is out of its range"
                ) from error
        raise DataError(f"Failed to serialize to {self._word} (was {type(value).__name__}): ")


class ShortConverter(_NumberConverter):
    """16-bit whole numbers."""

    _word, _schema, _layout = "short", Schema.OPTIONAL_INT16, struct.Struct(">h")


class IntegerConverter(_NumberConverter):
    """32-bit whole numbers."""

    _word, _schema, _layout = "integer", Schema.OPTIONAL_INT32, struct.Struct(">i")


class LongConverter(_NumberConverter):
    """64-bit whole numbers."""

    _word, _schema, _layout = "long", Schema.OPTIONAL_INT64, struct.Struct(">q")


class FloatConverter(_NumberConverter):
    """32-bit floating-point numbers."""

    _word, _schema, _layout = "float", Schema.OPTIONAL_FLOAT32, struct.Struct(">f")
    _python = (float, int)

    def _read(self, data: Sequence[bytes | None]) -> list[Any]:
        super()._read(data)  # checks the sizes
        return [None if item is None else shortest_float32(item) for item in data]


class DoubleConverter(_NumberConverter):
    """64-bit floating-point numbers."""

    _word, _schema, _layout = "double", Schema.OPTIONAL_FLOAT64, struct.Struct(">d")
    _python = (float, int)
