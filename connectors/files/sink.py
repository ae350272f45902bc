"""The files sink: records into files, each record in one file.

Records of a Kafka partition are gathered and written out together when there are enough of them,
when their times lie too far apart, or when the schema changes. All of that depends on the records
alone, and a file is named by its first record's offset. So after a crash, reading again from the
committed offset makes the same files, which take the place of those that are there.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from connect import (
    Config,
    ConfigDef,
    ConfigValue,
    ConnectError,
    DataError,
    RetriableError,
    Schema,
    SinkConnector,
    SinkRecord,
    SinkTask,
    TopicPartition,
    Type,
)
from connectors.files.directories import directory, record_clock
from connectors.files.formats import make_format
from connectors.files.settings import FILES_CONFIG, FORMATS, check_files, compression, short_name
from connectors.files.store import make_store

log = logging.getLogger(__name__)


class _File:
    """The records of one file to be."""

    def __init__(self, topic: str, schema: Schema | None, first_offset: int) -> None:
        self.topic = topic
        self.schema = schema
        self.first_offset = first_offset
        self.values: list[Any] = []


class _Gathering:
    """What was read of one Kafka partition and is not written yet."""

    def __init__(self) -> None:
        self.files: dict[str, _File] = {}
        self.count = 0
        self.first_time: int | None = None
        self.since = 0.0
        self.next_offset = -1  # what comes before it was taken already
        self.full = False


class FilesSinkTask(SinkTask):
    def start(self, config: Config) -> None:
        name = short_name(config["format.class"], FORMATS, "format")
        assert name is not None
        self._format = make_format(name, compression(config))
        self._store = make_store(config)
        self._clock = record_clock(config)
        self._directory = directory(config, self._clock)
        self._flush_size: int = config["flush.size"]
        self._interval: int = config["rotate.interval.ms"]
        self._schedule: float = config["rotate.schedule.interval.ms"] / 1000
        self._backoff: int = config["retry.backoff.ms"]
        self._root: str = config["topics.dir"].strip("/")
        self._delim: str = config["file.delim"]
        self._digits: int = config["filename.offset.zero.pad.width"]
        self._null_fails = config["behavior.on.null.values"].lower() == "fail"
        # Without a reporter, the framework finds out which records are to be left out.
        reports = self.context.errant_record_reporter is not None
        self._tolerant = reports or self.context.config.get("errors.tolerance") == "all"
        self._gathered: dict[TopicPartition, _Gathering] = {}

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        for partition in partitions:
            self._gathered[partition] = _Gathering()

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        # What is not written comes again, to whoever has the partition then.
        for partition in partitions:
            self._gathered.pop(partition, None)

    def put(self, records: list[SinkRecord]) -> None:
        for partition, gathering in self._gathered.items():
            if gathering.full or self._waited_long(gathering):
                self._write(partition, gathering)
        if self._format.typed and self._tolerant:
            records = self._fitting(records)
        for record in records:
            partition = TopicPartition(record.original_topic, record.original_partition)
            gathering = self._gathered.setdefault(partition, _Gathering())
            if record.offset < gathering.next_offset:
                continue  # of a batch that is put again
            self._take(partition, gathering, record)
            gathering.next_offset = record.offset + 1

    def _fitting(self, records: list[SinkRecord]) -> list[SinkRecord]:
        """The records without those whose values break their schema; these are reported.

        It must be known now: a record can be blamed only while its batch is under way.
        """
        kinds: dict[int, list[SinkRecord]] = {}
        for record in records:
            schema = record.value_schema
            if record.value is not None and schema is not None and schema.type is Type.STRUCT:
                kinds.setdefault(id(schema), []).append(record)
        guilty = {id(r) for kind in kinds.values() for r in self._unfit(kind)}
        return [record for record in records if id(record) not in guilty]

    def _unfit(self, records: list[SinkRecord]) -> list[SinkRecord]:
        try:
            self._format.encode(records[0].value_schema, [record.value for record in records])
        except DataError as error:
            if len(records) > 1:
                middle = len(records) // 2
                return self._unfit(records[:middle]) + self._unfit(records[middle:])
            reporter = self.context.errant_record_reporter
            if reporter is None:
                raise
            reporter.report(records[0], error)
            return records
        return []

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Offsets before which everything is in files: all, where no more records come."""
        safe = {}
        for partition, offset in offsets.items():
            gathering = self._gathered.get(partition)
            if gathering is not None and self.context.replays:
                self._write(partition, gathering)
            begun = gathering.files.values() if gathering is not None else ()
            safe[partition] = min([offset, *(file.first_offset for file in begun)])
        return safe

    def _take(self, partition: TopicPartition, gathering: _Gathering, record: SinkRecord) -> None:
        try:
            if record.value is None:
                if self._null_fails:
                    raise DataError("The record has no value and behavior.on.null.values=fail")  # noqa: TRY301
                return
            self._format.check(record)
            where = f"{record.topic}/{self._directory(record)}"
            moment = self._clock(record) if self._interval >= 0 else 0
        except DataError as error:
            reporter = self.context.errant_record_reporter
            if reporter is None:
                raise
            reporter.report(record, error)
            return
        if self._must_rotate(gathering, where, record, moment):
            self._write(partition, gathering)
        file = gathering.files.get(where)
        if file is None:
            file = gathering.files[where] = _File(record.topic, record.value_schema, record.offset)
        if gathering.first_time is None:
            gathering.first_time = moment
            gathering.since = time.monotonic()
        file.values.append(record.value)
        gathering.count += 1
        if gathering.count >= self._flush_size:
            gathering.full = True
            gathering.next_offset = record.offset + 1
            self._write(partition, gathering)

    def _must_rotate(
        self, gathering: _Gathering, where: str, record: SinkRecord, moment: int
    ) -> bool:
        file = gathering.files.get(where)
        if file is not None and file.schema is not record.value_schema:
            if file.schema != record.value_schema:
                return True
            file.schema = record.value_schema
        first = gathering.first_time
        return self._interval >= 0 and first is not None and moment - first >= self._interval

    def _waited_long(self, gathering: _Gathering) -> bool:
        waits = self._schedule >= 0 and gathering.first_time is not None
        return waits and time.monotonic() - gathering.since >= self._schedule

    def _write(self, partition: TopicPartition, gathering: _Gathering) -> None:
        """Write all files of a partition. If one fails, all are written again as they were."""
        for where, file in gathering.files.items():
            path = self._path(where, file, partition.partition)
            try:
                data = self._format.encode(file.schema, file.values)
                if self.context.replays:
                    # Another file may begin with the same record, and must not be replaced by this.
                    mark = hashlib.blake2b(data, digest_size=6).hexdigest()
                    path = self._path(where, file, partition.partition, mark)
                self._store.write(path, data)
            except Exception as error:
                if not _may_pass(error):
                    # No DataError: the records at hand are mostly others than those of the file.
                    raise ConnectError(f"{path} can't be written: {error}") from error
                self.context.timeout(self._backoff)
                raise RetriableError(f"{path} can't be written now: {error}") from error
            log.info("Wrote %d records to %s", len(file.values), path)
        gathering.files.clear()
        gathering.count = 0
        gathering.first_time = None
        gathering.full = False
        self.context.request_commit()

    def _path(self, where: str, file: _File, partition: int, *marks: str) -> str:
        offset = str(file.first_offset).zfill(self._digits)
        name = self._delim.join((file.topic, str(partition), offset, *marks))
        name += self._format.extension
        return "/".join(filter(None, (self._root, where, name)))


def _may_pass(error: Exception) -> bool:
    """A full disk, a store out of reach; not what only a change of the config can mend."""
    lasting = (PermissionError, FileNotFoundError, NotADirectoryError, IsADirectoryError)
    return isinstance(error, OSError) and not isinstance(error, lasting)


class FilesSinkConnector(SinkConnector):
    """Writes records to Parquet, Avro, JSON or CSV files on a disk or in an object store."""

    task_class = FilesSinkTask
    config_def: ClassVar[ConfigDef] = FILES_CONFIG

    @classmethod
    def validate(cls, values: dict[str, ConfigValue]) -> None:
        check_files(values)

    def alter_offsets(self, offsets: Mapping[TopicPartition, int | None]) -> bool:  # noqa: ARG002
        """Kafka's offsets are all there is, so any change will do."""
        return True
