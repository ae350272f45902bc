"""Clients against a real broker: encrypted, with a login, and with Java's choice of partitions."""

from pathlib import Path

import pytest
from confluent_kafka import Producer

from connect.runtime import clients
from penstock.worker import run_standalone
from tests.support import topics
from tests.support.secured import everywhere, jaas, make_stores, secured_broker, security
from tests.support.waiting import wait_for
from tests.support.worker import json_lines, standalone

PLUGINS = Path(__file__).parents[2] / "support" / "plugins"
# Utils.toPositive(Utils.murmur2(key)) % n of kafka-clients 4.3.1, for n = 7 and n = 12.
JAVAS_CHOICE = [
    ("", 2, 9), ("a", 5, 4), ("ab", 0, 2), ("abc", 4, 3), ("abcd", 5, 8), ("order-1", 4, 10),
    ("order-2", 1, 3), ("customer-4711", 6, 0), ("Köln", 0, 10), ("日本", 1, 3), ("0", 3, 8),
    ("1", 2, 3), ("2", 2, 8), ("3", 5, 11), ("42", 3, 4), ('{"id":7}', 0, 9),
    ("the quick brown fox", 6, 1),
]  # fmt: skip


@pytest.mark.parametrize(("partitions", "column"), [(7, 1), (12, 2)])
def test_key_goes_to_the_partition_java_would_choose(
    kafka, make_topic, consume_all, partitions, column
):
    """Records of a key stay on their partition when a source moves from the JVM to us."""
    topic = make_topic(partitions=partitions)
    producer = clients.dlq_producer(
        "c", 0, {"bootstrap.servers": kafka}, {}, print, every_delivery=False
    )
    for row in JAVAS_CHOICE:
        producer.produce(topic, b"v", row[0].encode())
    producer.flush(30)
    found = {m.key().decode(): m.partition() for m in consume_all(topic, len(JAVAS_CHOICE))}
    assert found == {row[0]: row[column] for row in JAVAS_CHOICE}


def test_sink_sees_what_is_committed_unless_told_otherwise(kafka, connect, topic, tmp_path):
    """A record of an aborted transaction reaches only the sink that asks for such."""
    producer = Producer({"bootstrap.servers": kafka, "transactional.id": f"writer-{topic}"})
    producer.init_transactions(30)
    for n, end in enumerate([producer.abort_transaction, producer.commit_transaction]):
        producer.begin_transaction()
        producer.produce(topic, b'{"n": %d}' % n)
        producer.flush(30)
        end(30)
    careful, curious = tmp_path / "careful", tmp_path / "curious"
    sink = {"connector.class": "CollectSink", "topics": topic}
    connect(f"careful-{topic}", {**sink, "file": careful})
    level = {"consumer.override.isolation.level": "read_uncommitted"}
    connect(f"curious-{topic}", {**sink, **level, "file": curious})

    def seen(path):
        return [line["v"]["n"] for line in json_lines(path)]

    wait_for(lambda: seen(curious) == [0, 1], lambda: f"both; {seen(curious)}", 60)
    wait_for(lambda: seen(careful) == [1], lambda: f"the committed one; {seen(careful)}", 60)


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    return make_stores(tmp_path_factory.mktemp("stores"))


@pytest.fixture(scope="module")
def secured(say, stores):
    """(plain address, SASL_SSL address) of a broker that knows alice and wants certificates."""
    with secured_broker(say, stores) as addresses:
        yield addresses


