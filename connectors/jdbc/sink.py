"""The JDBC sink: records into tables."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from itertools import repeat
from typing import Any, ClassVar, NamedTuple, NoReturn

from sqlalchemy import Connection

from connect import (
    Config,
    ConfigDef,
    ConfigValue,
    ConnectError,
    DataError,
    RetriableError,
    Schema,
    SinkBatch,
    SinkConnector,
    SinkRecord,
    SinkTask,
    TopicPartition,
)
from connectors.jdbc.database import Database, is_passing, reason, url_of
from connectors.jdbc.dialects import Dialect, Rest, Write, dialect_of
from connectors.jdbc.envelope import is_envelope, unwrap
from connectors.jdbc.inferred import InferredSchemas, unknown_fields
from connectors.jdbc.rows import PkMode, Row, row_maker
from connectors.jdbc.segments import Item, Plan, Segment, begin, in_segments
from connectors.jdbc.shapes import Shape, TableName
from connectors.jdbc.sink_config import SINK_CONFIG, SinkSettings, check_sink
from connectors.jdbc.tables import Tables
from connectors.jdbc.urls import KEY, check_url

log = logging.getLogger(__name__)

_MOST_PLANS = 1000

Records = Callable[[], list[SinkRecord]]


class _UnderWay(NamedTuple):
    """A batch that the database works on."""

    done: Future[None]
    records: Records


class JdbcSinkTask(SinkTask):
    """Writes each batch in one transaction.

    A batch that the database refuses is halved, within the transaction, until the guilty records
    stand alone; these are reported. One that fails for a reason that may pass is tried again.

    A server works on a batch while the task makes rows of the next one. Whether it took the batch
    is known when the next one comes, or offsets are to be committed.
    """

    def start(self, config: Config) -> None:
        self._settings = settings = SinkSettings.of(config)
        self._database = database = Database(url_of(config), settings.zone.key)
        self._dialect = dialect_of(database.engine.dialect, settings.zone)
        if database.dialect != "postgresql":
            settings = replace(settings, rows=replace(settings.rows, lowercase=False))
            self._settings = settings
        self._tables = Tables(
            database, self._dialect, create=settings.create, evolve=settings.evolve
        )
        self._by_key = settings.insert_mode != "insert"
        self._plans: dict[tuple[Any, ...], Plan] = {}
        self._writers: dict[tuple[TableName, bool, tuple[str, ...]], Write] = {}
        self._inferred = InferredSchemas()
        self._envelopes: dict[int, tuple[Schema | None, bool]] = {}
        self._retries_left = settings.retries
        self._under_way: _UnderWay | None = None
        self._unwritten: Records | None = None  # of a batch that failed
        self._waiter: ThreadPoolExecutor | None = None
        if database.dialect != "sqlite" and self._knows_the_guilty():
            self._waiter = ThreadPoolExecutor(1, "waits")
        database.connect(config["connection.attempts"], config["connection.backoff.ms"])

    def _knows_the_guilty(self) -> bool:
        """Whether it matters to nobody else in which call of `put` a batch is refused.

        Without a reporter the framework finds out which records are guilty, if they may be skipped.
        """
        reports = self.context.errant_record_reporter is not None
        return reports or self.context.config.get("errors.tolerance") != "all"

    def open(self, partitions: Sequence[TopicPartition]) -> None:  # noqa: ARG002
        """Who had them until now may have added columns."""
        self._tables.forget()

    def put(self, records: list[SinkRecord]) -> None:
        self._attempt(lambda: self._put(records) if records else self._make_up())

    def put_batch(self, batch: SinkBatch) -> None:
        self._attempt(lambda: self._put_columns(batch))

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:  # noqa: ARG002
        self._attempt(self._make_up)

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """All of them; without those of a batch that failed, which the next `put` sees to."""
        try:
            self._make_up()
        except Exception as error:  # noqa: BLE001 - the next put meets it again, and tells
            log.warning("Offsets of a batch are not committed: %s", reason(error))
            self._database.drop()
        first: dict[TopicPartition, int] = {}
        for record in self._unwritten() if self._unwritten is not None else ():
            first.setdefault(_partition(record), record.offset)
        return {p: min(offset, first.get(p, offset)) for p, offset in offsets.items()}

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._settle()
        if self._unwritten is not None:
            left = [r for r in self._unwritten() if _partition(r) not in partitions]
            self._unwritten = (lambda: left) if left else None

    def _attempt(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception as error:
            self._settle()  # before its connection goes
            self._database.drop()
            if not is_passing(error):
                raise
            self._try_later(error)

    def stop(self) -> None:
        thread = getattr(self, "_waiter", None)
        if thread is not None:
            thread.shutdown()
        database = getattr(self, "_database", None)
        if database is not None:
            database.close()

    # -- a batch ----------------------------------------------------------------------------

    def _put(self, records: list[SinkRecord]) -> None:
        items = self._items(records)
        fit = [original for original, *_ in items]
        self._begin(in_segments(items, by_key=self._by_key), lambda: fit)

    def _put_columns(self, batch: SinkBatch) -> None:
        """The same without a record for each row, where only values make them."""
        try:
            segment = self._segment(batch)
        except _UNFIT:
            segment = None  # record by record it is found whose fault it is
        if segment is None:
            self._put(batch.records)
        else:
            self._begin([segment], lambda: batch.records)

    def _begin(self, segments: Sequence[Segment], records: Records) -> None:
        """Have it written, after the batch before."""
        self._make_up()
        if self._waiter is None:
            self._write_or_narrow(segments, records)
            return
        try:
            with ExitStack() as transaction:
                connection = self._database.connection()
                transaction.enter_context(connection.begin())
                rest = begin(connection, segments, self._settings.batch_size)
                ending = transaction.pop_all()
        except Exception as error:  # noqa: BLE001 - raised again unless a record is to blame
            self._put_without_guilty(error, records)
        else:
            self._under_way = _UnderWay(self._waiter.submit(_end, rest, ending), records)

    def _settle(self) -> None:
        """Wait for the batch under way."""
        batch, self._under_way = self._under_way, None
        if batch is None:
            return
        error = batch.done.exception()
        if error is None:
            self._retries_left = self._settings.retries
        else:
            log.debug("A batch was not written: %s", reason(error))
            self._unwritten = batch.records
            if is_passing(error):
                self._database.drop()

    def _make_up(self) -> None:
        """Have all batches written that came before, and be told now what is wrong with them."""
        self._settle()
        if self._unwritten is not None:
            items = self._items(self._unwritten())
            self._write_or_narrow(in_segments(items, by_key=self._by_key), self._unwritten)
            self._unwritten = None

    def _write_or_narrow(self, segments: Sequence[Segment], records: Records) -> None:
        connection = self._database.connection()
        try:
            with connection.begin():
                begin(connection, segments, self._settings.batch_size)()
        except Exception as error:  # noqa: BLE001 - raised again unless a record is to blame
            self._put_without_guilty(error, records)
        self._retries_left = self._settings.retries

    def _put_without_guilty(self, error: Exception, records: Records) -> None:
        """Write what can be written, if some record is to blame for the error.

        The tables may have changed, so they are looked at again.
        """
        if not _is_refusal(error):
            raise error
        if self.context.errant_record_reporter is None:
            raise _refused(error) from error
        self._tables.forget()
        self._plans.clear()
        self._writers.clear()
        items = self._items(records())
        connection = self._database.connection()
        with connection.begin():
            self._narrow(connection, items)

    def _narrow(self, connection: Connection, items: Sequence[Item]) -> None:
        if not items:
            return
        savepoint = connection.begin_nested()
        try:
            segments = in_segments(items, by_key=self._by_key)
            begin(connection, segments, self._settings.batch_size)()
        except Exception as error:
            if not _is_refusal(error):
                raise
            savepoint.rollback()
            if len(items) == 1:
                self._report(items[0][0], _refused(error), error)
            else:
                middle = len(items) // 2
                self._narrow(connection, items[:middle])
                self._narrow(connection, items[middle:])
        else:
            savepoint.commit()

    def _try_later(self, error: Exception) -> NoReturn:
        text = f"{self._database.name}: {reason(error)}"
        if self._retries_left <= 0:
            raise ConnectError(
                f"Gave up after {self._settings.retries} retries (max.retries). {text}"
            ) from error
        self._retries_left -= 1
        self.context.timeout(self._settings.backoff_ms)
        raise RetriableError(text) from error

    def _report(self, record: SinkRecord, error: Exception, cause: Exception) -> None:
        error.__cause__ = cause
        reporter = self.context.errant_record_reporter
        if reporter is None:
            raise error
        reporter.report(record, error)

    # -- from records to rows ---------------------------------------------------------------

    def _items(self, records: list[SinkRecord]) -> list[Item]:
        """What is to be written, in order. Records that have no form as rows are reported."""
        items: list[Item] = []
        run: list[tuple[SinkRecord, SinkRecord]] = []  # as it came, and unwrapped: of one plan
        of_run: Plan | None = None
        for original in records:
            try:
                record = self._unwrapped(original)
                if record is None:
                    continue
                if not run or not _is_alike(record, run[-1][1]):
                    plan = self._plan(record, wrapped=record is not original)
                    if plan is not of_run:
                        self._take(items, of_run, run)
                        run, of_run = [], plan
            except _UNFIT as error:
                self._report_unfit(original, error)
                continue
            if of_run is not None:
                run.append((original, record))
        self._take(items, of_run, run)
        return items

    def _take(
        self,
        items: list[Item],
        plan: Plan | None,
        run: Sequence[tuple[SinkRecord, SinkRecord]],
    ) -> None:
        """Add the items of records with one plan; if that fails, one by one."""
        if plan is None or not run:
            return
        try:
            items += self._of_plan(plan, run)
        except _UNFIT as error:
            if len(run) == 1:
                self._report_unfit(run[0][0], error)
                return
            for each in run:
                self._take(items, plan, [each])

    def _of_plan(self, plan: Plan, run: Sequence[tuple[SinkRecord, SinkRecord]]) -> Iterable[Item]:
        records = [record for _, record in run]
        columns = plan.maker.keys(records) if plan.is_delete else plan.maker.columns(records)
        rows, keys = _rows(plan, columns)
        originals = [original for original, _ in run]
        return zip(originals, repeat(plan, len(rows)), rows, keys, strict=True)

    def _segment(self, batch: SinkBatch) -> Segment | None:
        """A batch that has columns; None if they are not enough to make rows of them."""
        if batch.columns is None or batch.columns.schema is None or batch.topic is None:
            return None
        schema = batch.columns.schema
        by_value = self._settings.rows.pk_mode in (PkMode.NONE, PkMode.RECORD_VALUE)
        if not by_value or is_envelope(schema, None):
            return None
        plan = self._known_plan(batch.topic, None, schema, tombstone=False)
        columns = plan.maker.of_fields(batch.columns.fields)
        return None if columns is None else Segment.of(plan, *_rows(plan, columns), self._by_key)

    def _report_unfit(self, record: SinkRecord, error: Exception) -> None:
        told = error if isinstance(error, DataError) else DataError(
            f"The record does not fit its schema: {error}"
        )  # fmt: skip
        self._report(record, told, error)

    def _unwrapped(self, record: SinkRecord) -> SinkRecord | None:
        schema = record.value_schema
        known = self._envelopes.get(id(schema))
        if schema is None:
            wrapped = is_envelope(None, record.value)
        elif known is not None:
            wrapped = known[1]
        else:
            wrapped = is_envelope(schema, record.value)
            self._envelopes[id(schema)] = (schema, wrapped)
        return unwrap(record) if wrapped and record.value is not None else record

    def _plan(self, record: SinkRecord, *, wrapped: bool) -> Plan | None:
        """How this record is written; None for a deletion that nobody wants or needs."""
        key_schema = record.key_schema or self._inferred.of(record.key)
        value_schema = record.value_schema or self._inferred.of(record.value)
        tombstone = record.value is None
        if (record.topic, id(key_schema), id(value_schema), tombstone) not in self._plans:
            if tombstone and not self._settings.deletes:
                if wrapped or self._settings.debezium:
                    return None  # as Debezium's own sink does
                raise DataError(
                    "The record has no value. Set delete.enabled=true and pk.mode=record_key to "
                    "have it delete its row"
                )
            self._settle()  # which leaves the connection to us
            if tombstone and self._tables.get(self._table(record.topic)) is None:
                return None
        return self._known_plan(record.topic, key_schema, value_schema, tombstone=tombstone)

    def _known_plan(
        self, topic: str, key_schema: Schema | None, value_schema: Schema | None, *, tombstone: bool
    ) -> Plan:
        kind = (topic, id(key_schema), id(value_schema), tombstone)
        plan = self._plans.get(kind)
        if plan is None or (plan.left_out and self._has_now(plan.table, plan.left_out)):
            self._settle()  # which leaves the connection to us
            plan = self._made_plan(topic, key_schema, value_schema, tombstone=tombstone)
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[kind] = plan
        return plan

    def _has_now(self, table: TableName, columns: frozenset[str]) -> bool:
        """Whether a table may have one of these columns by now, which were left out.

        From then on their nulls have to be written: there may be values in their place.
        """
        if self._tables.is_old(table):
            self._settle()  # which leaves the connection to us
        found = self._tables.recent(table)
        return found is None or not columns.isdisjoint(found.columns)

    def _table(self, topic: str) -> TableName:
        settings = self._settings
        name = topic.replace(".", "_") if settings.debezium else topic
        text = settings.table_format.replace("${topic}", name)
        return TableName.parse(text.lower() if settings.rows.lowercase else text)

    def _made_plan(
        self, topic: str, key_schema: Schema | None, value_schema: Schema | None, *, tombstone: bool
    ) -> Plan:
        table, rows = self._table(topic), self._settings.rows
        left_out = {rows.column_name(field): field for field in unknown_fields(value_schema)}
        if left_out:
            found = self._tables.recent(table)
            known = found.columns if found is not None else frozenset[str]()
            left_out = {name: field for name, field in left_out.items() if name not in known}
            rows = replace(rows, excluded=rows.excluded.union(left_out.values()))
        maker = row_maker(rows, table, topic, key_schema, value_schema, tombstone=tombstone)
        shape = maker.shape
        ready = self._tables.ready(table, shape.keys, shape.rest)
        columns_of_row = shape.keys if tombstone else shape.columns
        converts = []
        for place, column in enumerate(columns_of_row):
            convert = self._dialect.converter(column, column.name in ready.arrays)
            if convert is not None:
                converts.append((place, convert))
        return Plan(
            table, maker, tuple(converts), tombstone,
            self._writer(shape, tombstone=tombstone), (key_schema, value_schema),
            frozenset(left_out),
        )  # fmt: skip

    def _writer(self, shape: Shape, *, tombstone: bool) -> Write:
        """One writer for all schemas that give the same columns, so that they can share a batch."""
        kind = (shape.table, tombstone, tuple(c.name for c in shape.columns))
        found = self._writers.get(kind)
        if found is None:
            found = self._writers[kind] = self._statement(shape, tombstone=tombstone)
        return found

    def _statement(self, shape: Shape, *, tombstone: bool) -> Write:
        dialect: Dialect = self._dialect
        if tombstone:
            return dialect.delete(shape)
        make: Callable[[Shape], Write] = {
            "insert": dialect.insert,
            "upsert": dialect.upsert,
            "update": dialect.update,
        }[self._settings.insert_mode]
        if self._settings.insert_mode == "update" and not shape.rest:
            raise DataError(f"Records of {shape.table} have nothing but their key to update")
        return make(shape)


# What making a row of a record raises when the record is to blame.
_UNFIT = (DataError, ValueError, TypeError, AttributeError, KeyError)


def _rows(plan: Plan, columns: Sequence[Sequence[Any]]) -> tuple[list[Row], list[Row]]:
    """The rows and their keys. DataError if a key lacks a part."""
    columns = [*columns]
    for place, convert in plan.converts:
        columns[place] = [None if v is None else convert(v) for v in columns[place]]
    rows = [*zip(*columns, strict=True)]
    names = plan.maker.shape.keys
    for column, values in zip(names, columns, strict=False):
        if None in values:
            raise DataError(
                f"The record has no value for the key column {column.name} of {plan.table}"
            )
    parts = len(names)
    keys: list[Row] = [row[:parts] for row in rows] if names else [()] * len(rows)
    set(keys)  # raises if a key is no key
    return rows, keys


def _is_alike(record: SinkRecord, other: SinkRecord) -> bool:
    """Whether two records have the same plan for sure."""
    return (
        record.value_schema is other.value_schema
        and record.key_schema is other.key_schema
        and record.topic == other.topic
        and (record.value is None) is (other.value is None)
        and (record.value_schema is not None or record.value is None)
        and (record.key_schema is not None or record.key is other.key is None)
    )


def _end(rest: Rest, transaction: ExitStack) -> None:
    with transaction:
        rest()


def _is_refusal(error: Exception) -> bool:
    """Whether some record is to blame: the database, or the driver, will not have its values."""
    if isinstance(error, ConnectError):
        return isinstance(error, DataError)
    return not is_passing(error) and not isinstance(error, MemoryError)


def _partition(record: SinkRecord) -> TopicPartition:
    return TopicPartition(record.original_topic, record.original_partition)


def _refused(error: Exception) -> DataError:
    return DataError(f"The database refused the record: {reason(error)}")


class JdbcSinkConnector(SinkConnector):
    """Writes records to tables of PostgreSQL, MySQL, MariaDB, SQLite and others."""

    task_class = JdbcSinkTask
    config_def: ClassVar[ConfigDef] = SINK_CONFIG

    @classmethod
    def validate(cls, values: dict[str, ConfigValue]) -> None:
        check_sink(values)
        check_url(values[KEY])

    def alter_offsets(self, offsets: Mapping[TopicPartition, int | None]) -> bool:  # noqa: ARG002
        """Kafka's offsets are all there is, so any change will do."""
        return True
