"""The exactly-once loop that goes on polling while a transaction is being committed.

What was polled meanwhile makes up the next transaction. A batch of `poll` is never cut, and never
waits for another: a commit takes some milliseconds whatever its size, so transactions grow with
the load and throughput with them, and a batch that comes after a while is committed at once.

    the task's thread   poll ─► transform, convert ─► hand over ─► poll ─► …
    the committer       take all there is ─► begin, produce ─► commit with their offsets ─► …

A transaction of values alone goes the short way (`express_transactions.py`), others go by the
producer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from connect.data.framed import total_bytes
from connect.errors import ConnectError
from connect.pipeline import Outgoing
from connect.plugin import SourceTask
from connect.runtime.control import StoppedError
from connect.runtime.exactly_once import (
    COMMIT_SECONDS,
    ExactlyOnceLoop,
    OffsetRecords,
    SourceOffsets,
)
from connect.runtime.express_transactions import ExpressTransactions
from connect.runtime.source import SourceLoop

# What may wait for the committer; more, and a task that is quicker than Kafka fills the memory.
MOST_RECORDS = 60_000
MOST_BYTES = 16 * 1024 * 1024
# Between two transactions of the producer. For some milliseconds brokers are still noting the end
# of the one; sent away with another meanwhile, it tries again after 20 ms. And what is polled now
# need not have a transaction of its own. The short way tries again at once.
PAUSE_SECONDS = 0.015
LOOK_SECONDS = 1.0  # how soon a stop is seen while there is no room


def wants_to_hear(task: SourceTask) -> bool:
    """Whether a task has something to do when its records are committed.

    It is told of each batch in its own thread, before the next poll: the plain loop does that.
    """
    kind = type(task)
    return not (kind.commit is SourceTask.commit and kind.commit_record is SourceTask.commit_record)


class GroupCommitLoop(ExactlyOnceLoop):
    """For transaction.boundary=poll, and tasks that need not hear of commits."""

    def __init__(
        self, *, short_way: Callable[..., ExpressTransactions] | None = None, **common: Any
    ) -> None:
        super().__init__(requests=None, interval=None, **common)
        self._short: ExpressTransactions | None = None
        if short_way is not None:
            self._short = short_way(self._offsets_topic, lambda: self._producer)
        self._converted: list[Outgoing] = []  # of the batch in hand
        self._under_way: list[Outgoing] = []  # in the transaction
        # Guards what follows. The committer holds it while it produces, too: both threads would
        # spend their time on taking the interpreter from each other.
        self._changed = threading.Condition()
        self._waiting: list[Outgoing] = []
        self._waiting_offsets: dict[bytes, Any] = {}
        self._records = self._bytes = 0
        self._committing = False
        self._over = False
        self._failure: BaseException | None = None
        self._committer = threading.Thread(target=self._commit_all, name="commits", daemon=True)
        self._committer.start()

    def take_over(self) -> None:
        if self._short is None or not self._short.claim():
            self._short = None
            super().take_over()

    @property
    def active(self) -> int:
        return super().active + (0 if self._short is None else self._short.pending)

    # -- the task's thread ------------------------------------------------------------------

    def _send(self, records: Any) -> None:
        self._converted = []
        SourceLoop._send(self, records)
        self._hand_over(len(records))

    def _produce(self, batch: Outgoing) -> None:
        self._refuse_offsets_topic(batch)
        self._converted.append(batch)

    def _fit_producer(self) -> None:
        self._fits = False  # the committer sees to it

    def _hand_over(self, records: int) -> None:
        size = sum(total_bytes(batch.values) for batch in self._converted)
        with self._changed:
            while not self._changed.wait_for(self._has_room, LOOK_SECONDS):
                if self._control.stopping:
                    raise StoppedError
            self._raise_failure()
            self._waiting += self._converted
            self._waiting_offsets |= self._offsets
            self._records += records
            self._bytes += size
            self._converted, self._offsets = [], {}
            self._changed.notify_all()

    def _has_room(self) -> bool:
        full = self._records >= MOST_RECORDS or self._bytes >= MOST_BYTES
        return not full or self._failure is not None

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _commit_if_due(self) -> None:
        self._raise_failure()
        if self._offsets:
            # Everything of a batch was dropped or dead-lettered: its offsets still count.
            self._hand_over(0)

    def _commit(self) -> None:
        """On pause and at the end: wait until all that was handed over is committed."""
        with self._changed:
            done = self._changed.wait_for(
                lambda: self._failure is not None or not (self._committing or self._has_work()),
                COMMIT_SECONDS,
            )
        self._raise_failure()
        if not done:
            raise ConnectError(
                f"The last transaction was not committed within {COMMIT_SECONDS:.0f} s. The task "
                "goes on from the last committed one when it is restarted."
            )

    def _leave_nothing_open(self, seconds: float) -> None:
        """What was handed over before is committed first, if that can be in time."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
        self._committer.join(seconds)
        if not self._committer.is_alive():
            super()._leave_nothing_open(seconds)
            if self._short is not None:
                self._short.abandon(seconds)

    # -- the committer ----------------------------------------------------------------------

    def _commit_all(self) -> None:
        try:
            while (offsets := self._take_waiting()) is not None:
                self._commit_with(offsets)
                self._under_way = []
                with self._changed:
                    self._committing = False
                    self._changed.notify_all()
                if self._short is None or not self._short.owns:
                    time.sleep(PAUSE_SECONDS)
        except BaseException as error:  # noqa: BLE001 - raised again in the task's thread
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _take_waiting(self) -> SourceOffsets | None:
        """Make all that waits the next transaction, and give its offsets; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._has_work() or self._over)
            if not self._has_work():
                return None
            self._committing = True
            self._unconfirmed = self._records
            self._under_way, self._waiting = self._waiting, []
            offsets = list(self._waiting_offsets.values())
            self._waiting_offsets = {}
            self._records = self._bytes = 0
            self._changed.notify_all()
            return offsets

    def _commit_transaction(self, records: OffsetRecords) -> None:
        """Write the transaction, the short way or by the producer."""
        if self._short is not None:
            with self._changed:
                parcels = self._short.pack(self._under_way, self._most_bytes)
            if parcels is not None and self._short.commit(parcels, records):
                self.counts["written"] += sum(parcel.records.count for parcel in parcels)
                return
            self._short.hand_over(self._begin_anew, anew=not self._fits)
        with self._changed:
            self._begin_transaction()
            for batch in self._under_way:
                SourceLoop._produce(self, batch)
        super()._commit_transaction(records)

    def _see_to_producer(self) -> None:
        # The short way, which is told of those that it hands over to, would take another one for
        # another task's. A topic that was met meanwhile is not in this transaction.
        if self._short is None:
            super()._see_to_producer()

    def _has_work(self) -> bool:
        return bool(self._waiting or self._waiting_offsets)
