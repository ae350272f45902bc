"""Replay: dead letters sent again, each once, whatever happens to the one who sends them.

Into a topic: the records and the marks "replayed" of their letters are written in one Kafka
transaction. The transactional id is the dead-letter topic's, so a new replay first ends what a
killed one left open, then reads the marks, then goes on with what is still open; a predecessor
that is not dead after all is fenced.

Into a sink: see `Delivery`. Marks are written when the sink has taken the records.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec
from confluent_kafka import KafkaError, KafkaException, Producer

from connect.errors import ConnectError
from connect.pipeline import RawMessage
from dlq.desk import Desk
from dlq.edit import Edit, EditError
from dlq.index import Index
from dlq.lineage import LOOP_LETTERS, LoopWatch, lineage
from dlq.model import Mark
from dlq.probe import Outcome, Verdict, message_of
from dlq.reader import BATCH_BYTES, DeadLetter, TopicFacts
from dlq.selection import Selection, State
from dlq.state import encode, now_ms

log = logging.getLogger(__name__)

ORIGINAL = "original"
SINK = "sink"

# Letters of one transaction: large enough to be quick, small enough to lose little to a kill.
BATCH = 500
_TIMEOUT_SECONDS = 60.0
# A transaction of a killed replay is ended by the broker after this long at the latest.
_TRANSACTION_MS = 60_000
# Reasons told apart, and characters of one. Each letter may have its own, and all go with every
# progress that is told.
_REASONS = 100
_REASON_CHARACTERS = 500
_OTHER_REASONS = "other reasons"


class ReplayError(ConnectError):
    """A replay had to stop; the text says why and what is left."""


class Plan(msgspec.Struct, frozen=True):
    """What to replay, where to and how."""

    topic: str
    selection: Selection
    to: str = ORIGINAL  # ORIGINAL, SINK, or a topic's name
    by: str = ""
    note: str | None = None
    rate: float | None = None
    max_attempts: int = 3
    dry_run: bool = False


class Progress(msgspec.Struct):
    """How far a replay is. `left_open` counts letters that were not replayed, by the reason."""

    id: str
    total: int = 0
    seen: int = 0
    replayed: int = 0
    came_back: int = 0
    left_open: dict[str, int] = {}
    targets: dict[str, int] = {}
    stopped: str | None = None


def parse_target(text: str) -> str:
    """`original`, `sink` or `topic:NAME` as the `to` of a plan."""
    if text in {ORIGINAL, SINK}:
        return text
    kind, _, name = text.partition(":")
    if kind != "topic" or not name or name in {ORIGINAL, SINK}:
        raise ReplayError(f"'{text}' is no target: it is original, sink or topic:NAME.")
    return name


class Delivery(Protocol):
    """A sink that takes records outside of the connector's own tasks."""

    def deliver(self, messages: Sequence[RawMessage]) -> dict[int, str]:
        """Put and flush; the positions of those that failed, and why. The others are safe."""


Test = Callable[[Sequence[DeadLetter]], list[Outcome]]


