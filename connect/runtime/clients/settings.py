"""Settings of the Java clients in librdkafka's words.

Every setting of Kafka's clients is in one of the tables below. Where librdkafka's range is narrower
than Java's the nearest value it takes is used, and the log says so; a value that Java would refuse
too, or that can't mean the same here, is a ConfigError at the key the user wrote.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from connect.config.clients import client_settings
from connect.config.configdef import ConfigType
from connect.config.secret import HIDDEN
from connect.errors import ConfigError

log = logging.getLogger(__name__)

PRODUCER, CONSUMER, ADMIN = "producer", "consumer", "admin"
_ALL = (PRODUCER, CONSUMER, ADMIN)

_INT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Settings:
    """What a Java client of this kind was told, and under which key the user wrote each."""

    kind: str
    values: Mapping[str, str] = field(repr=False)
    keys: Mapping[str, str] = field(default_factory=dict)

    def key(self, name: str) -> str:
        return self.keys.get(name, name)

    def get(self, name: str) -> str | None:
        """A setting without surrounding blanks; None if it is absent or empty."""
        return self.values.get(name, "").strip() or None

    def wrong(self, name: str, reason: str) -> ConfigError:
        return ConfigError(self.key(name), self.shown(name), reason)

    def shown(self, name: str) -> str | None:
        return HIDDEN if self.is_secret(name) else self.values.get(name)

    def is_secret(self, name: str) -> bool:
        known = client_settings(self.kind).keys.get(name)
        return (known is not None and known.type is ConfigType.PASSWORD) or (
            name in {"sasl.password", "ssl.key.pem", "sasl.oauthbearer.client.secret"}
        )


@dataclass(frozen=True, slots=True)
class _Number:
    """librdkafka's name and range. Below `java_low` Java refuses it too."""

    ours: tuple[str, ...]
    low: int
    high: int = _INT_MAX
    java_low: int = 0
    kinds: tuple[str, ...] = _ALL
    instead: Mapping[int, int] = field(default_factory=dict)  # values with a meaning of their own


def _number(*ours: str, **rest: Any) -> _Number:
    return _Number(ours, **rest)


_P, _C = (PRODUCER,), (CONSUMER,)

_NUMBERS: dict[str, _Number] = {
    # all clients
    "connections.max.idle.ms": _number("connections.max.idle.ms", low=0, java_low=-1,
                                       instead={-1: 0}),
    "metadata.max.age.ms": _number("topic.metadata.refresh.interval.ms", low=1, high=3_600_000),
    "metadata.recovery.rebootstrap.trigger.ms": _number(
        "metadata.recovery.rebootstrap.trigger.ms", low=0),
    "receive.buffer.bytes": _number("socket.receive.buffer.bytes", low=0, high=100_000_000,
                                    java_low=-1, instead={-1: 0}),
    "send.buffer.bytes": _number("socket.send.buffer.bytes", low=0, high=100_000_000,
                                 java_low=-1, instead={-1: 0}),
    "reconnect.backoff.ms": _number("reconnect.backoff.ms", low=0, high=3_600_000),
    "reconnect.backoff.max.ms": _number("reconnect.backoff.max.ms", low=0, high=3_600_000),
    # Java's is for every request. librdkafka has one for all and one for what brokers may take
    # to acknowledge records.
    "request.timeout.ms": _number("socket.timeout.ms", low=10, high=300_000),
    "retry.backoff.ms": _number("retry.backoff.ms", low=1, high=300_000),
    "retry.backoff.max.ms": _number("retry.backoff.max.ms", low=1, high=300_000),
    "sasl.kerberos.min.time.before.relogin": _number("sasl.kerberos.min.time.before.relogin",
                                                     low=0, high=86_400_000),
    "socket.connection.setup.timeout.ms": _number("socket.connection.setup.timeout.ms", low=1000),
    # producer
    "batch.size": _number("batch.size", low=1, kinds=_P),
    "delivery.timeout.ms": _number("delivery.timeout.ms", low=0, kinds=_P),
    "linger.ms": _number("linger.ms", low=0, high=900_000, kinds=_P),
    "max.in.flight.requests.per.connection": _number(
        "max.in.flight.requests.per.connection", low=1, high=1_000_000, java_low=1, kinds=_P),
    "max.request.size": _number("message.max.bytes", low=1000, high=1_000_000_000, kinds=_P),
    "retries": _number("retries", low=0, kinds=_P),
    "transaction.timeout.ms": _number("transaction.timeout.ms", low=1000, java_low=1, kinds=_P),
    # consumer
    "fetch.max.bytes": _number("fetch.max.bytes", low=1000, high=2_147_483_135, kinds=_C),
    "fetch.max.wait.ms": _number("fetch.wait.max.ms", low=0, high=300_000, kinds=_C),
    "fetch.min.bytes": _number("fetch.min.bytes", low=1, high=100_000_000, kinds=_C),
    "heartbeat.interval.ms": _number("heartbeat.interval.ms", low=1, high=3_600_000, java_low=1,
                                     kinds=_C),
    "max.partition.fetch.bytes": _number("fetch.message.max.bytes", low=1, high=1_000_000_000,
                                         kinds=_C),
    "max.poll.interval.ms": _number("max.poll.interval.ms", low=1, high=86_400_000, java_low=1,
                                    kinds=_C),
    "session.timeout.ms": _number("session.timeout.ms", low=1, high=3_600_000, java_low=1,
                                  kinds=_C),
}  # fmt: skip

