"""A worker with Avro: bad records, a registry that is away, schemas that it refuses."""

from __future__ import annotations

import pytest
from confluent_kafka.schema_registry import Schema as Sent
from confluent_kafka.schema_registry import SchemaRegistryClient

from connect import Schema
from converters.avro import AvroConverter
from dlq import letter
from tests.support.registry_door import registry_door
from tests.support.waiting import wait_for
from tests.support.worker import read_lines, standalone

pytestmark = pytest.mark.stack

AVRO = "io.confluent.connect.avro.AvroConverter"
DATA_EXCEPTION = b"org.apache.kafka.connect.errors.DataException"


@pytest.fixture(scope="module")
def worker(kafka, tmp_path_factory):
    with standalone(kafka, tmp_path_factory.mktemp("worker")) as running:
        yield running


@pytest.fixture
def door(registry):
    with registry_door(registry) as made:
        yield made


@pytest.fixture
def connect(worker):
    """connect(name, class, config) creates a connector that is gone after the test."""
    created = []

    def create(name, kind, **config):
        plain = {k.replace("_", "."): str(v) for k, v in config.items()}
        kind = f"org.apache.kafka.connect.file.FileStream{kind}Connector"
        worker.create(name, {"connector.class": kind, **plain})
        created.append(name)

    yield create
    for name in created:
        worker.rest.delete(f"/connectors/{name}")


def avro(url, **more):
    """A value converter that gives up at once: what waits is the framework."""
    settings = {"schema.registry.url": url, "max.retries": "0", **more}
    return {"value.converter": AVRO} | {f"value.converter.{k}": v for k, v in settings.items()}


def written(registry, topic, texts):
    """Texts in Avro, as another program would have written them."""
    made = AvroConverter()
    made.configure({"schema.registry.url": registry}, is_key=False)
    return [made.from_connect(topic, Schema.STRING, text) for text in texts]


def headers(message):
    return dict(message.headers())


def retries(worker, name):
    """How often a task's records were tried again."""
    shown = worker.rest.get("/metrics").text.splitlines()
    found = [line for line in shown if "total_retries" in line and f'"{name}"' in line]
    return float(found[0].rpartition(" ")[2]) if found else 0.0


def test_bad_records_become_dead_letters(
    worker, connect, registry, make_topic, produce, consume_all, tmp_path
):
    """Each with its stage, class, exception and reason; the good ones reach the sink."""
    topic, letters, out = make_topic(), make_topic("letters"), tmp_path / "out.txt"
    good, better = written(registry, topic, ["good", "better"])
    bad = {
        good[:-1]: b"the data ends too early",
        b"\0\x7f\xff\xff\xff" + good[5:]: b"asked for schema id 2147483647, answered 404",
        b"\x07" + good[1:]: b"Unknown magic byte 7",
        b"\0\0": b"The data ends too early for a schema id: 2 bytes",
    }
    produce(topic, [good, *bad, better])
    connect(
        "bad-avro", "Sink", topics=topic, file=out, **avro(registry), errors_tolerance="all",
        errors_deadletterqueue_topic_name=letters,
        errors_deadletterqueue_topic_replication_factor=1,
        errors_deadletterqueue_context_headers_enable="true",
    )  # fmt: skip
    wait_for(lambda: read_lines(out) == ["good", "better"], lambda: worker.status("bad-avro"), 30)
    found = consume_all(letters, len(bad))
    assert [m.value() for m in found] == list(bad)
    for message in found:
        told = headers(message)
        assert told[letter.STAGE] == b"VALUE_CONVERTER"
        assert told[letter.CLASS] == AVRO.encode()
        assert told[letter.EXCEPTION] == DATA_EXCEPTION
        assert bad[message.value()] in told[letter.MESSAGE]


@pytest.mark.parametrize("fault", ["shut", "failing"])
def test_registry_outage_is_waited_for(
    worker, connect, registry, door, make_topic, produce, tmp_path, fault
):
    """With errors.retry.timeout source and sink try again until it is back; nothing is skipped."""
    topic, out = make_topic(), tmp_path / "out.txt"
    lines = [f"line {n}" for n in range(50)]
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in lines))
    produce(topic, written(registry, topic, ["before"]))
    door.shut() if fault == "shut" else setattr(door, "failing", True)
    patience = {
        "errors.retry.timeout": "-1", "errors.retry.delay.max.ms": "300",
        "errors.tolerance": "all", **avro(door.url),
    }  # fmt: skip
    names = (f"wait-sink-{fault}", f"wait-source-{fault}")
    connect(names[0], "Sink", topics=topic, file=out, **patience)
    connect(names[1], "Source", topic=topic, file=tmp_path / "in.txt", **patience)
    for name in names:
        wait_for(lambda name=name: retries(worker, name) > 1, lambda: worker.status(name), 30)  # noqa: B023
        worker.wait_running(name)
    assert not read_lines(out)
    door.open() if fault == "shut" else setattr(door, "failing", False)
    wait_for(
        lambda: read_lines(out) == ["before", *lines], lambda: [worker.status(n) for n in names], 30
    )
    for name in names:
        worker.wait_running(name)


