"""Kafka clients from configs written in the Java client's words.

Worker and connector configs speak of the Java producer, consumer and admin client. Ours are
librdkafka's, so keys and values are translated: `settings.py` has the tables, `security.py` what
concerns TLS and SASL. One that has no counterpart is named in the log once and otherwise left out,
because configs made for the JVM must go on working.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from connect.config.connector import settings_below
from connect.errors import ConfigError, ConnectError
from connect.runtime.clients.security import librdkafka_security
from connect.runtime.clients.settings import (
    ADMIN,
    CONSUMER,
    PRODUCER,
    Settings,
    java_name,
    number,
    translate,
)
from connect.runtime.express import MOST_UNDER_WAY, Terms
from connect.runtime.express_transactions import ExpressTransactions
from connect.runtime.record_batch import MOST_RECORDS

log = logging.getLogger(__name__)

_RETRY_SECONDS = 0.1
# A coordinator is looking for its records, or is another broker since a moment ago.
_NOT_READY = {
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
}

# What all clients of a worker share, taken from its own settings.
_SHARED = re.compile(
    r"bootstrap\.servers|security\.protocol|sasl\..*|ssl\..*|client\.dns\.lookup|"
    r"metadata\..*|reconnect\..*|retry\.backoff.*|request\.timeout\.ms|connections\..*|"
    r"send\.buffer\.bytes|receive\.buffer\.bytes|socket\..*"
)


_DEFAULTS = {
    # Java's. librdkafka's own lets a task idle for ten seconds after its broker is back.
    "reconnect.backoff.ms": "50",
    "reconnect.backoff.max.ms": "1000",
    # The histograms for it take two thirds of an idle client's memory, and more with every broker.
    "enable.metrics.push": "false",
    # As Java's clients have it: small requests are not held back.
    "socket.nagle.disable": "true",
}


def _settings(
    kind: str, worker: Mapping[str, str], connector: Mapping[str, str], ours: Mapping[str, str]
) -> Settings:
    """A client's settings: the worker's, ours, the worker's for this kind, the connector's."""
    shared = {k: v for k, v in worker.items() if _SHARED.fullmatch(k)}
    of_worker = {
        name: value
        for name, value in settings_below(worker, f"{kind}.").items()
        if not name.startswith("listeners")  # admin.listeners is where REST's admin routes are
    }
    of_connector = settings_below(connector, f"{kind}.override.")
    keys = {
        **{name: name for name in shared},
        **{name: f"{kind}.{name}" for name in of_worker},
        **{name: f"{kind}.override.{name}" for name in of_connector},
    }
    return Settings(kind, {**_DEFAULTS, **shared, **ours, **of_worker, **of_connector}, keys)


def librdkafka_settings(settings: Settings) -> dict[str, Any]:
    """Everything in librdkafka's words."""
    return translate(settings, librdkafka_security)


_Client = TypeVar("_Client")

# librdkafka's messages have the names of its settings in quotes of one kind or the other.
_NAMED = re.compile(r"[\"`]([a-z_]+(?:\.[a-z0-9_]+)+|acks|retries)[\"`]|(?<=: )(ssl\.[a-z.]+) ")


def _refusals(settings: Settings) -> Callable[[KafkaError], None]:
    """Fails the poll() that hears of a login or certificate that will never be right.

    librdkafka would try for ever, and a task would seem to run. What may pass, such as a broker
    that is away, is left to it.
    """

    def heard(error: KafkaError) -> None:
        text = error.str()
        if error.code() == KafkaError._AUTHENTICATION and "SASL authentication error:" in text:
            key = "sasl.jaas.config"
        elif error.code() == KafkaError._SSL and "certificate verify failed" in text:
            key = "ssl.truststore.location"
        elif error.code() == KafkaError._SSL and "alert" in text and "certificate" in text:
            key = "ssl.keystore.location"
        else:
            return
        raise ConnectError(
            f"Kafka and this {settings.kind} don't trust each other: {text}. "
            f"Look at {settings.key(key)} and restart the task."
        )

    return heard


def _made(make: Callable[..., _Client], settings: Settings, config: Mapping[str, Any]) -> _Client:
    """A client; what librdkafka refuses is an error at the key the user wrote."""
    try:
        return make(dict(config), logger=log)
    except KafkaException as error:
        reason = error.args[0].str().strip().removeprefix("Failed to create ")
        for match in _NAMED.finditer(reason):
            name = java_name(match[1] or match[2])
            if name in settings.values:
                raise settings.wrong(name, f"librdkafka: {reason}") from error
        if "SASL mechanism GSSAPI" in reason:
            raise ConfigError(
                settings.key("sasl.mechanism"),
                "GSSAPI",
                "this librdkafka was built without Kerberos. Set sasl.mechanism to another one, or "
                "install confluent-kafka from source beside a librdkafka with libsasl2",
            ) from error
        raise ConfigError(
            f"The Kafka {settings.kind} can't be made of these settings: {reason}"
        ) from error


