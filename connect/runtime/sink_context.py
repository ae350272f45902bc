"""What a running sink task may ask of its loop."""

from __future__ import annotations

from collections.abc import Mapping

from connect.plugin import ErrantRecordReporter, TopicPartition


class SinkContext:
    """The SinkTaskContext of a running task."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self.config = config
        self.assignment: set[TopicPartition] = set()
        self.errant_record_reporter: ErrantRecordReporter | None = None
        self.replays = False
        self.rewinds: dict[TopicPartition, int] = {}
        self.paused: set[TopicPartition] = set()
        self.pause_changed = False
        self.timeout_ms: int | None = None
        self.commit_requested = False

    def offset(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.rewinds.update(offsets)

    def pause(self, *partitions: TopicPartition) -> None:
        self.paused.update(partitions)
        self.pause_changed = True

    def resume(self, *partitions: TopicPartition) -> None:
        self.paused.difference_update(partitions)
        self.pause_changed = True

    def timeout(self, milliseconds: int) -> None:
        self.timeout_ms = milliseconds

    def request_commit(self) -> None:
        self.commit_requested = True
