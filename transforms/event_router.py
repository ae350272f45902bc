"""EventRouter: the rows of an outbox table become events, each sent to the topic of its kind."""

from __future__ import annotations

import datetime as dt
import logging
from typing import Any, Generic, NamedTuple

from connect import (
    Config,
    ConfigDef,
    ConfigError,
    ConfigType,
    ConnectError,
    DataError,
    Header,
    Headers,
    Importance,
    Schema,
    Transformation,
    Type,
    Width,
)
from connect.config.validators import one_of
from connect.data.logical import datetime_to_millis
from connect.javalang.regex import ReplacementError, compile_java
from connect.records import R
from transforms.change_event import CREATE, READ, UPDATE, is_change_event, is_envelope
from transforms.inferred_schema import NotInferableError, expand_json
from transforms.java_patterns import remember, valid_regex
from transforms.key_or_value import MAX_PLANS, PlanCache

log = logging.getLogger(__name__)

PLACEMENT = "table.fields.additional.placement"

# The names of Debezium's own timestamp types and how many of each are a millisecond.
_PER_MILLISECOND = {
    "io.debezium.time.Timestamp": 1,
    "io.debezium.time.MicroTimestamp": 1_000,
    "io.debezium.time.NanoTimestamp": 1_000_000,
}


class InvalidOperationError(ConnectError):
    """The outbox table was updated, where rows are only to be inserted and deleted."""

    java_name = "java.lang.IllegalStateException"


class _Placed(NamedTuple):
    """A column that goes to a header, into the value, or decides the partition."""

    column: str
    place: str
    name: str


class _Plan(NamedTuple):
    """What the rows of one outbox table look like; None where there is no schema."""

    row: Schema | None


