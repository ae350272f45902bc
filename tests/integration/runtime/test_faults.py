"""What breaks around a task: brokers, topics, disks, processes. Nothing is lost, all is told."""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from prometheus_client.parser import text_string_to_metric_families

from tests.support import topics
from tests.support.broker import own_broker
from tests.support.topics import admin_client
from tests.support.waiting import wait_for
from tests.support.worker import ROOT, json_lines, standalone

PLUGINS = Path(__file__).parents[2] / "support" / "plugins"
CLOCK = Path(__file__).parents[2] / "support" / "clock"
FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
TEXT = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
}
DLQ = {"errors.tolerance": "all", "errors.deadletterqueue.topic.replication.factor": 1}


def numbers(path):
    return [line["v"]["n"] for line in json_lines(path)]


# ---- the broker ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def broker(say):
    with own_broker(say) as broker:
        yield broker


@pytest.mark.parametrize("fault", ["kill", "freeze"])
def test_broker_goes_away_and_comes_back(broker, tmp_path, fault):
    """Source and sink wait for it, go on by themselves, and no record is missing."""
    topic = topics.Topics(broker.address).create()
    out = tmp_path / "out.jsonl"
    settings = {"plugin.path": PLUGINS, "offset.flush.timeout.ms": "1000"}
    with standalone(broker.address, tmp_path, **settings) as worker:
        source = {"connector.class": "NumbersSource", "topic": topic, "count": "1500"}
        worker.create("source", {**source, "pause.ms": "40"})
        sink = {"connector.class": "CollectSink", "topics": topic, "file": str(out)}
        worker.create("sink", sink)
        wait_for(lambda: len(json_lines(out)) > 100, lambda: worker.status("sink"), 60)
        broker.kill() if fault == "kill" else broker.freeze()
        try:
            wait_for(
                lambda: "Kafka has not acknowledged" in worker.log_text(),
                "the source to notice that the broker is away",
                60,
            )
            written = len(json_lines(out))
            assert written < 1500, "the broker must be missed in mid-stream"
            assert worker.rest.get("/connectors/source/status").status_code == 200
        finally:
            broker.start() if fault == "kill" else broker.thaw()
        wait_for(
            lambda: set(numbers(out)) == set(range(1500)),
            lambda: f"all numbers; {worker.status('source')} {worker.status('sink')}",
            120,
        )
        for name in ("source", "sink"):
            assert [t["state"] for t in worker.status(name)["tasks"]] == ["RUNNING"]
        offsets = {"partition": {"numbers": "0"}, "offset": {"n": 1500}}
        wait_for(
            lambda: worker.rest.get("/connectors/source/offsets").json()["offsets"] == [offsets],
            "the source's offset to be stored",
        )


def test_without_acknowledgement_offsets_go_on_while_the_broker_hangs(broker, tmp_path):
    """With acks=0 what is on its way counts as written: the price that the docs name."""
    topic = topics.Topics(broker.address).create()
    with standalone(broker.address, tmp_path, **{"plugin.path": PLUGINS}) as worker:
        worker.create(
            "source",
            {
                "connector.class": "NumbersSource",
                "topic": topic,
                "count": "100000",
                "pause.ms": "20",
                "producer.override.acks": "0",
            },
        )

        def stored():
            offsets = worker.rest.get("/connectors/source/offsets").json()["offsets"]
            return offsets[0]["offset"]["n"] if offsets else 0

        wait_for(lambda: stored() > 0, lambda: worker.status("source"), 60)
        broker.freeze()
        try:
            before = stored()
            # More than one interval's worth, so not what was acknowledged before the freeze.
            wait_for(lambda: stored() > before + 1000, "offsets to go on", 60)
        finally:
            broker.thaw()


# The second one's batches go past the producer.
SOURCES = [("NumbersSource", "10"), ("BareNumbersSource", "1000")]


