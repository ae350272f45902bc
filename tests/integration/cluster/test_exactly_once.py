"""Exactly-once sources: under read_committed every record is there once, whatever happens."""

import json
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer
from prometheus_client.parser import text_string_to_metric_families

from tests.support import topics
from tests.support.broker import own_broker
from tests.support.cluster import cluster
from tests.support.waiting import wait_for

PLUGINS = Path(__file__).parents[2] / "support" / "plugins"


def numbers(messages):
    return [json.loads(message.value())["n"] for message in messages]


@pytest.fixture(scope="module")
def workers(kafka, tmp_path_factory):
    folder = tmp_path_factory.mktemp("eos")
    with cluster(
        kafka,
        folder,
        n=1,
        plugin__path=PLUGINS,
        exactly__once__source__support="enabled",
        scheduled__rebalance__max__delay__ms="0",
    ) as running:
        yield running


@pytest.mark.parametrize(
    "boundary",
    [
        {"transaction.boundary": "poll"},
        {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "200"},
    ],
)
def test_records_and_offsets_are_committed_together(workers, topic, consume_all, boundary):
    """Everything arrives once, and the offset is that of the last committed record."""
    name = f"eos-{topic}"
    workers.any.create(
        name, {"connector.class": "NumbersSource", "topic": topic, "count": "300", **boundary}
    )
    assert numbers(consume_all(topic, 300, timeout=90)) == list(range(300))
    wait_for(
        lambda: (
            workers.any.rest.get(f"/connectors/{name}/offsets").json()["offsets"]
            == [{"partition": {"numbers": "0"}, "offset": {"n": 300}}]
        ),
        "the offset to be stored",
    )
    workers.any.rest.delete(f"/connectors/{name}")


def test_what_is_polled_during_a_commit_is_the_next_transaction(workers, topic, consume_all):
    """Transactions hold several polls when these come quickly; a poll that blocks hides nothing."""
    name = f"grouped-{topic}"
    config = {"topic": topic, "count": "5000", "batch": "10", "fault": "end:block"}
    workers.any.create(name, {"connector.class": "NumbersSource", **config})
    assert numbers(consume_all(topic, 5000, timeout=90)) == list(range(5000))
    wait_for(
        lambda: len(found := sizes(workers, name)) == 2 and found[1] > 10,
        lambda: f"a transaction of more than one poll; {sizes(workers, name)}",
    )
    workers.any.rest.delete(f"/connectors/{name}")


def bare_numbers(messages):
    return [int(json.loads(message.value())) for message in messages]


def offset(worker, name):
    answer = worker.rest.get(f"/connectors/{name}/offsets")
    assert answer.status_code == 200, answer.text
    offsets = answer.json()["offsets"]
    return offsets[0]["offset"]["n"] if offsets else 0


def test_values_alone_go_past_the_producer(workers, topic, consume_all):
    """Everything arrives once and in order, with the last record's offset."""
    name = f"bare-{topic}"
    config = {"topic": topic, "count": "50000", "batch": "1000"}
    workers.any.create(name, {"connector.class": "BareNumbersSource", **config})
    assert bare_numbers(consume_all(topic, 50_000, timeout=90)) == list(range(50_000))
    wait_for(lambda: offset(workers.any, name) == 50_000, "the offset to be stored")
    assert not said(workers.any, name, "go by the producer")
    workers.any.rest.delete(f"/connectors/{name}")


@pytest.mark.parametrize(
    ("source", "boundary"),
    [
        ("BareNumbersSource", "poll"),
        ("NumbersSource", "poll"),
        ("NumbersSource", "interval"),
        ("BoundariesSource", "connector"),
    ],
)
def test_topic_that_takes_small_batches_alone(workers, make_topic, consume_all, source, boundary):
    """It gets those, and so no transaction fails for a batch that it refuses."""
    topic = make_topic(config={"max.message.bytes": "5000"})
    name = f"small-{topic}"
    config = {"connector.class": source, "topic": topic, "count": "10000", "batch": "1000"}
    workers.any.create(name, {**config, "transaction.boundary": boundary})
    expected = [n for n in range(10_000) if boundary != "connector" or n % 20 >= 10]
    read = bare_numbers if source == "BareNumbersSource" else numbers
    assert read(consume_all(topic, len(expected), timeout=90)) == expected
    assert [t["state"] for t in workers.any.status(name)["tasks"]] == ["RUNNING"]
    workers.any.rest.delete(f"/connectors/{name}")


