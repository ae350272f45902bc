"""The file sink: each record's value becomes a line."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from typing import ClassVar

from connect import (
    Config,
    ConfigDef,
    ConnectError,
    SinkBatch,
    SinkConnector,
    SinkRecord,
    SinkTask,
    TopicPartition,
)
from connect.data.java_lines import java_lines, java_lines_of
from connect.data.java_text import java_text

_BYTES = (bytes, bytearray, memoryview)


class FileStreamSinkTask(SinkTask):
    """Writes each batch with one call, appending, so tasks that share a file don't mix lines.

    `flush` returns when the lines are on the disk: only then are offsets committed, so not even a
    power cut loses one.
    """

    def start(self, config: Config) -> None:
        self._file: str | None = config["file"] or None
        self._name = f"file '{self._file}'" if self._file else "standard output"
        self._fd: int | None = None
        self._unsynced = False
        if self._file is None:
            sys.stdout.flush()
            self._fd = sys.stdout.fileno()
            self._is_regular = stat.S_ISREG(os.fstat(self._fd).st_mode)
        else:
            self._fd = self._open(self._file)

    def put(self, records: list[SinkRecord]) -> None:
        if not records:
            return
        self._write(_lines(records))
        self._unsynced = True

    def put_batch(self, batch: SinkBatch) -> None:
        if batch.columns is None:
            self.put(batch.records)
        else:
            self._write(_encode(java_lines_of(batch.columns)))
            self._unsynced = True

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:  # noqa: ARG002
        # Pipes and terminals have no disk to wait for.
        if not self._unsynced or not self._is_regular or self._fd is None:
            return
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise ConnectError(f"Cannot flush {self._name}: {error.strerror}") from error
        self._unsynced = False

    def stop(self) -> None:
        fd = getattr(self, "_fd", None)
        if fd is not None and self._file is not None:
            os.close(fd)
        self._fd = None

    def _open(self, path: str) -> int:
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise ConnectError(
                f"Couldn't find or create file '{path}' for FileStreamSinkTask: {error.strerror}"
            ) from error
        self._fd = fd
        status = os.fstat(fd)
        self._is_regular = stat.S_ISREG(status.st_mode)
        if self._is_regular and status.st_size == 0:
            _make_name_safe(path)
        elif self._is_regular and _ends_torn(path, status.st_size):
            self._write(b"\n")
        return fd

    def _write(self, data: bytes) -> None:
        assert self._fd is not None
        try:
            written = os.write(self._fd, data)
            while written < len(data):
                written += os.write(self._fd, memoryview(data)[written:])
        except OSError as error:
            raise ConnectError(
                f"Cannot write to {self._name}: {error.strerror}. The records are not lost: they "
                "come again when the task is restarted."
            ) from error


def _lines(records: Sequence[SinkRecord]) -> bytes:
    if len(records) == 1:
        return _line(records[0])
    values = [record.value for record in records]
    kinds = set(map(type, values))
    if kinds == {str}:
        return _encode("\n".join([*values, ""]))
    schemas = [record.value_schema for record in records]
    if kinds == {dict} or not any(issubclass(kind, _BYTES) for kind in kinds):
        return _encode(java_lines(values, schemas))
    return b"".join([*map(_line, records)])


def _line(record: SinkRecord) -> bytes:
    value = record.value
    if isinstance(value, _BYTES):
        return bytes(value) + b"\n"
    return _encode(java_text(value, record.value_schema) + "\n")


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair; Java writes a question mark too
        return text.encode("utf-8", "replace")


def _ends_torn(path: str, size: int) -> bool:
    """Whether a disk that ran full left half a line, which the next record must not join."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            file.seek(size - 1)
            return file.read(1) != b"\n"
    except PermissionError:  # we may write it and not read it
        return False


def _make_name_safe(path: str) -> None:
    """Have a new file's name on the disk too, or a power cut could lose it with all it holds."""
    with contextlib.suppress(PermissionError):  # a directory that we may write and not read
        directory = os.open(os.path.dirname(path) or ".", os.O_RDONLY)  # noqa: PTH120
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


class FileStreamSinkConnector(SinkConnector):
    """Appends every record's value to a file as a line of text, the way Java prints it."""

    task_class = FileStreamSinkTask
    config_def: ClassVar[ConfigDef] = ConfigDef().define(
        "file",
        default=None,
        doc="The file to append to, made if need be. Without it, lines go to standard output.",
    )

    def alter_offsets(self, offsets: Mapping[TopicPartition, int | None]) -> bool:  # noqa: ARG002
        """Kafka's offsets are all there is, so any change will do."""
        return True
