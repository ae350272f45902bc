"""The keys of the JSON Schema converter's data side, and what they are called in the code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from connect import Importance
from connect.config.validators import one_of_ignoring_case
from converters.registry.settings import FormatSettings, setting

NAMESPACE: Final = "io.confluent.connect.json"
# The parameter that names a struct which contains itself.
ID: Final = f"{NAMESPACE}.Id"
ENUM: Final = f"{NAMESPACE}.Enum"
ONE_OF: Final = f"{NAMESPACE}.OneOf"
NULL_SYMBOL: Final = "<NULL>"


@dataclass(frozen=True, slots=True)
class JsonSchemaSettings(FormatSettings):
    validate: bool = setting(
        "json.fail.invalid.schema", False,
        "Whether every record is validated against its JSON Schema, read or written.",
    )  # fmt: skip
    decimal_format: str = setting(
        "decimal.format", "BASE64",
        "How decimals are written: BASE64 of the unscaled number, or NUMERIC. Both are read.",
        importance=Importance.LOW, validator=one_of_ignoring_case("BASE64", "NUMERIC"),
    )  # fmt: skip
    additional_properties: bool = setting(
        "object.additional.properties", True,
        "Whether the schemas that are registered allow properties that they don't name.",
    )  # fmt: skip
    optional_for_nonrequired: bool = setting(
        "use.optional.for.nonrequired", False,
        "Whether a property that the JSON Schema does not require is read as optional.",
    )  # fmt: skip
    flatten_singleton_unions: bool = setting(
        "flatten.singleton.unions", True,
        "Whether a oneOf, anyOf or allOf of a single schema is read as that schema.",
        importance=Importance.LOW,
    )  # fmt: skip

    @property
    def numeric_decimals(self) -> bool:
        return self.decimal_format.upper() == "NUMERIC"