# librdkafka waits this long before it fetches again once its queue was full. Its default of
# 1000 ms starves a fast task: 145 k messages/s measured where 1.5 M/s were possible.
FETCH_QUEUE_BACKOFF_MS = 2

_TUNED_CONSUMER = {
    "fetch.queue.backoff.ms": FETCH_QUEUE_BACKOFF_MS,
    "queued.min.messages": 100_000,
    "queued.max.messages.kbytes": 65_536,
    "fetch.message.max.bytes": 4 * 1024 * 1024,
    # As the Java consumer does: a sink may be created before its topic.
    "allow.auto.create.topics": True,
    # New topics that match topics.regex are seen after this long. Five minutes, the default,
    # is what users of other workers complain about.
    "topic.metadata.refresh.interval.ms": 10_000,
}


# How many records go through the pipeline at once, unless consumer max.poll.records says. Larger
# batches leave the processor's cache between two stages: 5000 cost a third more a record.
DEFAULT_BATCH = 2000


def batch_limit(worker: Mapping[str, str], connector: Mapping[str, str]) -> int:
    settings = _settings(CONSUMER, worker, connector, {"max.poll.records": str(DEFAULT_BATCH)})
    return number(settings, "max.poll.records", 1)


def sink_consumer(
    name: str, task: int, worker: Mapping[str, str], connector: Mapping[str, str]
) -> Consumer:
    """The consumer of a sink task, in the group connect-<name> unless overridden."""
    settings = _settings(
        CONSUMER,
        worker,
        connector,
        {
            "group.id": f"connect-{name}",
            "client.id": f"connector-consumer-{name}-{task}",
            "auto.offset.reset": "earliest",
            "partition.assignment.strategy": "CooperativeStickyAssignor",
            # A record of a transaction that was aborted, such as one of a replay that was killed
            # and begun again, must not reach anybody.
            "isolation.level": "read_committed",
            # Heartbeats come from a thread of the client's own, so a task that is merely slow
            # keeps its partitions; those of a machine that died move after this long, not 45 s.
            "session.timeout.ms": "10000",
            "heartbeat.interval.ms": "3000",
        },
    )
    config = {**_TUNED_CONSUMER, **librdkafka_settings(settings)}
    # Offsets are committed by the sink loop, and never for records that are not safe yet.
    config |= {
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "error_cb": _refusals(settings),
    }
    return _made(Consumer, settings, config)


def range_consumer_settings(
    client_id: str, group: str, worker: Mapping[str, str], connector: Mapping[str, str]
) -> dict[str, Any]:
    """Settings in librdkafka's words for who assigns exact ranges and commits nothing.

    The end of a partition is told as an event, and an offset that is gone as an error.
    """
    ours = {"client.id": client_id, "group.id": group, "isolation.level": "read_committed"}
    return {
        **_TUNED_CONSUMER,
        **librdkafka_settings(_settings(CONSUMER, worker, connector, ours)),
        "allow.auto.create.topics": False,
        "auto.offset.reset": "error",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        # Going to the next range waits for the fetch under way, which waits this long for data.
        "fetch.wait.max.ms": 50,
    }


def rebalances_cooperatively(worker: Mapping[str, str], connector: Mapping[str, str]) -> bool:
    """Whether partitions come and go one by one, or all are revoked at every rebalance."""
    config = translate(_settings(CONSUMER, worker, connector, {}), lambda _: {})
    if config.get("group.protocol") == "consumer":
        return True
    return "cooperative" in config.get("partition.assignment.strategy", "cooperative-sticky")


def sink_group(name: str, worker: Mapping[str, str], connector: Mapping[str, str]) -> str:
    settings = _settings(CONSUMER, worker, connector, {"group.id": f"connect-{name}"})
    return settings.values["group.id"]


# How long a transaction may stay open. Above the broker's transaction.max.timeout.ms of 15
# minutes it would be refused; a transaction is ended long before by its boundary.
TRANSACTION_TIMEOUT_MS = 300_000

_PRODUCER = {
    "acks": "all",
    "max.in.flight.requests.per.connection": "1",
    "delivery.timeout.ms": str(2**31 - 1),
    "enable.idempotence": "false",
}


