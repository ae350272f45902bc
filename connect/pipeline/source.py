"""The source's pipeline: a task's records in, messages for Kafka and failures out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import methodcaller
from time import perf_counter
from typing import Any

import msgspec

from connect.data.columns import Columns, has_null
from connect.data.framed import Framed
from connect.pipeline.assembly import ConverterPart, Parts, PipelineSpec, assemble
from connect.pipeline.chain import chain_failure
from connect.pipeline.failures import Failure, Retry
from connect.plugin import Converter
from connect.records import SourceBatch, SourceRecord

log = logging.getLogger(__name__)

_copied: Callable[[SourceRecord], SourceRecord] = methodcaller("__copy__")

RawHeaderList = list[tuple[str, bytes | None]]


class Outgoing(msgspec.Struct):
    """Messages of one topic, ready for the producer, as columns."""

    topic: str
    records: Sequence[SourceRecord]  # as the task gave them
    partitions: Sequence[int | None]
    timestamps: Sequence[int | None]
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: Sequence[RawHeaderList | None]
    bare: bool = False  # values alone, and none is missing: no keys, no headers, and one timestamp


class _Batch(msgspec.Struct):
    """Records of one topic on their way through the converters."""

    topic: str
    originals: Sequence[SourceRecord]
    headers: list[RawHeaderList]
    failed: dict[int, Failure] = {}


class SourcePipeline:
    """Runs a task's records through the transforms, then header, key and value converters."""

    def __init__(self, spec: PipelineSpec, retry: Retry, parts: Parts | None = None) -> None:
        self.spec = spec
        self.parts = parts or assemble(spec, retry)
        self._retry = retry

    def run(
        self, records: Sequence[SourceRecord]
    ) -> tuple[list[Outgoing], list[SourceRecord], list[Failure]]:
        """Messages in the records' order, the records that were dropped, and those that failed."""
        if isinstance(records, SourceBatch) and (whole := self._by_columns(records)) is not None:
            return [whole], [], []
        failures: list[Failure] = []
        dropped: list[SourceRecord] = []
        originals: Sequence[SourceRecord] = records
        transformed: Sequence[SourceRecord] = records
        if self.parts.chain.steps:
            result, errors = self.parts.chain.run(
                [*map(_copied, records)], lambda i: _copied(records[i])
            )
            failures += [chain_failure(records[i], step, e) for i, (step, e) in errors.items()]
            if not all(result):
                dropped = [
                    r
                    for i, (r, out) in enumerate(zip(records, result, strict=True))
                    if out is None and i not in errors
                ]
                originals = [r for r, out in zip(records, result, strict=True) if out is not None]
                transformed = [out for out in result if out is not None]
            else:
                transformed = result
        if len({r.topic for r in transformed}) == 1:
            some = self._convert(transformed[0].topic, originals, [*transformed], failures)
            return [some] if some.records else [], dropped, failures
        outgoing: list[Outgoing] = []
        start = 0
        for topic, run in groupby(transformed, key=lambda r: r.topic):
            batch = list(run)
            some = self._convert(topic, originals[start : start + len(batch)], batch, failures)
            start += len(batch)
            if some.records:
                outgoing.append(some)
        return outgoing, dropped, failures

    def close(self) -> None:
        self.parts.chain.close()

    def _by_columns(self, batch: SourceBatch) -> Outgoing | None:
        """The batch without a record for each value; None if somebody wants records."""
        topic, values, count = batch.topic, batch.values, len(batch)
        headers: list[RawHeaderList] = []
        part, chain = self.parts.value, self.parts.chain
        columns: Columns | None = None
        try:
            if has_null(values):
                return None
            # A key converter may make something of no key.
            if self.parts.key.converter.from_connect(topic, None, None) is not None:
                return None
            if chain.steps and (columns := chain.hoist(batch.schema, values)) is None:
                return None
            started = perf_counter()
            written: Sequence[bytes | None] | None
            if columns is None:
                schemas = [batch.schema] * count
                headers = [[] for _ in values]
                written = part.converter.from_connect_batch(topic, schemas, values, headers)
            else:
                written = part.converter.from_connect_columns(topic, columns)
            part.seconds += perf_counter() - started
        except Exception as error:  # noqa: BLE001 - whose it is, is found record by record
            log.debug("Doing %d records one by one: %s", count, error)
            return None
        if written is None:
            return None
        nothing = [None] * count
        framed = isinstance(written, Framed)
        bare = framed or not (any(headers) or has_null(written))
        return Outgoing(
            topic,
            batch,
            partitions=nothing,
            timestamps=[batch.timestamp] * count,
            keys=nothing,
            values=written,
            headers=nothing if bare else headers,  # a list for each would take half of the time
            bare=bare,
        )

    def _convert(
        self,
        topic: str,
        originals: Sequence[SourceRecord],
        records: list[SourceRecord],
        failures: list[Failure],
    ) -> Outgoing:
        batch = _Batch(topic, originals, [[] for _ in records])
        self._headers(batch, records)
        keys = self._column(
            batch, self.parts.key, [r.key_schema for r in records], [r.key for r in records]
        )
        values = self._column(
            batch, self.parts.value, [r.value_schema for r in records], [r.value for r in records]
        )
        columns: list[list[Any]] = [
            list(originals),
            [r.partition for r in records],
            [r.timestamp for r in records],
            keys,
            values,
            batch.headers,
        ]
        if batch.failed:
            good = [i for i in range(len(records)) if i not in batch.failed]
            columns = [[column[i] for i in good] for column in columns]
            failures += [batch.failed[i] for i in sorted(batch.failed)]
        originals, partitions, timestamps, keys, values, raw = columns
        return Outgoing(topic, originals, partitions, timestamps, keys, values, raw)

    def _headers(self, batch: _Batch, records: list[SourceRecord]) -> None:
        part = self.parts.header
        started = perf_counter()
        convert = part.converter.from_connect_header
        call = self._retry.call
        for i, record in enumerate(records):
            if not record.headers:
                continue
            try:
                batch.headers[i] = [
                    (h.name, call(convert, batch.topic, h.name, h.schema, h.value))
                    for h in record.headers
                ]
            except Exception as error:  # noqa: BLE001 - kept as the failure's cause
                if part.fail(batch.originals, i, error, batch.failed):
                    break
        part.seconds += perf_counter() - started

    def _column(
        self,
        batch: _Batch,
        part: ConverterPart[Converter],
        schemas: list[Any],
        values: list[Any],
    ) -> list[bytes | None]:
        topic, headers, failed = batch.topic, batch.headers, batch.failed
        lengths = [*map(len, headers)]
        started = perf_counter()
        try:
            if not failed:
                return part.converter.from_connect_batch(topic, schemas, values, headers)
        except Exception as error:  # noqa: BLE001 - who it was is found below
            log.debug("Writing %d records one by one: %s", len(values), error)
            # A converter may have appended its headers before it raised.
            for raw, length in zip(headers, lengths, strict=True):
                del raw[length:]
        finally:
            part.seconds += perf_counter() - started
        result: list[bytes | None] = [None] * len(values)
        write = part.converter.from_connect
        call = self._retry.call
        for i, value in enumerate(values):
            if i in failed:
                continue
            try:
                result[i] = call(write, topic, schemas[i], value, headers[i])
            except Exception as error:  # noqa: BLE001 - kept as the failure's cause
                if part.fail(batch.originals, i, error, failed):
                    break
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_spec, (self.spec,)


def _from_spec(spec: PipelineSpec) -> SourcePipeline:
    return SourcePipeline(spec, spec.retry())
