"""offsets.storage.topic: a source connector's offsets in a topic of its own."""

import json
from pathlib import Path

import pytest
from confluent_kafka.admin import ConfigResource, ResourceType

from tests.support.cluster import cluster
from tests.support.topics import admin_client
from tests.support.waiting import wait_for

PLUGINS = Path(__file__).parents[2] / "support" / "plugins"


@pytest.fixture(scope="module", params=["disabled", "enabled"], ids=["plain", "exactly-once"])
def workers(request, kafka, tmp_path_factory):
    """Two workers, so that REST is asked of one where the connector does not run."""
    with cluster(
        kafka,
        tmp_path_factory.mktemp("own"),
        n=2,
        plugin__path=PLUGINS,
        exactly__once__source__support=request.param,
        offset__flush__interval__ms="200",
    ) as running:
        yield running


@pytest.fixture
def own(make_topic, kafka):
    """The name of an offsets topic that is not there yet; it is gone after the test."""
    name = f"{make_topic()}-offsets"
    yield name
    admin = admin_client(kafka)
    admin.delete_topics([name])[name].exception()


@pytest.fixture
def connect(workers):
    """connect(name, config) creates a connector, gone after the test."""
    created = []

    def create(name, config):
        workers.any.create(name, {"connector.class": "NumbersSource", **config})
        created.append(name)

    yield create
    for name in created:
        workers.any.rest.delete(f"/connectors/{name}")


def stored(consume_all, topic, connector):
    """What an offsets topic says of a connector in the end, tombstones included."""
    found = {}
    for message in consume_all(topic):
        name, partition = json.loads(message.key())
        if name == connector:
            value = message.value()
            found[partition["numbers"]] = None if value is None else json.loads(value)["n"]
    return found


def shown(workers, name):
    """What every worker says over REST; None while they differ because it is in motion.

    A worker that has just heard nothing of a new connector yet answers that there is none.
    """
    first, *others = [w.rest.get(f"/connectors/{name}/offsets") for w in workers.workers]
    if first.status_code != 200 or any(other.json() != first.json() for other in others):
        return None
    return {each["partition"]["numbers"]: each["offset"]["n"] for each in first.json()["offsets"]}


def stop(workers, name):
    assert workers.any.rest.put(f"/connectors/{name}/stop").status_code == 204
    wait_for(
        lambda: workers.any.status(name)["connector"]["state"] == "STOPPED",
        lambda: f"the connector to stop: {workers.any.status(name)}",
    )


def numbers(messages):
    return sorted(json.loads(message.value())["n"] for message in messages)


def test_topic_is_made_and_has_the_offsets_and_the_clusters_a_copy(
    workers, connect, topic, own, consume_all, kafka
):
    """It is created compacted, and both topics say how far the connector has come."""
    name = f"own-{topic}"
    connect(name, {"topic": topic, "count": "50", "offsets.storage.topic": own})
    assert numbers(consume_all(topic, 50, timeout=60)) == list(range(50))
    wait_for(lambda: shown(workers, name) == {"0": 50}, "the offset to be stored")
    assert stored(consume_all, own, name) == {"0": 50}
    clusters = workers.settings["offset.storage.topic"]
    wait_for(lambda: stored(consume_all, clusters, name) == {"0": 50}, "the copy")
    resource = ConfigResource(ResourceType.TOPIC, own)
    admin = admin_client(kafka)
    assert (
        admin.describe_configs([resource])[resource].result()["cleanup.policy"].value == "compact"
    )


def test_connector_gains_a_topic_goes_on_and_loses_it_again(
    workers, connect, topic, own, consume_all
):
    """Nothing is read again: not when it gets its own topic, not when it gives it up."""
    name = f"gains-{topic}"
    connect(name, {"topic": topic, "count": "40"})
    wait_for(lambda: shown(workers, name) == {"0": 40}, "the offset to be stored", 60)
    changed = {"count": "70", "offsets.storage.topic": own}
    workers.any.rest.patch(f"/connectors/{name}/config", json=changed)
    wait_for(lambda: shown(workers, name) == {"0": 70}, "the offset to go on", 60)
    wait_for(lambda: stored(consume_all, own, name) == {"0": 70}, "the own topic to have it")
    clusters = workers.settings["offset.storage.topic"]
    wait_for(lambda: stored(consume_all, clusters, name) == {"0": 70}, "the copy")
    changed = {"count": "90", "offsets.storage.topic": None}
    workers.any.rest.patch(f"/connectors/{name}/config", json=changed)
    wait_for(lambda: shown(workers, name) == {"0": 90}, "the offset to go on", 60)
    assert stored(consume_all, own, name) == {"0": 70}
    assert numbers(consume_all(topic, 90)) == list(range(90))


def test_offsets_are_altered_and_forgotten_in_both_topics(
    workers, connect, topic, own, consume_all
):
    """What is reset over REST does not come back from the copy, and the connector begins anew."""
    name = f"reset-{topic}"
    connect(name, {"topic": topic, "count": "30", "offsets.storage.topic": own})
    wait_for(lambda: shown(workers, name) == {"0": 30}, "the offset to be stored", 60)
    stop(workers, name)
    altered = {"offsets": [{"partition": {"numbers": "0"}, "offset": {"n": 20}}]}
    answer = workers.any.rest.patch(f"/connectors/{name}/offsets", json=altered)
    assert answer.status_code == 200, answer.text
    assert shown(workers, name) == {"0": 20}
    assert stored(consume_all, own, name) == {"0": 20}
    answer = workers.any.rest.delete(f"/connectors/{name}/offsets")
    assert answer.status_code == 200, answer.text
    assert shown(workers, name) == {}
    clusters = workers.settings["offset.storage.topic"]
    assert stored(consume_all, own, name) == stored(consume_all, clusters, name) == {"0": None}
    workers.any.rest.put(f"/connectors/{name}/resume")
    wait_for(lambda: shown(workers, name) == {"0": 30}, "it to begin anew", 60)
    assert numbers(consume_all(topic, 60)) == sorted([*range(30)] * 2)


def test_topic_that_is_not_compacted_fails_the_task(workers, connect, topic, make_topic):
    """Kafka would delete offsets in time: the status names the key, the topic and the way out."""
    wrong = make_topic("wrong", config={"cleanup.policy": "delete"})
    name = f"wrong-{topic}"
    connect(name, {"topic": topic, "offsets.storage.topic": wrong})
    trace = workers.any.wait_states(name, ["FAILED"])["tasks"][0]["trace"]
    assert "offsets.storage.topic" in trace
    assert wrong in trace
    assert "cleanup.policy=delete" in trace


@pytest.mark.parametrize(("value", "why"), [("", "non-empty"), ("a b/c", "letters")])
def test_impossible_topic_is_refused(workers, topic, value, why):
    """A name that no topic can have is told when the connector is made."""
    config = {"connector.class": "NumbersSource", "topic": topic, "offsets.storage.topic": value}
    answer = workers.any.rest.post("/connectors", json={"name": "never", "config": config})
    assert answer.status_code == 400
    assert "offsets.storage.topic" in answer.json()["message"]
    assert why in answer.json()["message"]


@pytest.mark.parametrize("workers", ["enabled"], indirect=True, ids=["exactly-once"])
def test_records_in_the_offsets_topic_fail_an_exactly_once_task(workers, connect, own, topic):
    """A connector must not write its records among its own offsets."""
    name = f"mixed-{topic}"
    connect(name, {"topic": own, "offsets.storage.topic": own})
    trace = workers.any.wait_states(name, ["FAILED"])["tasks"][0]["trace"]
    assert f"'{own}', where its own source offsets are kept" in trace
