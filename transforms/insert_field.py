"""InsertField: adds fields with the record's topic, partition, offset, timestamp or fixed text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Generic, NamedTuple

from connect import (
    Config,
    ConfigDef,
    ConfigError,
    DataError,
    Importance,
    Record,
    Schema,
    SinkRecord,
    Type,
)
from connect.data.logical import datetime_from_millis
from connect.plugin import ValueEdit
from connect.records import R
from transforms.field_path import FieldPath, define_field_syntax, parse_field_path
from transforms.key_or_value import (
    Convert,
    KeyOrValue,
    OnKey,
    OnValue,
    Plan,
    define_null_replacement,
)
from transforms.requirements import only_maps, only_structs
from transforms.struct_edit import defaults_of, failing, on_columns, same_basics

PURPOSE = "field insertion"

Read = Callable[[Record], Any]
Reads = Sequence[tuple[FieldPath, Read]]

_SUFFIX = (
    " A name that ends in ! makes the field required, one that ends in ? optional, "
    "which it is without either as well."
)


class Source(NamedTuple):
    """What can be inserted: by which config key, of which schema, read how from the record."""

    key: str
    schema: Schema
    read: Read


class Insertion(NamedTuple):
    """A field to add: where, of which schema, and where its content comes from."""

    path: FieldPath
    schema: Schema
    read: Read


class InsertField(KeyOrValue[R], Generic[R]):
    sees_record = True
    config_def = define_field_syntax(
        define_null_replacement(
            ConfigDef()
            .define(
                "topic.field",
                default=None,
                importance=Importance.MEDIUM,
                doc="The field for the record's topic." + _SUFFIX,
            )
            .define(
                "partition.field",
                default=None,
                importance=Importance.MEDIUM,
                doc="The field for the record's partition." + _SUFFIX,
            )
            .define(
                "offset.field",
                default=None,
                importance=Importance.MEDIUM,
                doc="The field for the record's offset; sink connectors only." + _SUFFIX,
            )
            .define(
                "timestamp.field",
                default=None,
                importance=Importance.MEDIUM,
                doc="The field for the record's timestamp." + _SUFFIX,
            )
            .define(
                "static.field",
                default=None,
                importance=Importance.MEDIUM,
                doc="The field for the text in static.value." + _SUFFIX,
            )
            .define(
                "static.value",
                default=None,
                importance=Importance.MEDIUM,
                doc="What static.field holds.",
            )
        )
    )

    def configure(self, config: Config) -> None:
        self._replace_nulls: bool = config["replace.null.with.default"]
        static: str | None = config["static.value"]
        if config["static.field"] is not None and static is None:
            raise ConfigError(
                "static.value",
                None,
                f"No value specified for static field: {config['static.field']}",
            )
        # The one field of fixed text, if nothing else is to be inserted.
        self._static: tuple[str, str] | None = None
        self._insertions: list[Insertion] = []
        for source in (*_SOURCES, Source("static.field", Schema.STRING, lambda _: static)):
            text = config[source.key]
            if text is not None:
                schema = source.schema if text.endswith("!") else source.schema.as_optional()
                name = text[:-1] if text.endswith(("!", "?")) else text
                self._insertions.append(
                    Insertion(parse_field_path(name, config), schema, source.read)
                )
        if not self._insertions:
            raise ConfigError("No field insertion configured")
        path = self._insertions[0].path
        if len(self._insertions) == len(path) == 1 and config["static.field"] is not None:
            assert static is not None
            self._static = (path[0], static)

    def plan(self, schema: Schema | None) -> Plan:
        # A timestamp is a Timestamp under a schema and plain milliseconds without one.
        reads = [
            (i.path, attrgetter("timestamp") if schema is None and i.read is _timestamp else i.read)
            for i in self._insertions
        ]
        if schema is None:
            return _into_map(reads, self._static)
        if schema.type is not Type.STRUCT:
            return Plan(schema, failing(lambda value: only_structs(PURPOSE, value, schema)))
        # As in the JVM, what comes out is neither optional nor has it a default.
        builder = same_basics(schema)
        for field in schema.fields:
            builder.field(field.name, field.schema)
        new_schema = builder.build()
        for insertion in self._insertions:
            new_schema = _with_field(new_schema, insertion.path, insertion.schema)
        defaults = defaults_of(schema) if self._replace_nulls else ()
        return _into_struct(new_schema, reads, defaults, self._static)


def _timestamp(record: Record) -> Any:
    milliseconds = record.timestamp
    return None if milliseconds is None else datetime_from_millis(milliseconds)


def _offset(record: Record) -> Any:
    if isinstance(record, SinkRecord):
        return record.offset
    raise DataError(
        f"Only SinkRecord supported for [{PURPOSE}], "
        "found: org.apache.kafka.connect.source.SourceRecord"
    )


_SOURCES = (
    Source("topic.field", Schema.STRING, attrgetter("topic")),
    Source("partition.field", Schema.INT32, attrgetter("partition")),
    Source("offset.field", Schema.INT64, _offset),
    Source("timestamp.field", Schema.timestamp().build(), _timestamp),
)


def _into_map(reads: Reads, static: tuple[str, str] | None) -> Plan:
    top, inner = _by_depth(reads)
    insert = _inserter(top, ())

    def convert(value: Any, record: Record) -> Any:
        try:
            new = {**value}
        except TypeError:
            raise only_maps(PURPOSE, value) from None
        return _put_all(insert(new, record), inner, record)

    edit = ValueEdit(None, insert, in_place=True, columns=static and _column_inserter(*static))
    return Plan(None, convert, None if inner else edit)


def _into_struct(
    schema: Schema,
    reads: Reads,
    defaults: tuple[tuple[str, Any], ...],
    static: tuple[str, str] | None,
) -> Plan:
    top, inner = _by_depth(reads)
    insert = _inserter(top, defaults)

    def convert(value: Any, record: Record) -> Any:
        return _put_all(insert({**value}, record), inner, record)

    columns = static and _column_inserter(*static, defaults)
    edit = ValueEdit(schema, insert, in_place=True, columns=columns)
    return Plan(schema, convert, None if inner else edit)


def _column_inserter(
    name: str, text: str, defaults: tuple[tuple[str, Any], ...] = ()
) -> Callable[[dict[str, Sequence[Any]], int], dict[str, Sequence[Any]]]:
    fill = on_columns((), defaults)

    def insert(fields: dict[str, Sequence[Any]], count: int) -> dict[str, Sequence[Any]]:
        fields = fill(fields, count)
        fields[name] = [text] * count
        return fields

    return insert


def _inserter(top: Sequence[tuple[str, Read]], defaults: tuple[tuple[str, Any], ...]) -> Convert:
    """The function that inserts the fields of the uppermost level into a dict of its own."""

    def insert(new: Any, record: Record) -> Any:
        for name, default in defaults:
            if new.get(name) is None:
                new[name] = default
        for name, read in top:
            found = read(record)
            if found is not None:
                new[name] = found
        return new

    if len(top) == 1 and not defaults:
        [(name, read)] = top

        def insert_one(new: Any, record: Record) -> Any:
            found = read(record)
            if found is not None:
                new[name] = found
            return new

        return insert_one
    return insert


def _by_depth(
    reads: Reads,
) -> tuple[tuple[tuple[str, Read], ...], tuple[tuple[FieldPath, Read], ...]]:
    top = tuple((path[0], read) for path, read in reads if len(path) == 1)
    return top, tuple((path, read) for path, read in reads if len(path) > 1)


def _put_all(new: Any, inner: tuple[tuple[FieldPath, Read], ...], record: Record) -> Any:
    for path, read in inner:
        found = read(record)
        if found is not None:
            new = _put(new, path, found)
    return new


def _put(value: Any, path: FieldPath, item: Any) -> Any:
    """A copy with item at path. Missing parents are made; one that is null stays null."""
    name, *rest = path
    new = {**value}
    if not rest:
        new[name] = item
    elif name not in new or new[name] is not None:
        parent = new.get(name, {})
        if not isinstance(parent, dict):
            raise only_maps(PURPOSE, parent)
        new[name] = _put(parent, tuple(rest), item)
    return new


def _with_field(schema: Schema, path: FieldPath, leaf: Schema) -> Schema:
    """A struct schema with one more field, at path; missing parents are optional structs."""
    name, *rest = path
    builder = schema.to_builder()
    if not rest:
        return builder.field(name, leaf).build()
    parent = schema.field(name)
    if parent is None:
        made = _with_field(Schema.struct().optional().build(), tuple(rest), leaf)
        return builder.field(name, made).build()
    if parent.schema.type is not Type.STRUCT:
        raise DataError(
            f"Can't insert {'.'.join(path)}: {name} is {parent.schema.type.name}, not a struct"
        )
    builder.without_fields()
    for field in schema.fields:
        inner = field.schema
        builder.field(
            field.name,
            _with_field(inner, tuple(rest), leaf) if field.name == name else inner,
        )
    return builder.build()


class InsertFieldKey(OnKey[R], InsertField[R]):
    """Adds fields to the key."""


class InsertFieldValue(OnValue[R], InsertField[R]):
    """Adds fields to the value."""
