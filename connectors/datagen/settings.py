"""Datagen's config keys, and the schema they name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

from connect import ConfigDef, ConfigError, ConfigType, Importance
from connect.config.validators import at_least, between, non_empty, one_of, satisfies
from connectors.datagen.generator import GeneratorError, generator

SCHEMA_KEYS: Final = ("schema.string", "schema.filename", "quickstart")


@cache
def quickstarts() -> dict[str, str]:
    """The schemas that come with Datagen, by name. Each names its key field in `arg.key`."""
    folder = resources.files("connectors.datagen") / "quickstarts"
    return {
        entry.name.removesuffix(".avsc"): entry.read_text(encoding="utf-8")
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".avsc")
    }


def schema_text(config: Mapping[str, Any]) -> str:
    """The schema that the config names, as JSON."""
    if config["quickstart"]:
        return quickstarts()[config["quickstart"].lower()]
    if config["schema.string"]:
        return str(config["schema.string"])
    return _read(config["schema.filename"])


def key_field(config: Mapping[str, Any]) -> str:
    """The field whose value is the record's key; "" for none."""
    field: str = config["schema.keyfield"]
    if not field and config["quickstart"]:
        field = json.loads(schema_text(config))["arg.key"]
    return field


def _read(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("schema.filename", name, f"the file can't be read: {error}") from error


def _check_schema(name: str, value: Any) -> None:
    if value:
        try:
            generator(value)
        except GeneratorError as error:
            raise ConfigError(name, value, str(error)) from error


def _check_schema_file(name: str, value: Any) -> None:
    if value:
        try:
            generator(_read(value))
        except GeneratorError as error:
            raise ConfigError(name, value, str(error)) from error


def _check_quickstart(name: str, value: Any) -> None:
    if value and value.lower() not in quickstarts():
        raise ConfigError(f"{name} must be one out of {','.join(quickstarts())}")


CONFIG_DEF: Final = (
    ConfigDef()
    .define("kafka.topic", doc="The topic that the records go to.", validator=non_empty)
    .define(
        "quickstart",
        default="",
        doc="The data to make, by the name of a schema that comes with Datagen. Give either this, "
        "or `schema.string`, or `schema.filename`.",
        validator=_check_quickstart,
        recommender=lambda _, __: list(quickstarts()),
    )
    .define(
        "schema.string",
        default="",
        doc="The data to make, as an Avro record schema in JSON, with `arg.properties` that say "
        "what the values look like.",
        validator=_check_schema,
    )
    .define(
        "schema.filename",
        default="",
        doc="The data to make: a file with such a schema.",
        validator=_check_schema_file,
    )
    .define(
        "schema.keyfield",
        default="",
        doc="The field whose value becomes the record's key. A quickstart has its own; otherwise, "
        "without this, keys are null.",
    )
    .define(
        "max.interval",
        ConfigType.LONG,
        500,
        doc="The longest pause between two records in milliseconds; pauses are random. 0: none.",
    )
    .define(
        "rate",
        ConfigType.DOUBLE,
        None,
        doc="How many records a second each task makes, evenly, instead of `max.interval`.",
        importance=Importance.MEDIUM,
        validator=satisfies(lambda rate: 0 < rate < float("inf"), "Value must be above 0"),
    )
    .define(
        "iterations",
        ConfigType.INT,
        -1,
        doc="How many records each task makes, then it rests. -1: it goes on for ever.",
        validator=at_least(-1),
    )
    .define(
        "random.seed",
        ConfigType.LONG,
        None,
        doc="With the same seed the same data is made again, different for each task. Without one, "
        "it is different for each connector.",
        importance=Importance.LOW,
    )
    .define(
        "format",
        default="struct",
        doc="`struct`: values have a schema, and the converter decides what is written. `json`: "
        "values are JSON text, for StringConverter.",
        importance=Importance.MEDIUM,
        validator=one_of("struct", "json"),
    )
    .define(
        "poison.ratio",
        ConfigType.DOUBLE,
        0.0,
        doc="The share of records, from 0 to 1, that are broken on purpose, to try dead-letter "
        "queues. Each has the header `datagen.poison`, which says how it was broken.",
        importance=Importance.MEDIUM,
        validator=between(0, 1),
    )
    .define(
        "generation.headers",
        ConfigType.BOOLEAN,
        False,
        doc="Whether records have the headers `task.generation`, `task.id` and "
        "`current.iteration`.",
        importance=Importance.LOW,
    )
)