# Same name, true or false.
_FLAGS = {
    "allow.auto.create.topics": _C, "check.crcs": _C, "enable.auto.commit": _C,
    "enable.idempotence": _P, "enable.metrics.push": _ALL,
}  # fmt: skip

# Same name, any text.
_TEXTS = {
    "bootstrap.servers": _ALL, "client.id": _ALL, "client.rack": _C, "group.id": _C,
    "group.instance.id": _C, "group.remote.assignor": _C, "transactional.id": _P,
}  # fmt: skip

# One of a few words; librdkafka's word for each of Java's.
_CHOICES: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "acks": (_P, {"all": "all", "-1": "all", "0": "0", "1": "1"}),
    "auto.offset.reset": (_C, {"earliest": "earliest", "latest": "latest", "none": "error"}),
    "client.dns.lookup": (_ALL, {
        "use_all_dns_ips": "use_all_dns_ips",
        "resolve_canonical_bootstrap_servers_only": "resolve_canonical_bootstrap_servers_only",
        "default": "use_all_dns_ips",  # what it came to mean before Kafka 4 took the word away
    }),
    "compression.type": (_P, {n: n for n in ("none", "gzip", "snappy", "lz4", "zstd")}),
    "group.protocol": (_C, {"classic": "classic", "consumer": "consumer"}),
    "isolation.level": (_C, {n: n for n in ("read_committed", "read_uncommitted")}),
    "metadata.recovery.strategy": (_ALL, {"none": "none", "rebootstrap": "rebootstrap"}),
    "security.protocol": (_ALL, {
        n.lower(): n for n in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
    }),
}  # fmt: skip

# Known to librdkafka alone; for those who tune.
_LIBRDKAFKA = {
    "batch.num.messages", "broker.address.family", "broker.address.ttl", "debug",
    "enable.ssl.certificate.verification", "fetch.error.backoff.ms", "fetch.queue.backoff.ms",
    "https.ca.location", "https.ca.pem", "log_level", "queue.buffering.max.kbytes",
    "queue.buffering.max.messages", "queued.max.messages.kbytes", "queued.min.messages",
    "socket.keepalive.enable", "socket.nagle.disable", "ssl.ca.location",
    "ssl.certificate.location", "ssl.crl.location", "ssl.key.location", "statistics.interval.ms",
    "sticky.partitioning.linger.ms", "topic.metadata.refresh.interval.ms",
}  # fmt: skip

# Nothing is lost without them, so nothing is said either.
_SILENT = {
    "key.serializer", "value.serializer", "key.deserializer", "value.deserializer",
    "max.poll.records",  # read by batch_limit()
    "config.providers", "metric.reporters", "metrics.num.samples", "metrics.recording.level",
    "metrics.sample.window.ms", "auto.include.jmx.reporter", "exclude.internal.topics",
    "auto.commit.interval.ms", "ssl.client.auth",
}  # fmt: skip