@pytest.mark.parametrize("fault", ["shut", "failing"])
def test_registry_outage_without_patience_fails_the_task_and_loses_nothing(
    worker, connect, registry, door, make_topic, produce, consume_all, tmp_path, fault
):
    """Even where errors are tolerated: no dead letter, a status that tells, all there later."""
    topic, letters, out = make_topic(), make_topic("letters"), tmp_path / "out.txt"
    (tmp_path / "in.txt").write_text("one\ntwo\n")
    produce(topic, written(registry, topic, ["before"]))
    door.shut() if fault == "shut" else setattr(door, "failing", True)
    tolerant = {
        "errors.tolerance": "all", "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1", **avro(door.url),
    }  # fmt: skip
    names = (f"fail-sink-{fault}", f"fail-source-{fault}")
    connect(names[0], "Sink", topics=topic, file=out, **tolerant)
    connect(names[1], "Source", topic=topic, file=tmp_path / "in.txt", **tolerant)
    reason = "is out of reach" if fault == "shut" else "answered 500: the disk is full"
    for name in names:
        trace = worker.wait_states(name, ["FAILED"], 30)["tasks"][0]["trace"]
        assert "VALUE_CONVERTER with io.confluent.connect.avro.AvroConverter lacks what" in trace
        assert f"RetriableException: The schema registry {door.url}" in trace
        assert reason in trace
    assert consume_all(letters) == []
    door.open() if fault == "shut" else setattr(door, "failing", False)
    for name in names:
        answer = worker.rest.post(f"/connectors/{name}/restart?includeTasks=true")
        assert answer.is_success, answer.text
    wait_for(
        lambda: sorted(read_lines(out)) == ["before", "one", "two"],
        lambda: [worker.status(n) for n in names],
        30,
    )
    assert consume_all(letters) == []


def test_connectors_can_be_stopped_during_an_outage(
    worker, connect, registry, door, make_topic, produce, tmp_path
):
    """They stop at once, without failing, and begin with what they held in hand."""
    topic, out = make_topic(), tmp_path / "out.txt"
    (tmp_path / "in.txt").write_text("one\n")
    produce(topic, written(registry, topic, ["before"]))
    door.shut()
    patience = {"errors.retry.timeout": "-1", "errors.tolerance": "all", **avro(door.url)}
    connect("stopped-sink", "Sink", topics=topic, file=out, **patience)
    connect("stopped-source", "Source", topic=topic, file=tmp_path / "in.txt", **patience)
    for name in ("stopped-sink", "stopped-source"):
        wait_for(lambda name=name: retries(worker, name) > 0, "a first retry", 30)
        assert worker.rest.put(f"/connectors/{name}/stop").is_success
        worker.wait_states(name, [], 30)
    assert "Task failed" not in worker.log_text().partition("stopped-sink")[2]
    door.open()
    for name in ("stopped-sink", "stopped-source"):
        assert worker.rest.put(f"/connectors/{name}/resume").is_success
    wait_for(lambda: read_lines(out) == ["before", "one"], lambda: read_lines(out), 30)


def test_refused_schema_is_told_with_subject_and_reason(
    worker, connect, registry, make_topic, tmp_path
):
    """An incompatible one when it is registered, a deleted one when it is looked up."""
    topic = make_topic()
    (tmp_path / "in.txt").write_text("one\n")
    client = SchemaRegistryClient({"url": registry})
    client.register_schema(f"{topic}-value", Sent('"int"'))
    client.set_compatibility(f"{topic}-value", "BACKWARD")
    connect("incompatible", "Source", topic=topic, file=tmp_path / "in.txt", **avro(registry))
    trace = worker.wait_states("incompatible", ["FAILED"], 30)["tasks"][0]["trace"]
    assert f"asked to register a schema under subject {topic}-value, answered 409: " in trace

    gone = make_topic()
    client.register_schema(f"{gone}-value", Sent('"string"'))
    client.delete_subject(f"{gone}-value")
    strict = {"auto.register.schemas": "false"}
    connect("deleted", "Source", topic=gone, file=tmp_path / "in.txt", **avro(registry, **strict))
    trace = worker.wait_states("deleted", ["FAILED"], 30)["tasks"][0]["trace"]
    assert f"asked to find a schema under subject {gone}-value, answered 404: " in trace