@pytest.mark.parametrize(("source", "batch"), SOURCES)
@pytest.mark.parametrize("acks", ["1", "all"])
def test_acknowledged_records_alone_count_while_the_broker_hangs(
    broker, tmp_path, acks, source, batch
):
    """Offsets stand still with acks=1 and acks=all, and go on when the broker does."""
    topic = topics.Topics(broker.address).create()
    settings = {"plugin.path": PLUGINS, "offset.flush.timeout.ms": "1000"}
    with standalone(broker.address, tmp_path, **settings) as worker:
        endless = {"topic": topic, "count": "100000000", "pause.ms": "20", "batch": batch}
        acknowledged = {"producer.override.acks": acks}
        worker.create("source", {"connector.class": source, **endless, **acknowledged})

        def stored():
            offsets = worker.rest.get("/connectors/source/offsets").json()["offsets"]
            return offsets[0]["offset"]["n"] if offsets else 0

        def refusals():
            return worker.log_text().count("Offsets are not stored yet")

        wait_for(lambda: stored() > 0, lambda: worker.status("source"), 60)
        broker.freeze()
        try:
            # The first may be for what was acknowledged just before.
            wait_for(lambda: refusals() > 0, "the source to miss the broker", 60)
            before, missed = stored(), refusals()
            wait_for(lambda: refusals() > missed, "another attempt to store offsets", 60)
            assert stored() == before
        finally:
            broker.thaw()
        wait_for(lambda: stored() > before, lambda: worker.status("source"), 60)
        assert worker.rest.put("/connectors/source/stop").status_code == 204
        written = map(json.loads, topics.read_up_to_now(broker.address, topic))
        there = {int(value) if isinstance(value, str) else value["n"] for value in written}
        assert there >= set(range(stored()))


def test_source_is_held_back_while_kafka_takes_nothing_and_can_be_stopped(broker, tmp_path):
    """poll() is not called any more once the producer's queue is full; what is in it is bounded."""
    topic = topics.Topics(broker.address).create()
    with standalone(broker.address, tmp_path, **{"plugin.path": PLUGINS}) as worker:
        source = {"connector.class": "NumbersSource", "topic": topic, "count": "100000000"}
        bound = {"producer.override.queue.buffering.max.messages": "1000", "pause.ms": "1"}
        worker.create("source", {**source, **bound})

        def measured():
            text = worker.rest.get("/metrics").text
            found = {
                s.name.removeprefix("kafka_connect_source_task_metrics_source_record_"): s.value
                for family in text_string_to_metric_families(text)
                for s in family.samples
            }
            return found.get("poll_total", 0), found.get("active_count", 0)

        wait_for(lambda: measured()[0] > 0, lambda: worker.status("source"), 60)
        broker.freeze()
        try:
            seen = []

            def held_back():
                """The queue is full, and the last three seconds' reports were the same.

                Standing still is not enough: waiting for acknowledgements before offsets are
                stored holds poll() back as well, for offset.flush.timeout.ms.
                """
                seen.append(measured())
                return seen[-1][1] > 900 and len(seen) > 60 and len(set(seen[-60:])) == 1

            wait_for(held_back, lambda: f"poll() to be held back; {seen[-3:]}", 60)
            assert seen[-1][1] <= 1000
            assert worker.rest.delete("/connectors/source").status_code == 204
        finally:
            broker.thaw()


# ---- topics ----------------------------------------------------------------------------------


def test_dead_letter_topic_that_cannot_be_made_fails_the_task(
    worker, connect, topic, kafka, tmp_path
):
    """More replicas than brokers: the status names the topic, the reason and the key."""
    connect(
        "no-dlq",
        {
            "connector.class": "CollectSink",
            "topics": topic,
            "file": tmp_path / "out.jsonl",
            **DLQ,
            "errors.deadletterqueue.topic.name": f"{topic}-dlq",
            "errors.deadletterqueue.topic.replication.factor": 5,
        },
    )
    trace = worker.wait_states("no-dlq", ["FAILED"])["tasks"][0]["trace"]
    assert f"{topic}-dlq" in trace
    assert "replication factor" in trace.lower()
    assert "errors.deadletterqueue.topic.replication.factor" in trace
    assert f"{topic}-dlq" not in admin_client(kafka).list_topics().topics


