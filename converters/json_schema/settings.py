"""The keys of the JSON Schema converter's data side, and what they are called in the code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connect import Config, ConfigDef, ConfigType, Importance
from connect.config.validators import one_of_ignoring_case

NAMESPACE: Final = "io.confluent.connect.json"
# The parameter that names a struct which contains itself.
ID: Final = f"{NAMESPACE}.Id"
ENUM: Final = f"{NAMESPACE}.Enum"
ONE_OF: Final = f"{NAMESPACE}.OneOf"
GENERAL_UNION: Final = "org.apache.kafka.connect.data.Union"
GENERAL_ENUM: Final = "org.apache.kafka.connect.data.Enum"
NULL_SYMBOL: Final = "<NULL>"

JSON_SCHEMA_CONFIG: Final = (
    ConfigDef()
    .define(
        "json.fail.invalid.schema",
        ConfigType.BOOLEAN,
        default=False,
        importance=Importance.MEDIUM,
        doc="Whether every record is validated against its JSON Schema, read or written.",
        group="Data",
    )
    .define(
        "decimal.format",
        default="BASE64",
        validator=one_of_ignoring_case("BASE64", "NUMERIC"),
        importance=Importance.LOW,
        doc="How decimals are written: BASE64 of the unscaled number, or NUMERIC. Both are read.",
        group="Data",
    )
    .define(
        "object.additional.properties",
        ConfigType.BOOLEAN,
        default=True,
        importance=Importance.MEDIUM,
        doc="Whether the schemas that are registered allow properties that they don't name.",
        group="Data",
    )
    .define(
        "use.optional.for.nonrequired",
        ConfigType.BOOLEAN,
        default=False,
        importance=Importance.MEDIUM,
        doc="Whether a property that the JSON Schema does not require is read as optional.",
        group="Data",
    )
    .define(
        "flatten.singleton.unions",
        ConfigType.BOOLEAN,
        default=True,
        importance=Importance.LOW,
        doc="Whether a oneOf, anyOf or allOf of a single schema is read as that schema.",
        group="Data",
    )
)


@dataclass(frozen=True, slots=True)
class JsonSchemaSettings:
    validate: bool = False
    numeric_decimals: bool = False
    additional_properties: bool = True
    optional_for_nonrequired: bool = False
    flatten_singleton_unions: bool = True
    generalized_sums: bool = False
    keep_null_with_default: bool = False

    @classmethod
    def of(cls, config: Config) -> JsonSchemaSettings:
        return cls(
            validate=config["json.fail.invalid.schema"],
            numeric_decimals=config["decimal.format"].upper() == "NUMERIC",
            additional_properties=config["object.additional.properties"],
            optional_for_nonrequired=config["use.optional.for.nonrequired"],
            flatten_singleton_unions=config["flatten.singleton.unions"],
            generalized_sums=config["generalized.sum.type.support"],
            keep_null_with_default=config["ignore.default.for.nullables"],
        )
