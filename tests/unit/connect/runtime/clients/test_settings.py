"""Java's words for client settings in librdkafka's."""

import logging

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from connect.config.clients import client_settings
from connect.errors import ConfigError
from connect.runtime import clients
from connect.runtime.clients import settings as tables
from connect.runtime.clients.settings import Settings

NOWHERE = {"bootstrap.servers": "127.0.0.1:1"}
MADE = {"producer": Producer, "consumer": Consumer, "admin": AdminClient}


@pytest.fixture(autouse=True)
def _nothing_said_yet(monkeypatch):
    monkeypatch.setattr(tables, "_said", set())


def translated(kind, **java):
    values = {k.replace("__", "."): v for k, v in java.items()}
    return clients.librdkafka_settings(Settings(kind, values, {k: k for k in values}))


@pytest.mark.parametrize("kind", MADE)
def test_every_setting_of_the_java_client_is_known(kind, caplog):
    """None of the settings that Kafka's client declares is taken for a stranger."""
    for name, key in client_settings(kind).keys.items():
        if isinstance(key.default, str):
            clients.librdkafka_settings(Settings(kind, {name: key.default}, {name: name}))
        else:
            known = tables._SILENT | tables._WITHOUT_COUNTERPART.keys()
            assert tables._kinds_of(name) or name in known or name.startswith(("sasl.", "ssl."))
    assert "is not a setting of" not in caplog.text


@pytest.mark.parametrize("kind", MADE)
def test_librdkafka_takes_all_of_javas_defaults(kind, caplog):
    """A config that spells out every default of Java makes a client, and changes no value."""
    values = {
        name: key.default
        for name, key in client_settings(kind).keys.items()
        if isinstance(key.default, str) and key.default
    } | NOWHERE
    if kind == "consumer":
        values["group.id"] = "g"
    config = clients.librdkafka_settings(Settings(kind, values, {k: k for k in values}))
    MADE[kind](config, logger=logging.getLogger("test"))
    assert "is taken as" not in caplog.text