class EventRouter(Transformation[R], Generic[R]):
    """Debezium's outbox pattern: unwraps, keys and routes the events in an outbox table."""

    config_def = (
        ConfigDef()
        .define(
            "table.field.event.id",
            default="id",
            importance=Importance.LOW,
            group="Table",
            width=Width.MEDIUM,
            doc="The column with the event's id, which becomes the header id.",
        )
        .define(
            "table.field.event.key",
            default="aggregateid",
            importance=Importance.LOW,
            group="Table",
            width=Width.MEDIUM,
            doc="The column with the event's key, which becomes the record's key.",
        )
        .define(
            "table.field.event.type",
            default="type",
            importance=Importance.LOW,
            group="Table",
            width=Width.MEDIUM,
            doc="The column with the event's type.",
        )
        .define(
            "table.field.event.payload",
            default="payload",
            importance=Importance.LOW,
            group="Table",
            width=Width.MEDIUM,
            doc="The column with the event itself, which becomes the record's value.",
        )
        .define(
            "table.field.event.timestamp",
            default=None,
            importance=Importance.MEDIUM,
            group="Table",
            width=Width.MEDIUM,
            doc="The column with the time of the event, which becomes the record's timestamp. "
            "Without one it is the time at which the change was captured.",
        )
        .define(
            PLACEMENT,
            ConfigType.LIST,
            default=None,
            validator=lambda _, items: _check_placement(items),
            group="Table",
            width=Width.MEDIUM,
            doc="More columns to send, as column:header, column:envelope or column:partition, "
            "with :name after it for another name. Columns in the envelope stand beside the "
            "payload in the value.",
        )
        .define(
            "table.fields.additional.error.on.missing",
            ConfigType.BOOLEAN,
            default=True,
            importance=Importance.MEDIUM,
            group="Table",
            width=Width.MEDIUM,
            doc="Whether it is an error when the table lacks one of these columns.",
        )
        .define(
            "table.field.event.schema.version",
            default=None,
            importance=Importance.LOW,
            group="Table",
            width=Width.MEDIUM,
            doc="The column with the version to give to the value's schema.",
        )
        .define(
            "table.op.invalid.behavior",
            default="warn",
            validator=one_of("warn", "error", "fatal"),
            importance=Importance.MEDIUM,
            group="Table",
            width=Width.MEDIUM,
            doc="What to do when a row of the table is updated: drop it with a warning or an "
            "error in the log, or fail.",
        )
        .define(
            "table.expand.json.payload",
            ConfigType.BOOLEAN,
            default=False,
            importance=Importance.MEDIUM,
            group="Table",
            width=Width.MEDIUM,
            doc="Whether a payload that is JSON text becomes what it says, with a schema "
            "inferred from it. A text that is not JSON stays as it is.",
        )
        .define(
            "table.json.payload.null.behavior",
            default="ignore",
            validator=one_of("ignore", "optional_bytes"),
            importance=Importance.MEDIUM,
            group="Table",
            width=Width.MEDIUM,
            doc="What becomes of nulls in such JSON: left out, or kept as optional bytes.",
        )
        .define(
            "route.by.field",
            default="aggregatetype",
            group="Router",
            width=Width.MEDIUM,
            doc="The column that decides the topic.",
        )
        .define(
            "route.topic.regex",
            default="(?<routedByValue>.*)",
            validator=valid_regex,
            importance=Importance.LOW,
            group="Router",
            width=Width.MEDIUM,
            doc="The pattern, in Java's dialect, that the text of that column is matched with.",
        )
        .define(
            "route.topic.replacement",
            default="outbox.event.${routedByValue}",
            group="Router",
            width=Width.MEDIUM,
            doc="The topic, where ${routedByValue} stands for the pattern's group of that name.",
        )
        .define(
            "route.tombstone.on.empty.payload",
            ConfigType.BOOLEAN,
            default=False,
            group="Router",
            width=Width.MEDIUM,
            doc="Whether a null or empty payload makes a tombstone.",
        )
    )

    def configure(self, config: Config) -> None:
        self._id: str = config["table.field.event.id"]
        self._key: str = config["table.field.event.key"]
        self._payload: str = config["table.field.event.payload"]
        self._timestamp: str | None = config["table.field.event.timestamp"]
        self._version: str | None = config["table.field.event.schema.version"]
        self._on_update: str = config["table.op.invalid.behavior"]
        self._expands: bool = config["table.expand.json.payload"]
        self._keeps_nulls: bool = config["table.json.payload.null.behavior"] == "optional_bytes"
        self._route_by: str = config["route.by.field"]
        self._pattern = compile_java(config["route.topic.regex"])
        self._replacement: str = config["route.topic.replacement"]
        self._tombstones: bool = config["route.tombstone.on.empty.payload"]
        self._all_needed: bool = config["table.fields.additional.error.on.missing"]
        self._placed = [_placed(item) for item in config[PLACEMENT] or ()]
        self._plans: PlanCache[_Plan | None] = PlanCache(_plan)
        self._topics: dict[str, str] = {}
        self._schemas: dict[Schema, Schema] = {}

    def apply(self, record: R) -> R | None:
        event = record.value
        if event is None:
            return None
        plan = self._plans.plan_for(record.value_schema)
        if plan is None or (plan.row is None and not is_change_event(event)):
            return record
        op = event.get("op")
        if op == UPDATE:
            self._refuse(record)
            return None
        if op not in (CREATE, READ):
            return None
        row = _Row(event["after"], plan.row)
        record.topic = self._topic(row)
        record.timestamp = self._time(row, event)
        record.headers = Headers((*record.headers, Header("id", *row.column(self._id))))
        record.key, record.key_schema = row.column(self._key)
        record.partition = None
        self._place(record, row)
        return record

    def _refuse(self, record: R) -> None:
        if self._on_update == "fatal":
            raise InvalidOperationError(f"Unexpected update message received {record.key}, fail.")
        level = logging.WARNING if self._on_update == "warn" else logging.ERROR
        log.log(level, "Unexpected update message received %s and ignored", record.key)

    def _topic(self, row: _Row) -> str:
        kind, schema = row.column(self._route_by)
        if schema is not None and schema.type is not Type.STRING:
            raise DataError(f"Field '{self._route_by}' is not of type STRING")
        known = self._topics.get(kind)
        if known is not None:
            return known
        topic = str(kind)
        if self._pattern.matches(topic):
            try:
                topic = self._pattern.replace_first(topic, self._replacement)
            except ReplacementError as error:
                raise DataError(f"route.topic.replacement {self._replacement}: {error}") from error
        return remember(self._topics, kind, topic)

    def _time(self, row: _Row, event: dict[str, Any]) -> int | None:
        captured: int | None = event.get("ts_ms")
        name = self._timestamp
        if name is None:
            return captured
        if not row.has(name):
            raise ConnectError(f"Unable to find timestamp field {name} in event")
        moment, schema = row.column(name)
        if schema is not None and schema.type is not Type.INT64:
            raise DataError(f"Field '{name}' is not of type INT64")
        if moment is None:
            return captured
        if isinstance(moment, dt.datetime):
            return datetime_to_millis(moment)
        if schema is None and isinstance(moment, int):
            return moment
        if schema is None:
            raise DataError(f"Field '{name}' is no number and so no timestamp: {moment!r}")
        divisor = _PER_MILLISECOND.get(schema.name or "")
        if divisor is None:
            kind = schema.name or "INT64 (without logical schema name)"
            raise ConnectError(f"Unsupported field type {kind} for event timestamp")
        return int(moment) // divisor

    def _place(self, record: R, row: _Row) -> None:
        """Set the value and what else the placement says."""
        beside: list[tuple[str, Any, Schema | None]] = []
        for column, place, name in self._placed:
            if not self._all_needed and not row.has(column):
                continue
            value, schema = row.column(column)
            if place == "header":
                record.headers = record.headers.with_(name, value, schema)
            elif place == "envelope":
                beside.append((name, value, schema))
            else:
                if schema is not None and schema.type is not Type.INT32:
                    raise DataError(f"Field '{column}' is not of type INT32")
                record.partition = value
        if not row.has(self._payload):
            raise ConnectError(f"Unable to find payload field {self._payload} in event")
        payload, schema = row.column(self._payload)
        if self._tombstones and payload in (None, "", b""):
            record.value = record.value_schema = None
            return
        if self._expands and isinstance(payload, str):
            payload, schema = self._expanded(payload, schema)
        if beside:
            payload, schema = self._enveloped(payload, schema, beside, row)
        elif schema is not None and self._version is not None:
            schema = self._versioned(schema, row)
        record.value = payload
        record.value_schema = None if schema is None else self._same(schema)

    def _expanded(self, text: str, schema: Schema | None) -> tuple[Any, Schema | None]:
        try:
            new_schema, value = expand_json(text, self._payload, keep_nulls=self._keeps_nulls)
        except NotInferableError as error:
            log.warning("Payload left as it is, it can't be expanded: %s", error)
            return text, schema
        return value, None if schema is None else new_schema

    def _enveloped(
        self,
        payload: Any,
        schema: Schema | None,
        beside: list[tuple[str, Any, Schema | None]],
        row: _Row,
    ) -> tuple[Any, Schema | None]:
        value = {self._payload: payload, **{name: item for name, item, _ in beside}}
        if schema is None or row.schema is None:
            return value, None
        builder = Schema.struct(row.schema.name).field(self._payload, schema)
        for name, _, column_schema in beside:
            assert column_schema is not None
            builder.field(name, column_schema)
        return value, self._versioned(builder.build(), row)

    def _same(self, schema: Schema) -> Schema:
        """The first schema of many equal ones: what comes next finds it in its caches."""
        if len(self._schemas) >= MAX_PLANS:
            self._schemas.clear()
        return self._schemas.setdefault(schema, schema)

    def _versioned(self, schema: Schema, row: _Row) -> Schema:
        if self._version is None:
            return schema
        version, _ = row.column(self._version)
        return schema if version is None else schema.to_builder().version(version).build()