# What a source may set without giving up the short way of its batches, and what it must not.
_EXPRESS = {
    "acks": {"all", "1"}, "compression.type": {"none"}, "enable.idempotence": {"false"},
    "security.protocol": {"PLAINTEXT"},
    **dict.fromkeys((
        "batch.size", "bootstrap.servers", "client.dns.lookup", "client.id",
        "connections.max.idle.ms", "delivery.timeout.ms", "enable.metrics.push", "linger.ms",
        "max.in.flight.requests.per.connection", "message.max.bytes", "metadata.recovery.strategy",
        "queue.buffering.max.kbytes", "queue.buffering.max.messages", "reconnect.backoff.max.ms",
        "reconnect.backoff.ms", "request.timeout.ms", "retry.backoff.max.ms", "retry.backoff.ms",
        "socket.connection.setup.timeout.ms", "socket.nagle.disable", "socket.timeout.ms",
        "sticky.partitioning.linger.ms", "topic.metadata.refresh.interval.ms",
    )),
}  # fmt: skip
# Of librdkafka; Java's would be a sixtieth, and is no limit where a batch waits for nothing.
_BATCH_SIZE = 1_000_000


def _producer_settings(
    client_id: str, worker: Mapping[str, str], connector: Mapping[str, str]
) -> Settings:
    return _settings(PRODUCER, worker, connector, {**_PRODUCER, "client.id": client_id})