_WITHOUT_COUNTERPART = {
    "bootstrap.controllers": "clients connect to brokers",
    "default.api.timeout.ms": "each operation has a deadline of its own",
    "interceptor.classes": "Java classes can't be loaded; a transform can often do the same",
    "max.block.ms": "a full producer holds up poll() until there is room",
    "metadata.max.idle.ms": "metadata of unused topics is dropped by librdkafka's own rules",
    "partitioner.adaptive.partitioning.enable": "librdkafka spreads records without keys evenly",
    "partitioner.availability.timeout.ms": "librdkafka avoids partitions without a leader",
    "security.providers": "they are the JVM's",
    "share.acknowledgement.mode": "sinks read in consumer groups",
    "share.acquire.mode": "sinks read in consumer groups",
    "socket.connection.setup.timeout.max.ms": "the time to connect does not grow here",
    "transaction.two.phase.commit.enable": "librdkafka has no two-phase commit",
}

_ASSIGNORS = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    # librdkafka has no eager sticky assignor; this one is as sticky.
    "StickyAssignor": "cooperative-sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}

_said: set[str] = set()


def say_once(message: str, *args: Any) -> None:
    """Warn of something that is so for the whole life of the process."""
    line = message % args
    if line not in _said:
        _said.add(line)
        log.warning("%s", line)


def number(settings: Settings, name: str, low: int = 0) -> int:
    """A whole number that must be at least `low`."""
    text = settings.values[name].strip()
    try:
        value = int(text)
    except ValueError as error:
        raise settings.wrong(name, "Not a whole number") from error
    if value < low:
        raise settings.wrong(name, f"Value must be at least {low}")
    return value


def translate(settings: Settings, secure: Callable[[Settings], dict[str, Any]]) -> dict[str, Any]:
    """The settings of librdkafka. `secure` translates what begins with sasl. and ssl."""
    result: dict[str, Any] = {}
    for name in settings.values:
        if _translate_one(settings, name, result):
            continue
        if name in _WITHOUT_COUNTERPART:
            say_once(
                "%s has no counterpart here and is ignored: %s",
                settings.key(name), _WITHOUT_COUNTERPART[name],
            )  # fmt: skip
        elif name not in _SILENT and not name.startswith(("sasl.", "ssl.")):
            say_once("%s is not a setting of Kafka's %s and is ignored",
                     settings.key(name), settings.kind)  # fmt: skip
    result |= secure(settings)
    _reconcile(settings, result)
    return result


def _translate_one(settings: Settings, name: str, result: dict[str, Any]) -> bool:
    if name in _LIBRDKAFKA:
        result[name] = settings.values[name]
        return True
    kinds = _kinds_of(name)
    if kinds is None:
        return False
    if settings.kind not in kinds:
        if client_settings(settings.kind).keys.get(name) is None:
            say_once("%s means nothing to a %s and is ignored", settings.key(name), settings.kind)
        return True
    if name in _NUMBERS:
        _take_number(settings, name, _NUMBERS[name], result)
    elif name in _FLAGS:
        text = settings.values[name].strip().lower()
        if text not in ("true", "false"):
            raise settings.wrong(name, "Expected value to be either true or false")
        result[name] = text
    elif name in _CHOICES:
        _take_choice(settings, name, result)
    elif name in _TEXTS:
        if given := settings.get(name):
            result[name] = given
    else:
        _SPECIAL[name][1](settings, result)
    return True


def _kinds_of(name: str) -> tuple[str, ...] | None:
    if name in _NUMBERS:
        return _NUMBERS[name].kinds
    if name in _CHOICES:
        return _CHOICES[name][0]
    if name in _SPECIAL:
        return _SPECIAL[name][0]
    return _FLAGS.get(name) or _TEXTS.get(name)


def _take_number(
    settings: Settings, name: str, row: _Number, result: dict[str, Any]
) -> None:  # fmt: skip
    value = number(settings, name, row.java_low)
    if value in row.instead:
        value = row.instead[value]
    fits = min(max(value, row.low), row.high)
    # Java's greatest number stands for "no limit", and the greatest here is as good.
    if fits != value and value < _INT_MAX:
        say_once("%s=%s is taken as %s: librdkafka takes %s to %s",
                 settings.key(name), value, fits, row.low, row.high)  # fmt: skip
    for ours in row.ours:
        result[ours] = fits


