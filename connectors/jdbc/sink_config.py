"""The sink's config keys: Confluent's, and Debezium's names of the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from connect import Config, ConfigDef, ConfigError, ConfigType, ConfigValue, Importance
from connect.config.validators import at_least, one_of_ignoring_case
from connectors.jdbc.database import CONNECTION_KEYS
from connectors.jdbc.rows import KAFKA_COLUMNS, PkMode, RowSettings

_INT, _BOOLEAN, _LIST = ConfigType.INT, ConfigType.BOOLEAN, ConfigType.LIST
_LOW, _MEDIUM = Importance.LOW, Importance.MEDIUM

# Debezium's name of a key, and what it is called here.
ALIASES = {
    "connection.username": "connection.user",
    "primary.key.mode": "pk.mode",
    "primary.key.fields": "pk.fields",
    "collection.name.format": "table.name.format",
    "field.include.list": "fields.whitelist",
    "flush.max.retries": "max.retries",
    "flush.retry.delay.ms": "retry.backoff.ms",
    "use.time.zone": "db.timezone",
}

SINK_CONFIG = (
    ConfigDef()
    .including(CONNECTION_KEYS)
    .define(
        "insert.mode",
        default="insert",
        doc="`insert` adds rows, `upsert` adds or replaces them by primary key, `update` changes "
        "rows that are there. With upsert, a record that is delivered twice is there once.",
        validator=one_of_ignoring_case("insert", "upsert", "update"),
        group="Writes",
    )
    .define(
        "batch.size",
        _INT,
        3000,
        doc="How many rows one statement writes, at most.",
        importance=_MEDIUM,
        validator=at_least(1),
        group="Writes",
    )
    .define(
        "delete.enabled",
        _BOOLEAN,
        False,
        doc="Whether a record without a value deletes the row of its key. "
        "Needs pk.mode=record_key.",
        importance=_MEDIUM,
        group="Writes",
    )
    .define(
        "table.name.format",
        default="${topic}",
        doc="The table: `${topic}` stands for the record's topic. A dot parts schema and table.",
        importance=_MEDIUM,
        group="Tables",
    )
    .define(
        "pk.mode",
        default="none",
        doc="Where the primary key comes from: `none`, `kafka` (topic, partition and offset), "
        "`record_key`, `record_value` or `record_header`.",
        validator=one_of_ignoring_case(*PkMode),
        group="Tables",
    )
    .define(
        "pk.fields",
        _LIST,
        "",
        doc="The key's columns. With record_key and record_value, the fields to take, all by "
        "default, or the column of a key that is a single value. With kafka, three column names "
        f"in place of {', '.join(KAFKA_COLUMNS)}.",
        importance=_MEDIUM,
        group="Tables",
    )
    .define(
        "fields.whitelist",
        _LIST,
        "",
        doc="The fields of the value that become columns, all by default: `field`, or "
        "`topic:field`. The key's are always there.",
        importance=_MEDIUM,
        group="Tables",
    )
    .define(
        "field.exclude.list",
        _LIST,
        "",
        doc="Fields of the value that do not become columns: `field`, or `topic:field`.",
        importance=_LOW,
        group="Tables",
    )
    .define(
        "auto.create",
        _BOOLEAN,
        False,
        doc="Whether a table that is missing is created, from the record's schema.",
        importance=_MEDIUM,
        group="Tables",
    )
    .define(
        "auto.evolve",
        _BOOLEAN,
        False,
        doc="Whether columns that are missing are added. Nothing is ever dropped or altered.",
        importance=_MEDIUM,
        group="Tables",
    )
    .define(
        "quote.sql.identifiers",
        default="always",
        doc="With `never`, PostgreSQL's names are lower case, as it makes them without quotes.",
        importance=_LOW,
        validator=one_of_ignoring_case("always", "never"),
        group="Tables",
    )
    .define(
        "replace.null.with.default",
        _BOOLEAN,
        True,
        doc="Whether a null becomes the default of its field's schema.",
        importance=_LOW,
        group="Tables",
    )
    .define(
        "string.output.value.column.name",
        default="record_value",
        doc="The column of a value that is a text.",
        importance=_LOW,
        group="Tables",
    )
    .define(
        "max.retries",
        _INT,
        10,
        doc="How often a batch is tried again after a failure that may pass, such as a lost "
        "connection, before the task fails.",
        importance=_MEDIUM,
        validator=at_least(0),
        group="Retries",
    )
    .define(
        "retry.backoff.ms",
        _INT,
        3000,
        doc="How long to wait before that.",
        importance=_MEDIUM,
        validator=at_least(0),
        group="Retries",
    )
    .define(
        "schema.evolution",
        default=None,
        doc="Debezium's: `basic` stands for auto.create and auto.evolve, `none` for neither.",
        importance=_LOW,
        group="Debezium's names",
    )
)
for _theirs, _ours in ALIASES.items():
    SINK_CONFIG.define(
        _theirs,
        SINK_CONFIG.keys[_ours].type,
        None,
        doc=f"Debezium's name of `{_ours}`.",
        importance=_LOW,
        validator=SINK_CONFIG.keys[_ours].validator,
        group="Debezium's names",
    )


def _value(parsed: Mapping[str, Any], given: Mapping[str, str], key: str) -> Any:
    """A key's value, under either name. Ours wins when both are given."""
    if key not in given:
        for theirs, ours in ALIASES.items():
            if ours == key and parsed.get(theirs) is not None:
                return parsed[theirs]
    return parsed[key]


