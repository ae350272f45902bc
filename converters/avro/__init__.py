"""The Avro converter, in the format of the Confluent one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from connect import Config, ConfigDef, MissingExtraError, Schema
from converters.avro.from_connect import avro_schema
from converters.avro.model import AvroType, parse
from converters.avro.reading import compile_reader
from converters.avro.settings import AvroSettings
from converters.avro.to_connect import ConnectSchemas
from converters.avro.writing import compile_writer
from converters.registry.client import RegisteredSchema
from converters.registry.config import REGISTRY_CONFIG
from converters.registry.converter import Decoder, Encoder, RegistryConverter

__all__ = ["AvroConverter"]


class AvroConverter(RegistryConverter):
    """Avro, with schemas in a registry, as io.confluent.connect.avro.AvroConverter writes it."""

    format_name = "Avro"
    schema_type = "AVRO"
    extra = "avro"
    config_def: ClassVar[ConfigDef] = REGISTRY_CONFIG.including(AvroSettings.config_def())

    def configure_format(self, config: Config) -> None:
        try:
            import fastavro  # noqa: F401, PLC0415
        except ImportError as error:
            raise MissingExtraError(self.extra, "AvroConverter") from error
        self._settings = AvroSettings.of(config)
        self._schemas = ConnectSchemas(self._settings)

    def schema_name(self, schema: RegisteredSchema, indexes: tuple[int, ...]) -> str | None:  # noqa: ARG002
        return parse(schema.text, self._texts(self._registry.resolve(schema))).name

    def compile_decoder(
        self,
        schema: RegisteredSchema,
        references: Mapping[str, RegisteredSchema],
        version: int | None,
        indexes: tuple[int, ...],  # noqa: ARG002
    ) -> Decoder:
        avro = self._parse(schema, references)
        connect_schema = self._schemas.of(avro, version)
        return Decoder(connect_schema, compile_reader(avro, connect_schema))

    def describe(self, schema: Schema | None) -> tuple[str, str | None]:
        return avro_schema(schema, self._settings)

    def compile_encoder(
        self,
        schema: Schema | None,
        target: RegisteredSchema,
        references: Mapping[str, RegisteredSchema],
        *,
        strict: bool,
    ) -> Encoder:
        avro = self._parse(target, references)
        return Encoder(compile_writer(schema, avro, self._settings, strict=strict))

    def _parse(
        self, schema: RegisteredSchema, references: Mapping[str, RegisteredSchema]
    ) -> AvroType:
        return parse(schema.text, self._texts(references))

    @staticmethod
    def _texts(references: Mapping[str, RegisteredSchema]) -> dict[str, str]:
        return {name: schema.text for name, schema in references.items()}
