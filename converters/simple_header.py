"""SimpleHeaderConverter: headers as text, their types found by looking at it."""

from __future__ import annotations

import logging
from typing import Any

from connect import ConnectError, HeaderConverter, Schema, SchemaAndValue
from connect.data.values import convert_to_string, parse_string

log = logging.getLogger(__name__)

# Many headers say the same in every record. Parsing a short text takes ten times as long as
# finding it here; long or ever changing ones must not fill the memory.
_MOST_KNOWN = 4096
_LONGEST_KNOWN = 64


class SimpleHeaderConverter(HeaderConverter):
    """Headers in UTF-8. `12` is read as a number, `[1, 2]` as an array, `abc` as a string.

    A header that can't be read stays bytes. `connect.data.values` says what is read as what.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, SchemaAndValue] = {}

    def to_connect_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(None, None)
        known = self._known.get(data)
        if known is None:
            known = self._parse(topic, name, data)
            if len(data) <= _LONGEST_KNOWN:
                if len(self._known) >= _MOST_KNOWN:
                    self._known.clear()
                self._known[data] = known
        return known

    def _parse(self, topic: str, name: str, data: bytes) -> SchemaAndValue:
        try:
            return parse_string(data.decode("utf-8", "replace"))
        except (ConnectError, RecursionError):
            log.warning("Header '%s' of topic '%s' can't be read; it stays bytes", name, topic)
            return SchemaAndValue(Schema.BYTES, data)

    def from_connect_header(
        self,
        topic: str,  # noqa: ARG002
        name: str,  # noqa: ARG002
        schema: Schema | None,
        value: Any,
    ) -> bytes | None:
        text = convert_to_string(schema, value)
        return None if text is None else text.encode("utf-8", "replace")