def test_dead_letter_that_cannot_be_written_fails_the_task(
    worker, connect, topic, make_topic, produce, tmp_path
):
    """Kafka refuses the letter: the status says so, and its record's offset is not committed."""
    letters = make_topic("dlq", config={"max.message.bytes": "1000"})
    produce(topic, [b"1", b"x" * 10_000, b"2"])
    connect(
        "refused-letter",
        {
            "connector.class": "CollectSink",
            "topics": topic,
            "file": tmp_path / "out.jsonl",
            **DLQ,
            "errors.deadletterqueue.topic.name": letters,
        },
    )
    trace = worker.wait_states("refused-letter", ["FAILED"])["tasks"][0]["trace"]
    assert letters in trace
    assert "too large" in trace.lower()
    assert worker.rest.get("/connectors/refused-letter/offsets").json()["offsets"] == []


# Larger than the topic takes, and larger than the producer takes by itself.
@pytest.mark.parametrize("size", [100_000, 3_000_000])
def test_record_that_is_too_large_is_dead_lettered_alone(
    worker, connect, make_topic, consume_all, tmp_path, size
):
    """Its neighbours of the same batch are delivered, in order, and it is told apart."""
    topic = make_topic(config={"max.message.bytes": "20000"})
    letters = make_topic("dlq", config={"max.message.bytes": "10000000"})
    lines = [f"line {n}" for n in range(100)]
    lines[50] = "x" * size
    source = tmp_path / "in.txt"
    source.write_text("".join(f"{line}\n" for line in lines))
    connect(
        f"large-{size}",
        {
            "connector.class": FILE_SOURCE,
            "topic": topic,
            "file": source,
            **TEXT,
            **DLQ,
            "errors.deadletterqueue.topic.name": letters,
            "errors.deadletterqueue.context.headers.enable": True,
            # The record is too large for the producer's own limit too, but must fit the DLQ.
            **({"producer.override.max.request.size": 10_000_000} if size < 1_000_000 else {}),
        },
    )
    found = [m.value().decode() for m in consume_all(topic, 99, timeout=60)]
    assert found == [line for line in lines if len(line) < 1000]
    if size < 1_000_000:
        [letter] = consume_all(letters, 1)
        assert len(letter.value()) == size
        assert dict(letter.headers())["__connect.errors.stage"] == b"KAFKA_PRODUCE"
    assert [t["state"] for t in worker.status(f"large-{size}")["tasks"]] == ["RUNNING"]


def test_record_that_is_too_large_fails_a_strict_task(worker, connect, make_topic, tmp_path):
    """Without tolerance the status names the topic and what Kafka said; no offset is stored."""
    topic = make_topic(config={"max.message.bytes": "20000"})
    source = tmp_path / "in.txt"
    source.write_text("short\n" + "x" * 100_000 + "\nshort\n")
    connect(
        "large-strict", {"connector.class": FILE_SOURCE, "topic": topic, "file": source, **TEXT}
    )
    trace = worker.wait_states("large-strict", ["FAILED"])["tasks"][0]["trace"]
    assert topic in trace
    assert "KAFKA_PRODUCE" in trace
    assert "too large" in trace.lower()
    assert worker.rest.get("/connectors/large-strict/offsets").json()["offsets"] == []


# An hour at most: a broker refuses the whole batch for one record that is older.
RECENT = {"message.timestamp.before.max.ms": "3600000"}


@pytest.mark.parametrize("name", ["DatedSource", "DatedAckSource"])
def test_records_of_a_refused_batch_keep_partition_time_and_headers(
    connect, make_topic, consume_all, tmp_path, name
):
    """Those that are too old are dead letters, and the others are where and what they were."""
    topic, letters = make_topic(partitions=2, config=RECENT), make_topic("dlq")
    connect(
        name,
        {
            "connector.class": name,
            "topic": topic,
            "count": 40,
            "batch": 20,
            **({"file": tmp_path / "acks.jsonl"} if name == "DatedAckSource" else {}),
            **DLQ,
            "errors.deadletterqueue.topic.name": letters,
        },
    )
    good = consume_all(topic, 36, timeout=60)
    for message in [*good, *consume_all(letters, 4)]:
        value = json.loads(message.value())
        assert message.timestamp() == (1, value["at"])
        assert message.headers() == [("n", b"%d" % value["n"])]
    for partition in range(2):
        there = [json.loads(m.value())["n"] for m in good if m.partition() == partition]
        assert sorted(there) == [n for n in range(partition, 40, 2) if n % 10 != 5]


