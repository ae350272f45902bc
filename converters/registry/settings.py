"""A format's settings: each with key, default and doc, said once beside its name in the code."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Final, Self

from connect import Config, ConfigDef, ConfigType, Importance

# How unions and enums are marked when all formats are to understand them.
GENERAL_UNION: Final = "org.apache.kafka.connect.data.Union"
GENERAL_ENUM: Final = "org.apache.kafka.connect.data.Enum"


def setting(key: str, default: Any, doc: str, **more: Any) -> Any:
    """A field of settings. `more` goes to ConfigDef.define."""
    return field(default=default, metadata={"key": key, "doc": doc, **more})


@dataclass(frozen=True, slots=True)
class FormatSettings:
    """What all formats have. A format adds its own."""

    generalized_sums: bool = setting(
        "generalized.sum.type.support", False,
        "Whether enums and unions take the form that Avro, Protobuf and JSON Schema share, so that "
        "a record can be read in one format and written in another.",
    )  # fmt: skip
    keep_null_with_default: bool = setting(
        "ignore.default.for.nullables", False,
        "Whether a null in an optional field with a default stays null when it is written.",
    )  # fmt: skip

    @classmethod
    def config_def(cls) -> ConfigDef:
        """The keys."""
        config = ConfigDef()
        for each in fields(cls):
            more = {"importance": Importance.MEDIUM, "group": "Data", **each.metadata}
            kind = ConfigType.BOOLEAN if isinstance(each.default, bool) else ConfigType.STRING
            config = config.define(more.pop("key"), kind, each.default, **more)
        return config

    @classmethod
    def of(cls, config: Config) -> Self:
        return cls(**{each.name: config[each.metadata["key"]] for each in fields(cls)})
