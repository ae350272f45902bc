"""A compacted topic as a log: read from its beginning, then followed, and written to.

The worker's internal topics are such logs. Reading runs in a thread of its own; what is read goes
to one function, record by record and in order.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from connect.config.worker import WorkerConfig
from connect.errors import ConfigError, ConnectError
from connect.runtime import clients

log = logging.getLogger(__name__)

START_SECONDS = 60.0
WRITE_AGAIN = (
    "Failed to write to config topic; this may be due to a transient error and the request can be "
    "safely retried"
)
WRITE_SECONDS = 30.0
_POLL_SECONDS = 0.1
_RETRY_SECONDS = 0.1
# How long a client gets to tell where a topic ends before another one is asked, which gets twice as
# long. One that met a new topic too early answers only when its time is up.
_FIRST_ANSWER_SECONDS = 0.5
# An empty fetch is answered after so long. It is also what a reader waits for when the end of the
# topic is a transaction's marker, which it never gets to see.
_FETCH_WAIT_MS = 250


class FencedError(ConnectError):
    """Somebody else has claimed the topic since."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a log. `value` None deletes the key."""

    key: bytes
    value: bytes | None
    offset: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class LogTopic:
    """Which topic, how it is created if it is not there, and the worker's setting that names it."""

    name: str
    setting: str
    partitions: int
    replication: int
    settings: Mapping[str, str] = field(default_factory=dict)
    single_partition: bool = False

    @classmethod
    def of_worker(cls, config: WorkerConfig, kind: str) -> LogTopic:
        """The topic for configs, offsets or statuses, as the worker's settings have it."""
        prefix = f"{kind}.storage."
        own = {"topic", "partitions", "replication.factor", "cleanup.policy"}
        extra = {k: v for k, v in config.settings_below(prefix).items() if k not in own}
        single = kind == "config"
        return cls(
            config[prefix + "topic"],
            prefix + "topic",
            1 if single else config[prefix + "partitions"],
            config[prefix + "replication.factor"],
            {k: v for k, v in extra.items() if not k.startswith("file.")},
            single_partition=single,
        )

    @property
    def replication_setting(self) -> str:
        # A connector's own topic (offsets.storage.topic) is made as the worker's is.
        return self.setting.replace("offsets.", "offset.").replace("topic", "replication.factor")


Apply = Callable[[Record], None]


