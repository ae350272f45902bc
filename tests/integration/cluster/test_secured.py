"""A cluster that speaks TLS everywhere: SASL_SSL to Kafka, https among its workers."""

import base64
import json
from pathlib import Path

import pytest

from connect.cluster.signing import SessionKey, sign
from tests.support import topics
from tests.support.certificates import trusting
from tests.support.cluster import cluster, forwarded
from tests.support.keystores import STORE_PASSWORD
from tests.support.secured import everywhere, make_stores, secured_broker, security
from tests.support.waiting import wait_for

PLUGINS = Path(__file__).parents[2] / "support" / "plugins"


@pytest.fixture(scope="module")
def pair(say, tmp_path_factory):
    """Two workers with https listeners, on a broker that wants a login, and with young keys."""
    stores = make_stores(tmp_path_factory.mktemp("stores"))
    settings = {
        **everywhere(security(stores, "SCRAM-SHA-512", "trusts-broker.jks")),
        "plugin.path": PLUGINS,
        "listeners": "https://localhost:0",
        "listeners.https.ssl.keystore.location": stores / "broker.p12",
        "listeners.https.ssl.keystore.password": STORE_PASSWORD,
        "listeners.https.ssl.truststore.location": stores / "trusts-broker.p12",
        "listeners.https.ssl.truststore.password": STORE_PASSWORD,
        "inter.worker.key.ttl.ms": "1500",
    }
    trusted = trusting(stores / "broker.pem")
    with (
        secured_broker(say, stores) as addresses,
        cluster(
            addresses.secure,
            tmp_path_factory.mktemp("cluster"),
            2,
            trusted=trusted,
            admin_bootstrap=addresses.plain,
            **settings,
        ) as running,
    ):
        yield running


def keys(running):
    """The session keys that were published so far."""
    records = topics.consume_all(running.bootstrap, running.settings["config.storage.topic"])
    values = [json.loads(m.value()) for m in records if m.key() == b"session-key"]
    return [
        SessionKey(base64.b64decode(v["key"]), v["algorithm"], v["creation-timestamp"])
        for v in values
    ]


def test_work_is_shared_and_requests_are_passed_on_over_tls(pair):
    """Connectors made through either worker run on both; followers reach the leader by https, with
    requests of users and with their own."""
    topic = topics.Topics(pair.bootstrap).create()
    config = {"connector.class": "NumbersSource", "topic": topic, "count": "20", "tasks.max": "2"}
    for number, worker in enumerate(pair.workers):
        worker.create(f"c{number}", config)
    statuses = pair.wait_all_running({"c0": 2, "c1": 2})
    assert len(pair.task_counts(statuses)) == 2
    assert len(topics.consume_all(pair.bootstrap, topic, 80)) == 80
    assert all(worker.url.startswith("https://") for worker in pair.workers)
    for worker in pair.workers:
        for path in ("c0/tasks/0/restart", "c1/tasks/1/restart", "c0/restart", "c1/restart"):
            answer = worker.rest.post(f"/connectors/{path}")
            assert answer.status_code == 204, forwarded(answer)
    for number, worker in enumerate(reversed(pair.workers)):
        assert worker.rest.delete(f"/connectors/c{number}").status_code == 204


def test_session_key_is_renewed_and_old_ones_are_worth_nothing(pair):
    """The leader publishes new keys all the time; workers go on, and an old key is refused."""
    wait_for(lambda: len(keys(pair)) > 2, "the key to be renewed")

    def asked(key, worker):
        headers = sign(key, b"[]", key.algorithm) | {"Content-Type": "application/json"}
        return worker.rest.post("/connectors/unknown/tasks", content=b"[]", headers=headers)

    for worker in pair.workers:
        answer = asked(keys(pair)[0], worker)
        assert answer.status_code == 403, forwarded(answer)
        # The newest is right, unless it is renewed in this moment.
        wait_for(lambda w=worker: asked(keys(pair)[-1], w).status_code == 404, "the key to be good")
        answer = worker.rest.post("/connectors/unknown/tasks", json=[])
        assert answer.status_code == 400, forwarded(answer)
    topic = topics.Topics(pair.bootstrap).create()
    config = {"connector.class": "NumbersSource", "topic": topic, "count": "1", "tasks.max": "2"}
    for number, worker in enumerate(pair.workers):
        worker.create(f"later{number}", config)
    pair.wait_all_running({"later0": 2, "later1": 2})


def test_a_stopped_connector_gets_no_tasks(pair):
    """The leader refuses those that a worker sends who has not heard of the stop yet."""
    config = {"connector.class": "NumbersSource", "topic": "none"}
    pair.any.create("idle", config, initial_state="STOPPED")
    body = b'[{"task.number": "0"}]'

    def answered():
        key = keys(pair)[-1]  # it may be renewed in this moment
        headers = sign(key, body, key.algorithm) | {"Content-Type": "application/json"}
        answer = pair.any.rest.post("/connectors/idle/tasks", content=body, headers=headers)
        return answer if answer.status_code != 403 else None

    answer = wait_for(answered, "the key to be good")
    assert answer.status_code == 409, forwarded(answer)
    assert "is stopped" in answer.json()["message"]
    assert pair.any.rest.get("/connectors/idle/tasks").json() == []
