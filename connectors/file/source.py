"""The file source: each line of a file becomes a record."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from connect import (
    Config,
    ConfigDef,
    ConfigError,
    ConfigType,
    ConnectError,
    ExactlyOnceSupport,
    Importance,
    Schema,
    SourceBatch,
    SourceConnector,
    SourceTask,
)
from connect.config.validators import all_of, at_least, non_empty
from connectors.file.followed import FollowedFile, LineInput, StandardInput
from connectors.file.lines import NO_LINES

FILENAME = "filename"
POSITION = "position"

# How long a task that found nothing waits before it lets go of poll. It starts small, so that a
# file which is written to now is followed closely, and grows so that an idle one costs nothing.
_FIRST_WAIT_SECONDS = 0.005
_LONGEST_WAIT_SECONDS = 0.25


def _one_topic(name: str, value: Any) -> None:
    if value is not None and "," in value:
        raise ConfigError(name, value, "Lines go to one topic, not to several: name a single one")


class FileStreamSourceTask(SourceTask):
    def start(self, config: Config) -> None:
        self._topic: str = config["topic"]
        self._batch_size: int = config["batch.size"]
        self._file: str | None = config["file"] or None
        self._partition = {FILENAME: self._file}
        self._input: LineInput | None = None
        # Lines read and not yet handed out, up to one block of them.
        self._ready = NO_LINES.parts(self._batch_size)
        self._wait = _FIRST_WAIT_SECONDS

    def poll(self) -> SourceBatch | None:
        lines = next(self._ready, None)
        if lines is None:
            self._ready = self._lines().read().parts(self._batch_size)
            lines = next(self._ready, None)
            if lines is None:
                time.sleep(self._wait)
                self._wait = min(2 * self._wait, _LONGEST_WAIT_SECONDS)
                return None
            self._wait = _FIRST_WAIT_SECONDS
        return SourceBatch(
            self._topic,
            lines.texts,
            schema=Schema.STRING,
            timestamp=time.time_ns() // 1_000_000,
            source_partition=self._partition,
            offset_of=lambda i: {POSITION: lines.end_of(i) if self._file is not None else None},
        )

    def stop(self) -> None:
        given = getattr(self, "_input", None)
        if given is not None:
            given.close()

    def _lines(self) -> LineInput:
        if self._input is None:
            if self._file is None:
                self._input = StandardInput()
            else:
                self._input = FollowedFile(self._file, self._stored_position())
        return self._input

    def _stored_position(self) -> int:
        stored = self.context.offset(self._partition)
        position = 0 if stored is None else stored.get(POSITION)
        if position is None:
            return 0
        if not isinstance(position, int) or isinstance(position, bool) or position < 0:
            raise ConnectError(
                f"Offset position is the incorrect type: {position!r} for file '{self._file}'. "
                "Set it with PATCH /connectors/…/offsets to a number of bytes, or reset it."
            )
        return position


class FileStreamSourceConnector(SourceConnector):
    """Reads a file line by line and follows it as it grows. One task, whatever tasks.max says."""

    task_class = FileStreamSourceTask
    config_def: ClassVar[ConfigDef] = (
        ConfigDef()
        .define(
            "file",
            default=None,
            doc="The file to read. Without it, the worker's standard input is read.",
        )
        .define(
            "topic",
            doc="The topic that the lines go to.",
            validator=all_of(non_empty, _one_topic),
        )
        .define(
            "batch.size",
            ConfigType.INT,
            2000,
            doc="How many lines are handed on at once, at most.",
            importance=Importance.LOW,
            validator=at_least(1),
        )
    )

    def exactly_once_support(self) -> ExactlyOnceSupport:
        """A file can be read again from an offset, standard input can't."""
        if self.config["file"]:
            return ExactlyOnceSupport.SUPPORTED
        return ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(
        self, offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]
    ) -> bool:
        if not self.config["file"]:
            raise ConnectError(
                "Offsets cannot be modified if the 'file' configuration is unspecified. "
                "This is because stdin is used for input and offsets are not tracked."
            )
        for partition, offset in offsets:
            if offset is None:
                continue  # anything may be reset, or rubbish could never be cleaned up
            _check_position(offset)
            if partition is None:
                raise ConnectError("Partition objects cannot be null")
            if FILENAME not in partition:
                raise ConnectError(f"Partition objects should contain the key '{FILENAME}'")
        return True


def _check_position(offset: Mapping[str, Any]) -> None:
    if POSITION not in offset:
        raise ConnectError(f"Offset objects should either be null or contain the key '{POSITION}'")
    position = offset[POSITION]
    if not isinstance(position, int) or isinstance(position, bool):
        raise ConnectError(
            f"The value for the '{POSITION}' key in the offset is expected to be a Long value"
        )
    if position < 0:
        raise ConnectError(
            f"The value for the '{POSITION}' key in the offset should be a non-negative value"
        )