@dataclass(frozen=True, slots=True)
class SinkSettings:
    insert_mode: str
    batch_size: int
    deletes: bool
    table_format: str
    debezium: bool
    rows: RowSettings
    create: bool
    evolve: bool
    retries: int
    backoff_ms: int
    zone: ZoneInfo

    @classmethod
    def of(cls, config: Config) -> SinkSettings:
        def value(key: str) -> Any:
            return _value(config, config.raw, key)

        evolution = (config["schema.evolution"] or "").lower()
        # Debezium's topics are server.schema.table, and its tables have the whole name.
        debezium = config.raw.get("connector.class", "").startswith("io.debezium.")
        return cls(
            insert_mode=config["insert.mode"].lower(),
            batch_size=config["batch.size"],
            deletes=config["delete.enabled"],
            table_format=value("table.name.format"),
            debezium=debezium or config["collection.name.format"] is not None,
            rows=RowSettings(
                pk_mode=PkMode(value("pk.mode").lower()),
                pk_fields=tuple(value("pk.fields")),
                fields=frozenset(value("fields.whitelist")),
                excluded=frozenset(config["field.exclude.list"]),
                text_column=config["string.output.value.column.name"],
                null_is_default=config["replace.null.with.default"],
                lowercase=config["quote.sql.identifiers"].lower() == "never",
            ),
            create=config["auto.create"] or evolution == "basic",
            evolve=config["auto.evolve"] or evolution == "basic",
            retries=value("max.retries"),
            backoff_ms=value("retry.backoff.ms"),
            zone=zone_of(value("db.timezone")),
        )


def zone_of(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ConfigError(
            "db.timezone", name, "is no time zone: use a name such as UTC or Europe/Berlin"
        ) from error


def check_sink(values: dict[str, ConfigValue]) -> None:
    """What single keys can't show."""
    parsed = {name: value.value for name, value in values.items()}
    defaults = {name: key.default for name, key in SINK_CONFIG.keys.items()}
    given = {name: "" for name, value in parsed.items() if value != defaults.get(name)}

    def value(key: str) -> Any:
        return _value(parsed, given, key)

    mode, insert = str(value("pk.mode") or "").lower(), str(parsed["insert.mode"] or "").lower()
    fields = value("pk.fields") or []
    if insert in ("upsert", "update") and mode == "none":
        values["pk.mode"].error(
            f"insert.mode={insert} finds rows by primary key: set it to record_key, record_value "
            "or kafka"
        )
    if parsed["delete.enabled"] and mode != PkMode.RECORD_KEY:
        values["delete.enabled"].error("Rows are deleted by the record's key: set "
                                       "pk.mode=record_key")  # fmt: skip
    if mode == PkMode.KAFKA and len(fields) not in (0, 3):
        values["pk.fields"].error("With pk.mode=kafka, name three columns or none")
    if mode == PkMode.RECORD_HEADER and not fields:
        values["pk.fields"].error("With pk.mode=record_header, name the headers")
    evolution = parsed["schema.evolution"]
    if evolution is not None and evolution.lower() not in ("none", "basic"):
        values["schema.evolution"].error("String must be one of: none, basic")
    try:
        zone_of(value("db.timezone") or "UTC")
    except ConfigError as error:
        values["db.timezone"].errors.append(str(error))
