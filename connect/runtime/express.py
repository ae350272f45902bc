"""The short way of a source's batches to Kafka: one request for each, written here.

A batch of values alone, as sources make that hand out columns, costs librdkafka three times as much
as making it. Here it becomes a part of a record batch at once (`record_batch.py`), which goes to
the leader of a partition. What is polled while a request is under way is the next one:

    poll ─► convert ─► add to the parcel ─► is it full, or nothing under way? send it ─► poll ─► …

Up to five are under way, so that the broker need not wait for us. It takes them in order, and none
behind one that it refused, because they are numbered as those of an idempotent producer are.

This way knows how to send and nothing else. Whatever is unusual goes by the producer: batches with
keys, headers or few records, brokers behind TLS or a login, compression. And so does, first of all,
every batch that got no good answer: the producer finds the new leader, repeats, and tells which
record was refused. A batch may then be there twice, as after any repetition without idempotence.

Order holds, because the two ways are never used at the same time: this one is taken when the
producer has nothing left to send, and the other one when everything sent here has its answer.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from confluent_kafka import KafkaError, KafkaException, Producer

from connect.pipeline import Outgoing
from connect.runtime.control import StoppedError
from connect.runtime.record_batch import RecordBatch, Signature
from connect.runtime.wire import (
    LOOK_SECONDS,
    Address,
    Connection,
    Connections,
    Identity,
    Routes,
    init_producer_id,
    produce,
)

log = logging.getLogger(__name__)

# Of the last batches' sizes, roughly of eight. Smaller ones are better collected by the producer
# than sent in a request each.
LEAST_MEAN = 500.0
_WEIGHT = 1 / 8
IDENTITY_SECONDS = 1.0
DRAIN_SECONDS = 1.0  # for the producer to send the rest before this way is taken
TEND_SECONDS = 0.01  # how soon an answer is seen while the task waits in poll()
# How long the producer has everything to itself after a failure; twice as long after each other.
REST_SECONDS = 1.0
LONGEST_REST_SECONDS = 600.0
# Where answers take this long the producer is better: it sends to several brokers at a time.
SLOW_SECONDS = 0.05
SLOW_ANSWERS = 10

# As many as Java's idempotent producer has: a broker that pauses for a moment finds work for it.
MOST_UNDER_WAY = 5


@dataclass(frozen=True, slots=True)
class Terms:
    """What a producer's settings say about this way. The limits are those of one request."""

    servers: Sequence[Address]  # to start from
    client_id: str
    acks: int
    answer_seconds: float
    most_bytes: int
    most_records: int


@dataclass(slots=True)
class _Parcel:
    """Batches that make one request, and when it was sent by which connection."""

    topic: str
    records: RecordBatch
    batches: list[Outgoing] = field(default_factory=list)
    connection: Connection | None = None
    sent: float = 0.0
    begins: bool = False  # the sequence of its partition