def test_task_hears_of_every_record_of_a_refused_batch(connect, make_topic, tmp_path):
    """Of those that got through alone with their place, of the one that did not without."""
    topic, path = make_topic(partitions=2, config=RECENT), tmp_path / "acks.jsonl"
    source = {"connector.class": "DatedAckSource", "topic": topic, "count": 10, "file": path}
    connect("hears", {**source, "errors.tolerance": "all"})
    wait_for(
        lambda: {"commit": True} in json_lines(path) and len(json_lines(path)) > 10,
        lambda: f"10 records and a commit; {json_lines(path)}",
        60,
    )
    heard = [(line["n"], line["at"]) for line in json_lines(path) if "n" in line]
    assert sorted(heard) == [(n, None if n == 5 else [topic, n % 2]) for n in range(10)]


def test_record_that_is_too_old_fails_a_strict_task(worker, connect, make_topic, consume_all):
    """It is not written with another time; no offset is stored."""
    topic = make_topic(partitions=2, config=RECENT)
    connect("old-strict", {"connector.class": "DatedSource", "topic": topic, "count": 20})
    trace = worker.wait_states("old-strict", ["FAILED"])["tasks"][0]["trace"]
    assert topic in trace
    assert "KAFKA_PRODUCE" in trace
    assert all(json.loads(m.value())["n"] != 5 for m in consume_all(topic))
    assert worker.rest.get("/connectors/old-strict/offsets").json()["offsets"] == []


def test_topic_deleted_under_a_sink_is_read_again_when_it_is_back(
    worker, connect, topic, produce, kafka, tmp_path
):
    """The sink waits, and reads the new topic from its beginning without a restart."""
    out = tmp_path / "out.jsonl"
    produce(topic, [b"%d" % n for n in range(20)])
    connect("bereft", {"connector.class": "CollectSink", "topics": topic, "file": out})
    wait_for(lambda: len(json_lines(out)) == 20, lambda: worker.status("bereft"), 60)
    wait_for(
        lambda: worker.rest.get("/connectors/bereft/offsets").json()["offsets"],
        "the offsets to be committed",
    )
    admin = admin_client(kafka)
    admin.delete_topics([topic])[topic].result(30)
    # It may be back already: brokers create topics that consumers ask for.
    admin.create_topics([topics.NewTopic(topic, 1, 1)])[topic].exception()
    produce(topic, [b"%d" % n for n in range(100, 105)])
    wait_for(
        lambda: {line["v"] for line in json_lines(out)} >= set(range(100, 105)),
        lambda: f"the new topic's records; {worker.status('bereft')}",
        90,
    )
    assert [t["state"] for t in worker.status("bereft")["tasks"]] == ["RUNNING"]


# ---- the clock -----------------------------------------------------------------------------


@pytest.mark.parametrize("jump", [86_400, -86_400], ids=["forward", "backward"])
def test_clock_jumps_by_a_day(kafka, topic, tmp_path, jump):
    """Records flow on, offsets are stored and a killed task restarts, as on any other day."""
    clock, out, pid = tmp_path / "clock", tmp_path / "out.jsonl", tmp_path / "pid"
    environment = {"CLOCK_JUMP": str(clock), "PYTHONPATH": f"{CLOCK}:{ROOT}"}
    with standalone(kafka, tmp_path, plugin__path=PLUGINS, environment=environment) as worker:
        endless = {"count": "100000000", "batch": "1", "pause.ms": "20"}
        source = {"connector.class": "NumbersSource", "topic": topic, **endless}
        restart = {"errors.restart.policy": "on-failure", "errors.restart.backoff.ms": "100"}
        worker.create("source", {**source, **restart, "pid.file": str(pid)})
        sink = {"connector.class": "CollectSink", "topics": topic, "file": str(out)}
        worker.create("sink", sink)

        def flows():
            seen = len(json_lines(out))
            wait_for(lambda: len(json_lines(out)) > seen, lambda: worker.status("sink"), 60)
            at = worker.rest.get("/connectors/source/offsets").json()["offsets"]
            wait_for(
                lambda: worker.rest.get("/connectors/source/offsets").json()["offsets"] != at,
                "offsets to be stored",
            )

        flows()
        clock.write_text(str(jump))
        flows()
        os.kill(int(pid.read_text()), signal.SIGKILL)
        wait_for(
            lambda: worker.status("source")["tasks"][0].get("restarts") == 1,
            lambda: f"a restart; {worker.status('source')}",
        )
        worker.wait_running("source")
        flows()
        clock.write_text("0")
        flows()
        day = time.strftime("%Y-%m-%d", time.localtime(time.time() + jump))
        assert f"[{day} " in worker.log_text(), "the clock must have jumped for the worker"
        values = numbers(out)
    assert set(values) == set(range(max(values) + 1))


