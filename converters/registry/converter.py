"""The two directions of a registry converter, with readers and writers kept per schema."""

from __future__ import annotations

import abc
import time
from collections.abc import Callable, Iterator, Mapping, MutableSequence, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from connect import (
    Config,
    ConnectError,
    Converter,
    DataError,
    RetriableError,
    Schema,
    SchemaAndValue,
)
from connect.data.columns import Columns
from connect.plugin import RawHeaders
from converters._config import parse
from converters.registry import framing
from converters.registry.client import LruCache, RegisteredSchema, Registry, without_client_prefix
from converters.registry.config import HEADER_WRITER, PREFIX_READER
from converters.registry.subjects import SubjectNameStrategy, subject_name_strategy

_NOTHING = SchemaAndValue(None, None)


@dataclass(slots=True)
class Decoder:
    """How to read the payloads of one schema: `decode(data, start)`.

    A format may have quicker ways for many that start alike. They raise some error where one of
    the payloads is unusual.
    """

    schema: Schema | None
    decode: Callable[[bytes, int], Any]
    decode_many: Callable[[Sequence[bytes], int], list[Any]] | None = None
    # A struct's fields, a list each.
    columns: Callable[[Sequence[bytes], int], dict[str, Sequence[Any]]] | None = None


@dataclass(slots=True)
class Encoder:
    """How to write the values of one schema: `encode(value, prefix)` gives prefix and payload."""

    encode: Callable[[Any, bytes], bytes]
    # The path to the message type, for Protobuf.
    indexes: tuple[int, ...] | None = None


class _Reader:
    __slots__ = ("columns", "decode", "decode_many", "schema", "start")

    def __init__(self, decoder: Decoder, start: int) -> None:
        self.schema = decoder.schema
        self.decode = decoder.decode
        self.decode_many = decoder.decode_many or self._one_by_one
        self.columns = decoder.columns
        self.start = start

    def _one_by_one(self, data: Sequence[bytes], start: int) -> list[Any]:
        decode = self.decode
        return [decode(item, start) for item in data]


@dataclass(slots=True)
class _Writer:
    # Held so that the id() under which the writer is kept stays taken.
    schema: Schema | None
    encode: Callable[[Any, bytes], bytes]
    prefix: bytes
    header: tuple[str, bytes] | None


