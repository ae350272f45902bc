"""The keys of the Avro converter's data side, and what they are called in the code."""

from __future__ import annotations

from dataclasses import dataclass

from connect import Importance
from converters.registry.settings import FormatSettings, setting


@dataclass(frozen=True, slots=True)
class AvroSettings(FormatSettings):
    metadata: bool = setting(
        "connect.meta.data", True,
        "Whether a schema's version, doc, parameters, default and name are kept in the Avro schema "
        "as connect.* attributes, and taken from there.",
        importance=Importance.LOW,
    )  # fmt: skip
    enhanced: bool = setting(
        "enhanced.avro.schema.support", False,
        "Whether enums are written as enums, not as strings, and members of a union carry their "
        "namespace in their field's name.",
    )  # fmt: skip
    scrub_names: bool = setting(
        "scrub.invalid.names", False,
        "Whether characters that Avro does not allow in names are replaced.",
    )  # fmt: skip
    discard_type_doc_default: bool = setting(
        "discard.type.doc.default", False,
        "Whether doc and default of an Avro field become the field schema's own, as early versions "
        "did, and are not kept apart as parameters.",
        importance=Importance.LOW,
    )  # fmt: skip
    optional_map_keys: bool = setting(
        "allow.optional.map.keys", False,
        "Whether a map with optional string keys is written as an Avro map, not as an array of "
        "entries.",
        importance=Importance.LOW,
    )  # fmt: skip
    flatten_singletons: bool = setting(
        "flatten.singleton.unions", True,
        "Whether a union of a single type is read as that type.",
        importance=Importance.LOW,
    )  # fmt: skip
    flatten_unions: bool = setting(
        "flatten.unions", True,
        "Another name of flatten.singleton.unions.",
        importance=Importance.LOW,
    )  # fmt: skip

    @property
    def flatten_singleton_unions(self) -> bool:
        return self.flatten_singletons and self.flatten_unions
