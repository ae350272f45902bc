"""JsonConverter: JSON, with the schema in an envelope or without one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, MutableSequence, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec

from connect import (
    ConfigType,
    DataError,
    Importance,
    Schema,
    SchemaAndValue,
    SerializationError,
    Width,
)
from connect.config.validators import one_of_ignoring_case
from connect.data.columns import Columns, has_null
from connect.plugin import RawHeaders
from converters import _config, _jackson
from converters._compiling import UNUSUAL, NotPlainError
from converters._headers import AlsoForHeaders
from converters._json_columns import BROKEN, ColumnWriter, Shape
from converters._json_envelope import node_of, schema_of
from converters._json_reading import compile_columns, compile_reader, read_node
from converters._json_writing import (
    Book,
    Writer,
    compile_writer,
    encode_plain,
    is_plain,
    made_plain,
)

_NOT_AN_ENVELOPE = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not '
    "contain additional fields. If you are trying to deserialize plain JSON data, set "
    "schemas.enable=false in your converter configuration."
)
_END = ord("}")  # of an envelope
# Topics carry few schemas at a time. A record whose envelope begins like one of the last few is
# read without looking at its schema again.
_RECENT = 8

K = TypeVar("K")
V = TypeVar("V")


class _Envelope(msgspec.Struct, forbid_unknown_fields=True):
    schema: msgspec.Raw
    payload: msgspec.Raw


_split_envelope = msgspec.json.Decoder(_Envelope).decode
_decode: Callable[[bytes | None], Any] = msgspec.json.Decoder().decode  # type: ignore[assignment]
_encode = msgspec.json.Encoder().encode
_NULL = SchemaAndValue(None, None)
# The same without a function in Python, for the one record that somebody waits for.
_pair: Callable[[tuple[Schema | None, Any]], SchemaAndValue] = partial(
    tuple.__new__, SchemaAndValue
)


class JsonConverter(AlsoForHeaders):
    """Keys, values and headers as JSON.

    With schemas.enable=true every message is {"schema": …, "payload": …}, or, where
    schema.content holds the schema, the payload alone. Without, whole numbers become int64 (and
    keep their value beyond it), others float64, objects maps.
    """

    config_def = (
        _config.converter_config()
        .define(
            "schemas.enable", ConfigType.BOOLEAN, True,
            doc="Include schemas within each of the serialized values and keys.",
            group="Schemas", width=Width.MEDIUM, display_name="Enable Schemas",
        )
        .define(
            "schemas.cache.size", ConfigType.INT, 1000,
            doc="The maximum number of schemas that can be cached in this converter instance.",
            group="Schemas", width=Width.MEDIUM, display_name="Schema Cache Size",
        )
        .define(
            "schema.content", ConfigType.STRING, None,
            doc="The schema of all messages, as JSON. Messages then hold the payload alone. Only "
            "for sinks, and only with schemas.enable=true.",
            group="Schemas", width=Width.MEDIUM, display_name="Schema Content",
        )
        .define(
            "decimal.format", ConfigType.STRING, "BASE64",
            doc="How decimals are written: BASE64 (their bytes) or NUMERIC. Case does not matter. "
            "Both are read.",
            importance=Importance.LOW, validator=one_of_ignoring_case("BASE64", "NUMERIC"),
            group="Serialization", width=Width.MEDIUM, display_name="Decimal Format",
        )
        .define(
            "replace.null.with.default", ConfigType.BOOLEAN, True,
            doc="Whether a null takes the default of its field, if there is one.",
            importance=Importance.LOW,
            group="Serialization", width=Width.MEDIUM, display_name="Replace null with default",
        )
    )  # fmt: skip

    def configure(self, config: Mapping[str, str], *, is_key: bool | None = None) -> None:
        settings = _config.parse(self.config_def, config, is_key=is_key)
        self._enveloped: bool = settings["schemas.enable"]
        self._replace_null: bool = settings["replace.null.with.default"]
        self._book = Book(
            numeric_decimals=settings["decimal.format"].upper() == "NUMERIC",
            replace_null=self._replace_null,
        )
        size: int = settings["schemas.cache.size"]
        self._schemas_by_text: _Bounded[bytes, Schema | None] = _Bounded(size)
        self._schemas: _Bounded[Schema, Schema] = _Bounded(size)
        self._readers: _Bounded[Schema | None, Callable[[bytes], Any]] = _Bounded(size)
        self._columns_readers: _Bounded[Schema | None, Callable[[Iterable[bytes]], Columns]] = (
            _Bounded(size)
        )
        self._writers: _Bounded[Schema, Writer] = _Bounded(size)
        self._writers_by_id: _Bounded[int, tuple[Schema, Writer]] = _Bounded(size)
        self._schemaless = Writer(self._write_schemaless, self._write_all_schemaless)  # type: ignore[arg-type]
        self._column_writers: _Bounded[int, tuple[Schema | None, ColumnWriter]] = _Bounded(size)
        self._shape: Shape | None = None
        self._recent: list[tuple[bytes, Schema | None, Callable[[bytes], Any]]] = []
        self._fixed_schema = self._parse_fixed_schema(settings["schema.content"])

    def _parse_fixed_schema(self, content: str | None) -> Schema | None:
        if not content or not self._enveloped:
            return None
        try:
            node = _jackson.parse(content.encode())
        except SerializationError as error:
            raise DataError(
                f"Failed to parse schema in converter config due to serialization error: {error}"
            ) from error
        return None if node is _jackson.MISSING else self._schema(node)

    # -- reading ----------------------------------------------------------------------------

    def to_connect(
        self, topic: str, data: bytes | None, headers: RawHeaders = ()
    ) -> SchemaAndValue:
        if data is None:
            return _NULL
        if not self._enveloped:
            try:
                return _pair((None, _decode(data)))
            except UNUSUAL:
                pass
        schemas, values = self.to_connect_batch(topic, [data], [headers])
        return SchemaAndValue(schemas[0], values[0])

    def to_connect_batch(
        self,
        topic: str,  # noqa: ARG002
        data: Sequence[bytes | None],
        headers: Sequence[RawHeaders],  # noqa: ARG002
    ) -> tuple[list[Schema | None], list[Any]]:
        if not self._enveloped and None not in data:
            try:
                return [None] * len(data), [*map(_decode, data)]
            except UNUSUAL:
                pass  # one of them is, and is found next
        return self._read(data, None)

    def to_connect_each(
        self,
        topic: str,  # noqa: ARG002
        data: Sequence[bytes | None],
        headers: Sequence[RawHeaders],  # noqa: ARG002
    ) -> tuple[list[Schema | None], list[Any], dict[int, Exception]]:
        failed: dict[int, Exception] = {}
        schemas, values = self._read(data, failed)
        return schemas, values, failed

    def to_connect_columns(
        self,
        topic: str,  # noqa: ARG002
        data: Sequence[bytes | None],
    ) -> tuple[Columns, dict[int, Exception]] | None:
        if self._enveloped:
            return self._struct_columns(data)
        shape = self._shape or Shape.of(data)
        self._shape = None  # until it has proved to be that of all
        found = shape.read(data) if shape is not None else None
        if found is not None:
            self._shape = shape
        return found

    def _struct_columns(self, data: Sequence[Any]) -> tuple[Columns, dict[int, Exception]] | None:
        """Columns if all are structs of one schema, with all of their fields."""
        schema, payloads = self._fixed_schema, data
        try:
            if schema is None:
                prefix, schema, _ = self._reader_for(data[0])
                begin = len(prefix)
                payloads = [i[begin:-1] for i in data if i.startswith(prefix) and i[-1] == _END]
            if len(payloads) == len(data):
                return self._columns_reader(schema)(payloads), {}
        except (AttributeError, TypeError, *UNUSUAL):
            pass  # nulls, or something unusual
        return None

    def _read(
        self, data: Sequence[bytes | None], failed: dict[int, Exception] | None
    ) -> tuple[list[Schema | None], list[Any]]:
        """Schemas and values. With `failed` those that can't be read go there, by their place."""
        if not self._enveloped or self._fixed_schema is not None:
            return self._read_payloads(self._fixed_schema, data, failed)
        return self._read_envelopes(data, failed)

    def _read_payloads(
        self,
        schema: Schema | None,
        data: Sequence[bytes | None],
        failed: dict[int, Exception] | None,
    ) -> tuple[list[Schema | None], list[Any]]:
        read = self._reader(schema)
        schemas = [schema] * len(data)
        values: list[Any] = []
        for i, item in enumerate(data):
            if item is None:
                schemas[i] = None
                values.append(None)
                continue
            try:
                try:
                    value = read(item)
                except UNUSUAL:
                    node = _parse(item)
                    value = read_node(schema, node, replace_null=self._replace_null)
            except Exception as error:
                if failed is None:
                    raise
                failed[i] = error
                value = None
            values.append(value)
        return schemas, values

    def _read_envelopes(
        self, data: Sequence[bytes | None], failed: dict[int, Exception] | None
    ) -> tuple[list[Schema | None], list[Any]]:
        schemas: list[Schema | None] = []
        values: list[Any] = []
        prefix, schema, read = self._recent[0] if self._recent else (b"\x00", None, _decode)
        start = len(prefix)
        for i, item in enumerate(data):
            if item is None:
                schemas.append(None)
                values.append(None)
                continue
            found = schema
            try:
                try:
                    if not item.startswith(prefix):
                        prefix, schema, read = self._reader_for(item)
                        start, found = len(prefix), schema
                    if item[-1] != _END:  # white space, or something else that is not usual
                        raise NotPlainError
                    value = read(item[start:-1])
                except UNUSUAL:
                    found, value = self._read_by_the_book(item)
            except Exception as error:
                if failed is None:
                    raise
                failed[i] = error
                found = value = None
            schemas.append(found)
            values.append(value)
        return schemas, values

    def _reader_for(self, data: bytes) -> tuple[bytes, Schema | None, Callable[[bytes], Any]]:
        """The beginning of this envelope up to its payload, its schema, and the payload's reader.

        Whatever begins with the same bytes and ends with } is an envelope with that schema, if
        what lies in between is one JSON value.
        """
        recent = self._recent
        for i, entry in enumerate(recent):
            if data.startswith(entry[0]):
                recent.insert(0, recent.pop(i))
                return entry
        envelope = _split_envelope(data)
        text, payload = bytes(envelope.schema), bytes(envelope.payload)
        prefix = data[: -len(payload) - 1]
        layout = rb'\s*\{\s*"schema"\s*:\s*' + re.escape(text) + rb'\s*,\s*"payload"\s*:\s*'
        if not re.fullmatch(layout, prefix):
            raise NotPlainError  # payload first, or space at the end: read it by the book
        if text in self._schemas_by_text:
            schema = self._schemas_by_text[text]
        else:
            schema = self._schemas_by_text.put(text, self._schema(_parse(text)))
        entry = (prefix, schema, self._reader(schema))
        recent.insert(0, entry)
        del recent[_RECENT:]
        return entry

    def _read_by_the_book(self, data: bytes) -> tuple[Schema | None, Any]:
        node = _parse(data)
        if not isinstance(node, dict) or node.keys() != {"schema", "payload"}:
            raise DataError(_NOT_AN_ENVELOPE)
        schema = self._schema(node["schema"])
        return schema, read_node(schema, node["payload"], replace_null=self._replace_null)

    def _schema(self, node: Any) -> Schema | None:
        """The schema of a node: the same object for equal ones, so that others can cache by it."""
        schema = schema_of(node, lambda s, n: read_node(s, n, replace_null=self._replace_null))
        if schema is None:
            return None
        known = self._schemas.get(schema)
        return known if known is not None else self._schemas.put(schema, schema)

    def _reader(self, schema: Schema | None) -> Callable[[bytes], Any]:
        if schema is None:
            return _decode
        reader = self._readers.get(schema)
        if reader is None:
            reader = compile_reader(schema, replace_null=self._replace_null)
            self._readers.put(schema, reader)
        return reader

    def _columns_reader(self, schema: Schema | None) -> Callable[[Iterable[bytes]], Columns]:
        reader = self._columns_readers.get(schema)
        if reader is None:
            reader = compile_columns(schema, replace_null=self._replace_null)
            self._columns_readers.put(schema, reader)
        return reader

    # -- writing ----------------------------------------------------------------------------

    def from_connect(
        self,
        topic: str,  # noqa: ARG002
        schema: Schema | None,
        value: Any,
        headers: MutableSequence[tuple[str, bytes | None]] | None = None,  # noqa: ARG002
    ) -> bytes | None:
        return self._writer(schema).one(value)

    def from_connect_batch(
        self,
        topic: str,  # noqa: ARG002
        schemas: Sequence[Schema | None],
        values: Sequence[Any],
        headers: Sequence[MutableSequence[tuple[str, bytes | None]]],  # noqa: ARG002
    ) -> list[bytes | None]:
        if len(set(map(id, schemas))) == 1:
            try:
                return self._write_many(schemas[0], values)
            except (DataError, TypeError, *UNUSUAL):
                pass  # one of them is; the loop below finds it
        written: list[bytes | None] = []
        last: Schema | None = None
        write = self._writer(None).one
        for schema, value in zip(schemas, values, strict=True):
            if schema is not last:
                write, last = self._writer(schema).one, schema
            written.append(write(value))
        return written

    def from_connect_columns(
        self,
        topic: str,  # noqa: ARG002
        columns: Columns,
    ) -> Sequence[bytes] | None:
        try:
            return self._column_writer(columns.schema).write(columns.fields)
        except (DataError, TypeError, *UNUSUAL):
            return None

    def _column_writer(self, schema: Schema | None) -> ColumnWriter:
        known = self._column_writers.get(id(schema))
        if known is None:
            # The schema is kept beside its writer, so that no other can get its id meanwhile.
            known = (schema, ColumnWriter(schema, self._book, *self._around(schema)))
            self._column_writers.put(id(schema), known)
        return known[1]

    def _write_many(self, schema: Schema | None, values: Sequence[Any]) -> list[bytes | None]:
        if not has_null(values):
            return [*self._writer(schema).many(values)]
        if values.count(None) < len(values) or schema is not None:
            raise NotPlainError
        return [None] * len(values)

    def _writer(self, schema: Schema | None) -> Writer:
        if schema is None:
            return self._schemaless
        by_id = self._writers_by_id.get(id(schema))
        if by_id is not None:
            return by_id[1]
        writer = self._writers.get(schema)
        if writer is None:
            writer = self._writers.put(schema, self._compile_writer(schema))
        # The schema is kept beside its writer, so that no other can get its id meanwhile.
        self._writers_by_id.put(id(schema), (schema, writer))
        return writer

    def _around(self, schema: Schema | None) -> tuple[bytes, bytes]:
        """What stands before and behind a payload of this schema."""
        if not self._enveloped:
            return b"", b""
        if schema is None:
            return b'{"schema":null,"payload":', b"}"
        try:
            described = _jackson.dump(node_of(schema, self._book.node))
        except RecursionError:
            raise DataError(
                f"Schema {schema.name} contains itself: JSON can't describe it"
            ) from None
        return b'{"schema":' + described + b',"payload":', b"}"

    def _compile_writer(self, schema: Schema) -> Writer:
        book, write = self._book, compile_writer(schema, self._book)
        prefix, suffix = self._around(schema)

        def write_whole(value: Any) -> bytes:
            try:
                return prefix + write.one(value) + suffix
            except UNUSUAL:
                return prefix + _dump(book.node(schema, value)) + suffix

        def write_all(values: Sequence[Any]) -> list[bytes]:
            texts = write.many(values)
            return [prefix + text + suffix for text in texts] if prefix else texts

        return Writer(write_whole, write_all)

    def _write_all_schemaless(self, values: Sequence[Any]) -> list[bytes]:
        texts = encode_plain(values)
        prefix, suffix = self._around(None)
        return [prefix + text + suffix for text in texts] if prefix else texts

    def _write_schemaless(self, value: Any) -> bytes | None:
        if value is None:
            return None
        try:
            text = _encode(value if is_plain(value) else made_plain(value))
            if not text.isascii() or b"\\u00" in text:
                text = _jackson.with_jackson_escapes(text)
        except (TypeError, *UNUSUAL):
            text = _dump(self._book.node(None, value))
        prefix, suffix = self._around(None)
        return prefix + text + suffix


def _parse(data: bytes) -> Any:
    try:
        return _jackson.parse(data)
    except SerializationError as error:
        raise DataError(f"{BROKEN}{error}") from error


def _dump(node: Any) -> bytes:
    try:
        return _jackson.dump(node)
    except RecursionError as error:
        raise DataError(
            "Converting Kafka Connect data to byte[] failed due to serialization error: "
            "The value is nested too deeply"
        ) from error


class _Bounded(dict[K, V], Generic[K, V]):
    """A dict that forgets its oldest entry when it grows beyond its size."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = max(size, 1)

    def put(self, key: K, value: V) -> V:
        if len(self) >= self.size and key not in self:
            del self[next(iter(self))]
        self[key] = value
        return value
