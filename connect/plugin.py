"""The ways in for plugins: connectors, tasks, converters, transforms, predicates, providers.

Each class says who calls it, in which order, whether it may block, and what an error means.
Plugin code runs in a process of its own, so it may block and even crash without harm to others.
"""

from __future__ import annotations

import abc
import enum
from collections.abc import Callable, Iterable, Mapping, MutableSequence, Sequence
from concurrent.futures import Future
from typing import Any, ClassVar, Generic, NamedTuple, Protocol

from connect.config.configdef import Config, ConfigDef, ConfigValue
from connect.data.columns import Columns
from connect.data.schema import Schema, SchemaAndValue
from connect.errors import RetriableError
from connect.records import R, SinkBatch, SinkRecord, SourceRecord

Offset = Mapping[str, Any]
Partition = Mapping[str, Any]


class TopicPartition(NamedTuple):
    topic: str
    partition: int


class Plugin:
    """What every plugin declares: its version and, once, its config keys.

    From `config_def` come validation, the REST answers, the docs page and the command-line help.
    """

    version: ClassVar[str | None] = None
    config_def: ClassVar[ConfigDef] = ConfigDef()


# ---- connectors ---------------------------------------------------------------------------


class ConnectorContext(Protocol):
    """What a running connector may ask of the framework. Safe to call from any thread."""

    def request_task_reconfiguration(self) -> None:
        """Have `task_configs` called again soon: tables came or went, files were added."""

    def raise_error(self, error: Exception) -> None:
        """Fail the connector with this error; its tasks go on."""


class Task(abc.ABC):
    """Common to source and sink tasks; extend one of those."""

    @abc.abstractmethod
    def start(self, config: Config) -> None:
        """Get ready. Called once, first. May block; an error fails the task."""

    def stop(self) -> None:
        """Let everything go. Called once, last, from the thread that called everything else.

        It is called after a failure too, even one in `start`.
        """


class Connector(Plugin, abc.ABC):
    """Decides how work is cut into tasks. Extend SourceConnector or SinkConnector.

    Order of calls: `start`, then `task_configs` whenever asked for, then `stop`. One instance per
    connector in the cluster, called from one thread. Every call has a deadline.
    """

    task_class: ClassVar[type[Task]]
    context: ConnectorContext
    config: Config

    def start(self) -> None:
        """Begin to watch the other system, if there is need. `self.config` is set and valid."""

    @abc.abstractmethod
    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """The configs of the tasks to run, at most max_tasks. No configs, no tasks."""

    def stop(self) -> None:
        """Let everything go. Called once, after a failed `start` too."""

    @classmethod
    def validate(cls, values: dict[str, ConfigValue]) -> None:
        """Check what single keys can't show. Append to a value's `errors`.

        `values` has one entry a declared key, parsed, with the errors found so far.
        """


class ExactlyOnceSupport(enum.Enum):
    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"


class SourceConnector(Connector):
    """Brings data into Kafka. By default it runs one task with the connector's own config."""

    task_class: ClassVar[type[SourceTask]]

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:  # noqa: ARG002
        return [dict(self.config.raw)]

    def exactly_once_support(self) -> ExactlyOnceSupport | None:
        """Whether no record is lost or repeated with `self.config`. None: it does not say."""
        return None

    def can_define_transaction_boundaries(self) -> bool:
        """Whether tasks use `context.transaction` to begin and end transactions themselves."""
        return False

    def alter_offsets(self, offsets: Sequence[tuple[Partition, Offset | None]]) -> bool:  # noqa: ARG002
        """Check or apply a user's change of offsets; None resets one. The connector is stopped.

        Return True when offsets kept outside Kafka were changed too. Raise ConnectError for ones
        that make no sense, UnsupportedError when they can't be changed.
        """
        return False


class SinkConnector(Connector):
    """Takes data out of Kafka. By default it runs as many equal tasks as it may."""

    task_class: ClassVar[type[SinkTask | ExternalSinkTask]]

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [dict(self.config.raw) for _ in range(max_tasks)]

    def alter_offsets(self, offsets: Mapping[TopicPartition, int | None]) -> bool:  # noqa: ARG002
        """Check or apply a user's change of offsets; None resets one. See SourceConnector."""
        return False