def _take_choice(settings: Settings, name: str, result: dict[str, Any]) -> None:
    words = _CHOICES[name][1]
    text = settings.values[name].strip()
    if text.lower() not in words:
        hint = ""
        if text.startswith("by_duration"):
            hint = ". Set the offsets once over REST to begin at a point in time"
        raise settings.wrong(name, f"String must be one of: {', '.join(words)}{hint}")
    result[name] = words[text.lower()]


# ---- settings with a way of their own --------------------------------------------------------


def _buffer_memory(settings: Settings, result: dict[str, Any]) -> None:
    value = number(settings, "buffer.memory")
    result["queue.buffering.max.kbytes"] = min(max(1, value // 1024), _INT_MAX)


def _assignment(settings: Settings, result: dict[str, Any]) -> None:
    names = [n.strip() for n in settings.values["partition.assignment.strategy"].split(",")]
    simple = [n.removeprefix("class ").rpartition(".")[2] for n in names if n]
    ours = [_ASSIGNORS.get(n, n) for n in simple]
    if unknown := [n for n in ours if n not in _ASSIGNORS.values()]:
        raise settings.wrong(
            "partition.assignment.strategy",
            f"{unknown[0]} is not known here: name one of {', '.join(_ASSIGNORS)}",
        )
    # Java moves a group from one kind to the other in two steps, and lists both meanwhile.
    if "cooperative-sticky" in ours and len(set(ours)) > 1:
        say_once("%s: cooperative-sticky can't stand beside others here and is used alone",
                 settings.key("partition.assignment.strategy"))  # fmt: skip
        ours = ["cooperative-sticky"]
    if ours:
        result["partition.assignment.strategy"] = ",".join(dict.fromkeys(ours))


def _partitioner(settings: Settings, result: dict[str, Any]) -> None:
    name = settings.get("partitioner.class")
    if name is None:
        return
    if name.endswith(".RoundRobinPartitioner"):
        result["partitioner"] = "random"
    elif not name.endswith((".DefaultPartitioner", ".UniformStickyPartitioner")):
        say_once("%s=%s can't be loaded: keys go to the partitions Java's default would choose",
                 settings.key("partitioner.class"), name)  # fmt: skip


def _ignore_keys(settings: Settings, result: dict[str, Any]) -> None:
    if settings.values["partitioner.ignore.keys"].strip().lower() == "true":
        result["partitioner"] = "random"


def _compression_level(settings: Settings, result: dict[str, Any]) -> None:
    codec = (settings.get("compression.type") or "none").lower()
    if settings.get(f"compression.{codec}.level") is not None:
        level = number(settings, f"compression.{codec}.level", -131_072)
        result["compression.level"] = min(max(-1, level), 12)


_SPECIAL: dict[str, tuple[tuple[str, ...], Callable[[Settings, dict[str, Any]], None]]] = {
    "buffer.memory": (_P, _buffer_memory),
    "compression.gzip.level": (_P, _compression_level),
    "compression.lz4.level": (_P, _compression_level),
    "compression.zstd.level": (_P, _compression_level),
    "partition.assignment.strategy": (_C, _assignment),
    "partitioner.class": (_P, _partitioner),
    "partitioner.ignore.keys": (_P, _ignore_keys),
}


# ---- settings that depend on each other ------------------------------------------------------


def _reconcile(settings: Settings, result: dict[str, Any]) -> None:
    """Rules between settings: Java's own are errors, librdkafka's are seen to."""
    if settings.kind == PRODUCER:
        _reconcile_producer(settings, result)
    if settings.kind == CONSUMER:
        _reconcile_consumer(settings, result)
    if "topic.metadata.refresh.interval.ms" in result:
        refresh = int(result["topic.metadata.refresh.interval.ms"])
        result["metadata.max.age.ms"] = min(max(3 * refresh, 1), 86_400_000)
    _order_backoff(result)


def _order_backoff(result: dict[str, Any]) -> None:
    first, most = result.get("reconnect.backoff.ms"), result.get("reconnect.backoff.max.ms")
    if first is not None and (most is None or first > most):
        if most is None:
            result["reconnect.backoff.max.ms"] = max(first, 1000)  # Java's default is 1000
        else:
            result["reconnect.backoff.ms"] = most
    elif first is None and most is not None:
        result["reconnect.backoff.ms"] = min(50, most)


def _reconcile_producer(settings: Settings, result: dict[str, Any]) -> None:
    if result.get("batch.size") == 1 and settings.get("batch.size") == "0":
        result["batch.num.messages"] = 1  # Java's way to say: no batches
    if "socket.timeout.ms" in result:
        result["request.timeout.ms"] = min(number(settings, "request.timeout.ms", 1), 900_000)
    transactional = "transactional.id" in result
    if transactional:
        # librdkafka refuses to try for longer than the transaction can live.
        longest = result.setdefault("transaction.timeout.ms", 60_000)
        result["delivery.timeout.ms"] = min(result.get("delivery.timeout.ms", longest), longest)
    if transactional or result.get("enable.idempotence") == "true":
        needs = (
            f"when {settings.key('transactional.id')} is set"
            if transactional
            else f"when {settings.key('enable.idempotence')} is true"
        )
        if transactional and result.get("enable.idempotence") == "false":
            raise settings.wrong("enable.idempotence", f"Must be true {needs}")
        if result.get("acks", "all") != "all":
            raise settings.wrong("acks", f"Must be all {needs}")
        if result.get("max.in.flight.requests.per.connection", 1) > 5:
            raise settings.wrong(
                "max.in.flight.requests.per.connection", f"Must be at most 5 {needs}"
            )
        if result.get("retries", 1) == 0:
            raise settings.wrong("retries", f"Must not be 0 {needs}")


def _reconcile_consumer(settings: Settings, result: dict[str, Any]) -> None:
    if result.get("group.protocol") == "consumer":
        for name in (
            "session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy",
        ):  # fmt: skip
            if result.pop(name, None) is not None and name in settings.keys:
                say_once("%s has no effect with group.protocol=consumer: the broker decides",
                         settings.key(name))  # fmt: skip
    session = result.get("session.timeout.ms", 45_000)
    beat = result.get("heartbeat.interval.ms", 0)
    if session <= beat < 45_000 and "session.timeout.ms" not in settings.keys:
        # Right in Java, whose sessions last that long; ours are shorter unless told otherwise.
        session = result["session.timeout.ms"] = 45_000
    if beat >= session:
        raise settings.wrong(
            "heartbeat.interval.ms", f"Must be lower than session.timeout.ms ({session})"
        )
    between = result.get("max.poll.interval.ms", 300_000)
    if result.get("group.protocol") != "consumer" and between < session:
        say_once("%s=%s is taken as %s: librdkafka takes no less than session.timeout.ms",
                 settings.key("max.poll.interval.ms"), between, session)  # fmt: skip
        result["max.poll.interval.ms"] = session
    if "fetch.max.bytes" in result:
        # librdkafka wants it to hold the largest message.
        result["message.max.bytes"] = min(1_000_000, result["fetch.max.bytes"])
    if "socket.timeout.ms" in result or "fetch.wait.max.ms" in result:
        # A broker may hold a fetch for fetch.max.wait.ms: the request must live longer.
        wait = result.get("fetch.wait.max.ms", 500)
        result["socket.timeout.ms"] = max(result.get("socket.timeout.ms", 60_000), wait + 1000)


# ---- the way back ----------------------------------------------------------------------------

_ALIASES = {
    "compression.codec": "compression.type",
    "message.send.max.retries": "retries",
    "message.timeout.ms": "delivery.timeout.ms",
    "metadata.broker.list": "bootstrap.servers",
    "queue.buffering.max.kbytes": "buffer.memory",
    "queue.buffering.max.ms": "linger.ms",
    "request.required.acks": "acks",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.ca.pem": "ssl.truststore.location",
    "ssl.certificate.pem": "ssl.keystore.location",
    "ssl.key.pem": "ssl.keystore.location",
    "sasl.username": "sasl.jaas.config",
    "sasl.password": "sasl.jaas.config",
} | {ours: java for java, row in _NUMBERS.items() for ours in row.ours}


def java_name(ours: str) -> str:
    """What Java calls a setting of librdkafka."""
    return _ALIASES.get(ours, ours)
