"""Records: one message on its way through a connector."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

import msgspec

from connect.data.columns import Columns
from connect.data.headers import NO_HEADERS, Headers
from connect.data.schema import Schema


class TimestampType(enum.StrEnum):
    """Who set a record's timestamp. The values are the broker's own words."""

    NO_TIMESTAMP_TYPE = "NoTimestampType"
    CREATE_TIME = "CreateTime"
    LOG_APPEND_TIME = "LogAppendTime"


class Record(msgspec.Struct):
    """What source and sink records have in common.

    A value and its schema: see `connect.data.schema` for what a value looks like. Without a
    schema, structs and maps are dicts, integers int64 and floats float64.

    A record belongs to whoever holds it and its attributes may be set. What `key` and `value`
    refer to may be shared with others: never change a dict or list in place, make a new one.
    """

    topic: str
    partition: int | None
    key_schema: Schema | None
    key: Any
    value_schema: Schema | None
    value: Any
    headers: Headers = NO_HEADERS
    timestamp: int | None = None  # milliseconds since the epoch


class SourceRecord(Record, kw_only=True):
    """A record that a source task read from another system.

    `source_partition` names the stream it came from (a file, a table), `source_offset` the place
    in it *after* this record. Both are flat maps of strings, numbers, booleans and None. When the
    record is safely in Kafka the offset is stored, and after a restart the task finds it with
    `context.offset(partition)`.
    """

    source_partition: Mapping[str, Any] | None = None
    source_offset: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls,
        topic: str,
        value: Any,
        *,
        schema: Schema | None = None,
        key: Any = None,
        key_schema: Schema | None = None,
        source_partition: Mapping[str, Any] | None = None,
        source_offset: Mapping[str, Any] | None = None,
        partition: int | None = None,
        headers: Headers = NO_HEADERS,
        timestamp: int | None = None,
    ) -> SourceRecord:
        """A record by what a task usually has at hand."""
        return cls(
            topic,
            partition,
            key_schema,
            key,
            schema,
            value,
            headers,
            timestamp,
            source_partition=source_partition,
            source_offset=source_offset,
        )


class SourceBatch(Sequence[SourceRecord]):
    """Values of one schema, from one stream to one topic: `poll` may return it in a list's place.

    It is a sequence of records without keys and headers, which are made when somebody asks for
    one. Converters and transforms that work on columns don't. `offset_of` tells the source offset
    of the value with this index.
    """

    __slots__ = (
        "_offset_of", "_records", "schema", "source_partition", "timestamp", "topic", "values",
    )  # fmt: skip

    def __init__(
        self,
        topic: str,
        values: Sequence[Any],
        *,
        schema: Schema | None = None,
        timestamp: int | None = None,
        source_partition: Mapping[str, Any] | None = None,
        offset_of: Callable[[int], Mapping[str, Any] | None],
    ) -> None:
        self.topic = topic
        self.values = values
        self.schema = schema
        self.timestamp = timestamp
        self.source_partition = source_partition
        self._offset_of = offset_of
        self._records: list[SourceRecord] | None = None

    @property
    def last_offset(self) -> Mapping[str, Any] | None:
        return self._offset_of(len(self.values) - 1)

    @property
    def records(self) -> list[SourceRecord]:
        if self._records is None:
            self._records = [
                SourceRecord(
                    self.topic, None, None, None, self.schema, value, NO_HEADERS, self.timestamp,
                    source_partition=self.source_partition, source_offset=self._offset_of(i),
                )
                for i, value in enumerate(self.values)
            ]  # fmt: skip
        return self._records

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> SourceRecord: ...

    @overload
    def __getitem__(self, index: slice) -> list[SourceRecord]: ...

    def __getitem__(self, index: int | slice) -> SourceRecord | list[SourceRecord]:
        return self.records[index]


class SinkRecord(Record):
    """A record read from Kafka, on its way to a sink task.

    `original_*` is where it lay in Kafka; transforms may have changed `topic` and `partition`.
    """

    offset: int = -1
    timestamp_type: TimestampType = TimestampType.NO_TIMESTAMP_TYPE
    original_topic: str = ""
    original_partition: int = -1


class SinkBatch:
    """The records of one `put`, made when somebody asks for them.

    Where all are of one topic and their values of one shape, columns are there without asking.
    """

    __slots__ = ("_count", "_make", "_records", "columns", "topic")

    def __init__(
        self,
        count: int,
        columns: Columns | None,
        make: Callable[[], list[SinkRecord]],
        topic: str | None = None,
        records: list[SinkRecord] | None = None,
    ) -> None:
        self.columns = columns
        self.topic = topic
        self._count = count
        self._make = make
        self._records = records

    @classmethod
    def of(cls, records: list[SinkRecord]) -> SinkBatch:
        return cls(len(records), None, list, None, records)

    def __len__(self) -> int:
        return self._count

    @property
    def records(self) -> list[SinkRecord]:
        if self._records is None:
            self._records = self._make()
        return self._records


R = TypeVar("R", bound=Record)