# ---- source tasks -------------------------------------------------------------------------


class TransactionContext(Protocol):
    """For source tasks that set their own transactions (`transaction.boundary=connector`)."""

    def commit(self, record: SourceRecord | None = None) -> None:
        """End the transaction after this record, or after the batch that `poll` returns next."""

    def abort(self, record: SourceRecord | None = None) -> None:
        """Drop what the transaction holds, up to this record or the whole batch."""


class SourceTaskContext(Protocol):
    """What a source task may ask of the framework."""

    @property
    def config(self) -> Mapping[str, str]:
        """The task's config as strings, secrets resolved."""

    @property
    def transaction(self) -> TransactionContext | None:
        """Set when the connector defines transaction boundaries, otherwise None."""

    def offset(self, partition: Partition) -> dict[str, Any] | None:
        """The offset last stored for a source partition. Blocks while the store is read."""

    def offsets(self, partitions: Iterable[Partition]) -> list[dict[str, Any] | None]:
        """The same for many partitions at once, in their order."""


class SourceTask(Task):
    """Reads from another system. One instance per task, called from one thread.

    Order of calls: start, (poll, commit_record…, commit)*, stop.
    """

    context: SourceTaskContext

    @abc.abstractmethod
    def poll(self) -> Sequence[SourceRecord] | None:
        """The next records, or None (or []) when there are none now.

        It may wait for data, but should return within a second or so, so that pausing and
        stopping are quick. Raise RetriableError to be called again; any other error fails the
        task. A batch of hundreds to thousands of records is much faster than single ones, and a
        `SourceBatch` faster than a list.
        """

    def commit_record(self, record: SourceRecord, topic_partition: TopicPartition | None) -> None:
        """This record is safe in Kafka, or was filtered or dead-lettered (then None)."""

    def commit(self) -> None:
        """Offsets were stored: everything `commit_record` named before may be forgotten."""


# ---- sink tasks ---------------------------------------------------------------------------


class ErrantRecordReporter(Protocol):
    """Where a sink task reports single records that it can't deliver."""

    def report(self, record: SinkRecord, error: Exception) -> Future[None]:
        """Dead-letter and log one record of this batch or the one before; the others go on.

        The future is done when the dead letter is safe. Offsets are not committed before, so
        nobody needs to wait for it. With errors.tolerance=none it raises, and the task fails.
        """


