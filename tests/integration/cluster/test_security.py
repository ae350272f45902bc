"""Authentication in a cluster: requests that are passed on keep their sender."""

import httpx
import pytest

from connect.cluster.signing import ALGORITHM_HEADER, SIGNATURE_HEADER, new_session_key, sign
from tests.integration.cluster.conftest import PLUGINS
from tests.support.certificates import make_certificates, trusting
from tests.support.cluster import cluster
from tests.support.users import entry, write_users
from tests.support.worker import json_lines

ANN, TEAM = ("ann", "a"), ("team", "t")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def two(kafka, tmp_path_factory, certificates):
    """Two workers with users and one audit log, which answer over http and https."""
    folder = tmp_path_factory.mktemp("secured")
    users = write_users(
        folder / "users.toml",
        entry("ann", ANN[1], admin=["*"]),
        entry("team", TEAM[1], read=["*"], operate=["s-*"]),
        entry("client", admin=["c-*"]),  # by its certificate
    )
    settings = {
        "plugin.path": PLUGINS / "probes.py",
        "rest.auth.file": users,
        "rest.audit.file": folder / "audit.jsonl",
        "listeners": "http://127.0.0.1:0,https://127.0.0.1:0",
        "listeners.https.ssl.keystore.location": certificates / "server.pem",
        "listeners.https.ssl.keystore.type": "PEM",
        "listeners.https.ssl.truststore.location": certificates / "ca.pem",
        "listeners.https.ssl.truststore.type": "PEM",
        "listeners.https.ssl.client.auth": "requested",
    }
    with cluster(kafka, folder, 2, **settings) as running:
        for worker in running.workers:
            worker.rest.auth = ANN
        running.noted = lambda: json_lines(folder / "audit.jsonl")
        yield running


@pytest.fixture
def follower(two):
    return next(worker for worker in two.workers if worker is not two.leader)


def numbers(topic, tasks=2):
    return {"connector.class": "NumbersSource", "topic": topic, "tasks.max": str(tasks)}


def test_a_request_that_is_passed_on_keeps_its_sender_and_is_noted_once(two, follower, topic):
    """Through the worker that does not lead: created, run, refused by role, deleted."""
    before = len(two.noted())
    follower.create("s-one", numbers(topic))
    two.wait_all_running({"s-one": 2})  # the owner told the leader its tasks, signed
    refused = follower.rest.delete("/connectors/s-one", auth=TEAM)
    assert (refused.status_code, refused.json()["message"]) == (
        403,
        "User team needs the role admin for s-one",
    )
    assert follower.rest.put("/connectors/s-one/stop", auth=TEAM).status_code == 204
    wrong = follower.rest.delete("/connectors/s-one", auth=("ann", "guess"))
    assert (wrong.status_code, wrong.headers["www-authenticate"][:5]) == (401, "Basic")
    assert follower.rest.delete("/connectors/s-one").status_code == 204

    lines = two.noted()[before:]

    assert [(x["user"], x["method"], x["connector"], x["status"]) for x in lines] == [
        ("ann", "POST", "s-one", 201),
        ("team", "DELETE", "s-one", 403),
        ("team", "PUT", "s-one", 204),
        (None, "DELETE", "s-one", 401),
        ("ann", "DELETE", "s-one", 204),
    ]
    assert lines[0]["keys"] == ["connector.class", "name", "tasks.max", "topic"]


def test_a_certificate_counts_on_the_worker_that_does_it(two, follower, topic, certificates):
    """The worker that was asked vouches for the name that it has seen."""
    [line] = [x for x in follower.log_text().splitlines() if "The REST API listens on" in x]
    https = next(word for word in line.split() if word.startswith("https://"))
    context = trusting(certificates / "ca.pem")
    context.load_cert_chain(certificates / "client.pem")
    before = len(two.noted())
    with httpx.Client(base_url=https, verify=context, trust_env=False, timeout=30) as client:
        for name, status in (("c-one", 201), ("s-two", 403)):
            body = {"name": name, "config": numbers(topic), "initial_state": "STOPPED"}
            assert client.post("/connectors", json=body).status_code == status
        assert client.delete("/connectors/c-one").status_code == 204
    assert [(x["user"], x["status"]) for x in two.noted()[before:]] == [
        ("client", 201),
        ("client", 403),
        ("client", 204),
    ]


def test_nobody_but_a_worker_can_vouch(two):
    """A header that is not signed by the cluster's key, or by an old one, counts for nothing."""
    told = '{"user":"ann","address":"127.0.0.1"}'
    old = sign(new_session_key("HmacSHA256"), b"GET /connectors\n" + told.encode(), "HmacSHA256")
    signature = f"{old[ALGORITHM_HEADER]}:{old[SIGNATURE_HEADER]}"
    for forged in (told, f"{told} x", f"{told} HmacSHA256:", f"{told} {signature}", "{}"):
        answer = httpx.get(f"{two.any.url}/connectors", headers={"X-Penstock-Caller": forged})
        assert answer.status_code == 401


def test_internal_requests_need_a_signature_and_no_user(two):
    """Unsigned is 400, signed with another key is 403; a password does not replace a signature."""
    for worker in two.workers:
        for method, path in (("POST", "/connectors/x/tasks"), ("PUT", "/connectors/x/fence")):
            url = worker.url + path
            assert httpx.request(method, url, content=b"[]").status_code == 400
            assert httpx.request(method, url, content=b"[]", auth=ANN).status_code == 400
            headers = sign(new_session_key("HmacSHA256"), b"[]", "HmacSHA256")
            answer = httpx.request(method, url, content=b"[]", headers=headers)
            assert answer.status_code == 403
            assert answer.json()["message"] == "Internal request contained invalid signature."


def test_lists_and_levels_of_the_whole_cluster_take_a_role_for_all(two, follower):
    """scope=cluster is for who administers all connectors."""
    level, scope = {"level": "INFO"}, {"scope": "cluster"}
    path = "/admin/loggers/some.logger"
    assert follower.rest.put(path, json=level, params=scope, auth=TEAM).status_code == 403
    assert follower.rest.put(path, json=level, params=scope).status_code == 204