# ---- processes and disks ---------------------------------------------------------------------


@pytest.mark.parametrize("victim", ["source", "sink"])
def test_killed_task_is_failed_and_goes_on_after_a_restart(
    worker, connect, topic, tmp_path, victim
):
    """Its status names the signal; after a restart over REST no record is missing."""
    out, pid_file = tmp_path / "out.jsonl", tmp_path / "pid"
    pids = {victim: pid_file}
    connect(
        f"killed-{victim}-source",
        {
            "connector.class": "NumbersSource",
            "topic": topic,
            "count": 3000,
            "pause.ms": 10,
            "pid.file": pids.get("source", ""),
        },
    )
    connect(
        f"killed-{victim}-sink",
        {
            "connector.class": "CollectSink",
            "topics": topic,
            "file": out,
            "pid.file": pids.get("sink", ""),
        },
    )
    wait_for(lambda: len(json_lines(out)) > 100, lambda: worker.status(f"killed-{victim}-sink"), 60)
    os.kill(int(pid_file.read_text()), signal.SIGKILL)
    name = f"killed-{victim}-{victim}"
    trace = worker.wait_states(name, ["FAILED"])["tasks"][0]["trace"]
    assert "SIGKILL" in trace
    assert worker.rest.post(f"/connectors/{name}/tasks/0/restart").status_code == 204
    worker.wait_running(name)
    wait_for(
        lambda: set(numbers(out)) == set(range(3000)),
        lambda: f"all numbers; {worker.status(name)}",
        90,
    )


def test_sink_that_is_stopped_while_it_joins_leaves_its_group(
    worker, connect, topic, kafka, tmp_path
):
    """A slow member keeps the group from meeting; the sink's is gone when it is deleted."""
    admin = admin_client(kafka)
    group = f"connect-joining-{topic}"

    def members():
        found = admin.describe_consumer_groups([group])[group].result(30).members
        return {member.client_id for member in found}

    eager = {"partition.assignment.strategy": "range"}
    slow = Consumer({"bootstrap.servers": kafka, "group.id": group, "client.id": "slow", **eager})
    try:
        # It gives its partition up when it polls, and only then joins again.
        slow.subscribe([topic], on_revoke=lambda *_: None)
        wait_for(lambda: slow.poll(0.1) is None and slow.assignment(), "the slow one to join")
        config = {"connector.class": "CollectSink", "topics": topic, "file": tmp_path / "out.jsonl"}
        connect(
            f"joining-{topic}",
            {**config, **{f"consumer.override.{key}": value for key, value in eager.items()}},
        )
        wait_for(lambda: len(members()) == 2, lambda: f"the sink to join: {members()}")
        assert worker.rest.delete(f"/connectors/joining-{topic}").status_code == 204
        assert members() == {"slow"}
    finally:
        slow.close()


@pytest.mark.parametrize("tolerance", ["none", "all"])
def test_full_disk_fails_a_file_sink(worker, connect, topic, produce, tolerance):
    """The status names the file and says that the disk is full; no offset is committed."""
    produce(topic, [b"1", b"2"])
    config = {"connector.class": FILE_SINK, "topics": topic, "file": "/dev/full", **TEXT}
    connect("full", {**config, "errors.tolerance": tolerance})
    trace = worker.wait_states("full", ["FAILED"])["tasks"][0]["trace"]
    assert "/dev/full" in trace
    assert "No space left on device" in trace
    assert worker.rest.get("/connectors/full/offsets").json()["offsets"] == []