class Replay:
    """One run of a plan. `run` blocks until it is done, stopped by `stop`, or has failed."""

    def __init__(
        self,
        desk: Desk,
        plan: Plan,
        *,
        test: Test | None = None,
        edit: Edit | None = None,
        delivery: Delivery | None = None,
        connector: str | None = None,
        config: Mapping[str, str] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        id: str | None = None,
    ) -> None:
        """`test` leaves out what does not pass.

        `connector` and `config` are of the one that `delivery` is to. Letters of others stay open.
        """
        self.progress = Progress(id or uuid.uuid4().hex[:12], left_open={}, targets={})
        self._desk = desk
        self._plan = plan
        self._test = test
        self._edit = edit
        self._delivery = delivery
        self._connector = connector
        self._config = config or {}
        self._on_progress = on_progress or (lambda _: None)
        self._stop = threading.Event()
        self._partitions: dict[str, int] = {}
        self._producer: Producer | None = None
        self._next_send = 0.0
        self._fenced = False

    def stop(self) -> None:
        """End after the batch under way. What is not replayed stays open."""
        self._stop.set()

    def run(self) -> Progress:
        plan = self._plan
        if not plan.dry_run:
            self._desk.states.ensure()
            self._producer = self._transactions()
        # `whole`: a mark that was missed here would be a record sent twice.
        with self._desk.open(plan.topic, whole=not plan.dry_run) as (facts, index):
            only_open = msgspec.structs.replace(plan.selection, states=(State.OPEN,))
            self.progress.total = index.count(only_open)
            loops = LoopWatch(self._desk, facts, self.progress.id)
            batches = self._batches(index, only_open)
            for letters in batches:
                self._one_batch(facts, letters)
                self._on_progress(self.progress)
                if self._stop.is_set():
                    self.progress.stopped = "stopped; what is left is open, go on when you like"
                elif not plan.dry_run and plan.to == ORIGINAL:
                    self.progress.came_back = loops.came_back(self.progress.replayed)
                    if self.progress.came_back >= max(LOOP_LETTERS, self.progress.replayed / 2):
                        self.progress.stopped = (
                            f"{self.progress.came_back} of {self.progress.replayed} replayed "
                            "records are dead letters again: the connector still fails on them. "
                            "See `penstock dlq stats`, mend the cause, and test before replaying"
                        )
                if self.progress.stopped:
                    break
        self._on_progress(self.progress)
        log.info(
            "Replay %s of %s to %s by %s: %d of %d letters%s%s",
            self.progress.id, plan.topic, plan.to, plan.by, self.progress.replayed,
            self.progress.total, ", a dry run" if plan.dry_run else "",
            f"; {self.progress.stopped}" if self.progress.stopped else "",
        )  # fmt: skip
        return self.progress

    # -- choosing ---------------------------------------------------------------------------

    def _batches(self, index: Index, selection: Selection) -> Iterator[list[DeadLetter]]:
        size = BATCH if self._plan.rate is None else max(1, min(BATCH, int(self._plan.rate)))
        batch: list[DeadLetter] = []
        weight = 0
        for some in self._desk.reader.letters(self._plan.topic, index.places(selection)):
            for letter in some:
                batch.append(letter)
                weight += len(letter.value or b"")
                if len(batch) >= size or weight >= BATCH_BYTES:
                    yield batch
                    batch, weight = [], 0
        if batch:
            yield batch

    def _one_batch(self, facts: TopicFacts, letters: list[DeadLetter]) -> None:
        self.progress.seen += len(letters)
        ready = [letter for letter in self._chosen(letters) if letter is not None]
        if not ready:
            return
        self._keep_rate(len(ready))
        if self._plan.to == SINK:
            self._into_sink(facts, ready)
        else:
            self._into_topics(facts, ready)

    def _chosen(self, letters: list[DeadLetter]) -> Iterator[DeadLetter]:
        """The letters to send, edited; those left out are counted by the reason."""
        limit = self._plan.max_attempts
        left: Counter[str] = Counter()
        candidates = []
        for letter in letters:
            if letter.attempts >= limit:
                left[f"replayed {limit} times already (--max-attempts)"] += 1
            elif letter.cause.of_source and self._plan.to in {ORIGINAL, SINK}:
                left["from a source: needs --to topic:NAME"] += 1
            elif letter.cause.topic is None and self._plan.to == ORIGINAL:
                left["original topic unknown: needs --to topic:NAME"] += 1
            elif self._is_of_another(letter):
                owner = letter.cause.connector
                left[f"of connector {owner}: needs --connector {owner}"] += 1
            else:
                try:
                    candidates.append(self._edit(letter) if self._edit else letter)
                except EditError as error:
                    left[f"can't be edited: {error}"] += 1
        if self._test is not None and candidates:
            outcomes = self._test(candidates)
            passing = []
            for letter, outcome in zip(candidates, outcomes, strict=True):
                if outcome.verdict is Verdict.PASSES:
                    passing.append(letter)
                else:
                    left[_why_not(outcome)] += 1
            candidates = passing
        self._leave(left)
        yield from candidates

    def _is_of_another(self, letter: DeadLetter) -> bool:
        if self._plan.to != SINK or self._connector is None:
            return False
        return letter.cause.connector not in {None, self._connector}

    def _leave(self, reasons: Mapping[str, int]) -> None:
        left = self.progress.left_open
        for reason, n in reasons.items():
            told = reason[:_REASON_CHARACTERS]
            if told not in left and len(left) >= _REASONS:
                told = _OTHER_REASONS
            left[told] = left.get(told, 0) + n

    def _keep_rate(self, letters: int) -> None:
        if self._plan.rate is None or self._plan.dry_run:
            return
        now = time.monotonic()
        if self._next_send > now:
            self._stop.wait(self._next_send - now)
        self._next_send = max(now, self._next_send) + letters / self._plan.rate

    # -- into topics ------------------------------------------------------------------------

    def _into_topics(self, facts: TopicFacts, letters: list[DeadLetter]) -> None:
        self._look_for({self._target(letter) for letter in letters})
        if not self._plan.dry_run:
            letters = self._sent(facts, letters)
        self._count(Counter(self._target(letter) for letter in letters))

    def _target(self, letter: DeadLetter) -> str:
        if self._plan.to != ORIGINAL:
            return self._plan.to
        assert letter.cause.topic is not None
        return letter.cause.topic

    def _look_for(self, topics: set[str]) -> None:
        """Each target must be there: a broker would create a topic that was deleted anew."""
        known = self._desk.reader.admin.list_topics(timeout=_TIMEOUT_SECONDS).topics
        for topic in sorted(topics):
            if topic == self._plan.topic:
                raise ReplayError(
                    f"'{topic}' is the dead-letter topic itself: replay to another one."
                )
            if topic not in known or known[topic].error is not None:
                raise ReplayError(
                    f"There is no topic '{topic}' (any more). {self.progress.replayed} letters "
                    "were replayed, the others are open: create it, or replay --to topic:NAME."
                )
            self._partitions[topic] = len(known[topic].partitions)

    def _sent(self, facts: TopicFacts, letters: list[DeadLetter]) -> list[DeadLetter]:
        """Send letters; those that were. One that Kafka refuses does not hold up the others."""
        refusal = self._transact(facts, letters)
        if refusal is None:
            return letters
        if len(letters) == 1:
            self._leave({f"Kafka refuses the record: {refusal}": 1})
            return []
        middle = len(letters) // 2
        return self._sent(facts, letters[:middle]) + self._sent(facts, letters[middle:])

    def _transact(self, facts: TopicFacts, letters: list[DeadLetter]) -> str | None:
        """Records and marks in one transaction. None if it is committed, else why it was not."""
        producer = self._producer
        assert producer is not None
        try:
            producer.begin_transaction()
            for letter in letters:
                self._produce(facts, letter)
            self._commit()
        except KafkaException as error:
            cause = error.args[0]
            if self._is_fenced(cause):
                raise ReplayError(
                    f"Another replay of '{facts.name}' has begun and goes on with what is open. "
                    "This one has ended."
                ) from error
            try:
                if cause.fatal():
                    raise
                # Records that are just on their way arrive first: the coordinator must know of a
                # transaction that it is told to end.
                producer.flush(_TIMEOUT_SECONDS)
                producer.abort_transaction(_TIMEOUT_SECONDS)
            except KafkaException:
                raise ReplayError(
                    f"Replaying '{facts.name}' failed: {cause.str()}. "
                    f"{self.progress.replayed} letters were replayed; start it again to go on "
                    "with what is open."
                ) from error
            return str(cause.str())
        return None

    def _is_fenced(self, cause: KafkaError) -> bool:
        if cause.code() in {KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH}:
            return True
        assert self._producer is not None
        # A producer that may do no more says "fatal"; why, it tells by its callback or in poll.
        try:
            self._producer.poll(0)
        except KafkaException as error:
            self._heard(error.args[0])
        return self._fenced

    def _commit(self) -> None:
        """Commit, and ask again while the answer is out: only then is it known what happened."""
        assert self._producer is not None
        deadline = time.monotonic() + 2 * _TIMEOUT_SECONDS
        while True:
            try:
                self._producer.commit_transaction(_TIMEOUT_SECONDS)
            except KafkaException as error:
                cause = error.args[0]
                again = cause.retriable() and not cause.txn_requires_abort()
                if not again or time.monotonic() > deadline:
                    raise
            else:
                return

    def _produce(self, facts: TopicFacts, letter: DeadLetter) -> None:
        assert self._producer is not None
        target = self._target(letter)
        where: dict[str, Any] = {}
        original = letter.cause.partition
        same_topic = target == letter.cause.topic
        # A topic has fewer partitions than before when it was created anew.
        if same_topic and original is not None and 0 <= original < self._partitions[target]:
            where["partition"] = original
        self._send(
            target,
            letter.value,
            letter.key,
            headers=lineage(letter, self.progress.id),
            timestamp=letter.timestamp or 0,
            **where,
        )
        key, value = encode(facts, self._mark(letter, target))
        self._send(self._desk.states.name, value, key)

    def _send(self, topic: str, value: bytes | None, key: bytes | None, **more: Any) -> None:
        assert self._producer is not None
        while True:
            try:
                self._producer.produce(topic, value, key, **more)
            except BufferError:
                self._producer.poll(0.1)
            else:
                return

    def _mark(self, letter: DeadLetter, target: str) -> Mark:
        plan = self._plan
        return Mark(
            letter.partition,
            letter.offset,
            State.REPLAYED,
            plan.by,
            now_ms(),
            plan.note,
            self.progress.id,
            target,
        )

    def _heard(self, error: KafkaError) -> None:
        fenced = error.code() == KafkaError._FENCED or "fenced" in error.str()
        self._fenced = self._fenced or fenced

    def _transactions(self) -> Producer:
        producer = Producer(
            {
                # As Java's producer chooses, so that records of one key stay on their partition.
                "partitioner": "murmur2_random",
                **self._desk.settings,
                "transactional.id": f"penstock-replay-{self._plan.topic}",
                "transaction.timeout.ms": _TRANSACTION_MS,
                "linger.ms": 5,
                "error_cb": self._heard,
                # The broker's limit is the one that counts; librdkafka's own is a megabyte.
                "message.max.bytes": 1_000_000_000,
            },
            logger=log,
        )
        try:
            producer.init_transactions(_TIMEOUT_SECONDS)
        except KafkaException as error:
            raise ReplayError(
                f"Kafka does not let this replay begin: {error.args[0].str()}. It needs the right "
                f"to use the transactional id penstock-replay-{self._plan.topic}."
            ) from error
        return producer

    # -- into a sink ------------------------------------------------------------------------

    def _into_sink(self, facts: TopicFacts, letters: list[DeadLetter]) -> None:
        if self._plan.dry_run:
            self._count({SINK: len(letters)})
            return
        assert self._delivery is not None
        messages = [message_of(letter, self._config) for letter in letters]
        failed = self._delivery.deliver(messages)
        done = [letter for i, letter in enumerate(letters) if i not in failed]
        producer = self._producer
        assert producer is not None
        try:
            producer.begin_transaction()
            for letter in done:
                key, value = encode(facts, self._mark(letter, SINK))
                self._send(self._desk.states.name, value, key)
            self._commit()
        except KafkaException as error:
            raise ReplayError(
                f"The sink has taken {len(done)} records, but they could not be marked: "
                f"{error.args[0].str()}. They are open, and would be sent again."
            ) from error
        self._leave(Counter(f"the sink refuses: {why}" for why in failed.values()))
        self._count({SINK: len(done)})

    def _count(self, targets: Mapping[str, int]) -> None:
        for target, n in targets.items():
            self.progress.replayed += n
            self.progress.targets[target] = self.progress.targets.get(target, 0) + n


def _why_not(outcome: Outcome) -> str:
    match outcome.verdict:
        case Verdict.FAILS:
            return f"still fails in {outcome.stage}: {outcome.reason}"
        case Verdict.BLOCKED:
            return "blocks the re-test"
        case verdict:
            return str(verdict)
