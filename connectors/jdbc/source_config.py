"""The source's config keys: those of the Confluent connector."""

from __future__ import annotations

from typing import Any

from connect import ConfigDef, ConfigError, ConfigType, ConfigValue, Importance
from connect.config.validators import at_least, java_regex, one_of_ignoring_case
from connectors.jdbc.columns import GRANULARITIES, NUMERIC_MAPPINGS
from connectors.jdbc.database import CONNECTION_KEYS
from connectors.jdbc.sink_config import zone_of

_INT, _LONG, _BOOLEAN, _LIST = (
    ConfigType.INT,
    ConfigType.LONG,
    ConfigType.BOOLEAN,
    ConfigType.LIST,
)
_LOW, _MEDIUM = Importance.LOW, Importance.MEDIUM

BULK, INCREMENTING, TIMESTAMP = "bulk", "incrementing", "timestamp"
BOTH = "timestamp+incrementing"


def _patterns(name: str, value: Any) -> None:
    for pattern in value or ():
        java_regex(name, pattern)


SOURCE_CONFIG = (
    ConfigDef()
    .including(CONNECTION_KEYS)
    .define(
        "mode",
        doc="How new rows are found. `bulk` reads everything each time; `incrementing` rows with a "
        "greater number than the last, `timestamp` rows changed later, `timestamp+incrementing` "
        "both, so that rows of one moment are told apart.",
        validator=one_of_ignoring_case(BULK, INCREMENTING, TIMESTAMP, BOTH),
        group="Mode",
    )
    .define(
        "incrementing.column.name",
        default="",
        doc="The column that only grows. Empty: the table's autoincrement column.",
        importance=_MEDIUM,
        group="Mode",
    )
    .define(
        "timestamp.column.name",
        _LIST,
        "",
        doc="The columns that say when a row was changed; the first that is not null counts.",
        importance=_MEDIUM,
        group="Mode",
    )
    .define(
        "timestamp.initial",
        _LONG,
        None,
        doc="Where to begin by timestamp, in milliseconds since 1970, where no offset is stored; "
        "-1 stands for now. Without it, with the oldest row.",
        importance=_LOW,
        group="Mode",
    )
    .define(
        "timestamp.delay.interval.ms",
        _LONG,
        0,
        doc="How old a row must be by timestamp to be read. Transactions that take longer from "
        "setting the timestamp to their commit are overlooked.",
        validator=at_least(0),
        group="Mode",
    )
    .define(
        "validate.non.null",
        _BOOLEAN,
        True,
        doc="Whether columns that new rows are found by must not be nullable.",
        importance=_LOW,
        group="Mode",
    )
    .define(
        "query",
        default="",
        doc="A query to read in place of tables. WHERE is appended to it, so put a query that has "
        "one of its own into a subselect.",
        importance=_MEDIUM,
        group="What is read",
    )
    .define(
        "query.suffix",
        default="",
        doc="Appended to every query, such as FOR SHARE.",
        importance=_LOW,
        group="What is read",
    )
    .define(
        "table.whitelist",
        _LIST,
        "",
        doc="The tables to read, all by default: `table` or `schema.table`.",
        importance=_MEDIUM,
        group="What is read",
    )
    .define(
        "table.blacklist",
        _LIST,
        "",
        doc="Tables not to read: `table` or `schema.table`.",
        importance=_MEDIUM,
        group="What is read",
    )
    .define(
        "table.include.list",
        _LIST,
        "",
        doc="Regular expressions of the tables to read, matched with `schema.table`.",
        importance=_MEDIUM,
        validator=_patterns,
        group="What is read",
    )
    .define(
        "table.exclude.list",
        _LIST,
        "",
        doc="Regular expressions of tables not to read.",
        importance=_MEDIUM,
        validator=_patterns,
        group="What is read",
    )
    .define(
        "schema.pattern",
        default=None,
        doc="The database schemas to look for tables in, with % and _ as in LIKE. By default all "
        "but the system's.",
        importance=_MEDIUM,
        group="What is read",
    )
    .define(
        "table.types",
        _LIST,
        "TABLE",
        doc="What counts as a table: TABLE, VIEW.",
        importance=_LOW,
        group="What is read",
    )
    .define(
        "table.poll.interval.ms",
        _LONG,
        60_000,
        doc="How often to look for tables that came or went.",
        importance=_LOW,
        validator=at_least(1),
        group="What is read",
    )
    .define(
        "topic.prefix",
        doc="Put before a table's name it is the topic; with a query it is the topic.",
        group="Records",
    )
    .define(
        "numeric.mapping",
        default="none",
        doc="What DECIMAL and NUMERIC become. `none`: Connect's Decimal. `precision_only`: whole "
        "numbers where the scale is 0 and they fit. `best_fit`: also doubles for up to 18 digits. "
        "`best_fit_eager_double`: doubles for whatever has a scale.",
        importance=_MEDIUM,
        validator=one_of_ignoring_case(*NUMERIC_MAPPINGS),
        group="Records",
    )
    .define(
        "timestamp.granularity",
        default="connect_logical",
        doc="What timestamps become: Connect's Timestamp, in milliseconds, or micro- or "
        f"nanoseconds as numbers or texts. One of {', '.join(GRANULARITIES)}.",
        importance=_LOW,
        validator=one_of_ignoring_case(*GRANULARITIES),
        group="Records",
    )
    .define(
        "poll.interval.ms",
        _INT,
        5000,
        doc="How often each table is asked for new rows.",
        validator=at_least(1),
        group="Records",
    )
    .define(
        "batch.max.rows",
        _INT,
        1000,
        doc="How many rows are handed on at once, at most.",
        importance=_LOW,
        validator=at_least(1),
        group="Records",
    )
    .define(
        "query.retry.attempts",
        _INT,
        -1,
        doc="How often in a row a query is tried again if its failure may pass. -1: for ever.",
        importance=_LOW,
        validator=at_least(-1),
        group="Records",
    )
    .define(
        "transaction.isolation.mode",
        default="DEFAULT",
        doc="The isolation of the transactions that read.",
        importance=_LOW,
        validator=one_of_ignoring_case(
            "DEFAULT", "READ_UNCOMMITTED", "READ_COMMITTED", "REPEATABLE_READ", "SERIALIZABLE"
        ),
        group="Records",
    )
)


def check_source(values: dict[str, ConfigValue]) -> None:
    """What single keys can't show."""
    mode = (values["mode"].value or "").lower()
    by_time = mode in (TIMESTAMP, BOTH)
    if by_time and not values["timestamp.column.name"].value:
        values["timestamp.column.name"].error(f"mode={mode} needs the columns that tell the time")
    tables = [
        key
        for key in ("table.whitelist", "table.blacklist", "table.include.list",
                    "table.exclude.list")
        if values[key].value
    ]  # fmt: skip
    if values["query"].value:
        for key in tables:
            values[key].error("Either a query is read or tables: leave out one of them")
        if mode in (INCREMENTING, BOTH) and not values["incrementing.column.name"].value:
            values["incrementing.column.name"].error(
                "A query has no autoincrement column: name the column that only grows"
            )
    for ours, other in (("whitelist", "blacklist"), ("include.list", "exclude.list")):
        if values[f"table.{ours}"].value and values[f"table.{other}"].value:
            values[f"table.{other}"].error(f"Set table.{ours} or this, not both")
    try:
        zone_of(values["db.timezone"].value or "UTC")
    except ConfigError as error:
        values["db.timezone"].errors.append(str(error))
