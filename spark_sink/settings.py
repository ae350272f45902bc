"""A Spark connector's settings, as the task uses them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from connect import ConfigDef, ConfigError, ConfigType, Importance
from connect.config.connector import settings_below
from connect.config.validators import one_of

# Written under a folder of their own for each batch.
FILE_FORMATS = ("parquet", "orc", "json", "csv", "text", "avro")
# Written to a table that has a name.
TABLE_FORMATS = ("jdbc", "iceberg")

OUTPUT_KEYS = (
    ConfigDef()
    .define(
        "format", default=None,
        doc="`parquet`, `orc`, `json`, `csv`, `delta`, `iceberg`, `jdbc`, `kafka`, `console`, "
        "`memory`, `foreach`, or any other format that Spark knows. docs/spark.md says what each "
        "guarantees.",
    )
    .define("path", default=None, doc="The folder to write to.")
    .define(
        "table", default=None,
        doc="The table to write to: in Spark's catalog, or for `jdbc` in the database.",
    )
    .define(
        "mode", default="append", validator=one_of("append", "update", "complete"),
        importance=Importance.MEDIUM,
        doc="What an aggregate writes: `append` what is final, `update` what has changed, "
        "`complete` all of it, in place of what was there.",
    )
    .define(
        "partition.by", ConfigType.LIST, "", importance=Importance.MEDIUM,
        doc="Columns by which files are put into folders.",
    )
    .define(
        "function", default=None, importance=Importance.MEDIUM,
        doc="For `foreach`: `module:function`, called with each batch's DataFrame and number. "
        "`spark.output.option.*` go to the format as they are.",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Output:
    """One place that batches are written to."""

    name: str
    format: str
    path: str | None
    table: str | None
    mode: str
    partition_by: tuple[str, ...]
    function: str | None
    options: Mapping[str, str] = field(repr=False)

    @staticmethod
    def check(config: Mapping[str, Any], prefix: str) -> None:
        """Raise ConfigError where keys do not go together."""
        format_ = config.get(prefix + "format")
        path, table = config.get(prefix + "path"), config.get(prefix + "table")
        if not format_:
            raise ConfigError(prefix + "format", format_, "is not set: say what to write")
        format_ = format_.lower()
        if format_ in FILE_FORMATS and not path:
            raise ConfigError(prefix + "path", path, f"is not set, and {format_} needs a folder")
        if format_ in TABLE_FORMATS and not table:
            raise ConfigError(prefix + "table", table, f"is not set, and {format_} needs a table")
        if format_ == "delta" and not (path or table):
            raise ConfigError(prefix + "path", path, "is not set, and delta needs it or a table")
        mode = config.get(prefix + "mode")
        if format_ == "kafka" and mode == "complete":
            raise ConfigError(
                prefix + "mode",
                mode,
                "can't be written to kafka: a topic only grows. Take update, with a column key: "
                "then the newest record of a key has its result",
            )
        if format_ == "foreach" and not config.get(prefix + "function"):
            raise ConfigError(prefix + "function", None, "is not set, and foreach needs a function")

    @classmethod
    def parse(cls, raw: Mapping[str, str], name: str) -> Output:
        prefix = f"spark.output.{name}." if name else "spark.output."
        keys = OUTPUT_KEYS.parse(settings_below(raw, prefix))
        cls.check({prefix + key: value for key, value in keys.items()}, prefix)
        return cls(
            name=name,
            format=keys["format"].lower(),
            path=keys["path"] and keys["path"].rstrip("/"),
            table=keys["table"],
            mode=keys["mode"],
            partition_by=tuple(keys["partition.by"]),
            function=keys["function"],
            options=settings_below(raw, prefix + "option."),
        )


@dataclass(frozen=True, slots=True)
class Trigger:
    """When batches begin."""

    interval: str | None

    @classmethod
    def parse(cls, key: str, text: str) -> Trigger:
        if text == "available-now":
            return cls(None)
        if not re.fullmatch(r"\d+ (milli|micro)?(second|minute|hour)s?", text):
            raise ConfigError(
                key, text, "Expected an interval such as 10 seconds, or available-now"
            )
        return cls(text)

    @property
    def options(self) -> dict[str, Any]:
        return (
            {"availableNow": True} if self.interval is None else {"processingTime": self.interval}
        )
