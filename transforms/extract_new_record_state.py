"""ExtractNewRecordState: a Debezium change event becomes the row as it is after the change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple

from connect import (
    Config,
    ConfigDef,
    ConfigError,
    ConfigType,
    DataError,
    Header,
    Headers,
    Importance,
    Record,
    Schema,
    Transformation,
    Type,
    Width,
)
from connect.config.validators import one_of
from connect.records import R
from transforms.change_event import DELETE, TRUNCATE, is_change_event, is_envelope
from transforms.key_or_value import MAX_PLANS, Plan, PlanCache
from transforms.selection import Selection
from transforms.struct_edit import defaults_of, same_basics, unchanged

DELETED = "__deleted"
MODE = "delete.tombstone.handling.mode"


class _Mode(NamedTuple):
    """What becomes of a delete (dropped, rewritten, made a null) and of the tombstone after it."""

    delete: str
    keeps_tombstones: bool


_MODES = {
    "drop": _Mode("drop", keeps_tombstones=False),
    "tombstone": _Mode("null", keeps_tombstones=False),
    "rewrite": _Mode("rewrite", keeps_tombstones=False),
    "rewrite-with-tombstone": _Mode("rewrite", keeps_tombstones=True),
    "delete-to-tombstone": _Mode("bare null", keeps_tombstones=False),
}


class _Addition(NamedTuple):
    """A field of the event to add to the row or to the headers."""

    name: str
    outer: str | None
    field: str

    def read(self, event: dict[str, Any]) -> Any:
        inside = event if self.outer is None else event.get(self.outer)
        return None if inside is None else inside.get(self.field)


class _Row(NamedTuple):
    """The rows of one kind of event: their schema, the one to send, what replaces nulls."""

    schema: Schema | None
    new_schema: Schema | None
    defaults: tuple[tuple[str, Any], ...]


class _Plan(NamedTuple):
    """What to do with the events of one schema."""

    before: _Row
    after: _Row
    fields: tuple[_Addition, ...]
    headers: tuple[tuple[_Addition, Schema | None], ...]


class ExtractNewRecordState(Transformation[R], Generic[R]):
    """Unwraps Debezium's change events. Other records go through as they are."""

    config_def = (
        ConfigDef()
        .define(
            MODE,
            default="tombstone",
            validator=one_of(*_MODES),
            importance=Importance.MEDIUM,
            width=Width.MEDIUM,
            doc="What becomes of deletes and of the tombstones after them. drop: both are "
            "dropped. tombstone: a delete becomes a tombstone, and there is only that one. "
            "rewrite: a delete becomes the last row with a field __deleted, the tombstone is "
            "dropped. rewrite-with-tombstone: the same, and the tombstone stays. "
            "delete-to-tombstone: like tombstone, and the tombstone has no schema.",
        )
        .define(
            "drop.tombstones",
            ConfigType.BOOLEAN,
            default=None,
            importance=Importance.LOW,
            doc=f"Deprecated, see {MODE}: whether tombstones are dropped.",
        )
        .define(
            "delete.handling.mode",
            default=None,
            validator=one_of(None, "drop", "rewrite", "none"),
            importance=Importance.LOW,
            doc=f"Deprecated, see {MODE}: whether a delete is dropped, rewritten with a field "
            "__deleted, or becomes a tombstone (none).",
        )
        .define(
            "route.by.field",
            default="",
            importance=Importance.LOW,
            width=Width.LONG,
            doc="The row's field whose text is the topic that the record goes to.",
        )
        .define(
            "add.fields.prefix",
            default="__",
            importance=Importance.LOW,
            width=Width.SHORT,
            doc="What stands before the names of the added fields.",
        )
        .define(
            "add.fields",
            ConfigType.LIST,
            default=[],
            importance=Importance.LOW,
            width=Width.LONG,
            doc="Fields of the event to add to the row, such as op, table, source.ts_ms. They "
            "get the names __op, __table, __source_ts_ms; lsn:position gives another name.",
        )
        .define(
            "add.headers.prefix",
            default="__",
            importance=Importance.LOW,
            width=Width.SHORT,
            doc="What stands before the names of the added headers.",
        )
        .define(
            "add.headers",
            ConfigType.LIST,
            default=[],
            importance=Importance.LOW,
            width=Width.LONG,
            doc="Fields of the event to add as headers, named as in add.fields.",
        )
        .define(
            "drop.fields.header.name",
            default=None,
            importance=Importance.LOW,
            width=Width.SHORT,
            doc="The header whose value lists fields to drop from the row.",
        )
        .define(
            "drop.fields.from.key",
            ConfigType.BOOLEAN,
            default=False,
            importance=Importance.LOW,
            width=Width.SHORT,
            doc="Whether those fields are dropped from the key as well.",
        )
        .define(
            "drop.fields.keep.schema.compatible",
            ConfigType.BOOLEAN,
            default=True,
            importance=Importance.LOW,
            width=Width.SHORT,
            doc="Whether only optional fields are dropped, so that readers of the older schema "
            "can go on.",
        )
    )

    def configure(self, config: Config) -> None:
        self._mode = _mode(config)
        self._route_by: str = config["route.by.field"]
        self._fields = _additions(config, "add.fields")
        self._headers = _additions(config, "add.headers")
        self._drop_header: str | None = config["drop.fields.header.name"]
        self._drop_from_key: bool = config["drop.fields.from.key"]
        self._drop_optional_only: bool = config["drop.fields.keep.schema.compatible"]
        self._plans: PlanCache[_Plan | None] = PlanCache(self._plan)
        self._trimmed: dict[tuple[str, ...], PlanCache[Plan]] = {}

    def apply_batch(self, records: Sequence[R]) -> list[R | None]:
        return [*map(self.apply, records)]

    def apply(self, record: R) -> R | None:
        event = record.value
        if event is None:
            return self._tombstone(record)
        schema = record.value_schema
        plan = self._plans.plan_for(schema)
        if plan is None or (schema is None and not is_change_event(event)):
            return record
        op = event.get("op")
        if op == TRUNCATE:
            return None
        row = event.get("after")
        if op == DELETE or row is None:
            return self._deleted(record, event, plan)
        if self._route_by:
            self._route(record, row, plan.after.schema)
        if plan.headers:
            _add_headers(record, event, plan)
        self._send(record, event, row, plan.after, plan, deleted="false")
        return record

    def _tombstone(self, record: R) -> R | None:
        if not self._mode.keeps_tombstones:
            return None
        for addition in self._headers:
            if addition.outer is None and addition.field == "op":
                record.headers = record.headers.with_(addition.name, DELETE, Schema.STRING)
        return record

    def _deleted(self, record: R, event: dict[str, Any], plan: _Plan) -> R | None:
        action = self._mode.delete
        row = event.get("before")
        if action == "drop" or (action == "rewrite" and row is None):
            return None
        if self._route_by and row is not None:
            self._route(record, row, plan.before.schema)
        if plan.headers:
            _add_headers(record, event, plan)
        if action == "rewrite":
            self._send(record, event, row, plan.before, plan, deleted="true")
        else:
            record.value = None
            record.value_schema = plan.after.schema if action == "null" else None
        return record

    def _route(self, record: R, row: dict[str, Any], schema: Schema | None) -> None:
        name = self._route_by
        if schema is not None:
            field = schema.field(name)
            if field is None:
                raise DataError(f"{name} is not a valid field name")
            if field.schema.type is not Type.STRING:
                raise DataError(f"Field '{name}' is not of type STRING")
        topic = row.get(name)
        if topic:
            record.topic = str(topic)

    def _send(
        self, record: R, event: dict[str, Any], row: Any, kind: _Row, plan: _Plan, *, deleted: str
    ) -> None:
        """Put the row with all that is added to it in the place of the event."""
        new = {**row}
        if self._mode.delete == "rewrite":
            for name, default in kind.defaults:
                if new.get(name) is None:
                    new[name] = default
            new[DELETED] = deleted
        for addition in plan.fields:
            new[addition.name] = addition.read(event)
        record.value = new
        record.value_schema = kind.new_schema
        if self._drop_header is not None:
            self._drop_fields(record, self._drop_header)

    def _drop_fields(self, record: R, header_name: str) -> None:
        header = record.headers.last(header_name)
        if header is None:
            return
        if not isinstance(header.value, list):
            raise DataError(
                f"The header {header_name} must list the fields to drop, it is {header.value!r}"
            )
        names = tuple(header.value)
        cache = self._trimmed.get(names)
        if cache is None:
            cache = PlanCache(lambda schema: self._without(names, schema))
            if len(self._trimmed) >= MAX_PLANS:
                self._trimmed.clear()
            self._trimmed[names] = cache
        record.value_schema, trim, _ = cache.plan_for(record.value_schema)
        record.value = trim(record.value)
        if self._drop_from_key and isinstance(record.key, dict):
            record.key_schema, trim, _ = cache.plan_for(record.key_schema)
            record.key = trim(record.key)

    def _without(self, names: Sequence[str], schema: Schema | None) -> Plan:
        selection = Selection("dropping fields", replace_nulls=True)
        dropped = [
            name
            for name in names
            if schema is None
            or (
                (field := schema.field(name)) is not None
                and (field.schema.optional or not self._drop_optional_only)
            )
        ]
        for name in dropped:
            selection.exclude((name,))
        return selection.plan(schema) if dropped else Plan(schema, unchanged)

    # -- plans --------------------------------------------------------------------------------

    def _plan(self, schema: Schema | None) -> _Plan | None:
        """None for records that are no change events."""
        if schema is None:
            row = _Row(None, None, ())
            return _Plan(row, row, self._fields, tuple((a, None) for a in self._headers))
        if not is_envelope(schema):
            return None
        fields = [(a, s) for a in self._fields if (s := _schema_of(schema, a)) is not None]
        headers = [(a, s) for a in self._headers if (s := _schema_of(schema, a)) is not None]
        return _Plan(
            self._row(schema, "before", fields),
            self._row(schema, "after", fields),
            tuple(addition for addition, _ in fields),
            tuple(headers),
        )

    def _row(
        self, schema: Schema, name: str, additions: Sequence[tuple[_Addition, Schema]]
    ) -> _Row:
        field = schema.field(name)
        if field is None or field.schema.type is not Type.STRUCT:
            return _Row(None, None, ())
        builder = same_basics(field.schema)
        for inner in field.schema.fields:
            builder.field(inner.name, inner.schema)
        if self._mode.delete == "rewrite":
            builder.field(DELETED, Schema.OPTIONAL_STRING)
        for addition, added in additions:
            builder.field(addition.name, added)
        return _Row(field.schema, builder.build(), defaults_of(field.schema))


