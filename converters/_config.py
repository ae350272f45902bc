"""What the configs of all converters begin with."""

from __future__ import annotations

from collections.abc import Mapping

from connect import Config, ConfigDef, Importance
from connect.config.validators import one_of


def converter_config() -> ConfigDef:
    return ConfigDef().define(
        "converter.type",
        doc="How this converter will be used.",
        importance=Importance.LOW,
        validator=one_of("key", "value", "header"),
    )


def parse(definition: ConfigDef, config: Mapping[str, str], *, is_key: bool | None) -> Config:
    """The parsed settings; the worker, not the user, says what the converter is used for."""
    kind = "header" if is_key is None else "key" if is_key else "value"
    return definition.parse({**config, "converter.type": kind})