@pytest.mark.parametrize(
    ("kind", "java", "ours"),
    [
        ("producer", {"acks": "-1"}, {"acks": "all"}),
        ("producer", {"acks": "1"}, {"acks": "1"}),
        ("producer", {"retries": "2147483647"}, {"retries": 2147483647}),
        ("producer", {"delivery.timeout.ms": "2147483647"}, {"delivery.timeout.ms": 2147483647}),
        ("producer", {"linger.ms": "1000000"}, {"linger.ms": 900_000}),
        ("producer", {"buffer.memory": "33554432"}, {"queue.buffering.max.kbytes": 32768}),
        ("producer", {"compression.type": "ZSTD"}, {"compression.type": "zstd"}),
        (
            "producer",
            {"compression.type": "gzip", "compression.gzip.level": "9"},
            {"compression.type": "gzip", "compression.level": 9},
        ),
        ("producer", {"max.request.size": "2147483647"}, {"message.max.bytes": 1_000_000_000}),
        ("producer", {"batch.size": "0"}, {"batch.size": 1, "batch.num.messages": 1}),
        ("producer", {"retry.backoff.ms": "0"}, {"retry.backoff.ms": 1}),
        (
            "producer",
            {"request.timeout.ms": "600000"},
            {"socket.timeout.ms": 300_000, "request.timeout.ms": 600_000},
        ),
        (
            "producer",
            {"reconnect.backoff.ms": "5000"},
            {"reconnect.backoff.ms": 5000, "reconnect.backoff.max.ms": 5000},
        ),
        (
            "producer",
            {"transactional.id": "t", "delivery.timeout.ms": "2147483647"},
            {
                "transactional.id": "t",
                "transaction.timeout.ms": 60_000,
                "delivery.timeout.ms": 60_000,
            },
        ),
        (
            "producer",
            {"partitioner.class": "org.apache.kafka.clients.producer.RoundRobinPartitioner"},
            {"partitioner": "random"},
        ),
        ("producer", {"partitioner.ignore.keys": "true"}, {"partitioner": "random"}),
        ("consumer", {"max.poll.interval.ms": "2147483647"}, {"max.poll.interval.ms": 86_400_000}),
        ("consumer", {"fetch.min.bytes": "0"}, {"fetch.min.bytes": 1}),
        (
            "consumer",
            {"fetch.max.wait.ms": "100"},
            {"fetch.wait.max.ms": 100, "socket.timeout.ms": 60_000},
        ),
        (
            "consumer",
            {"request.timeout.ms": "1000", "fetch.max.wait.ms": "5000"},
            {"fetch.wait.max.ms": 5000, "socket.timeout.ms": 6000},
        ),
        (
            "consumer",
            {"fetch.max.bytes": "2000"},
            {"fetch.max.bytes": 2000, "message.max.bytes": 2000},
        ),
        ("consumer", {"max.partition.fetch.bytes": "5"}, {"fetch.message.max.bytes": 5}),
        ("consumer", {"auto.offset.reset": "none"}, {"auto.offset.reset": "error"}),
        ("consumer", {"isolation.level": "READ_COMMITTED"}, {"isolation.level": "read_committed"}),
        (
            "consumer",
            {
                "partition.assignment.strategy": "class org.apache.kafka.clients.consumer."
                "RangeAssignor,class org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
            },
            {"partition.assignment.strategy": "cooperative-sticky"},
        ),
        (
            "consumer",
            {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor"},
            {"partition.assignment.strategy": "range"},
        ),
        (
            "consumer",
            {"group.protocol": "CONSUMER", "session.timeout.ms": "9000"},
            {"group.protocol": "consumer"},
        ),
        (
            "consumer",
            {"max.poll.interval.ms": "1000", "session.timeout.ms": "9000"},
            {"max.poll.interval.ms": 9000, "session.timeout.ms": 9000},
        ),
        ("consumer", {"max.poll.records": "17"}, {}),
        (
            "admin",
            {"metadata.max.age.ms": "60000"},
            {"topic.metadata.refresh.interval.ms": 60_000, "metadata.max.age.ms": 180_000},
        ),
        ("admin", {"connections.max.idle.ms": "-1"}, {"connections.max.idle.ms": 0}),
        ("admin", {"receive.buffer.bytes": "-1"}, {"socket.receive.buffer.bytes": 0}),
        ("admin", {"client.dns.lookup": "default"}, {"client.dns.lookup": "use_all_dns_ips"}),
        ("admin", {"retries": "5"}, {}),
    ],
)
def test_setting_means_the_same(kind, java, ours):
    """Names, ranges and words are librdkafka's, and it makes a client of them."""
    found = translated(kind, **java)
    assert found == ours
    more = {"group.id": "g"} if kind == "consumer" else {}
    MADE[kind]({**NOWHERE, **more, **found}, logger=logging.getLogger("test"))


@pytest.mark.parametrize(
    ("kind", "java", "told"),
    [
        ("producer", {"acks": "2"}, "value 2 for configuration acks: String must be one of: all"),
        ("producer", {"linger.ms": "soon"}, "soon for configuration linger.ms: Not a whole"),
        ("producer", {"retries": "-1"}, "-1 for configuration retries: Value must be at least 0"),
        ("producer", {"compression.type": "rar"}, "none, gzip, snappy, lz4, zstd"),
        ("producer", {"enable.idempotence": "yes"}, "either true or false"),
        (
            "producer",
            {"enable.idempotence": "true", "acks": "1"},
            "value 1 for configuration acks: Must be all when enable.idempotence is true",
        ),
        (
            "producer",
            {"transactional.id": "t", "max.in.flight.requests.per.connection": "6"},
            "Must be at most 5 when transactional.id is set",
        ),
        ("consumer", {"auto.offset.reset": "by_duration:P1D"}, "over REST to begin at a point"),
        (
            "consumer",
            {"heartbeat.interval.ms": "50000"},
            "Must be lower than session.timeout.ms (45000)",
        ),
        (
            "consumer",
            {"partition.assignment.strategy": "com.example.Mine"},
            "Mine is not known here: name one of RangeAssignor",
        ),
        ("admin", {"security.protocol": "TLS"}, "plaintext, ssl, sasl_plaintext, sasl_ssl"),
    ],
)
def test_bad_value_is_refused_at_its_key(kind, java, told):
    """The error names the key, the value and the way out."""
    with pytest.raises(ConfigError) as raised:
        translated(kind, **java)
    assert told in str(raised.value)


def dlq_producer(worker, connector):
    return clients.dlq_producer("c", 0, worker, connector, print, every_delivery=False)


def test_error_names_the_key_the_user_wrote():
    """A connector's override is named with its prefix, a worker's setting with its own."""
    with pytest.raises(ConfigError, match=r"for configuration producer\.override\.linger\.ms"):
        dlq_producer(NOWHERE, {"producer.override.linger.ms": "x"})
    with pytest.raises(ConfigError, match=r"for configuration producer\.linger\.ms"):
        dlq_producer({**NOWHERE, "producer.linger.ms": "x"}, {})


def test_what_librdkafka_refuses_is_an_error_at_the_java_key():
    """Even where our tables know no better, no raw KafkaException comes out."""
    override = {"producer.override.queue.buffering.max.messages": "-7"}
    with pytest.raises(ConfigError, match=r"max\.messages: librdkafka: ") as raised:
        dlq_producer(NOWHERE, override)
    assert "outside allowed range" in str(raised.value)


def test_setting_without_counterpart_is_named_once(caplog):
    """The log names it and the reason, once for the process, and the client is made."""
    worker = {**NOWHERE, "producer.max.block.ms": "1", "producer.interceptor.classes": "com.X"}
    for _ in range(3):
        dlq_producer(worker, {"producer.override.some.new.thing": "1"})
    lines = [r.getMessage() for r in caplog.records]
    assert sum("producer.max.block.ms has no counterpart" in line for line in lines) == 1
    assert sum("producer.interceptor.classes has no counterpart" in line for line in lines) == 1
    assert sum("producer.override.some.new.thing is not a setting" in line for line in lines) == 1


def test_value_outside_of_librdkafkas_range_is_told(caplog):
    """What was made of a value is in the log."""
    translated("producer", **{"linger.ms": "1000000"})
    assert "linger.ms=1000000 is taken as 900000: librdkafka takes 0 to 900000" in caplog.text


def test_worker_settings_for_rest_do_not_disturb_plain_kafka(caplog):
    """ssl.* of an https listener and admin.listeners are not for a Kafka in plain text."""
    worker = {
        **NOWHERE,
        "ssl.keystore.location": "/nowhere/rest.pem",
        "ssl.keystore.type": "PEM",
        "ssl.client.auth": "required",
        "admin.listeners": "https://127.0.0.1:0",
    }
    clients.admin_client("a", worker, {})
    assert caplog.text == ""


def test_max_poll_records_is_the_batch_limit():
    """The worker's, the connector's over it, and ours without either."""
    worker = {"consumer.max.poll.records": "7"}
    assert clients.batch_limit({}, {}) == clients.DEFAULT_BATCH
    assert clients.batch_limit(worker, {}) == 7
    assert clients.batch_limit(worker, {"consumer.override.max.poll.records": "9"}) == 9
    with pytest.raises(ConfigError, match="at least 1"):
        clients.batch_limit({"consumer.max.poll.records": "0"}, {})


@pytest.mark.parametrize(
    ("override", "cooperative"),
    [
        ({}, True),
        ({"group.protocol": "consumer"}, True),
        ({"partition.assignment.strategy": "RangeAssignor"}, False),
        ({"partition.assignment.strategy": "RoundRobinAssignor,RangeAssignor"}, False),
    ],
)
def test_rebalancing_follows_the_assignor(override, cooperative):
    """Partitions come one by one unless an eager assignor was asked for."""
    connector = {f"consumer.override.{k}": v for k, v in override.items()}
    assert clients.rebalances_cooperatively({}, connector) is cooperative
    clients.sink_consumer("c", 0, NOWHERE, connector).close()


def test_heartbeat_that_suits_javas_session_is_taken():
    """Our sessions are shorter than Java's, and give way to an interval made for its own."""
    connector = {"consumer.override.heartbeat.interval.ms": "15000"}
    clients.sink_consumer("c", 0, NOWHERE, connector).close()
