"""The sink's pipeline: Kafka's messages in, records for `put` and failures out."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import groupby, starmap
from time import perf_counter
from typing import Any

from connect.data.columns import Columns
from connect.data.headers import NO_HEADERS, Header, Headers
from connect.data.schema import Schema, SchemaAndValue
from connect.errors import RetriableError
from connect.pipeline.assembly import ConverterPart, Parts, PipelineSpec, assemble
from connect.pipeline.chain import chain_failure
from connect.pipeline.failures import Failure, Retry
from connect.plugin import Converter, RawHeaders
from connect.records import SinkBatch, SinkRecord, TimestampType

# By the number that librdkafka gives them.
TIMESTAMP_TYPES = (
    TimestampType.NO_TIMESTAMP_TYPE,
    TimestampType.CREATE_TIME,
    TimestampType.LOG_APPEND_TIME,
)

# Headers that a replay of dead letters adds. They are text, whatever format the converter reads:
# a record must not fail because it was replayed.
OWN_HEADERS = "__penstock."

# Columns that did not work are tried again after 2, 4, … 128 batches.
_MOST_MISSES = 7
# Fewer messages are not worth it.
_FEW = 64

log = logging.getLogger(__name__)

Column = tuple[list[Schema | None], list[Any]]


class SinkPipeline:
    """Runs raw messages through key, value and header converters, then the transforms.

    Made from its spec alone, so it travels to other processes by pickling the spec. Each
    converter reads a whole column at once; only a column that raises is read one by one, and
    only a batch whose transforms raise is transformed one by one.
    """

    def __init__(self, spec: PipelineSpec, retry: Retry, parts: Parts | None = None) -> None:
        self.spec = spec
        self.parts = parts or assemble(spec, retry)
        self._retry = retry
        # Not of a class that inherits it, which may be choosier.
        self._reads_any_key = vars(type(self.parts.key.converter)).get("reads_anything", False)
        self._reads_one = all(
            _reads_one(part.converter) for part in (self.parts.key, self.parts.value)
        )
        self._misses = 0  # how often columns were tried in vain
        self._records_left = 0  # batches until they are tried again

    def run(self, messages: Sequence[Any]) -> tuple[list[SinkRecord], list[Failure]]:
        """Records in the messages' order, without those that were dropped or failed.

        Messages are Kafka's or anything with its methods; those of a batch are of one class.
        """
        if not messages:
            return [], []
        topics = [*map(type(messages[0]).topic, messages)]
        if topics.count(topics[0]) == len(topics):
            return self._run_topic(topics[0], messages)
        records: list[SinkRecord] = []
        failures: list[Failure] = []
        for topic, run in groupby(messages, key=lambda m: m.topic()):
            some_records, some_failures = self._run_topic(topic, list(run))
            records += some_records
            failures += some_failures
        return records, failures

    def run_batch(self, messages: Sequence[Any]) -> tuple[SinkBatch, list[Failure]]:
        """As `run`, but by columns where all values have one shape and no step wants records.

        Trying in vain costs time, so it is tried less and less often where it did not work.
        """
        if self._records_left:
            self._records_left -= 1
        elif len(messages) >= _FEW:
            found = self._by_columns(messages)
            if found is not None:
                self._misses = 0
                return found
            self._misses = min(self._misses + 1, _MOST_MISSES)
            self._records_left = 2**self._misses
        return self.run_records(messages)

    def run_records(self, messages: Sequence[Any]) -> tuple[SinkBatch, list[Failure]]:
        """As `run`, as a batch of records."""
        if len(messages) == 1 and (alone := self._run_one(messages[0])) is not None:
            return alone, []
        records, failures = self.run(messages)
        return SinkBatch.of(records), failures

    def _run_one(self, message: Any) -> SinkBatch | None:
        """One that comes alone; None if it has to go the long way, as with headers or an error.

        Somebody waits for it, and the processor has slept: each function on the way costs several
        times what it does in a loop. So there are few.
        """
        if not self._reads_one or message.headers():
            return None
        key, value, chain = self.parts.key, self.parts.value, self.parts.chain
        topic, partition = message.topic(), message.partition()
        stamp_type, stamp = message.timestamp()
        started = perf_counter()
        try:
            read_key = key.converter.to_connect(topic, message.key(), ())
            done = perf_counter()
            key.seconds += done - started
            read_value = value.converter.to_connect(topic, message.value(), ())
            value.seconds += perf_counter() - done
            record: SinkRecord | None = SinkRecord(
                topic, partition, *read_key, *read_value, NO_HEADERS, stamp if stamp_type else None,
                message.offset(), TIMESTAMP_TYPES[stamp_type], topic, partition,
            )  # fmt: skip
            if chain.steps:
                record = chain.run_one(record)
        except Exception as error:  # noqa: BLE001 - whose it is, is found the long way
            log.debug("Doing a record the long way: %s", error)
            return None
        records = [] if record is None else [record]
        return SinkBatch(len(records), None, list, topic, records)

    def close(self) -> None:
        self.parts.chain.close()

    def _by_columns(self, messages: Sequence[Any]) -> tuple[SinkBatch, list[Failure]] | None:
        kind = type(messages[0])
        topics = [*map(kind.topic, messages)]
        topic = topics[0]
        if topics.count(topic) != len(topics) or any(map(kind.headers, messages)):
            return None
        key, value = self.parts.key, self.parts.value
        try:
            started = perf_counter()
            if not self._reads_any_key:  # a key that can't be read is found, though nobody asks
                keys = [*map(kind.key, messages)]
                key.converter.to_connect_batch(topic, keys, [()] * len(topics))
            read_keys = perf_counter()
            found = value.converter.to_connect_columns(topic, [*map(kind.value, messages)])
            if found is None:
                return None
            key.seconds += read_keys - started
            value.seconds += perf_counter() - read_keys
            columns, errors = found
            count = len(topics) - len(errors)
            edited = self.parts.chain.edit_columns(columns, count)
        except Exception as error:  # noqa: BLE001 - whose it is, is found record by record
            log.debug("Doing %d records one by one: %s", len(topics), error)
            return None
        if edited is None:
            return None
        failures = [
            Failure(messages[i], value.stage, value.class_name, errors[i]) for i in sorted(errors)
        ]
        if failures:
            self._retry.count_failure(len(failures))

        def records() -> list[SinkRecord]:
            good = [m for i, m in enumerate(messages) if i not in errors] if errors else messages
            return self._records_of(topic, good, edited)

        return SinkBatch(count, edited, records, topic), failures

    def _records_of(
        self, topic: str, messages: Sequence[Any], columns: Columns
    ) -> list[SinkRecord]:
        """Records whose values lie in columns: what was read and transformed is not done again."""
        raw = [*map(type(messages[0]).key, messages)]
        keys = self.parts.key.converter.to_connect_batch(topic, raw, [()] * len(raw))
        names, fields = columns.fields.keys(), columns.fields.values()
        values = [dict(zip(names, row, strict=True)) for row in zip(*fields, strict=True)]
        headers = [NO_HEADERS] * len(messages)
        found = _columns(topic, messages, keys, ([columns.schema] * len(raw), values), headers)
        return [*starmap(SinkRecord, zip(*found, strict=True))]

    def _run_topic(
        self, topic: str, messages: Sequence[Any]
    ) -> tuple[list[SinkRecord], list[Failure]]:
        failed: dict[int, Failure] = {}
        kind = type(messages[0])  # its methods, called by map(), cost half of a call each
        raw_headers = [h or () for h in map(kind.headers, messages)]
        keys = self._column(
            self.parts.key, messages, [*map(kind.key, messages)], raw_headers, failed
        )
        values = self._column(
            self.parts.value, messages, [*map(kind.value, messages)], raw_headers, failed
        )
        headers = [NO_HEADERS] * len(messages)
        if any(raw_headers):
            self._read_headers(topic, messages, raw_headers, failed, headers)
        columns = _columns(topic, messages, keys, values, headers)
        if failed:
            good = [i for i in range(len(messages)) if i not in failed]
            columns = [[column[i] for i in good] for column in columns]
        else:
            good = None
        records = self._transform(messages, columns, good, failed)
        return records, [failed[i] for i in sorted(failed)]

    def _column(
        self,
        part: ConverterPart[Converter],
        messages: Sequence[Any],
        data: list[bytes | None],
        headers: Sequence[RawHeaders],
        failed: dict[int, Failure],
    ) -> Column:
        topic = messages[0].topic()
        started = perf_counter()
        try:
            if not failed:
                try:
                    return part.converter.to_connect_batch(topic, data, headers)
                except RetriableError:
                    raise
                except Exception as error:  # noqa: BLE001 - whose it is, is found next
                    log.debug("Reading %d records one by one: %s", len(data), error)
            schemas, values, errors = part.converter.to_connect_each(topic, data, headers)
        except RetriableError:
            return self._one_by_one(part, messages, data, headers, failed)
        finally:
            part.seconds += perf_counter() - started
        for i, reason in errors.items():
            if i not in failed:
                self._retry.count_failure()
                part.fail(messages, i, reason, failed)
        return schemas, values

    def _one_by_one(
        self,
        part: ConverterPart[Converter],
        messages: Sequence[Any],
        data: list[bytes | None],
        headers: Sequence[RawHeaders],
        failed: dict[int, Failure],
    ) -> Column:
        """Each tried again for as long as the settings say."""
        topic = messages[0].topic()
        schemas: list[Schema | None] = [None] * len(data)
        values: list[Any] = [None] * len(data)
        read, call = part.converter.to_connect, self._retry.call
        for i, item in enumerate(data):
            if i in failed:
                continue
            try:
                schemas[i], values[i] = call(read, topic, item, headers[i])
            except Exception as error:  # noqa: BLE001 - kept as the failure's cause
                if part.fail(messages, i, error, failed):
                    break
        return schemas, values

    def _read_headers(
        self,
        topic: str,
        messages: Sequence[Any],
        raw_headers: Sequence[RawHeaders],
        failed: dict[int, Failure],
        result: list[Headers],
    ) -> None:
        started = perf_counter()
        part = self.parts.header
        convert = part.converter.to_connect_header
        call = self._retry.call
        for i, raw in enumerate(raw_headers):
            if not raw or i in failed:
                continue
            try:
                found = [
                    (name, _own(data))
                    if name.startswith(OWN_HEADERS)
                    else (name, call(convert, topic, name, data))
                    for name, data in raw
                ]
            except Exception as error:  # noqa: BLE001 - kept as the failure's cause
                if part.fail(messages, i, error, failed):
                    break
            else:
                result[i] = Headers(Header(name, value, schema) for name, (schema, value) in found)
        part.seconds += perf_counter() - started

    def _transform(
        self,
        messages: Sequence[Any],
        columns: list[Sequence[Any]],
        good: list[int] | None,
        failed: dict[int, Failure],
    ) -> list[SinkRecord]:
        records = [*starmap(SinkRecord, zip(*columns, strict=True))]  # quicker than map()
        if not self.parts.chain.steps:
            return records
        records, errors = self.parts.chain.run(
            records, lambda i: SinkRecord(*[column[i] for column in columns])
        )
        for i, (step, error) in errors.items():
            place = i if good is None else good[i]
            failed[place] = chain_failure(messages[place], step, error)
        return records if all(records) else [r for r in records if r is not None]

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_spec, (self.spec,)


def _reads_one(converter: Converter) -> bool:
    """Whether reading one is all that reading many is; a class may have made that choosier."""
    for kind in type(converter).__mro__:
        if "to_connect" in vars(kind):
            return True
        if "to_connect_batch" in vars(kind):
            return False
    return False


def _columns(
    topic: str, messages: Sequence[Any], keys: Column, values: Column, headers: list[Headers]
) -> list[Sequence[Any]]:
    """What records are made of, in the order in which they take it."""
    kind = type(messages[0])
    stamp_types, stamps = _timestamps([*map(kind.timestamp, messages)])
    columns: list[Sequence[Any]] = [
        [topic] * len(messages),
        [*map(kind.partition, messages)],
        *keys,
        *values,
        headers,
        stamps,
        [*map(kind.offset, messages)],
        stamp_types,
    ]
    # original topic and partition
    return [*columns, columns[0], columns[1]]


def _timestamps(
    pairs: Sequence[tuple[int, int]],
) -> tuple[list[TimestampType], list[int | None]]:
    """By whom they were set, and when; None if by nobody."""
    kinds = [kind for kind, _ in pairs]
    stamps: list[int | None] = [ms for _, ms in pairs]
    if kinds[0] and kinds.count(kinds[0]) == len(kinds):
        return [TIMESTAMP_TYPES[kinds[0]]] * len(kinds), stamps
    if 0 in kinds:
        stamps = [ms if kind else None for kind, ms in pairs]
    return [*map(TIMESTAMP_TYPES.__getitem__, kinds)], stamps


def _own(data: bytes | None) -> SchemaAndValue:
    text = None if data is None else data.decode("utf-8", "replace")
    return SchemaAndValue(Schema.OPTIONAL_STRING, text)


def _from_spec(spec: PipelineSpec) -> SinkPipeline:
    return SinkPipeline(spec, spec.retry())