@pytest.mark.parametrize(
    ("mechanism", "trusted"),
    [("SCRAM-SHA-512", "trusts-broker.jks"), ("PLAIN", "trusts-broker.p12")],
)
def test_records_flow_through_sasl_ssl(secured, stores, tmp_path, mechanism, trusted):
    """Source, sink, dead letters and offsets work with Java's stores and a JAAS line."""
    plain, secure = secured
    topic = topics.Topics(plain).create()
    out = tmp_path / "out.jsonl"
    settings = everywhere(security(stores, mechanism, trusted))
    with standalone(secure, tmp_path, plugin__path=PLUGINS, **settings) as worker:
        worker.create(
            "source", {"connector.class": "NumbersSource", "topic": topic, "count": "500"}
        )
        worker.create(
            "sink",
            {
                "connector.class": "CollectSink",
                "topics": topic,
                "file": str(out),
                "errors.tolerance": "all",
                "errors.deadletterqueue.topic.name": f"{topic}-dlq",
                "errors.deadletterqueue.topic.replication.factor": "1",
            },
        )
        topics.produce(plain, topic, [b"not json"])
        wait_for(lambda: len(json_lines(out)) >= 500, lambda: worker.status("sink"), 60)
        assert [m.value() for m in topics.consume_all(plain, f"{topic}-dlq", 1)] == [b"not json"]
        wait_for(
            lambda: worker.rest.get("/connectors/sink/offsets").json()["offsets"],
            "the offsets to be committed",
        )
        # Resetting goes through kafka-python, which has a login of its own.
        assert worker.rest.put("/connectors/sink/stop").status_code == 204
        wait_for(lambda: worker.status("sink")["connector"]["state"] == "STOPPED", "the stop")
        answer = worker.rest.delete("/connectors/sink/offsets")
        assert answer.status_code == 200, answer.text


def test_wrong_password_and_untrusted_broker_are_told(secured, stores, tmp_path):
    """The status says who did not trust whom and which key to look at, and shows no secret."""
    plain, secure = secured
    topic = topics.Topics(plain).create()
    settings = everywhere(security(stores, "SCRAM-SHA-512", "trusts-broker.jks"))
    sink = {"connector.class": "CollectSink", "topics": topic, "file": str(tmp_path / "out.jsonl")}
    source = {"connector.class": "NumbersSource", "topic": topic}
    wrong = jaas("SCRAM-SHA-512", "wr0ng-s3cret")
    cases = {
        "login-sink": (
            {**sink, "consumer.override.sasl.jaas.config": wrong},
            ["SASL authentication error", "consumer.override.sasl.jaas.config"],
        ),
        "login-source": (
            {**source, "producer.override.sasl.jaas.config": wrong},
            ["SASL authentication error", "producer.override.sasl.jaas.config"],
        ),
        "trust": (
            {
                **sink,
                "consumer.override.ssl.truststore.location": str(stores / "trusts-client.jks"),
            },
            ["certificate verify failed", "consumer.override.ssl.truststore.location"],
        ),
        "store": (
            {**sink, "consumer.override.ssl.truststore.password": "wr0ng-s3cret"},
            ["consumer.ssl.truststore.location", "password is wrong"],
        ),
        "line": (
            {**source, "producer.override.sasl.jaas.config": "Module required wr0ng-s3cret;"},
            ["[hidden] for configuration producer.override.sasl.jaas.config"],
        ),
    }
    with standalone(secure, tmp_path, plugin__path=PLUGINS, **settings) as worker:
        for name, (config, _) in cases.items():
            worker.create(name, config)
        for name, (_, told) in cases.items():
            status = worker.wait_states(name, ["FAILED"])
            trace = status["tasks"][0]["trace"]
            assert [part for part in told if part not in trace] == [], trace
            assert "s3cret" not in trace
        assert "s3cret" not in worker.log_text()


def test_worker_with_a_store_that_cannot_be_read_says_so(kafka, tmp_path):
    """A worker that can't make its clients ends with a sentence, not with a traceback."""
    properties = tmp_path / "worker.properties"
    properties.write_text(
        f"bootstrap.servers={kafka}\nlisteners=http://127.0.0.1:0\n"
        "key.converter=org.apache.kafka.connect.json.JsonConverter\n"
        "value.converter=org.apache.kafka.connect.json.JsonConverter\n"
        f"offset.storage.file.filename={tmp_path / 'offsets'}\n"
        "security.protocol=SSL\nssl.keystore.location=/nowhere/us.pem\nssl.keystore.type=PEM\n"
    )
    with pytest.raises(clients.ConfigError) as raised:
        run_standalone(properties, [])
    assert str(raised.value) == (
        "Invalid value /nowhere/us.pem for configuration ssl.keystore.location: "
        "can't be read: No such file or directory"
    )
