"""The JSON Schema converter, in the format of the Confluent one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar

from connect import Config, ConfigDef, DataError, MissingExtraError, Schema
from converters.json_schema.documents import Document
from converters.json_schema.from_connect import json_schema, name_of
from converters.json_schema.reading import compile_reader
from converters.json_schema.settings import JsonSchemaSettings
from converters.json_schema.to_connect import check_compatible, connect_schema
from converters.json_schema.writing import compile_writer
from converters.registry.client import RegisteredSchema
from converters.registry.config import REGISTRY_CONFIG
from converters.registry.converter import Decoder, Encoder, RegistryConverter

__all__ = ["JsonSchemaConverter"]


class JsonSchemaConverter(RegistryConverter):
    """JSON with its schema in a registry, as io.confluent.connect.json.JsonSchemaConverter has it.

    Where the JVM's turns a string that should be a number into 0, this one refuses the record.
    """

    format_name = "JSON"
    schema_type = "JSON"
    extra = "json-schema"
    config_def: ClassVar[ConfigDef] = REGISTRY_CONFIG.including(JsonSchemaSettings.config_def())

    def configure_format(self, config: Config) -> None:
        try:
            import jsonschema  # noqa: F401, PLC0415
        except ImportError as error:
            raise MissingExtraError(self.extra, "JsonSchemaConverter") from error
        self._settings = JsonSchemaSettings.of(config)

    def schema_name(self, schema: RegisteredSchema, indexes: tuple[int, ...]) -> str | None:  # noqa: ARG002
        try:
            title = json.loads(schema.text).get("title")
        except (ValueError, AttributeError):
            return None
        return title if isinstance(title, str) else None

    def compile_decoder(
        self,
        schema: RegisteredSchema,
        references: Mapping[str, RegisteredSchema],
        version: int | None,
        indexes: tuple[int, ...],  # noqa: ARG002
    ) -> Decoder:
        document = self._document(schema, references)
        found = connect_schema(document, self._settings, version)
        validate = document.validator() if self._settings.validate else None
        return Decoder(found, compile_reader(found, validate))

    def describe(self, schema: Schema | None) -> tuple[str, str | None]:
        name = name_of(schema)
        assert schema is not None
        return json_schema(schema, self._settings), name

    def compile_encoder(
        self,
        schema: Schema | None,
        target: RegisteredSchema,
        references: Mapping[str, RegisteredSchema],
        *,
        strict: bool,
    ) -> Encoder:
        assert schema is not None
        validate = None
        if self._settings.validate or strict:
            document = self._document(target, references)
            if strict:
                check_compatible(schema, connect_schema(document, self._settings, None))
            if self._settings.validate:
                validate = document.validator()
        # The JSON itself does not depend on the schema it is written with.
        return Encoder(compile_writer(schema, self._settings, validate))

    @staticmethod
    def _document(schema: RegisteredSchema, references: Mapping[str, RegisteredSchema]) -> Document:
        try:
            return Document(schema.text, {name: s.text for name, s in references.items()})
        except (TypeError, AttributeError) as error:
            raise DataError(f"The JSON Schema is broken: {error!r}") from error
