"""What becomes of records that failed: logged, dead-lettered, and tolerated or not."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import NoReturn

from connect.config.configdef import Config
from connect.errors import ConnectError
from connect.pipeline import ErrorCounts, Failure
from connect.records import SourceRecord
from connect.traces import drop_frames
from dlq.reporter import DeadLetters

log = logging.getLogger(__name__)

# How long a commit waits for dead letters to be acknowledged before it gives up for now.
SETTLE_SECONDS = 30.0


class Guard:
    """Fails a task when too many of its last records failed, though errors are tolerated."""

    def __init__(self, limit: int, window: int) -> None:
        self._limit = limit
        self._window = window
        self._seen = 0
        # Where the newest failures were; one more than is tolerated tells all there is to know.
        self._failed: deque[int] = deque(maxlen=limit + 1)

    def pass_by(self, records: int) -> None:
        self._seen += records

    def failed(self, failure: Failure) -> None:
        """Count a failure among the records that passed by so far."""
        self._failed.append(self._seen)
        if len(self._failed) > self._limit and self._seen - self._failed[0] < self._window:
            raise ConnectError(
                f"More than {self._limit} of the last {self._window} records failed "
                f"(errors.guard.max, errors.guard.window), the last one in {failure.stage} with "
                f"{failure.class_name}. Mend the cause and restart the task: it goes on from the "
                "last committed offsets."
            ) from failure.error


class Tolerance:
    """errors.tolerance, errors.log.*, the guard and the dead-letter topic of one task."""

    def __init__(
        self,
        task: str,
        settings: Config,
        counts: ErrorCounts,
        letters: DeadLetters | None = None,
    ) -> None:
        self.tolerates = settings["errors.tolerance"] == "all"
        self.counts = counts
        self.letters = letters
        self._task = task
        self._log = settings["errors.log.enable"]
        self._with_records = settings["errors.log.include.messages"]
        limit = settings["errors.guard.max"]
        self._guard = None if limit is None else Guard(limit, settings["errors.guard.window"])

    @property
    def reports(self) -> bool:
        """Whether failures are written anywhere at all."""
        return self._log or self.letters is not None

    def handle(self, failures: Sequence[Failure], records: int = 0) -> None:
        """Report what failed among so many records, and go on; or raise if that is not allowed.

        When errors are not tolerated the first failure is reported all the same: it is the one
        that somebody has to look at. An outage is never tolerated: with a registry away every
        record would be skipped, and none is to blame.
        """
        if not failures:
            if self._guard is not None:
                self._guard.pass_by(records)
            return
        for failure in failures:
            if failure.is_outage:
                raise ConnectError(
                    f"{failure.stage} with {failure.class_name} lacks what it needs"
                    f"{_where(failure)}. No record is skipped for that. Restart the task when it "
                    "is back, or set errors.retry.timeout to wait for it."
                ) from failure.error
        if not self.tolerates:
            failures = failures[:1]
        self._report(failures)
        self.counts.errors += len(failures)
        if not self.tolerates:
            self.settle()
            self._give_up(failures[0])
        self.counts.skipped += len(failures)
        if self._guard is not None:
            self._watch(self._guard, failures, records)
        for failure in failures:
            drop_frames(failure.error)

    def report_one(self, failure: Failure) -> Future[None]:
        """A record that the task itself reports."""
        self.counts.failures += 1
        if not self.tolerates or self.letters is None:
            self.handle([failure])
            done: Future[None] = Future()
            done.set_result(None)
            return done
        self._log_failures([failure])
        self.counts.errors += 1
        self.counts.skipped += 1
        future = self.letters.report_one(failure)
        if self._guard is not None:
            self._guard.failed(failure)
        return future

    def _watch(self, guard: Guard, failures: Sequence[Failure], records: int) -> None:
        # Failures are taken as spread evenly over their batch, which is right within a batch.
        step, rest = divmod(records, len(failures))
        for failure in failures:
            guard.pass_by(step)
            guard.failed(failure)
        guard.pass_by(rest)

    def settle(self) -> None:
        """Wait until all dead letters are safe; raises if one is not."""
        if self.letters is not None:
            self.letters.settle(SETTLE_SECONDS)

    def close(self) -> None:
        if self.letters is not None:
            self.letters.close()

    def _report(self, failures: Sequence[Failure]) -> None:
        self._log_failures(failures)
        if self.letters is not None:
            self.letters.report(failures)

    def _log_failures(self, failures: Sequence[Failure]) -> None:
        if not self._log:
            return
        for failure in failures:
            self.counts.logged += 1
            log.error(
                "Error encountered in task %s. Executing stage '%s' with class '%s'%s.",
                self._task,
                failure.stage,
                failure.class_name,
                _where(failure) if self._with_records else "",
                exc_info=failure.error,
            )

    def _give_up(self, failure: Failure) -> NoReturn:
        raise ConnectError(
            f"Tolerance exceeded in error handler: {failure.stage} with {failure.class_name} "
            f"failed{_where(failure)}. Set errors.tolerance=all to skip such records, and "
            "errors.deadletterqueue.topic.name to keep them."
        ) from failure.error


def _where(failure: Failure) -> str:
    record = failure.record
    if isinstance(record, SourceRecord):
        return (
            f", where source record is for topic '{record.topic}', "
            f"sourcePartition={record.source_partition}, sourceOffset={record.source_offset}"
        )
    kind, timestamp = record.timestamp()
    names: Callable[[int], str] = ("NoTimestampType", "CreateTime", "LogAppendTime").__getitem__
    return (
        f", where consumed record is {{topic='{record.topic()}', partition={record.partition()}, "
        f"offset={record.offset()}, timestamp={timestamp}, timestampType={names(kind)}}}"
    )
