"""From records to rows: which columns a kind of record has, and where their values are."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connect import DataError, Schema, SinkRecord, Type
from connectors.jdbc.shapes import Column, Shape, TableName

Getter = Callable[[SinkRecord], Any]
Row = tuple[Any, ...]

KAFKA_COLUMNS = ("__connect_topic", "__connect_partition", "__connect_offset")


class PkMode(enum.StrEnum):
    NONE = "none"
    KAFKA = "kafka"
    RECORD_KEY = "record_key"
    RECORD_VALUE = "record_value"
    RECORD_HEADER = "record_header"


@dataclass(frozen=True, slots=True)
class RowSettings:
    """What the config says of rows."""

    pk_mode: PkMode
    pk_fields: tuple[str, ...]
    fields: frozenset[str]
    excluded: frozenset[str]
    text_column: str
    null_is_default: bool
    lowercase: bool  # names are not quoted, which makes them lower case in the database

    def column(self, name: str, schema: Schema) -> Column:
        return Column(self.column_name(name), schema)

    def column_name(self, field: str) -> str:
        return field.lower() if self.lowercase else field

    def takes(self, topic: str, field: str) -> bool:
        """Whether a field of the value becomes a column."""
        names = (field, f"{topic}:{field}")
        if self.fields and self.fields.isdisjoint(names):
            return False
        return self.excluded.isdisjoint(names)


# Where a column's values are, and what stands in for null. A text is a field of the value.
_Wanted = list[tuple[Getter | str, Any]]


@dataclass(frozen=True, slots=True)
class RowMaker:
    """Makes rows of records that have the same topic and schemas, a column at a time.

    The key's columns come first.
    """

    shape: Shape
    wanted: _Wanted

    def columns(self, records: Sequence[SinkRecord]) -> list[Sequence[Any]]:
        return _columns(self.wanted, records)

    def keys(self, records: Sequence[SinkRecord]) -> list[Sequence[Any]]:
        """The key's columns alone."""
        return _columns(self.wanted[: len(self.shape.keys)], records)

    def of_fields(self, fields: Mapping[str, Sequence[Any]]) -> list[Sequence[Any]] | None:
        """The columns, of those of the values; None if they take more than that."""
        made = []
        for get, default in self.wanted:
            if not isinstance(get, str):
                return None
            made.append(_filled(fields[get], default))
        return made


def row_maker(
    settings: RowSettings,
    table: TableName,
    topic: str,
    key_schema: Schema | None,
    value_schema: Schema | None,
    *,
    tombstone: bool,
) -> RowMaker:
    """The maker for records of these schemas. DataError when they have no form as rows.

    A tombstone has a key and no other columns.
    """
    value: _Fields = [] if tombstone else _value_fields(settings, topic, value_schema)
    keys = _key_columns(settings, key_schema, value)
    key_names = {column.name for column, _ in keys}
    rest = [
        (column, get)
        for column, get in value
        if column.name not in key_names
        and settings.takes(topic, get if isinstance(get, str) else column.name)
    ]
    if not keys and not rest:
        raise DataError(f"No field of the records of topic {topic} is left to be written")
    shape = Shape(table, tuple(c for c, _ in keys), tuple(c for c, _ in rest))
    wanted: _Wanted = [
        (get, column.schema.default if settings.null_is_default else None)
        for column, get in (*keys, *rest)
    ]
    return RowMaker(shape, wanted)


_Fields = list[tuple[Column, "Getter | str"]]  # a text is the name of a field of the value


def _value_fields(settings: RowSettings, topic: str, schema: Schema | None) -> _Fields:
    if schema is None:
        raise DataError(
            f"Records of topic {topic} have no schema and no fields: a table needs structs, such "
            "as Avro's or JSON's with schemas.enable=true, or JSON objects"
        )
    if schema.type is Type.STRUCT:
        return [(settings.column(f.name, f.schema), f.name) for f in schema.fields]
    if schema.type is Type.STRING and schema.name is None:
        return [(settings.column(settings.text_column, schema), lambda record: record.value)]
    raise DataError(
        f"Values of topic {topic} are of type {schema.type.value}: a table needs structs"
    )


def _key_columns(settings: RowSettings, schema: Schema | None, value: _Fields) -> _Fields:
    match settings.pk_mode:
        case PkMode.NONE:
            return []
        case PkMode.KAFKA:
            names = settings.pk_fields or KAFKA_COLUMNS
            schemas = (Schema.STRING, Schema.INT32, Schema.INT64)
            getters: Sequence[Getter] = (
                lambda record: record.original_topic or record.topic,
                lambda record: record.original_partition,
                lambda record: record.offset,
            )
            return [
                (settings.column(name, each), get)
                for name, each, get in zip(names, schemas, getters, strict=True)
            ]
        case PkMode.RECORD_KEY:
            return _of_record_key(settings, schema)
        case PkMode.RECORD_VALUE:
            # By the field's own name, which is a text where the value is a struct.
            fields = {
                get if isinstance(get, str) else column.name: (column, get) for column, get in value
            }
            return [_named(fields, name, "value") for name in settings.pk_fields or tuple(fields)]
        case PkMode.RECORD_HEADER:
            return [(settings.column(n, Schema.STRING), _header(n)) for n in settings.pk_fields]


def _of_record_key(settings: RowSettings, schema: Schema | None) -> _Fields:
    if schema is None:
        raise DataError(
            "The record has no key, or a key without a schema, and pk.mode=record_key takes the "
            "primary key from it"
        )
    if schema.type is Type.STRUCT:
        fields: dict[str, tuple[Column, Getter | str]] = {
            f.name: (settings.column(f.name, f.schema), _of_key(f.name)) for f in schema.fields
        }
        return [_named(fields, name, "key") for name in settings.pk_fields or tuple(fields)]
    if not schema.type.is_primitive:
        raise DataError(f"A key of type {schema.type.value} can't be a primary key")
    if len(settings.pk_fields) != 1:
        raise DataError(
            "The key is a single value, so pk.fields must name the one column it goes to; it "
            f"names {', '.join(settings.pk_fields) or 'none'}"
        )
    return [(settings.column(settings.pk_fields[0], schema), lambda record: record.key)]


def _named(
    fields: dict[str, tuple[Column, Getter | str]], name: str, of: str
) -> tuple[Column, Getter | str]:
    try:
        return fields[name]
    except KeyError:
        raise DataError(
            f"pk.fields names {name}, and the record's {of} has no such field: it has "
            f"{', '.join(fields) or 'none'}"
        ) from None


def _of_key(name: str) -> Getter:
    def get(record: SinkRecord) -> Any:
        return None if record.key is None else record.key.get(name)

    return get


def _header(name: str) -> Getter:
    def get(record: SinkRecord) -> Any:
        found = record.headers.last(name)
        return None if found is None else found.value

    return get


def _columns(wanted: _Wanted, records: Sequence[SinkRecord]) -> list[Sequence[Any]]:
    values = [record.value for record in records]
    return [
        _filled(
            _field(values, get) if isinstance(get, str) else [get(record) for record in records],
            default,
        )
        for get, default in wanted
    ]


def _filled(column: Sequence[Any], default: Any) -> Sequence[Any]:
    if default is None:
        return column
    return [default if value is None else value for value in column]


def _field(values: list[dict[str, Any]], name: str) -> list[Any]:
    try:
        return [value[name] for value in values]
    except KeyError:  # an absent field is a null
        return [value.get(name) for value in values]