class _Row:
    """A row of the outbox table, with its schema if there is one."""

    __slots__ = ("_values", "schema")

    def __init__(self, values: dict[str, Any], schema: Schema | None) -> None:
        self._values = values
        self.schema = schema

    def has(self, name: str) -> bool:
        return name in self._values if self.schema is None else self.schema.field(name) is not None

    def column(self, name: str) -> tuple[Any, Schema | None]:
        if self.schema is None:
            if name not in self._values:
                raise DataError(f"{name} is not a valid field name")
            return self._values[name], None
        field = self.schema.field(name)
        if field is None:
            raise DataError(f"{name} is not a valid field name")
        return self._values.get(name), field.schema


def _plan(schema: Schema | None) -> _Plan | None:
    if schema is None:
        return _Plan(None)
    after = schema.field("after") if is_envelope(schema) else None
    return None if after is None else _Plan(after.schema)


def _check_placement(items: list[str] | None) -> None:
    for item in items or ():
        _placed(item)


def _placed(item: str) -> _Placed:
    column, _, rest = item.partition(":")
    place, _, alias = rest.partition(":")
    place = place.strip().lower()
    if not column.strip() or place not in ("header", "envelope", "partition"):
        raise ConfigError(
            PLACEMENT,
            item,
            "Say where a column goes as column:header, column:envelope or column:partition, "
            "with :name after it for another name",
        )
    return _Placed(column.strip(), place, alias.strip() or column.strip())