class KafkaLog:
    """Reads and writes one topic. All methods may be called from any thread, and block.

    `apply` is called in the log's own thread with every record; `start` returns once it has seen
    everything that was there.
    """

    def __init__(self, topic: LogTopic, worker: Mapping[str, str], apply: Apply) -> None:
        self.topic = topic
        self._worker = worker
        self._apply = apply
        self._changed = threading.Condition()
        self._reached: dict[int, int] = {}
        self._written: dict[int, int] = {}  # behind the last record of a transaction of our own
        self._stopping = False
        self._failure: Exception | None = None
        self._admin: AdminClient | None = None
        self._consumer: Consumer | None = None
        self._producer: Producer | None = None
        self._exclusive: Producer | None = None
        self._transaction = threading.Lock()
        self._opening = threading.Lock()
        self._thread: threading.Thread | None = None

    # -- life -------------------------------------------------------------------------------

    def start(self, seconds: float = START_SECONDS) -> None:
        """Create or check the topic and read it to its end. ConfigError if it won't do."""
        deadline = time.monotonic() + seconds
        self._admin = self._new_admin()
        created = _create(self._admin, self.topic, seconds)
        partitions = _checked_partitions(self._admin, self.topic, seconds)
        settings = clients.worker_settings(self._worker)
        self._consumer = Consumer(
            {
                **settings,
                "client.id": f"penstock-{self.topic.name}",
                "group.id": f"penstock-{self.topic.name}",  # librdkafka wants one; it is not joined
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": _FETCH_WAIT_MS,
            },
            logger=log,
        )
        self._reached = dict.fromkeys(range(partitions), 0)
        self._consumer.assign(
            [TopicPartition(self.topic.name, p, OFFSET_BEGINNING) for p in self._reached]
        )
        self._thread = threading.Thread(
            target=self._follow, name=f"log-{self.topic.name}", daemon=True
        )
        self._thread.start()
        if not created:
            # A topic that was just made is empty, and librdkafka may take three seconds to say so.
            self.read_to_end(max(1.0, deadline - time.monotonic()))
        self._admin = None  # most are never asked again, and a client has threads and memory

    def stop(self) -> None:
        """Write out what is still to be written, and close. Harmless if repeated."""
        with self._opening:
            self._stopping = True
        if self._producer is not None:
            self._producer.flush(5.0)
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
        self._producer = self._exclusive = self._admin = None

    # -- reading ----------------------------------------------------------------------------

    def read_to_end(self, seconds: float = WRITE_SECONDS) -> None:
        """Return when everything that is in the topic now was applied."""
        deadline = time.monotonic() + seconds
        # A broker notes the end of a transaction a moment after its commit, and only then are its
        # records among what is committed.
        ends = {p: max(end, self._written.get(p, 0)) for p, end in self._ends(seconds).items()}
        with self._changed:
            done = self._changed.wait_for(
                lambda: (
                    self._failure is not None
                    or self._stopping
                    or all(self._reached[p] >= end for p, end in ends.items())
                ),
                max(0.0, deadline - time.monotonic()),
            )
        if self._failure is not None:
            raise ConnectError(
                f"Topic {self.topic.name} ({self.topic.setting}) can't be read any more: "
                f"{self._failure}"
            ) from self._failure
        if not done:
            raise ConnectError(
                f"Topic {self.topic.name} ({self.topic.setting}) was not read to its end within "
                f"{seconds:.0f} s: a broker does not answer."
            )

    def _ends(self, seconds: float) -> dict[int, int]:
        # Asked of the admin client, because a call on the consumer would have to wait for its poll.
        end = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        wanted = {TopicPartition(self.topic.name, p): end for p in self._reached}
        deadline = time.monotonic() + seconds
        patience = _FIRST_ANSWER_SECONDS
        while self._consumer is not None:
            # Not `or`: a client has the length of its queue, and an idle one would count as none.
            admin = self._new_admin() if self._admin is None else self._admin
            self._admin = admin
            wait = max(0.1, min(patience, deadline - time.monotonic()))
            answers = admin.list_offsets(
                wanted, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=wait
            )
            try:
                # Its own time limit comes first: it says what it has waited for.
                found = {tp.partition: each.result(wait + 1) for tp, each in answers.items()}
                return {partition: each.offset for partition, each in found.items()}
            except (KafkaException, TimeoutError) as error:
                if not _is_passing(error) or time.monotonic() + _RETRY_SECONDS > deadline:
                    raise ConnectError(
                        f"The end of topic {self.topic.name} ({self.topic.setting}) is not known: "
                        f"{error}"
                    ) from error
                # A topic that was just made, or whose broker just left, has no leader for a moment.
                # librdkafka's admin client goes on asking the one it knew, or waits for one for as
                # long as it may: a new client asks anew.
                time.sleep(_RETRY_SECONDS)
                self._admin = None
                patience *= 2
        raise ConnectError(f"Topic {self.topic.name} is not open")

    def _new_admin(self) -> AdminClient:
        return clients.admin_client("penstock-worker", self._worker, {})

    def _follow(self) -> None:
        consumer = self._consumer
        assert consumer is not None
        try:
            while not self._stopping:
                message = consumer.poll(_POLL_SECONDS)
                messages = [] if message is None else [message, *consumer.consume(1000, 0)]
                self._take(messages)
                if self._producer is not None:
                    self._producer.poll(0)  # so that writers hear of their deliveries
        except Exception as error:
            log.exception("Topic %s is not followed any more", self.topic.name)
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _take(self, messages: Sequence[Message]) -> None:
        for message in messages:
            error = message.error()
            partition, reached = message.partition(), message.offset()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                log.warning("Reading topic %s: %s", self.topic.name, error.str())
                continue
            assert partition is not None
            assert reached is not None
            if error is None:
                self._read(message, reached)
                reached += 1
            with self._changed:
                self._reached[partition] = max(self._reached[partition], reached)
        if messages:
            with self._changed:
                self._changed.notify_all()

    def _read(self, message: Message, offset: int) -> None:
        key = message.key()
        if key is None:
            log.warning("Topic %s has a record without a key, skipped", self.topic.name)
            return
        value = message.value()
        record = Record(bytes(key), value, offset, message.timestamp()[1])
        try:
            self._apply(record)
        except Exception:
            # One record that nobody understands must not keep the worker from all others.
            log.exception("Record %r of topic %s is skipped", key, self.topic.name)

    # -- writing ----------------------------------------------------------------------------

    def write(
        self, records: Sequence[tuple[bytes, bytes | None]], seconds: float = WRITE_SECONDS
    ) -> None:
        """Write records; they are safe when this returns."""
        if self._exclusive is not None:
            self._write_exclusively(records, seconds)
            return
        deadline = time.monotonic() + seconds
        for delivery in [self.write_soon(key, value) for key, value in records]:
            try:
                delivery.result(max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                raise ConnectError(
                    f"Topic {self.topic.name} ({self.topic.setting}): a record was not "
                    f"acknowledged within {seconds:.0f} s."
                ) from None

    def claim(self, transactional_id: str) -> None:
        """Become the one who writes: whoever had claimed the same id before can't any more.

        Harmless if it is claimed already.
        """
        # Requests and duties that come at the same time must not take the claim from each other.
        with self._transaction:
            if self._exclusive is None:
                self._exclusive = self._claimed(transactional_id)

    def _claimed(self, transactional_id: str) -> Producer:
        settings = clients.worker_settings(self._worker)
        producer = Producer(
            {
                **settings,
                "client.id": f"penstock-{self.topic.name}",
                "transactional.id": transactional_id,
                "partitioner": "murmur2_random",
                "linger.ms": 0,
            },
            logger=log,
        )
        try:
            producer.init_transactions(WRITE_SECONDS)
        except KafkaException as error:
            raise self._not_written(error.args[0].str()) from error
        return producer

    def release(self) -> None:
        """Write like everybody else again."""
        self._exclusive = None

    def _write_exclusively(
        self, records: Sequence[tuple[bytes, bytes | None]], seconds: float
    ) -> None:
        with self._transaction:
            producer = self._exclusive
            if producer is None:
                raise ConnectError(WRITE_AGAIN)
            try:
                written: dict[int, int] = {}

                def delivered(error: KafkaError | None, message: Any) -> None:
                    if error is None:
                        written[message.partition()] = message.offset() + 1

                producer.begin_transaction()
                for key, value in records:
                    producer.produce(self.topic.name, value, key, on_delivery=delivered)
                producer.flush(seconds)  # it tells where they are
                producer.commit_transaction(seconds)
                self._written |= written
            except KafkaException as error:
                # Another leader has claimed the topic, or a broker is gone. If this worker still
                # leads, it claims the topic anew when it is asked again.
                self._exclusive = None
                log.warning("Topic %s: %s", self.topic.name, error.args[0].str())
                fenced = error.args[0].code() == KafkaError._FENCED
                raise (FencedError if fenced else ConnectError)(WRITE_AGAIN) from error

    def write_soon(self, key: bytes, value: bytes | None) -> Future[None]:
        """Begin to write a record. Does not block; the future says how it went."""
        done: Future[None] = Future()

        def delivered(error: KafkaError | None, _message: Any) -> None:
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(self._not_written(error.str()))

        producer = self._writer()
        if producer is None:
            done.set_exception(self._not_written("the worker is stopping"))
            return done
        try:
            producer.produce(self.topic.name, value, key, on_delivery=delivered)
        except (BufferError, KafkaException) as error:
            done.set_exception(self._not_written(str(error)))
        return done

    def _writer(self) -> Producer | None:
        """The producer, made when it is first wanted: an idle worker writes nothing."""
        with self._opening:
            if self._producer is None and not self._stopping:
                self._producer = Producer(
                    {
                        **clients.worker_settings(self._worker),
                        "client.id": f"penstock-{self.topic.name}",
                        "acks": "all",
                        # So that what was written first comes first, whatever was sent again.
                        "max.in.flight.requests.per.connection": 1,
                        "delivery.timeout.ms": int(WRITE_SECONDS * 1000),
                        "linger.ms": 0,
                        # As Java chooses: the records of a key must stay on one partition.
                        "partitioner": "murmur2_random",
                    },
                    logger=log,
                )
            return self._producer

    def _not_written(self, reason: str) -> ConnectError:
        return ConnectError(
            f"Topic {self.topic.name} ({self.topic.setting}) could not be written to: {reason}"
        )


def _is_passing(error: Exception) -> bool:
    return isinstance(error, KafkaException) and error.args[0].code() in {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,  # the broker has yet to hear that the topic is new
        KafkaError._TRANSPORT,
        KafkaError._TIMED_OUT,
        KafkaError._NOENT,  # no leaders were found: all brokers have just begun
    }


# ---- the topic itself ------------------------------------------------------------------------


def _checked_partitions(admin: AdminClient, topic: LogTopic, seconds: float) -> int:
    """How many partitions the topic has. ConfigError if it is none for a log."""
    # A broker that has just made a topic may not know of it yet when it is asked.
    deadline = time.monotonic() + seconds
    while True:
        try:
            partitions = _partitions(admin, topic, seconds)
            _check_compaction(admin, topic, seconds)
            break
        except KafkaException as error:
            if not _is_passing(error) or time.monotonic() + _RETRY_SECONDS > deadline:
                raise ConnectError(
                    f"Topic {topic.name} ({topic.setting}): {error.args[0].str()}"
                ) from error
            time.sleep(_RETRY_SECONDS)
    if topic.single_partition and partitions != 1:
        raise ConfigError(
            topic.setting,
            topic.name,
            f"The topic has {partitions} partitions. It must have exactly one, because the order "
            "of its records matters: name another topic, and it is created as it has to be.",
        )
    return partitions


def _partitions(admin: AdminClient, topic: LogTopic, seconds: float) -> int:
    found = admin.list_topics(topic.name, timeout=seconds).topics[topic.name]
    if found.error is not None:
        raise KafkaException(found.error)
    if not found.partitions:
        raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
    return len(found.partitions)


def _create(admin: AdminClient, topic: LogTopic, seconds: float) -> bool:
    """Whether the topic was not there, and is now."""
    new = NewTopic(
        topic.name,
        topic.partitions,
        topic.replication,
        config={**topic.settings, "cleanup.policy": "compact"},
    )
    try:
        admin.create_topics([new], request_timeout=seconds)[topic.name].result(seconds + 5)
    except KafkaException as error:
        code = error.args[0].code()
        if code == KafkaError.TOPIC_ALREADY_EXISTS:
            return False
        if code in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
            return False  # the topic may be there, made by somebody who is allowed to
        hint = (
            f" Set {topic.replication_setting} to the number of brokers at most."
            if code == KafkaError.INVALID_REPLICATION_FACTOR
            else ""
        )
        raise ConnectError(
            f"Topic {topic.name} ({topic.setting}) could not be created: "
            f"{error.args[0].str()}.{hint}"
        ) from error
    log.info("Created topic %s (%s)", topic.name, topic.setting)
    return True


def _check_compaction(admin: AdminClient, topic: LogTopic, seconds: float) -> None:
    resource = ConfigResource(ResourceType.TOPIC, topic.name)
    try:
        found = admin.describe_configs([resource], request_timeout=seconds)[resource].result()
    except KafkaException as error:
        log.warning(
            "Whether topic %s is compacted can't be seen: %s", topic.name, error.args[0].str()
        )
        return
    policy = found["cleanup.policy"].value
    if policy != "compact":
        raise ConfigError(
            topic.setting,
            topic.name,
            f"The topic has cleanup.policy={policy}. It must be exactly 'compact', or Kafka will "
            "in time delete what the cluster needs to know: change the topic, or name another.",
        )