class SinkTaskContext(Protocol):
    """What a sink task may ask of the framework."""

    @property
    def config(self) -> Mapping[str, str]:
        """The task's config as strings, secrets resolved."""

    @property
    def assignment(self) -> set[TopicPartition]:
        """The partitions this task reads now."""

    @property
    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        """None unless a dead-letter topic is set or errors.log.enable=true."""

    @property
    def replays(self) -> bool:
        """Whether records are dead letters, replayed into this sink alone.

        They come in any company and none comes behind them, so a `pre_commit` should write all it
        can: what it does not call safe stays a dead letter. Offsets are not to be kept.
        """

    def offset(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Go to these offsets before the next `put`: the sink knows better where it stands."""

    def pause(self, *partitions: TopicPartition) -> None:
        """Bring no more of these until `resume`."""

    def resume(self, *partitions: TopicPartition) -> None: ...

    def timeout(self, milliseconds: int) -> None:
        """Wait this long before the next `put`; usually before raising RetriableError."""

    def request_commit(self) -> None:
        """Commit offsets soon, without waiting for the interval."""


class SinkTask(Task):
    """Writes records to another system. One instance per task, called from one thread.

    Order of calls: start, open, (put, flush)*, close, stop. After a rebalance: close, open.
    """

    context: SinkTaskContext

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        """These partitions are the task's from now on."""

    @abc.abstractmethod
    def put(self, records: list[SinkRecord]) -> None:
        """Take a batch. May buffer; what was taken must be safe once `flush` returns.

        Raise RetriableError to get the same batch again later, DataError for a bad record: it
        fails the task, or with errors.tolerance=all is narrowed to the records that cause it, and
        so are errors of Python and of libraries. Any other ConnectError, such as for a target that
        is away for too long, fails the task whatever errors.tolerance says, and the batch comes
        again after a restart. An empty list is a sign of life: a good moment to write out what has
        waited long enough.
        """

    def put_batch(self, batch: SinkBatch) -> None:
        """Take a batch by columns, where it has them. Override it beside `put` where that pays.

        The rules of `put` hold. A batch that is to come again comes to `put`, as records.
        """
        self.put(batch.records)

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Make everything put before these offsets safe. Offsets are committed afterwards.

        An error keeps the offsets uncommitted: the records come again.
        """

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Say which offsets may be committed. Override it instead of `flush` to say fewer."""
        self.flush(offsets)
        return offsets

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        """These partitions are the task's no longer. Offsets were committed just before."""


class ExternalTaskContext(Protocol):
    """What an external sink task is told by the framework."""

    @property
    def pipeline(self) -> Any:
        """Converters and transforms of the connector as plain data, to be run elsewhere.

        It has `connector`, `task`, `config` and `worker`, the settings of both with secrets
        resolved, and pickles.
        """


class ExternalSinkTask(Task):
    """A sink whose records are read by another system: it begins that work and watches it.

    The worker sees no record, so this task has no consumer, and offsets are the other system's.
    Order of calls: start, (resume, check*, pause)*, stop, all from one thread. A task that is not
    to begin paused is resumed at once and shown as running when `resume` has returned.
    """

    context: ExternalTaskContext

    @abc.abstractmethod
    def resume(self) -> None:
        """Begin the work, or go on with it."""

    @abc.abstractmethod
    def pause(self) -> None:
        """End the work so that `resume` can go on from where it was."""

    @abc.abstractmethod
    def check(self) -> None:
        """Look after the work; called about once a second. An error fails the task."""

    def metrics(self) -> Mapping[str, float]:
        """Numbers to show, such as `sink_read` and `sink_sent`. Called from another thread."""
        return {}


# ---- converters ---------------------------------------------------------------------------

RawHeaders = Sequence[tuple[str, bytes | None]]


class Converter(Plugin, abc.ABC):
    """Between Kafka's bytes and Connect's values. Bytes of None are a null and stay None.

    `configure` is called once, first. The same instance then serves one task, one thread.
    Raise DataError when a record does not fit, RetriableError when a registry is out of reach.

    The `_batch` methods are what the pipeline calls. They have a plain default; override them
    where a tight loop pays. When one raises, the batch is done again record by record; for reading
    that is `to_connect_each`.
    """

    # Whether any bytes can be read: then keys that nobody asks for are not read at all.
    reads_anything: ClassVar[bool] = False

    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        """Take the settings: the converter's own keys, without their prefix."""

    @abc.abstractmethod
    def to_connect(
        self, topic: str, data: bytes | None, headers: RawHeaders = ()
    ) -> SchemaAndValue:
        """Read a key or value."""

    @abc.abstractmethod
    def from_connect(
        self,
        topic: str,
        schema: Schema | None,
        value: Any,
        headers: MutableSequence[tuple[str, bytes | None]] | None = None,
    ) -> bytes | None:
        """Write a key or value. A converter that frames by header appends to `headers`."""

    def to_connect_batch(
        self, topic: str, data: Sequence[bytes | None], headers: Sequence[RawHeaders]
    ) -> tuple[list[Schema | None], list[Any]]:
        """Read many of one topic: their schemas and their values, as two columns."""
        schemas: list[Schema | None] = []
        values: list[Any] = []
        read = self.to_connect
        for item, raw in zip(data, headers, strict=True):
            schema, value = read(topic, item, raw)
            schemas.append(schema)
            values.append(value)
        return schemas, values

    def to_connect_each(
        self, topic: str, data: Sequence[bytes | None], headers: Sequence[RawHeaders]
    ) -> tuple[list[Schema | None], list[Any], dict[int, Exception]]:
        """The same for a column of which some can't be read: by their place, why not.

        A RetriableError is raised: it is not the record's.
        """
        schemas: list[Schema | None] = [None] * len(data)
        values: list[Any] = [None] * len(data)
        failed: dict[int, Exception] = {}
        read = self.to_connect
        for i, (item, raw) in enumerate(zip(data, headers, strict=True)):
            try:
                schemas[i], values[i] = read(topic, item, raw)
            except RetriableError:
                raise
            except Exception as error:  # noqa: BLE001 - the pipeline judges
                failed[i] = error
        return schemas, values, failed

    def to_connect_columns(
        self,
        topic: str,  # noqa: ARG002
        data: Sequence[bytes | None],  # noqa: ARG002
    ) -> tuple[Columns, dict[int, Exception]] | None:
        """The same by columns, without those that can't be read; None if there are several shapes.

        Override it where values can be read without an object for each of them.
        """
        return None

    def from_connect_batch(
        self,
        topic: str,
        schemas: Sequence[Schema | None],
        values: Sequence[Any],
        headers: Sequence[MutableSequence[tuple[str, bytes | None]]],
    ) -> list[bytes | None]:
        """Write many of one topic."""
        write = self.from_connect
        return [
            write(topic, schema, value, raw)
            for schema, value, raw in zip(schemas, values, headers, strict=True)
        ]

    def from_connect_columns(
        self,
        topic: str,  # noqa: ARG002
        columns: Columns,  # noqa: ARG002
    ) -> Sequence[bytes] | None:
        """The same by columns, without headers; None if records have to tell what is wrong.

        Override it where values can be written without an object for each of them.
        """
        return None


class HeaderConverter(Plugin, abc.ABC):
    """Between a header's bytes and its value. The rules of Converter apply."""

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the settings: the converter's own keys, without their prefix."""

    @abc.abstractmethod
    def to_connect_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue: ...

    @abc.abstractmethod
    def from_connect_header(
        self, topic: str, name: str, schema: Schema | None, value: Any
    ) -> bytes | None: ...


# ---- transforms and predicates ------------------------------------------------------------


class ValueEdit(NamedTuple):
    """A change of the value alone, for values of one schema: its new schema and the function.

    With `in_place` the function changes the dict it is given and returns it. `columns`, where it is
    there, does the same to the columns of many values, in a dict that it may change. `hoists` is
    the name of the one field that the whole value becomes, where that is all.
    """

    schema: Schema | None
    change: Callable[[Any, Any], Any]  # from value and record to the new value
    in_place: bool
    columns: Callable[[dict[str, Sequence[Any]], int], dict[str, Sequence[Any]]] | None = None
    hoists: str | None = None


class Transformation(Plugin, abc.ABC, Generic[R]):
    """Changes, routes or drops records between converters and connector.

    `configure` is called once, first, then one thread calls `apply` in the order of the records,
    `close` last. The record is the pipeline's own: set its attributes or return another. What
    its key and value refer to may be shared, so make a new dict instead of changing one.
    """

    def configure(self, config: Config) -> None:
        """Take the settings, parsed by `config_def`. Raise ConfigError if they don't fit."""

    @abc.abstractmethod
    def apply(self, record: R) -> R | None:
        """The record to go on with, or None to drop it."""

    def apply_batch(self, records: Sequence[R]) -> list[R | None]:
        """The same for many: one result a record, in order. Override where a tight loop pays."""
        return [*map(self.apply, records)]

    def value_edit(self, schema: Schema | None) -> ValueEdit | None:  # noqa: ARG002
        """The same for values of this schema that are not null, if it is a `ValueEdit`.

        Neighbours that all have one are done together, with one copy of the value for all.
        """
        return None

    def close(self) -> None:
        """Let everything go."""


class Predicate(Plugin, abc.ABC, Generic[R]):
    """Decides whether a transform applies to a record. The rules of Transformation hold."""

    def configure(self, config: Config) -> None:
        """Take the settings, parsed by `config_def`."""

    @abc.abstractmethod
    def test(self, record: R) -> bool: ...

    def close(self) -> None:
        """Let everything go."""


# ---- config providers ---------------------------------------------------------------------


class ConfigProvider(Plugin, abc.ABC):
    """Looks up what stands behind `${provider:path:key}` in a config: files, vaults, variables."""

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the provider's `param.*` settings."""

    @abc.abstractmethod
    def get(self, path: str, keys: Iterable[str] | None = None) -> Mapping[str, str]:
        """The values at path, all of them or those asked for. Unknown keys are left out."""

    def ttl_ms(self, path: str) -> int | None:  # noqa: ARG002
        """How long the values at path are good for; None: until something else restarts."""
        return None

    def close(self) -> None:
        """Let everything go."""