def express_terms(
    name: str, task: int, worker: Mapping[str, str], connector: Mapping[str, str]
) -> Terms | None:
    """What the settings of `source_producer` mean for the short way; None if they forbid it."""
    config = librdkafka_settings(_producer_settings(_source_client(name, task), worker, connector))
    for key, value in config.items():
        if key not in _EXPRESS or str(value) not in (_EXPRESS[key] or {str(value)}):
            return None
    try:
        servers = _addresses(config["bootstrap.servers"])
    except ValueError:  # librdkafka says what is wrong with it
        return None
    # What comes back, of requests under way and the next, must find room in the producer.
    parcels = MOST_UNDER_WAY + 1
    room = 1024 * int(config.get("queue.buffering.max.kbytes", 1024 * 1024))
    places = int(config.get("queue.buffering.max.messages", 100_000))
    return Terms(
        servers=servers,
        client_id=config["client.id"],
        acks=-1 if config["acks"] == "all" else 1,
        answer_seconds=int(config.get("socket.timeout.ms", 30_000)) / 1000,
        most_bytes=min(room // parcels, _batch_bytes(config)),
        most_records=min(places // parcels, MOST_RECORDS),
    )


def batch_bytes(
    name: str, task: int, worker: Mapping[str, str], connector: Mapping[str, str]
) -> int:
    """How large a record batch of a source's producer may be."""
    settings = _producer_settings(_source_client(name, task), worker, connector)
    return _batch_bytes(librdkafka_settings(settings))


def _batch_bytes(config: Mapping[str, Any]) -> int:
    return min(int(config.get(key, _BATCH_SIZE)) for key in ("batch.size", "message.max.bytes"))


def _addresses(servers: str) -> tuple[tuple[str, int], ...]:
    found = (
        urlsplit(one if "://" in one else f"//{one}") for one in map(str.strip, servers.split(","))
    )
    return tuple((one.hostname or "", one.port or 9092) for one in found)


def express_transactions(
    name: str,
    task: int,
    worker: Mapping[str, str],
    connector: Mapping[str, str],
    *,
    transactional_id: str,
) -> Callable[..., ExpressTransactions] | None:
    """Makes the short way of an exactly-once source's transactions; None if settings forbid it."""
    terms = express_terms(name, task, worker, connector)
    if terms is None:
        return None
    return partial(ExpressTransactions, terms, transactional_id, TRANSACTION_TIMEOUT_MS)


def _source_client(name: str, task: int) -> str:
    return f"connector-producer-{name}-{task}"


def _producer(
    client_id: str,
    worker: Mapping[str, str],
    connector: Mapping[str, str],
    extra: Mapping[str, Any],
) -> Producer:
    settings = _producer_settings(client_id, worker, connector)
    # As Java's producer chooses, so that records of one key stay on their partition.
    config = {"partitioner": "murmur2_random", **librdkafka_settings(settings), **extra}
    config["error_cb"] = _refusals(settings)
    return _made(Producer, settings, config)


def source_producer(
    name: str,
    task: int,
    worker: Mapping[str, str],
    connector: Mapping[str, str],
    undelivered: Callable[..., None],
    *,
    every_delivery: bool,
    most_bytes: int | None = None,
) -> Producer:
    """The producer of a source task. `undelivered` hears of records that could not be written.

    Callbacks for records that were written come only with `every_delivery`: a call for each costs
    a third of the throughput. With `most_bytes` no record batch is larger, unless one record is.
    """
    extra = {**_reports(undelivered, every_delivery), **_batches(most_bytes)}
    return _producer(_source_client(name, task), worker, connector, extra)


def _reports(undelivered: Callable[..., None], every_delivery: bool) -> dict[str, Any]:
    return {"on_delivery": undelivered, "delivery.report.only.error": not every_delivery}


def _batches(most_bytes: int | None) -> dict[str, Any]:
    return {} if most_bytes is None else {"batch.size": most_bytes}


def exactly_once_producer(
    name: str,
    task: int,
    worker: Mapping[str, str],
    connector: Mapping[str, str],
    undelivered: Callable[..., None],
    *,
    every_delivery: bool,
    transactional_id: str,
    most_bytes: int | None = None,
) -> Producer:
    """The producer of an exactly-once source task.

    What it must have is forced; a user's own value would break the promise.
    """
    extra = {
        **_reports(undelivered, every_delivery),
        **_batches(most_bytes),
        "transactional.id": transactional_id,
        "enable.idempotence": True,
        "acks": "all",
        "max.in.flight.requests.per.connection": 5,
        # librdkafka refuses a delivery timeout longer than the transaction may last.
        "delivery.timeout.ms": TRANSACTION_TIMEOUT_MS,
        "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
    }
    return _producer(_source_client(name, task), worker, connector, extra)


def transactional_producer(
    transactional_id: str, worker: Mapping[str, str], connector: Mapping[str, str]
) -> Producer:
    """A producer whose letters and offsets become visible together, and that fences older ones."""
    ours = {
        "transactional.id": transactional_id,
        "enable.idempotence": True,
        "transaction.timeout.ms": 60_000,
        # librdkafka wants it no longer than the transaction.
        "delivery.timeout.ms": 60_000,
    }
    return _producer(transactional_id, worker, connector, ours)


def abort_transaction(producer: Producer, seconds: float) -> None:
    """Drop the open transaction."""
    # One whose first records are just on their way is not known to the coordinator yet, which takes
    # its end for a grave mistake: so they arrive first.
    producer.flush(seconds)
    producer.abort_transaction(seconds)


def dlq_producer(
    name: str,
    task: int,
    worker: Mapping[str, str],
    connector: Mapping[str, str],
    undelivered: Callable[..., None],
    *,
    every_delivery: bool,
) -> Producer:
    """The producer of a task's dead letters; its callbacks are those of `source_producer`."""
    client_id = f"connector-dlq-producer-{name}-{task}"
    return _producer(client_id, worker, connector, _reports(undelivered, every_delivery))


def committed_offsets(
    admin: AdminClient, group: str, partitions: list[TopicPartition] | None, seconds: float
) -> list[TopicPartition]:
    """What a group has committed. A coordinator that is not ready yet is asked again."""
    deadline = time.monotonic() + seconds
    request = [ConsumerGroupTopicPartitions(group, partitions)]
    while True:
        left = max(0.1, deadline - time.monotonic())
        try:
            answer = admin.list_consumer_group_offsets(request)[group].result(left)
            return list(answer.topic_partitions)
        except KafkaException as error:
            not_ready = error.args[0].code() in _NOT_READY
            if not not_ready or time.monotonic() + _RETRY_SECONDS > deadline:
                raise
            time.sleep(_RETRY_SECONDS)


def group_settings(worker: Mapping[str, str], connector: Mapping[str, str]) -> dict[str, Any]:
    """Settings for kafka-python, which speaks the group protocols that librdkafka does not."""
    # kafka-python is slow to load, and no task needs it.
    from connect.runtime.clients.group import kafka_python_security  # noqa: PLC0415

    settings = _settings(ADMIN, worker, connector, {})
    servers = settings.get("bootstrap.servers")
    if servers is None:
        raise settings.wrong("bootstrap.servers", "is missing")
    return {"bootstrap_servers": servers, **kafka_python_security(settings)}


def admin_client(
    client_id: str, worker: Mapping[str, str], connector: Mapping[str, str]
) -> AdminClient:
    settings = _settings(ADMIN, worker, connector, {"client.id": client_id})
    return _made(AdminClient, settings, librdkafka_settings(settings))


def as_producer_connects(worker: Mapping[str, str], connector: Mapping[str, str]) -> dict[str, str]:
    """The worker's settings, pointed at the cluster to which a connector's producer writes."""
    producer = _settings(PRODUCER, worker, connector, {}).values
    admin = settings_below(connector, "admin.override.")
    return {
        **worker,
        **{key: value for key, value in producer.items() if _SHARED.fullmatch(key)},
        **{f"admin.{key}": value for key, value in admin.items()},
    }


def worker_settings(worker: Mapping[str, str]) -> dict[str, Any]:
    """Settings for the clients that are the worker's own: those that read its internal topics."""
    shared = {k: v for k, v in worker.items() if _SHARED.fullmatch(k)}
    return librdkafka_settings(Settings(ADMIN, {**_DEFAULTS, **shared}, {k: k for k in shared}))
