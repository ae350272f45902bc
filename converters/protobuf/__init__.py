"""The Protobuf converter, in the format of the Confluent one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from connect import Config, ConfigDef, MissingExtraError, Schema
from converters.protobuf.compiling import ProtoFile
from converters.protobuf.from_connect import proto_file
from converters.protobuf.reading import compile_decoder
from converters.protobuf.settings import ProtobufSettings
from converters.protobuf.to_connect import connect_schema
from converters.protobuf.writing import compile_writer
from converters.registry.client import LruCache, RegisteredSchema
from converters.registry.config import REGISTRY_CONFIG
from converters.registry.converter import Decoder, Encoder, RegistryConverter
from converters.registry.framing import PREFIX_LENGTH

__all__ = ["ProtobufConverter"]


class ProtobufConverter(RegistryConverter):
    """Protobuf, with schemas in a registry, as io.confluent.connect.protobuf.ProtobufConverter.

    Message types are made at run time from the registry's text.
    """

    format_name = "Protobuf"
    schema_type = "PROTOBUF"
    extra = "protobuf"
    # The id and the single 0 that stands for the first message of a file.
    key_length: ClassVar[int] = PREFIX_LENGTH + 1
    config_def: ClassVar[ConfigDef] = REGISTRY_CONFIG.including(ProtobufSettings.config_def())

    def configure_format(self, config: Config) -> None:
        try:
            import google.protobuf  # noqa: F401, PLC0415
            import grpc_tools  # noqa: F401, PLC0415
        except ImportError as error:
            raise MissingExtraError(self.extra, "ProtobufConverter") from error
        self._settings = ProtobufSettings.of(config)
        self._files: LruCache[tuple[str, ...], ProtoFile] = LruCache(config["schemas.cache.config"])

    def schema_name(self, schema: RegisteredSchema, indexes: tuple[int, ...]) -> str | None:
        return self._file(schema, self._registry.resolve(schema)).full_name(indexes)

    def compile_decoder(
        self,
        schema: RegisteredSchema,
        references: Mapping[str, RegisteredSchema],
        version: int | None,
        indexes: tuple[int, ...],
    ) -> Decoder:
        file = self._file(schema, references)
        descriptor = file.descriptor(file.full_name(indexes))
        found = connect_schema(descriptor, self._settings, version)
        return compile_decoder(descriptor, found, self._settings)

    def describe(self, schema: Schema | None) -> tuple[str, str | None]:
        return proto_file(schema, self._settings)

    def compile_encoder(
        self,
        schema: Schema | None,
        target: RegisteredSchema,
        references: Mapping[str, RegisteredSchema],
        *,
        strict: bool,  # noqa: ARG002
    ) -> Encoder:
        assert schema is not None
        file = self._file(target, references)
        # With a schema that is not our own, its message of the record's name, or its first.
        indexes = file.indexes_of(proto_file(schema, self._settings)[1]) or (0,)
        descriptor = file.descriptor(file.full_name(indexes))
        return Encoder(compile_writer(schema, descriptor, self._settings), indexes)

    def _file(
        self, schema: RegisteredSchema, references: Mapping[str, RegisteredSchema]
    ) -> ProtoFile:
        texts = {name: other.text for name, other in references.items()}
        key = (schema.text, *texts, *texts.values())
        file = self._files.recall(key)
        if file is None:
            file = ProtoFile(schema.text, texts)
            self._files.keep(key, file)
        return file