@pytest.mark.parametrize("boundary", ["poll", "interval"])
def test_topic_that_takes_small_batches_alone_comes_late(
    workers, make_topic, topic, consume_all, boundary
):
    """The producer is long at work; a new one takes its place between two transactions."""
    small, name = make_topic(config={"max.message.bytes": "5000"}), f"late-{topic}"
    config = {"topic": topic, "second.topic": small, "count": "10000", "batch": "500"}
    interval = {"transaction.boundary": boundary, "transaction.boundary.interval.ms": "2000"}
    workers.any.create(name, {"connector.class": "TurningSource", **config, **interval})
    assert numbers(consume_all(topic, 5000, timeout=90)) == [*range(5000)]
    assert numbers(consume_all(small, 5000, timeout=90)) == [*range(5000, 10_000)]
    assert [t["state"] for t in workers.any.status(name)["tasks"]] == ["RUNNING"]
    workers.any.rest.delete(f"/connectors/{name}")


def said(worker, name, words):
    """Whether a connector's task has."""
    return any(words in line for line in worker.log_text().splitlines() if f"[{name}|" in line)


def in_place_of(workers, name, task):
    """A producer that has taken a task's transactional id, and begun a transaction."""
    owner = f"{workers.settings['group.id']}-{name}-{task}"
    producer = Producer({"bootstrap.servers": workers.bootstrap, "transactional.id": owner})
    producer.init_transactions(30)
    producer.begin_transaction()
    return producer


def test_task_that_was_replaced_fails_and_hinders_nobody(workers, topic, consume_all):
    """It says why. When it is restarted it has its turn again, and nothing is there twice."""
    name = f"replaced-{topic}"
    config = {"topic": topic, "count": "20000", "batch": "10", "pause.ms": "1"}
    workers.any.create(name, {"connector.class": "BareNumbersSource", **config})
    wait_for(lambda: offset(workers.any, name) > 0, lambda: workers.any.status(name), 60)
    successor = in_place_of(workers, name, 0)
    successor.produce(topic, b"-1")
    successor.flush(30)

    def failed():
        [task] = workers.any.status(name)["tasks"]
        return task["state"] == "FAILED" and task["trace"]

    trace = wait_for(failed, lambda: workers.any.status(name), 60)
    assert f"Another task writes by the transactional id '{workers.settings['group.id']}" in trace
    successor.commit_transaction(30)
    workers.any.rest.post(f"/connectors/{name}/tasks/0/restart")
    found = bare_numbers(consume_all(topic, 20_001, timeout=90))
    found.remove(-1)
    assert found == list(range(20_000))
    workers.any.rest.delete(f"/connectors/{name}")


@pytest.fixture(scope="module")
def broker(say):
    with own_broker(say) as broker:
        yield broker


@pytest.mark.parametrize("fault", ["kill", "freeze"])
def test_broker_goes_away_and_comes_back(broker, tmp_path, fault):
    """Nothing is lost and nothing is there twice, though answers are lost with the broker."""
    topic = topics.Topics(broker.address).create()
    with cluster(
        broker.address,
        tmp_path,
        n=1,
        plugin__path=PLUGINS,
        exactly__once__source__support="enabled",
    ) as workers:
        config = {"topic": topic, "count": "300000", "batch": "1000", "pause.ms": "1"}
        timeout = {"producer.override.request.timeout.ms": "3000"}
        source = {"connector.class": "BareNumbersSource", **config, **timeout}
        workers.any.create("source", source)
        wait_for(lambda: offset(workers.any, "source") > 0, workers.any.log_text, 60)
        broker.kill() if fault == "kill" else broker.freeze()
        try:
            if fault == "freeze":
                wait_for(
                    lambda: said(workers.any, "source", "no answer came in time"),
                    workers.any.log_text,
                )
        finally:
            broker.start() if fault == "kill" else broker.thaw()
        found = topics.consume_all(broker.address, topic, 300_000, timeout=120)
        workers.any.wait_running("source")
    assert bare_numbers(found) == list(range(300_000))


def test_connector_ends_and_drops_its_own_transactions(workers, topic, consume_all):
    """What a task aborts is invisible, and is not read again."""
    name = f"boundaries-{topic}"
    workers.any.create(
        name,
        {
            "connector.class": "BoundariesSource",
            "topic": topic,
            "count": "200",
            "batch": "7",
            "transaction.boundary": "connector",
        },
    )
    kept = [n for n in range(200) if n % 20 >= 10]
    assert numbers(consume_all(topic, len(kept), timeout=90)) == kept
    wait_for(
        lambda: (
            workers.any.rest.get(f"/connectors/{name}/offsets").json()["offsets"]
            == [{"partition": {"numbers": "0"}, "offset": {"n": 200}}]
        ),
        "the offset to be stored",
    )
    workers.any.rest.delete(f"/connectors/{name}")


