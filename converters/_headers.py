"""What converters for keys, values and headers alike have in common."""

import abc
from collections.abc import Mapping
from typing import Any

from connect import Converter, HeaderConverter, Schema, SchemaAndValue


class AlsoForHeaders(Converter, HeaderConverter):
    """A converter that treats a header as it treats a value."""

    @abc.abstractmethod
    def configure(self, config: Mapping[str, str], *, is_key: bool | None = None) -> None:
        """`is_key` is None for headers."""

    def to_connect_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:  # noqa: ARG002
        return self.to_connect(topic, data)

    def from_connect_header(
        self,
        topic: str,
        name: str,  # noqa: ARG002
        schema: Schema | None,
        value: Any,
    ) -> bytes | None:
        return self.from_connect(topic, schema, value)