class Express:
    """Sends batches past the producer where that is quicker.

    `give_back` takes a batch that got no good answer and hands it to the producer. A thread looks
    for answers while the task waits in poll(), so both may call it.
    """

    def __init__(
        self,
        terms: Terms,
        producer: Producer,
        give_back: Callable[[Outgoing], None],
        is_stopping: Callable[[], bool],
    ) -> None:
        self._terms = terms
        self._producer = producer
        self._give_back = give_back
        self._is_stopping = is_stopping
        # Guards what follows. Who gives a batch back may come to `settle` on the way.
        self._lock = threading.RLock()
        self._packed: _Parcel | None = None  # the next one
        self._under_way: deque[_Parcel] = deque()
        self._connections = Connections(terms.client_id, terms.answer_seconds, self._go_on)
        self._identity: Identity | None = None  # until something fails
        self._sequences: dict[tuple[str, int], int] = {}  # by partition, of the next record
        self._routes = Routes(lambda: producer)
        self._met: set[str] = set()  # topics
        self._rests_until = 0.0
        self._rest = REST_SECONDS
        self._failures = 0
        self._slow = 0
        self._mean: float | None = None  # of batches' sizes
        self._busy = threading.Event()
        self._tending: threading.Thread | None = None
        self._failure: BaseException | None = None  # of that thread
        self._closed = False

    @property
    def pending(self) -> int:
        """Records not yet acknowledged."""
        return sum(parcel.records.count for parcel in self._parcels())

    def _parcels(self) -> list[_Parcel]:
        """Those without an answer, in order."""
        return [*self._under_way, *([self._packed] if self._packed else [])]

    def send(self, batch: Outgoing) -> bool:
        """Send it, or say that it has to go by the producer, which is then free to take it."""
        with self._lock:
            self._raise_failure()
            taken = self._suits(batch) and self._pack(batch)
            if taken:
                self._take_answers(0)
                if self._packed is not None and not self._under_way:
                    self._dispatch()
                self._see_to_tending()
            else:
                self.settle()
            return taken

    def settle(self, seconds: float | None = None) -> int:
        """Wait until everything has its answer. How many records have none in time.

        Without a time it waits for as long as it takes; a task that is told to stop, for a second.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._lock:
            while self._packed or self._under_way:
                left = None if deadline is None else max(0, deadline - time.monotonic())
                self._step(left)
                if left == 0:
                    break
            self._raise_failure()
            return self.pending

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._packed = None
            self._under_way.clear()
            self._connections.close()
        self._busy.set()

    # -- while the task waits in poll() -----------------------------------------------------

    def _see_to_tending(self) -> None:
        self._busy.set()
        if self._tending is None:
            self._tending = threading.Thread(target=self._tend, name="express", daemon=True)
            self._tending.start()

    def _tend(self) -> None:
        try:
            while not self._closed:
                self._busy.wait()
                time.sleep(TEND_SECONDS)
                if self._lock.acquire(blocking=False):  # or the task's thread sees to it
                    try:
                        self._take_answers(0)
                        if self._may_leave():
                            self._dispatch()
                        if not (self._packed or self._under_way or self._closed):
                            self._busy.clear()
                    finally:
                        self._lock.release()
        except BaseException as error:  # noqa: BLE001 - raised again in the task's thread
            self._failure = error

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    # -- sending ----------------------------------------------------------------------------

    def _suits(self, batch: Outgoing) -> bool:
        """Whether it may go this way; the producer has sent all that went the other way."""
        if not batch.bare:
            self._mean = 0.0  # who would have to change often is better off with the producer
            return False
        count = len(batch.values)
        self._mean = count if self._mean is None else self._mean + _WEIGHT * (count - self._mean)
        if (
            count > self._terms.most_records
            or self._mean < LEAST_MEAN
            or time.monotonic() < self._rests_until
        ):
            return False
        if batch.topic not in self._met:
            # The producer waits for a topic that brokers have not heard of yet, and must not have
            # been asked for it before.
            self._met.add(batch.topic)
            return False
        if len(self._producer) and self._producer.flush(DRAIN_SECONDS):
            self._fail("the producer has much to send")
            return False
        return True

    def _pack(self, batch: Outgoing) -> bool:
        """Put it into the next parcel; False if it is too large for one, or something failed.

        The producer has batches then that come before this one, and may have them for longer than
        the rest takes: to give them back may have taken as long.
        """
        failures = self._failures
        count = len(batch.values)
        values = cast("Sequence[bytes]", batch.values)
        timestamp = batch.timestamps[0] or time.time_ns() // 1_000_000
        self._take_answers(0)
        if self._packed is not None:
            records = self._packed.records
            size = records.size * (records.count + count) / records.count  # roughly
            if (
                self._packed.topic != batch.topic
                or not records.takes(count, timestamp)
                or records.count + count > self._terms.most_records
                or size > self._terms.most_bytes
            ):
                self._send_packed()
        if self._failures != failures:
            return False
        parcel = self._packed or _Parcel(batch.topic, RecordBatch(timestamp))
        if parcel.records.add(values, timestamp, self._terms.most_bytes):
            parcel.batches.append(batch)
            self._packed = parcel
            return True
        if self._packed is None:
            return False
        self._send_packed()
        return self._failures == failures and self._pack(batch)

    def _send_packed(self) -> None:
        """Wait until the next parcel is under way."""
        while self._packed is not None:
            self._step(None)

    def _step(self, seconds: float | None) -> None:
        """Send the next parcel; if it has to wait or there is none, see to answers that long."""
        if self._may_leave():
            self._dispatch()
        else:
            self._take_answers(seconds)

    def _may_leave(self) -> bool:
        """Whether there is a next parcel, and it may be sent now.

        Behind the first one of a partition none may: a broker that refused the first would take the
        second one for it.
        """
        return (
            self._packed is not None
            and len(self._under_way) < MOST_UNDER_WAY
            and not any(parcel.begins for parcel in self._under_way)
        )

    def _dispatch(self) -> None:
        """Send the next parcel."""
        assert self._packed is not None
        parcel, self._packed = self._packed, None
        self._under_way.append(parcel)
        try:
            self._send(parcel)
        except OSError as error:
            self._fail(str(error))
        except KafkaException as error:
            self._fail(error.args[0].str())
        except StoppedError:
            # Half a request is under way, which the broker forgets with its connection.
            self._packed = self._under_way.pop()
            self._connections.close()
            raise

    def _send(self, parcel: _Parcel) -> None:
        leaders = self._routes.of(parcel.topic).leaders
        partition, address = random.choice([*leaders.items()])  # noqa: S311
        connection = self._connections.to(address)
        if self._identity is None:
            self._identity = _identify(connection)
        place = parcel.topic, partition
        sequence = self._sequences.get(place, 0)
        parcel.begins = place not in self._sequences
        connection.send(
            produce(
                *place,
                parcel.records,
                Signature(*self._identity, sequence),
                acks=self._terms.acks,
                seconds=self._terms.answer_seconds,
            )
        )
        self._sequences[place] = (sequence + parcel.records.count) & 0x7FFFFFFF
        parcel.connection = connection
        parcel.sent = time.monotonic()

    def _go_on(self) -> None:
        if self._is_stopping():
            raise StoppedError

    # -- answers ----------------------------------------------------------------------------

    def _take_answers(self, seconds: float | None) -> None:
        """See to the answers that are there; if none is, wait for one that long."""
        while self._under_way:
            parcel = self._under_way[0]
            assert parcel.connection is not None
            try:
                code = parcel.connection.answer(LOOK_SECONDS if seconds is None else seconds)
            except OSError as error:
                self._fail(str(error))
                return
            if code == 0:
                self._succeed()
                seconds = 0
            elif code is not None:
                self._fail(KafkaError(code).str())
            elif time.monotonic() - parcel.sent > self._terms.answer_seconds:
                self._fail("no answer came in time")
            elif seconds is None:
                self._go_on()
            else:
                return

    def _succeed(self) -> None:
        parcel = self._under_way.popleft()
        self._rest = REST_SECONDS
        slow = time.monotonic() - parcel.sent > SLOW_SECONDS
        self._slow = self._slow + 1 if slow else 0
        if self._slow == SLOW_ANSWERS:
            log.debug("Kafka takes more than %.2f s to answer: the producer sends", SLOW_SECONDS)
            self._slow = 0
            self._rests_until = time.monotonic() + LONGEST_REST_SECONDS

    def _fail(self, reason: str) -> None:
        """Let the producer do it, and everything else for a while."""
        log.info("Batches go by the producer, for %.0f s at least: %s", self._rest, reason)
        self._rests_until = time.monotonic() + self._rest
        self._rest = min(2 * self._rest, LONGEST_REST_SECONDS)
        self._failures += 1
        self._routes.clear()
        self._sequences.clear()
        self._identity = None
        self._connections.close()
        back = [batch for parcel in self._parcels() for batch in parcel.batches]
        self._packed = None
        self._under_way.clear()
        for batch in back:
            self._give_back(batch)


def _identify(connection: Connection) -> Identity:
    deadline = time.monotonic() + IDENTITY_SECONDS
    while True:
        code, identity = connection.ask(init_producer_id(), IDENTITY_SECONDS)
        if code == KafkaError.NO_ERROR:
            return identity
        # A broker that was just started has to ask for some itself.
        waits = code == KafkaError.COORDINATOR_LOAD_IN_PROGRESS
        if not waits or time.monotonic() > deadline:
            raise ConnectionError(f"no producer id: {KafkaError(code).str()}")
        time.sleep(TEND_SECONDS)
