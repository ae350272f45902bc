"""The Avro converter, in the format of the Confluent one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from connect import Config, ConfigDef, MissingExtraError, Schema
from converters.avro.from_connect import avro_schema
from converters.avro.generating import generate
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
        by_the_book = compile_reader(avro, connect_schema)
        if connect_schema is None or avro.type == "bytes":  # which is all there is of a record
            return Decoder(connect_schema, by_the_book)
        generated = generate(avro, connect_schema)

        def decode(data: bytes, start: int) -> Any:
            try:
                return generated.values([data], start)[0]
            except Exception:  # noqa: BLE001 - what it is, the book says
                return by_the_book(data, start)

        return Decoder(connect_schema, decode, generated.values, generated.columns)

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