def _mode(config: Config) -> _Mode:
    old_delete, drops = config["delete.handling.mode"], config["drop.tombstones"]
    if MODE in config.raw or (old_delete is None and drops is None):
        return _MODES[config[MODE]]
    # Configs of older releases of Debezium, with the defaults of those.
    actions = {"drop": "drop", "rewrite": "rewrite", "none": "null"}
    return _Mode(actions[old_delete or "drop"], keeps_tombstones=drops is False)


def _additions(config: Config, key: str) -> tuple[_Addition, ...]:
    additions = []
    prefix: str = config[f"{key}.prefix"]
    for item in config[key]:
        path, _, alias = item.partition(":")
        steps = path.strip().split(".")
        if len(steps) > 2 or not all(steps):
            raise ConfigError(key, item, "a field of the event is named as field or struct.field")
        # Without a struct it is a field of the event itself or, most often, of its source.
        field = steps[-1]
        outer = steps[0] if len(steps) == 2 else (None if field in _OF_EVENT else "source")
        additions.append(_Addition(prefix + (alias.strip() or "_".join(steps)), outer, field))
    return tuple(additions)


_OF_EVENT = ("op", "ts_ms", "ts_us", "ts_ns", "before", "after", "source", "transaction")


def _schema_of(envelope: Schema, addition: _Addition) -> Schema | None:
    """The schema of an added field, which is always optional; None if events don't have it."""
    inside: Schema | None = envelope
    if addition.outer is not None:
        outer = envelope.field(addition.outer)
        inside = outer.schema if outer is not None else None
    if inside is None or inside.type is not Type.STRUCT:
        return None
    field = inside.field(addition.field)
    return None if field is None else field.schema.to_builder().optional().default(None).build()


def _add_headers(record: Record, event: dict[str, Any], plan: _Plan) -> None:
    added = [Header(a.name, a.read(event), schema) for a, schema in plan.headers]
    record.headers = Headers((*record.headers, *added))