def test_producing_more_than_asked_is_refused_before_it_runs(workers, topic):
    """exactly.once.support=required needs a connector that says it can."""
    answer = workers.any.rest.post(
        "/connectors",
        json={
            "name": "unsure",
            "config": {
                "connector.class": "io.confluent.kafka.connect.datagen.DatagenConnector",
                "kafka.topic": topic,
                "quickstart": "orders",
                "exactly.once.support": "required",
                "transaction.boundary": "connector",
            },
        },
    )
    assert answer.status_code == 400
    assert "transaction" in answer.json()["message"]


def test_zombies_are_fenced_when_tasks_change(workers, topic, consume_all):
    """When a connector gets new tasks, none of the old ones can write any more."""
    name = f"zombie-{topic}"
    config = {"connector.class": "NumbersSource", "topic": topic, "count": "50", "tasks.max": "3"}
    workers.any.create(name, config)
    workers.wait_all_running({name: 3})
    consume_all(topic, 150, timeout=90)
    # A task that was cut off from its worker, and comes back to life later.
    zombie = in_place_of(workers, name, 2)
    zombie.produce(topic, b'{"n": -1}')
    zombie.flush(10)
    workers.any.rest.patch(f"/connectors/{name}/config", json={"tasks.max": "2", "count": "60"})
    # Its open transaction hides what comes after it, until it is fenced.
    found = consume_all(topic, 170, timeout=90)
    with pytest.raises(KafkaException):
        zombie.commit_transaction(30)
    assert len(found) == 170
    assert -1 not in numbers(found)
    workers.any.rest.delete(f"/connectors/{name}")


def test_transactions_and_rebalances_are_measured(workers, topic, consume_all):
    """/metrics tells how large transactions were, and how the worker stands in its cluster.

    A task that hears of commits has a transaction for each poll.
    """
    name = f"measured-{topic}"
    config = {"connector.class": "HostileSource", "topic": topic, "count": "25", "batch": "10"}
    workers.any.create(name, config)
    consume_all(topic, 25, timeout=90)
    wait_for(
        lambda: sizes(workers, name) == [5, 10],
        lambda: f"transactions of 5 and of 10; {sizes(workers, name)}",
    )
    shown = {n: s.value for n, s in samples(workers).items()}
    group = "kafka_connect_connect_worker_rebalance_metrics"
    assert shown[group + "_completed_rebalances_total"] >= 1
    assert shown[group + "_epoch"] >= 1
    assert shown[group + "_rebalance_max_time_ms"] >= shown[group + "_rebalance_avg_time_ms"] > 0
    assert shown["kafka_connect_connect_coordinator_metrics_assigned_connectors"] >= 1
    assert samples(workers, leader_name=workers.any.url + "/")[group].value == 1
    workers.any.rest.delete(f"/connectors/{name}")


@pytest.mark.parametrize("boundary", ["poll", "interval"])
def test_source_that_is_stopped_while_its_producer_is_full_hides_nothing(
    workers, topic, consume_all, boundary
):
    """Its transaction is given up, and what others write behind it is seen at once."""
    name = f"full-{topic}"
    config = {"topic": topic, "count": "100000", "batch": "50000"}
    # It has room for a small part of a poll, and sends it seconds later.
    slow = {"buffer.memory": "65536", "batch.size": "1000000", "linger.ms": "2000"}
    overrides = {f"producer.override.{key}": value for key, value in slow.items()}
    workers.any.create(
        name,
        {
            "connector.class": "NumbersSource",
            "transaction.boundary": boundary,
            **config,
            **overrides,
        },
    )
    consume_all(topic, 1, timeout=60, isolation="read_uncommitted")
    assert workers.any.rest.put(f"/connectors/{name}/stop").status_code == 204
    topics.produce(workers.bootstrap, topic, [b'{"n": -1}'])
    assert numbers(consume_all(topic, 1)) == [-1]
    workers.any.rest.delete(f"/connectors/{name}")


def samples(workers, **labels):
    families = text_string_to_metric_families(workers.any.rest.get("/metrics").text)
    found = [s for family in families for s in family.samples]
    return {s.name: s for s in found if labels.items() <= s.labels.items()}


def sizes(workers, name):
    """The smallest and the largest transaction of a task, once they are told."""
    found = samples(workers, connector=name, task="0")
    key = "kafka_connect_source_task_metrics_transaction_size_"
    return [found[key + part].value for part in ("min", "max") if key + part in found]