class RegistryConverter(Converter, abc.ABC):
    """Reads and writes records whose schemas are in a registry. A format fills in four methods.

    A schema is fetched and compiled when its first record comes; after that a record costs one
    look into a dict. The same schema id gives the same Connect Schema object.
    """

    format_name: ClassVar[str]
    schema_type: ClassVar[str]
    extra: ClassVar[str]
    # How many bytes at the start of a payload name its schema in the common case.
    key_length: ClassVar[int] = framing.PREFIX_LENGTH

    # -- a format's own part ----------------------------------------------------------------

    def configure_format(self, config: Config) -> None:
        """Take the format's own settings."""

    @abc.abstractmethod
    def schema_name(self, schema: RegisteredSchema, indexes: tuple[int, ...]) -> str | None:
        """The record's name in a registered schema, for subjects made of it."""

    @abc.abstractmethod
    def compile_decoder(
        self,
        schema: RegisteredSchema,
        references: Mapping[str, RegisteredSchema],
        version: int | None,
        indexes: tuple[int, ...],
    ) -> Decoder:
        """The way to read what was written with this schema."""

    @abc.abstractmethod
    def describe(self, schema: Schema | None) -> tuple[str, str | None]:
        """A Connect schema as this format's text, and the name of its record."""

    @abc.abstractmethod
    def compile_encoder(
        self,
        schema: Schema | None,
        target: RegisteredSchema,
        references: Mapping[str, RegisteredSchema],
        *,
        strict: bool,
    ) -> Encoder:
        """The way to write values of the Connect schema with the registered one.

        Strict: refuse a pair that could fail for some values, not only the values themselves.
        """

    # -- settings ---------------------------------------------------------------------------

    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        parsed = parse(self.config_def, without_client_prefix(config), is_key=is_key)
        side = "key" if is_key else "value"
        self._is_key = is_key
        self._header_name = framing.KEY_HEADER if is_key else framing.VALUE_HEADER
        self._subject: SubjectNameStrategy = subject_name_strategy(
            parsed[f"{side}.subject.name.strategy"], is_key=is_key
        )
        self._reads_header = not _is(parsed[f"{side}.schema.id.deserializer"], PREFIX_READER)
        self._writes_header = _is(parsed[f"{side}.schema.id.serializer"], HEADER_WRITER)
        self._auto_register: bool = parsed["auto.register.schemas"]
        self._use_id: int = parsed["use.schema.id"]
        self._id_strict: bool = parsed["id.compatibility.strict"]
        self._use_latest: bool = parsed["use.latest.version"]
        self._latest_strict: bool = parsed["latest.compatibility.strict"]
        self._latest_ttl: int = parsed["latest.cache.ttl.sec"]
        self._writers_good_until = float("inf")
        self._cache_size: int = parsed["schemas.cache.config"]
        self._readers: dict[str, dict[bytes, _Reader]] = {}
        self._writers: dict[str, dict[int, _Writer]] = {}
        self._by_schema: LruCache[tuple[str, Schema | None], _Writer] = LruCache(self._cache_size)
        self._failures: LruCache[tuple[Any, ...], tuple[float, str]] = LruCache(self._cache_size)
        self._failures_ttl: int = parsed["missing.id.cache.ttl.sec"]
        self._registry = Registry(parsed, self.extra)
        self.configure_format(parsed)

    # -- reading ----------------------------------------------------------------------------

    def to_connect(
        self, topic: str, data: bytes | None, headers: RawHeaders = ()
    ) -> SchemaAndValue:
        if data is None:
            return _NOTHING
        try:
            reader = self._reader(topic, data, headers)
            return SchemaAndValue(reader.schema, reader.decode(data, reader.start))
        except Exception as error:  # noqa: BLE001
            self._unreadable(topic, data, headers, error)

    def to_connect_batch(
        self, topic: str, data: Sequence[bytes | None], headers: Sequence[RawHeaders]
    ) -> tuple[list[Schema | None], list[Any]]:
        if not any(headers) and (common := self._common_reader(topic, data)):
            with suppress(Exception):  # whose it is, is found next
                values = common.decode_many(data, common.start)  # type: ignore[arg-type]
                return [common.schema] * len(data), values
        readers = self._readers.setdefault(topic, {})
        length = self.key_length
        schemas: list[Schema | None] = []
        values = []
        for item, raw in zip(data, headers, strict=True):
            if item is None:
                schemas.append(None)
                values.append(None)
                continue
            try:
                reader = None if raw else readers.get(item[:length])
                if reader is None:
                    reader = self._reader(topic, item, raw)
                values.append(reader.decode(item, reader.start))
            except Exception as error:  # noqa: BLE001
                self._unreadable(topic, item, raw, error)
            schemas.append(reader.schema)
        return schemas, values

    def to_connect_columns(
        self, topic: str, data: Sequence[bytes | None]
    ) -> tuple[Columns, dict[int, Exception]] | None:
        common = self._common_reader(topic, data)
        if common is None or common.columns is None:
            return None
        found = common.columns(data, common.start)  # type: ignore[arg-type]
        return Columns(common.schema, found), {}

    def _common_reader(self, topic: str, data: Sequence[bytes | None]) -> _Reader | None:
        """The reader of all of these, if their schema is the same and has been met before."""
        if None in data:
            return None
        length = self.key_length
        prefixes = {item[:length] for item in data}  # type: ignore[index]
        return self._readers.get(topic, {}).get(prefixes.pop()) if len(prefixes) == 1 else None

    def _reader(self, topic: str, data: bytes, headers: RawHeaders) -> _Reader:
        readers = self._readers.setdefault(topic, {})
        named = self._named_in_header(headers)
        if named is None:
            reader = readers.get(data[: self.key_length])
            if reader is not None:
                return reader
            frame = framing.parse(data, self.schema_type)
            key, start = data[: frame.length], frame.length
        else:
            # A payload's prefix is never as long as a header with a GUID, so one dict serves both.
            reader = readers.get(named)
            if reader is not None:
                return reader
            frame = framing.parse(named, self.schema_type)
            key, start = named, 0
        reader = readers.get(key)
        if reader is None:
            with self._once(("read", topic, key)):
                reader = self._new_reader(topic, frame, start)
            if len(readers) >= self._cache_size:
                readers.clear()
            readers[key] = reader
        return reader

    def _named_in_header(self, headers: RawHeaders) -> bytes | None:
        if self._reads_header:
            for name, value in reversed(headers):
                if name == self._header_name and value is not None:
                    return value
        return None

    def _new_reader(self, topic: str, frame: framing.Frame, start: int) -> _Reader:
        if frame.guid is not None:
            schema = self._registry.by_guid(frame.guid)
        else:
            assert frame.id is not None
            schema = self._registry.by_id(frame.id)
        if schema.type != self.schema_type:
            raise DataError(
                f"{frame} is of type {schema.type}, and this converter reads {self.schema_type}"
            )
        references = self._registry.resolve(schema)
        try:
            subject = self._subject(topic, self.schema_name(schema, frame.indexes))
            version = self._registry.version_of(subject, schema)
        except DataError:
            version = None
        return _Reader(self.compile_decoder(schema, references, version, frame.indexes), start)

    def _unreadable(
        self, topic: str, data: bytes, headers: RawHeaders, error: Exception
    ) -> NoReturn:
        if isinstance(error, ConnectError) and not isinstance(error, DataError):
            raise error
        try:
            where = f" ({framing.parse(self._named_in_header(headers) or data, self.schema_type)})"
        except DataError:
            where = ""
        reason = "the data ends too early" if isinstance(error, EOFError) else _reason(error)
        side = "key" if self._is_key else "value"
        raise DataError(
            f"Failed to deserialize the {side} of a record of topic {topic}, {len(data)} bytes"
            f"{where}, from {self.format_name}: {reason}"
        ) from error

    @contextmanager
    def _once(self, what: tuple[Any, ...]) -> Iterator[None]:
        """Remember a schema that can't be used, so that not every record of it is a request.

        Not for ever: it may be registered, or its subject opened, in the meantime.
        """
        failed = self._failures.recall(what)
        if failed is not None:
            if time.monotonic() - failed[0] < self._failures_ttl:
                raise DataError(failed[1])
            del self._failures[what]
        try:
            yield
        except DataError as error:
            self._failures.keep(what, (time.monotonic(), str(error)))
            raise

    # -- writing ----------------------------------------------------------------------------

    def from_connect(
        self,
        topic: str,
        schema: Schema | None,
        value: Any,
        headers: MutableSequence[tuple[str, bytes | None]] | None = None,
    ) -> bytes | None:
        if value is None:
            _check_null(schema)
            return None
        try:
            writer = self._writer(topic, schema)
            data = writer.encode(value, writer.prefix)
        except Exception as error:  # noqa: BLE001
            self._unwritable(topic, schema, value, error)
        if writer.header is not None:
            if headers is None:
                raise ConnectError("HeaderSchemaIdSerializer needs a record with headers")
            headers.append(writer.header)
        return data

    def from_connect_batch(
        self,
        topic: str,
        schemas: Sequence[Schema | None],
        values: Sequence[Any],
        headers: Sequence[MutableSequence[tuple[str, bytes | None]]],
    ) -> list[bytes | None]:
        if self._writes_header:
            return super().from_connect_batch(topic, schemas, values, headers)
        written: list[bytes | None] = []
        last: object = self  # no schema is this
        encode: Callable[[Any, bytes], bytes]
        prefix = b""
        for schema, value in zip(schemas, values, strict=True):
            if value is None:
                _check_null(schema)
                written.append(None)
                continue
            try:
                if schema is not last:
                    writer = self._writer(topic, schema)
                    encode, prefix, last = writer.encode, writer.prefix, schema
                written.append(encode(value, prefix))
            except Exception as error:  # noqa: BLE001
                self._unwritable(topic, schema, value, error)
        return written

    def _writer(self, topic: str, schema: Schema | None) -> _Writer:
        if time.monotonic() > self._writers_good_until:
            self._writers.clear()
            self._by_schema.clear()
            self._writers_good_until = float("inf")
        writers = self._writers.setdefault(topic, {})
        writer = writers.get(id(schema))
        if writer is None:
            # Some sources build the same schema anew for every batch.
            writer = self._by_schema.recall((topic, schema))
            if writer is None:
                with self._once(("write", topic, schema)):
                    writer = self._new_writer(topic, schema)
                self._by_schema.keep((topic, schema), writer)
            if len(writers) >= self._cache_size:
                writers.clear()
            writers[id(schema)] = _Writer(schema, writer.encode, writer.prefix, writer.header)
        return writer

    def _new_writer(self, topic: str, schema: Schema | None) -> _Writer:
        text, name = self.describe(schema)
        subject = self._subject(topic, name)
        strict = False
        if self._auto_register:
            target = self._registry.register(subject, self.schema_type, text)
        elif self._use_id >= 0:
            target, strict = self._registry.by_id(self._use_id), self._id_strict
        elif self._use_latest:
            target, strict = self._registry.latest(subject), self._latest_strict
            if self._latest_ttl >= 0:
                self._writers_good_until = min(
                    self._writers_good_until, time.monotonic() + self._latest_ttl
                )
        else:
            target = self._registry.lookup(subject, self.schema_type, text)
        if target.type != self.schema_type:
            raise DataError(
                f"The schema to write with under subject {subject} is of type {target.type}, and "
                f"this converter writes {self.schema_type}"
            )
        encoder = self.compile_encoder(
            schema, target, self._registry.resolve(target), strict=strict
        )
        if not self._writes_header:
            assert target.id is not None
            prefix = framing.prefix(self.schema_type, target.id, encoder.indexes)
            return _Writer(schema, encoder.encode, prefix, None)
        if target.guid is None:
            raise ConnectError(
                f"HeaderSchemaIdSerializer needs a schema registry that gives GUIDs, and "
                f"{self._registry.shown_urls} gives none: use PrefixSchemaIdSerializer"
            )
        value = framing.header(self.schema_type, target.guid, encoder.indexes)
        return _Writer(schema, encoder.encode, b"", (self._header_name, value))

    def _unwritable(
        self, topic: str, schema: Schema | None, value: Any, error: Exception
    ) -> NoReturn:
        if isinstance(error, ConnectError) and not isinstance(error, DataError):
            raise error
        reason = _reason(error)
        if schema is not None and not isinstance(error, DataError):
            try:
                schema.validate(value)
            except DataError as found:
                reason = str(found)
        side = "key" if self._is_key else "value"
        raise DataError(
            f"Failed to serialize the {side} of a record for topic {topic} to {self.format_name}: "
            f"{reason}"
        ) from error


def _is(given: str, class_name: str) -> bool:
    return given.rpartition(".")[2] == class_name.rpartition(".")[2]


def _check_null(schema: Schema | None) -> None:
    """A null is written as no bytes at all, a tombstone, where the schema allows it."""
    if schema is not None and not schema.optional:
        raise DataError(f"Found null value for non-optional schema {schema!r}")


def _reason(error: Exception) -> str:
    text = str(error)
    if isinstance(error, (DataError, RetriableError)):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
