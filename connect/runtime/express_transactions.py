"""The short way of whole transactions: an exactly-once source's batches past the producer.

What `express.py` does for batches, this does for transactions, because here a transaction is what
succeeds or fails. It is made of requests that are written here:

    say which partitions ─► send all record batches, offsets too ─► all answers good? commit

Whatever goes wrong before the last step ends the transaction, and the producer does all of it
again. If the last step has no answer it is asked for again: it is done once, however often it is
asked for. The next transaction then has a new identity, so that a request which a broker finds late
can't end that one. Batches with keys or headers are the producer's from the beginning.

A transactional id has one owner: the producer, or this. Who takes it over makes whatever the other
one still has under way void. It must never be taken from another task, though, which may have
replaced this one without its knowing. That is why it changes hands like this:

    from the producer to here   only if nobody else has had it since
    from here to the producer   the same first; then the producer takes it, which can't be made
                                conditional, and must have it as the very next: else the task fails
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from confluent_kafka import KafkaError, KafkaException, Producer

from connect.errors import ConnectError
from connect.pipeline import Outgoing
from connect.runtime.express import LONGEST_REST_SECONDS, REST_SECONDS, Terms
from connect.runtime.record_batch import RecordBatch, Signature, partition_of
from connect.runtime.wire import (
    Address,
    Connections,
    Identity,
    Outcome,
    Owner,
    Request,
    Route,
    Routes,
    add_partitions,
    claim_transactions,
    commit_transaction,
    describe_transaction,
    find_coordinator,
    produce,
)

log = logging.getLogger(__name__)

# For a coordinator to be found and to be ready; for one that went away, to be back.
CLAIM_SECONDS = 10.0
COORDINATE_SECONDS = 120.0
# A coordinator is still noting the end of the last transaction for some milliseconds.
AGAIN_SECONDS = 0.001
LONGEST_AGAIN_SECONDS = 0.1
# For partitions that were made a moment ago, or have a new leader, to be had.
TOPIC_SECONDS = 10.0
_ACKS_ALL = -1

_FENCED = {KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED}
_ELSEWHERE = {KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR}
_AGAIN = {
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.CONCURRENT_TRANSACTIONS,
    KafkaError.REQUEST_TIMED_OUT,
    # While somebody else takes the transactional id over. The next time it is told as what it is.
    KafkaError.UNKNOWN,
    *_ELSEWHERE,
}

_MOVED = {
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    # It was made a moment ago, or it is gone: which of the two, the next look at the topic tells.
    KafkaError.UNKNOWN_TOPIC_OR_PART,
}

T = TypeVar("T", int, Outcome)
OffsetRecords = Sequence[tuple[bytes, bytes | None]]


class FencedError(ConnectError):
    """Another task has taken the transactional id over."""


class _RefusedError(ConnectionError):
    """What a broker answers in place of doing it."""

    def __init__(self, code: int) -> None:
        super().__init__(KafkaError(code).str())
        self.code = code


@dataclass(slots=True)
class Parcel:
    """What goes to one partition in one request."""

    topic: str
    records: RecordBatch
    partition: int = -1  # any
    address: Address = ("", 0)


class ExpressTransactions:
    """Writes transactions for a transactional id, and hands it over to a producer and back.

    `client` gives one that knows who leads what. Only one thread at a time may call this.
    """

    def __init__(
        self,
        terms: Terms,
        transactional_id: str,
        timeout_ms: int,
        offsets_topic: str,
        client: Callable[[], Producer],
    ) -> None:
        self._terms = terms
        self._id = transactional_id
        self._timeout_ms = timeout_ms
        self._offsets_topic = offsets_topic
        self._routes = Routes(client)
        self._connections = Connections(terms.client_id, terms.answer_seconds, lambda: None)
        self._coordinator: Address | None = None
        self._identity: Identity | None = None  # of the owner, who may be the producer
        self.owns = False  # and not the producer
        self._open = False  # whether a transaction may be
        self._begun = False  # whether one certainly was, and its commit was not asked for
        # Whether a request was repeated, the first of which the broker may see to later.
        self._astray = False
        self._sequences: dict[tuple[str, int], int] = {}  # of the next record, by partition
        self._rests_until = 0.0
        self._rest = REST_SECONDS
        self.pending = 0  # records of the transaction under way

    # -- whose it is ------------------------------------------------------------------------

    def claim(self) -> bool:
        """Take the transactional id from whoever has it; False if it can't be had this way."""
        try:
            # The producer will wait for a broker that is away, and knows how to speak to old ones.
            self._take(None, CLAIM_SECONDS, patient=False)
            # Who can't see the owner could never hand over.
            if self._current(CLAIM_SECONDS, patient=False) != self._identity:
                raise self._fenced()
        except (OSError, FencedError) as error:
            log.info("Transactions go by the producer: %s", error)
            self.close()
            return False
        return True

    def hand_over(self, take: Callable[[], None], *, anew: bool = False) -> None:
        """Let the producer have it, which it gets by `take`. No transaction is open any more.

        One that has it already gets it only if it is to have it `anew`.
        """
        if not self.owns and not anew:
            return
        try:
            self._take(self._identity, COORDINATE_SECONDS)
            mine = self._owner.identity
            take()
            self.owns = False
            self._identity = self._current(COORDINATE_SECONDS)
        except OSError as error:
            raise ConnectError(
                f"The task could not go on to write in transactions: {error}. It goes on from the "
                "last committed one when it is restarted."
            ) from error
        if self._identity != mine._replace(epoch=mine.epoch + 1):
            raise self._fenced()

    def _take(self, current: Identity | None, seconds: float, *, patient: bool = True) -> None:
        """Become the owner; with the current one's identity, only if it is that still.

        An open transaction is aborted, and what is still on its way to the broker, void.
        """
        self._sequences.clear()
        try:
            self._identity = self._claim(current, seconds, patient=patient)
        except FencedError:
            # Below Kafka's transaction.version 2 that is also what is told once the claim has
            # aborted an open transaction.
            if not self._begun:
                raise
            self._identity = self._claim(current, seconds, patient=patient)
        self.owns = True
        self._open = self._begun = self._astray = False

    def _claim(self, current: Identity | None, seconds: float, *, patient: bool) -> Identity:
        # The claim itself is compared, too, but not while its owner has a transaction open, which
        # would be aborted whoever's it is.
        expected = None if current is None else self._still(current, seconds)
        request = claim_transactions(self._id, self._timeout_ms, expected)
        return self._coordinate(request, seconds, patient=patient).identity

    def _still(self, current: Identity, seconds: float) -> Identity:
        """The identity to claim it with, if nobody else has had it since.

        To abort an open transaction takes the next epoch, which nobody is given: who comes anew
        gets the one after it. If none was open, though, it is the next one that a successor gets.
        """
        found = self._current(seconds)
        aborted = current._replace(epoch=current.epoch + 1)
        if found != current and not (self._begun and found == aborted):
            raise self._fenced()
        return found

    def _current(self, seconds: float, *, patient: bool = True) -> Identity:
        """That of whoever owns it."""
        request = describe_transaction(self._id)
        return self._coordinate(request, seconds, patient=patient).identity

    @property
    def _owner(self) -> Owner:
        assert self._identity is not None
        return Owner(self._id, self._identity)

    def _fenced(self) -> FencedError:
        return FencedError(
            f"Another task writes by the transactional id '{self._id}' now, so this one must not "
            "go on. If it is wanted still, restart it."
        )

    # -- transactions -----------------------------------------------------------------------

    def pack(self, batches: Iterable[Outgoing], most_bytes: int) -> list[Parcel] | None:
        """Make record batches of them, that large at most; None if the producer has to."""
        if time.monotonic() < self._rests_until:
            return None
        most = min(most_bytes, self._terms.most_bytes)
        parcels: dict[str, list[Parcel]] = {}
        for batch in batches:
            timestamp = batch.timestamps[0] or time.time_ns() // 1_000_000
            values = cast("Sequence[bytes]", batch.values)
            packed = parcels.setdefault(batch.topic, [])
            if not batch.bare or not self._add(packed, batch.topic, values, timestamp, most):
                # Who sends such a batch will send others: the producer is to have them.
                self._rests_until = time.monotonic() + LONGEST_REST_SECONDS
                log.info("Transactions go by the producer: keys, headers or large records")
                return None
        return [parcel for packed in parcels.values() for parcel in packed]

    def _add(
        self, packed: list[Parcel], topic: str, values: Sequence[bytes], timestamp: int, most: int
    ) -> bool:
        """Add them to the last parcel or to new ones; False if one is too large for any."""
        count = len(values)
        if count > self._terms.most_records:
            return self._add_halves(packed, topic, values, timestamp, most)
        last = packed[-1].records if packed else None
        if last is not None and last.takes(count, timestamp):
            size = last.size * (last.count + count) / last.count  # roughly: adding takes time
            fits = size <= most and last.count + count <= self._terms.most_records
            if fits and last.add(values, timestamp, most):
                return True
        new = RecordBatch(timestamp)
        if new.add(values, timestamp, most):
            packed.append(Parcel(topic, new))
            return True
        return count > 1 and self._add_halves(packed, topic, values, timestamp, most)

    def _add_halves(
        self, packed: list[Parcel], topic: str, values: Sequence[bytes], timestamp: int, most: int
    ) -> bool:
        middle = len(values) // 2
        return all(
            self._add(packed, topic, half, timestamp, most)
            for half in (values[:middle], values[middle:])
        )

    def commit(self, parcels: Sequence[Parcel], offsets: OffsetRecords) -> bool:
        """Write them and the offsets in one transaction; False if the producer has to."""
        try:
            if not self.owns or self._astray:
                self._take(self._identity, COORDINATE_SECONDS)
            self._write_where_it_belongs(parcels, offsets)
        except (OSError, KafkaException) as error:
            reason = error.args[0].str() if isinstance(error, KafkaException) else str(error)
            log.info("Transactions go by the producer, for %.0f s at least: %s", self._rest, reason)
            self._rests_until = time.monotonic() + self._rest
            self._rest = min(2 * self._rest, LONGEST_REST_SECONDS)
            self._forget()
            return False
        finally:
            self.pending = 0
        self._end()
        self._rest = REST_SECONDS
        return True

    def _write_where_it_belongs(self, parcels: Sequence[Parcel], offsets: OffsetRecords) -> None:
        """Write everything, and begin again while partitions have new leaders or none yet."""
        deadline = time.monotonic() + TOPIC_SECONDS
        while True:
            try:
                self._write([*self._to_any(parcels), *self._keyed(self._offsets_topic, offsets)])
            except _RefusedError as error:
                if error.code not in _MOVED or time.monotonic() > deadline:
                    raise
                self._forget()
                time.sleep(LONGEST_AGAIN_SECONDS)
                self._take(self._identity, COORDINATE_SECONDS)
            else:
                return

    def _to_any(self, parcels: Sequence[Parcel]) -> Sequence[Parcel]:
        """Choose a partition for each, as Java's producer does where there are no keys."""
        for parcel in parcels:
            leaders = self._route(parcel.topic).leaders
            parcel.partition, parcel.address = random.choice([*leaders.items()])  # noqa: S311
        return parcels

    def _keyed(self, topic: str, records: OffsetRecords) -> Iterable[Parcel]:
        """A parcel for each partition in which keys belong."""
        parcels: dict[int, Parcel] = {}
        for key, value in records:
            route = self._route(topic)
            partition = partition_of(key, route.partitions)
            if partition not in parcels:
                if partition not in route.leaders:
                    raise ConnectionError(f"partition {partition} of '{topic}' has no leader")
                batch = RecordBatch(time.time_ns() // 1_000_000)
                parcels[partition] = Parcel(topic, batch, partition, route.leaders[partition])
            parcels[partition].records.add_keyed(key, value)
        return parcels.values()

    def _write(self, parcels: Sequence[Parcel]) -> None:
        """Send everything, then take all answers."""
        owner = self._owner
        self.pending = sum(parcel.records.count for parcel in parcels)
        places = {(parcel.topic, parcel.partition) for parcel in parcels}
        self._open = True
        self._coordinate(add_partitions(owner, sorted(places)), COORDINATE_SECONDS)
        self._begun = True
        under_way = []
        for parcel in parcels:
            place = parcel.topic, parcel.partition
            sequence = self._sequences.get(place, 0)
            connection = self._connections.to(parcel.address)
            connection.send(
                produce(
                    *place,
                    parcel.records,
                    Signature(*owner.identity, sequence),
                    acks=_ACKS_ALL,
                    seconds=self._terms.answer_seconds,
                    transactional_id=self._id,
                )
            )
            self._sequences[place] = (sequence + parcel.records.count) & 0x7FFFFFFF
            under_way.append(connection)
        for connection in under_way:
            code = connection.wait()
            if code:
                raise _RefusedError(code)

    def _end(self) -> None:
        """Commit. To ask for it again is safe: it is done once, and told as often."""
        self._begun = False
        try:
            self._coordinate(commit_transaction(self._owner), COORDINATE_SECONDS)
        except OSError as error:
            raise ConnectError(
                f"The transaction could not be committed: {error}. "
                "The task goes on from the last committed one when it is restarted."
            ) from error
        self._open = False

    def abandon(self, seconds: float) -> None:
        """After a failure: leave nothing half open for readers to wait for."""
        try:
            if self._open and self.owns:
                self._take(self._identity, seconds)
        except (OSError, FencedError) as error:
            log.warning("The open transaction was not aborted: %s", error)
        self.close()

    def close(self) -> None:
        self._forget()

    def _forget(self) -> None:
        """Whatever was on its way on these connections has no answer any more."""
        self._connections.close()
        self._routes.clear()
        self._coordinator = None

    # -- asking -----------------------------------------------------------------------------

    def _route(self, topic: str) -> Route:
        deadline = time.monotonic() + TOPIC_SECONDS
        while True:
            try:
                return self._routes.of(topic)
            except (OSError, KafkaException):
                if time.monotonic() > deadline:
                    raise
                time.sleep(LONGEST_AGAIN_SECONDS)

    def _coordinate(self, request: Request[T], seconds: float, *, patient: bool = True) -> T:
        """Ask the coordinator until it is ready to answer, and until it is back if it is away."""
        deadline = time.monotonic() + seconds
        pause = AGAIN_SECONDS
        while True:
            try:
                return self._ask_coordinator(request, seconds)
            except _RefusedError as error:
                if error.code not in _AGAIN:
                    raise
                if error.code in _ELSEWHERE:
                    self._coordinator = None
                failure: OSError = error
            except (OSError, KafkaException) as error:
                self._forget()
                failure = error if isinstance(error, OSError) else ConnectionError(error)
                if not patient:
                    raise failure from error
                if not self._astray:
                    log.info("The coordinator of transactions is looked for again: %s", failure)
                self._astray = True
            if time.monotonic() + pause > deadline:
                raise failure
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_AGAIN_SECONDS)

    def _ask_coordinator(self, request: Request[T], seconds: float) -> T:
        if self._coordinator is None:
            self._coordinator = self._find_coordinator(seconds)
        answer = self._connections.to(self._coordinator).ask(request, seconds)
        code = answer.code if isinstance(answer, Outcome) else answer
        if code in _FENCED:
            raise self._fenced()
        if code != KafkaError.NO_ERROR:
            raise _RefusedError(code)
        return answer

    def _find_coordinator(self, seconds: float) -> Address:
        connection = self._connections.to(random.choice(self._terms.servers))  # noqa: S311
        code, address = connection.ask(find_coordinator(self._id), seconds)
        if code != KafkaError.NO_ERROR:
            raise _RefusedError(code)
        return address
