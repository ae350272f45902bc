"""StringConverter: text in an encoding of choice."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, MutableSequence, Sequence
from typing import Any

from connect import (
    ConfigError,
    ConfigType,
    Schema,
    SchemaAndValue,
    Width,
)
from connect.data.java_text import writer_for
from connect.plugin import RawHeaders
from converters import _config
from converters._headers import AlsoForHeaders

# Where Java and Python mean different things by the same name: Java's UTF-16 is big-endian, with
# a mark in front when it writes.
_BIG_ENDIAN_IN_JAVA = {"utf-16": "utf-16-be", "utf-32": "utf-32-be"}
_BYTE_ORDER_MARKS = (
    codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE,
)  # fmt: skip


def _replace_as_java(error: UnicodeError) -> tuple[str | bytes, int]:
    """Half of a surrogate pair, written as UTF-8, is one wrong character and not three."""
    if isinstance(error, UnicodeDecodeError) and error.encoding == "utf-8":
        found = _SURROGATE.match(error.object, error.start)
        if found:
            return "\ufffd", found.end()
    return _replace(error)


_replace = codecs.lookup_error("replace")
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_AS_JAVA = "penstock-java"
codecs.register_error(_AS_JAVA, _replace_as_java)


def _known_encoding(name: str, value: Any) -> None:
    try:
        codecs.lookup(value)
    except LookupError:
        raise ConfigError(name, value, "Unsupported encoding") from None


class StringConverter(AlsoForHeaders):
    """Text, one string a message. Other values are written as Java prints them.

    Bytes that are no text in the encoding become the replacement character, characters that the
    encoding lacks become "?", both as in Java.
    """

    reads_anything = True
    config_def = _config.converter_config().define(
        "converter.encoding", ConfigType.STRING, "UTF-8",
        doc="The name of the character set to use for encoding strings as byte arrays.",
        validator=_known_encoding, width=Width.MEDIUM, display_name="Encoding",
    )  # fmt: skip

    def configure(self, config: Mapping[str, str], *, is_key: bool | None = None) -> None:
        settings = _config.parse(self.config_def, config, is_key=is_key)
        self._encoding = codecs.lookup(settings["converter.encoding"]).name

    # -- reading ----------------------------------------------------------------------------

    def to_connect(
        self, topic: str, data: bytes | None, headers: RawHeaders = ()
    ) -> SchemaAndValue:
        _, (value,) = self.to_connect_batch(topic, [data], [headers])
        return SchemaAndValue(Schema.OPTIONAL_STRING, value)

    def to_connect_batch(
        self,
        topic: str,  # noqa: ARG002
        data: Sequence[bytes | None],
        headers: Sequence[RawHeaders],  # noqa: ARG002
    ) -> tuple[list[Schema | None], list[Any]]:
        schemas: list[Schema | None] = [Schema.OPTIONAL_STRING] * len(data)
        encoding = self._encoding
        if encoding in _BIG_ENDIAN_IN_JAVA:
            return schemas, [None if item is None else self._decode_marked(item) for item in data]
        return schemas, [None if item is None else item.decode(encoding, _AS_JAVA) for item in data]

    def _decode_marked(self, data: bytes) -> str:
        marked = data.startswith(_BYTE_ORDER_MARKS)
        encoding = self._encoding if marked else _BIG_ENDIAN_IN_JAVA[self._encoding]
        return data.decode(encoding, "replace")

    # -- writing ----------------------------------------------------------------------------

    def from_connect(
        self,
        topic: str,
        schema: Schema | None,
        value: Any,
        headers: MutableSequence[tuple[str, bytes | None]] | None = None,  # noqa: ARG002
    ) -> bytes | None:
        return self.from_connect_batch(topic, [schema], [value], [[]])[0]

    def from_connect_batch(
        self,
        topic: str,  # noqa: ARG002
        schemas: Sequence[Schema | None],
        values: Sequence[Any],
        headers: Sequence[MutableSequence[tuple[str, bytes | None]]],  # noqa: ARG002
    ) -> list[bytes | None]:
        texts = [
            value if value is None or value.__class__ is str else writer_for(schema)(value)
            for schema, value in zip(schemas, values, strict=True)
        ]
        encoding = _BIG_ENDIAN_IN_JAVA.get(self._encoding, self._encoding)
        mark = codecs.BOM_UTF16_BE if self._encoding == "utf-16" else b""
        return [
            text if text is None else mark + text.encode(encoding, "replace") if text else b""
            for text in texts
        ]

    # -- headers ----------------------------------------------------------------------------
