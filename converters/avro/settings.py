"""The keys of the Avro converter's data side, and what they are called in the code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connect import Config, ConfigDef, ConfigType, Importance

AVRO_CONFIG: Final = (
    ConfigDef()
    .define(
        "connect.meta.data",
        ConfigType.BOOLEAN,
        default=True,
        importance=Importance.LOW,
        doc="Whether a schema's version, doc, parameters, default and name are kept in the Avro "
        "schema as connect.* attributes, and taken from there.",
        group="Data",
    )
    .define(
        "enhanced.avro.schema.support",
        ConfigType.BOOLEAN,
        default=False,
        importance=Importance.MEDIUM,
        doc="Whether enums are written as enums, not as strings, and members of a union carry "
        "their namespace in their field's name.",
        group="Data",
    )
    .define(
        "scrub.invalid.names",
        ConfigType.BOOLEAN,
        default=False,
        importance=Importance.MEDIUM,
        doc="Whether characters that Avro does not allow in names are replaced.",
        group="Data",
    )
    .define(
        "discard.type.doc.default",
        ConfigType.BOOLEAN,
        default=False,
        importance=Importance.LOW,
        doc="Whether doc and default of an Avro field become the field schema's own, as early "
        "versions did, and are not kept apart as parameters.",
        group="Data",
    )
    .define(
        "allow.optional.map.keys",
        ConfigType.BOOLEAN,
        default=False,
        importance=Importance.LOW,
        doc="Whether a map with optional string keys is written as an Avro map, not as an array "
        "of entries.",
        group="Data",
    )
    .define(
        "flatten.singleton.unions",
        ConfigType.BOOLEAN,
        default=True,
        importance=Importance.LOW,
        doc="Whether a union of a single type is read as that type.",
        group="Data",
    )
    .define(
        "flatten.unions",
        ConfigType.BOOLEAN,
        default=True,
        importance=Importance.LOW,
        doc="Another name of flatten.singleton.unions.",
        group="Data",
    )
)


@dataclass(frozen=True, slots=True)
class AvroSettings:
    metadata: bool = True
    enhanced: bool = False
    generalized_sums: bool = False
    scrub_names: bool = False
    discard_type_doc_default: bool = False
    optional_map_keys: bool = False
    flatten_singleton_unions: bool = True
    keep_null_with_default: bool = False

    @classmethod
    def of(cls, config: Config) -> AvroSettings:
        return cls(
            metadata=config["connect.meta.data"],
            enhanced=config["enhanced.avro.schema.support"],
            generalized_sums=config["generalized.sum.type.support"],
            scrub_names=config["scrub.invalid.names"],
            discard_type_doc_default=config["discard.type.doc.default"],
            optional_map_keys=config["allow.optional.map.keys"],
            flatten_singleton_unions=config["flatten.singleton.unions"]
            and config["flatten.unions"],
            keep_null_with_default=config["ignore.default.for.nullables"],
        )
