"""A worker that asks who is there: authentication, roles, the audit log, limits, extensions."""

from pathlib import Path

import httpx
import pytest

from tests.support import worker as workers
from tests.support.certificates import trusting
from tests.support.users import entry, write_users
from tests.support.waiting import wait_for
from tests.support.worker import json_lines

pytestmark = pytest.mark.stack

GREETER = Path(__file__).parents[2] / "support" / "extensions" / "greeter.py"
ANN, TEAM, VIEWER = ("ann", "pass:wörd"), ("team", "t"), ("viewer", "v")
ENTRIES = (
    entry("ann", ANN[1], admin=["*"]),
    entry("team", TEAM[1], read=["*"], operate=["a-*"], admin=["a-new*"]),
    entry("viewer", VIEWER[1], read=["a-*"]),
    entry("scraper", token="s3cret-token", read=["*"]),
    entry("client", read=["b-*"]),  # by its certificate
)


class Secured:
    def __init__(self, running, folder):
        self.running, self.folder = running, folder
        self.url, self.http = running.url, running.rest

    def call(self, who, method, path, body=None, **more):
        auth = httpx.BasicAuth(*who) if who else None
        return self.http.request(method, path, json=body, auth=auth, **more)

    def refusal(self, who, method, path, body=None, **more):
        answer = self.call(who, method, path, body, **more)
        assert answer.json()["error_code"] == answer.status_code
        return answer.status_code, answer.json()["message"]

    def noted(self):
        return json_lines(self.folder / "audit.jsonl")


@pytest.fixture(scope="module")
def secured(kafka, tmp_path_factory, certificates):
    folder = tmp_path_factory.mktemp("secured")
    settings = {
        "rest.auth.file": write_users(folder / "users.toml", *ENTRIES),
        "rest.audit.file": folder / "audit.jsonl",
        "python.transform.enable": "false",
        "plugin.path": GREETER,
        "rest.extension.classes": "greeter.GreeterExtension",
        "greeter.word": "ahoy",
        "listeners": "http://127.0.0.1:0,https://127.0.0.1:0",
        "listeners.https.ssl.keystore.location": certificates / "server.pem",
        "listeners.https.ssl.keystore.type": "PEM",
        "listeners.https.ssl.truststore.location": certificates / "ca.pem",
        "listeners.https.ssl.truststore.type": "PEM",
        "listeners.https.ssl.client.auth": "requested",
    }
    with workers.standalone(kafka, folder, **settings) as running:
        yield Secured(running, folder)
    assert "greeter closed" in running.log_text()


@pytest.fixture
def worker(secured):
    """The worker with connectors a-one and b-one, which rest."""
    for name in secured.call(ANN, "GET", "/connectors").json():
        secured.call(ANN, "DELETE", f"/connectors/{name}")
    for name in ("a-one", "b-one"):
        assert create(secured, ANN, name).status_code == 201
    return secured


def config(name="x", **more):
    return {"connector.class": "FileStreamSource", "file": f"/{name}", "topic": "t", **more}


def create(worker, who, name, **more):
    body = {"name": name, "config": config(name, **more), "initial_state": "STOPPED"}
    return worker.call(who, "POST", "/connectors", body)


# ---- who ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Basic",
        "Basic !!!",
        "Basic YW5u",  # ann, without a colon
        "Basic YW5uOndyb25n",  # ann:wrong
        "Basic bm9ib2R5Ong=",  # nobody:x
        "Basic Y2xpZW50Og==",  # client:, who has no password
        "Basic //79",  # no UTF-8
        "Bearer",
        "Bearer nonsense",
        "Bearer ß",
        "Digest x",
    ],
)
def test_who_is_not_known_gets_401_and_a_challenge(worker, header):
    """On every route but /health, also where there is none, in the body of every error."""
    headers = {} if header is None else {"authorization": header.encode()}
    for method, path in (("GET", "/"), ("GET", "/connectors"), ("DELETE", "/connectors/a-one"),
                         ("GET", "/nope"), ("GET", "/openapi.json"), ("GET", "/docs"),
                         ("GET", "/greeter"), ("PUT", "/admin/loggers/root")):  # fmt: skip
        answer = worker.http.request(method, path, headers=headers)
        assert answer.status_code == 401
        assert answer.json()["error_code"] == 401
        assert answer.headers["www-authenticate"].startswith(("Basic ", "Bearer "))
    assert worker.http.get("/health", headers=headers).status_code == 200


def test_passwords_tokens_and_certificates_let_in(worker, certificates):
    """Each as the user it belongs to; a certificate by its common name."""
    assert worker.call(ANN, "GET", "/").json()["version"] == "4.3.1"
    bearer = {"authorization": "Bearer s3cret-token"}
    assert worker.http.get("/metrics", headers=bearer).status_code == 200
    [line] = [x for x in worker.running.log_text().splitlines() if "The REST API listens on" in x]
    https = next(word for word in line.split() if word.startswith("https://"))
    trusted = trusting(certificates / "ca.pem")
    with httpx.Client(verify=trusted, trust_env=False) as nobody:
        assert nobody.get(f"{https}/connectors").status_code == 401
    trusted.load_cert_chain(certificates / "client.pem")
    with httpx.Client(verify=trusted, trust_env=False) as client:
        assert client.get(f"{https}/connectors").json() == ["b-one"]
        # Credentials count more than the certificate.
        assert client.get(f"{https}/connectors", auth=VIEWER).json() == ["a-one"]


def test_users_change_without_a_restart(worker):
    """A user that is added gets in, one that is removed or has a new password does not."""
    path = worker.folder / "users.toml"
    late = entry("late", "l", read=["*"])
    write_users(path, *ENTRIES, late)
    assert worker.call(("late", "l"), "GET", "/connectors").status_code == 200
    write_users(path, *ENTRIES, entry("late", "longer", read=["*"]))
    assert worker.call(("late", "l"), "GET", "/connectors").status_code == 401
    write_users(path, *ENTRIES)
    assert worker.call(("late", "longer"), "GET", "/connectors").status_code == 401


def test_internal_requests_need_a_signature_and_no_user(worker):
    """They pass the gate; the route refuses them where there is no cluster."""
    answer = worker.call(None, "POST", "/connectors/a-one/tasks", [])
    assert answer.status_code != 401
    assert "cluster" in answer.json()["message"]


# ---- what -----------------------------------------------------------------------------------


def test_lists_show_what_one_may_read(worker):
    """Names and expanded lists alike."""
    assert worker.call(VIEWER, "GET", "/connectors").json() == ["a-one"]
    assert set(worker.call(VIEWER, "GET", "/connectors?expand=info").json()) == {"a-one"}
    assert worker.call(TEAM, "GET", "/connectors").json() == ["a-one", "b-one"]
    assert worker.refusal(VIEWER, "GET", "/connectors/b-one") == (
        403,
        "User viewer needs the role read for b-one",
    )
    assert worker.refusal(VIEWER, "GET", "/connectors/b-none/status")[0] == 403


@pytest.mark.parametrize(
    ("method", "path", "role"),
    [
        ("PUT", "/connectors/b-one/pause", "operate"),
        ("PUT", "/connectors/b-one/resume", "operate"),
        ("PUT", "/connectors/b-one/stop", "operate"),
        ("POST", "/connectors/b-one/restart", "operate"),
        ("POST", "/connectors/b-one/tasks/0/restart", "operate"),
        ("PUT", "/connectors/b-one/config", "admin"),
        ("PATCH", "/connectors/b-one/config", "admin"),
        ("DELETE", "/connectors/b-one", "admin"),
        ("PATCH", "/connectors/b-one/offsets", "admin"),
        ("DELETE", "/connectors/b-one/offsets", "admin"),
        ("PUT", "/connectors/b-one/topics/reset", "admin"),
    ],
)
def test_what_one_has_no_role_for_is_403_and_says_which(worker, method, path, role):
    """User, role and connector are named; the body is not even looked at."""
    status, message = worker.refusal(TEAM, method, path, {"bad": ["body"]})

    assert (status, message) == (403, f"User team needs the role {role} for b-one")


def test_a_role_is_enough_for_what_it_says(worker):
    """Operate for a-*: paused and resumed, not changed; admin for a-new*: created and deleted."""
    assert worker.call(TEAM, "PUT", "/connectors/a-one/pause").status_code == 202
    assert worker.call(TEAM, "PUT", "/connectors/a-one/stop").status_code == 204
    assert worker.refusal(TEAM, "DELETE", "/connectors/a-one")[0] == 403
    assert create(worker, TEAM, "a-new/ü").status_code == 201
    assert worker.call(TEAM, "DELETE", "/connectors/a-new%2F%C3%BC").status_code == 204
    assert create(worker, TEAM, "a-two").json()["message"] == (
        "User team needs the role admin for a-two"
    )
    assert worker.refusal(TEAM, "PUT", "/connectors/a-two/config", config("a-new"))[0] == 403


def test_the_worker_as_a_whole_takes_a_role_for_all(worker):
    """Metrics and log levels are about every connector."""
    assert worker.refusal(VIEWER, "GET", "/metrics")[1].endswith("read for all connectors")
    assert worker.call(TEAM, "GET", "/metrics").status_code == 200
    assert worker.call(TEAM, "GET", "/admin/loggers").status_code == 200
    level = {"level": "INFO"}
    assert worker.refusal(TEAM, "PUT", "/admin/loggers/some.name", level)[0] == 403
    assert worker.call(ANN, "PUT", "/admin/loggers/some.name", level).status_code == 200


def test_to_try_a_config_takes_admin_somewhere(worker):
    """Validation and dry runs run what they are given."""
    validate = "/connector-plugins/FileStreamSource/config/validate"
    dry_run = "/connector-plugins/FileStreamSource/transform"
    assert worker.refusal(VIEWER, "PUT", validate, config()) == (
        403,
        "User viewer needs the role admin for any connector",
    )
    assert worker.refusal(VIEWER, "POST", dry_run, {"config": {}, "records": []})[0] == 403
    assert worker.call(TEAM, "PUT", validate, config()).status_code == 200
    assert worker.call(VIEWER, "GET", "/connector-plugins").status_code == 200


def test_stored_secrets_are_used_by_admins_of_their_connector_alone(worker):
    """Who fills [hidden] in says in the same config where the secret goes: not with another's."""
    secret = {"db.password": "hunter3"}
    assert create(worker, ANN, "b-secret", **secret).status_code == 201
    assert create(worker, TEAM, "a-new", **secret).status_code == 201
    plugin = "/connector-plugins/FileStreamSource"
    for name, status in (("b-secret", 403), ("a-new", 200)):
        hidden = {**config(name), "name": name, "db.password": "[hidden]"}
        tried = {"config": hidden, "records": [{"value": "x"}]}
        for method, path, body in (
            ("PUT", f"{plugin}/config/validate", hidden),
            ("POST", f"{plugin}/transform", tried),
        ):
            answer = worker.call(TEAM, method, path, body)
            assert answer.status_code == status, answer.text
            if status == 403:
                told = "User team needs the role admin for b-secret"
                assert answer.json()["message"] == told
            assert worker.call(ANN, method, path, body).status_code == 200
    own = {**config(), "name": "b-secret", **secret}
    assert worker.call(TEAM, "PUT", f"{plugin}/config/validate", own).status_code == 200


def test_dead_letters_take_the_roles_of_their_connectors(worker, topic, make_topic):
    """Lists, letters, re-tests and replays; a shared topic takes the role for each connector."""
    mine, shared = make_topic("mine"), make_topic("shared")
    for name, letters in (("a-sink", mine), ("a-other", shared), ("b-sink", shared)):
        settings = {"connector.class": "FileStreamSink", "topics": topic, "file": f"/{name}",
                    "errors.tolerance": "all", "errors.deadletterqueue.topic.name": letters,
                    "errors.deadletterqueue.topic.replication.factor": "1"}  # fmt: skip
        body = {"name": name, "config": settings, "initial_state": "STOPPED"}
        assert worker.call(ANN, "POST", "/connectors", body).status_code == 201

    def listed(who):
        return {each["topic"] for each in worker.call(who, "GET", "/dlq").json()}

    assert listed(VIEWER) == {mine}
    assert listed(TEAM) == {mine, shared}
    assert worker.call(VIEWER, "GET", f"/dlq/{mine}/letters").json() == []
    assert worker.refusal(VIEWER, "GET", f"/dlq/{shared}/letters") == (
        403,
        "User viewer needs the role read for b-sink",
    )
    assert worker.refusal(VIEWER, "POST", f"/dlq/{mine}/test", {})[0] == 403
    assert worker.call(TEAM, "POST", f"/dlq/{mine}/test", {}).json() == []
    assert worker.refusal(TEAM, "POST", f"/dlq/{shared}/test", {})[0] == 403
    everything = {"select": {}}
    assert worker.refusal(TEAM, "POST", f"/dlq/{mine}/replays", everything)[1] == (
        "User team needs the role admin for a-sink"
    )
    job = worker.call(ANN, "POST", f"/dlq/{mine}/replays", {**everything, "by": "eve"}).json()
    assert job["by"] == "ann"
    assert [j["id"] for j in worker.call(VIEWER, "GET", "/dlq/replays").json()] == [job["id"]]
    assert worker.refusal(VIEWER, "DELETE", f"/dlq/replays/{job['id']}")[0] == 403
    assert worker.call(VIEWER, "GET", "/dlq/replays/none").status_code == 404
    # Tests change nothing; replays are noted with who began them, or was not let.
    noted = [x for x in worker.noted() if x["path"].startswith("/dlq")]
    assert [(x["user"], x["method"], x["path"], x["status"], x["outcome"]) for x in noted] == [
        ("team", "POST", f"/dlq/{mine}/replays", 403, "refused"),
        ("ann", "POST", f"/dlq/{mine}/replays", 202, "done"),
        ("viewer", "DELETE", f"/dlq/replays/{job['id']}", 403, "refused"),
    ]


def test_python_in_configs_is_refused_where_it_is_switched_off(worker):
    """By create, validation and dry run, with the name of the setting."""
    python = config(
        **{"transforms": "p", "transforms.p.type": "PythonTransform", "transforms.p.filter": "True"}
    )
    body = {"name": "py", "config": python}
    assert "python.transform.enable" in worker.refusal(ANN, "POST", "/connectors", body)[1]
    answer = worker.call(
        ANN, "PUT", "/connector-plugins/FileStreamSource/config/validate", python
    ).json()
    [told] = [v["value"] for v in answer["configs"] if v["value"]["name"] == "transforms.p.type"]
    assert "python.transform.enable" in told["errors"][0]
    tried = {"config": python, "records": [{"value": "x"}]}
    status, message = worker.refusal(
        ANN, "POST", "/connector-plugins/FileStreamSource/transform", tried
    )
    assert (status, "python.transform.enable" in message) == (400, True)
    listed = worker.call(ANN, "GET", "/connector-plugins?connectorsOnly=false").json()
    assert not any("PythonTransform" in plugin["class"] for plugin in listed)


# ---- noted ----------------------------------------------------------------------------------


def test_every_change_is_noted_once_with_keys_and_without_values(worker):
    """Done, refused and failed; reads, validations and dry runs are not."""
    before = len(worker.noted())
    create(worker, ANN, "a-new", **{"db.password": "hunter2"})
    worker.call(ANN, "PUT", "/connectors/a-new/config",
                config("a-new", topic="other", **{"db.password": "[hidden]"}))  # fmt: skip
    worker.call(ANN, "PATCH", "/connectors/a-new/config", {"db.password": "hunter3", "x": None})
    worker.call(TEAM, "DELETE", "/connectors/b-one")
    worker.call(("ann", "guess"), "DELETE", "/connectors/b-one")
    worker.call(ANN, "DELETE", "/connectors/none%2Fsuch")
    worker.call(ANN, "GET", "/connectors/a-new")
    worker.call(ANN, "PUT", "/connector-plugins/FileStreamSource/config/validate", config())

    lines = worker.noted()[before:]

    shown = [
        (x["user"], x["method"], x["connector"], x.get("keys"), x["status"], x["outcome"])
        for x in lines
    ]
    assert shown == [
        ("ann", "POST", "a-new",
         ["connector.class", "db.password", "file", "name", "topic"], 201, "done"),
        ("ann", "PUT", "a-new", ["topic"], 200, "done"),
        ("ann", "PATCH", "a-new", ["db.password", "x"], 200, "done"),
        ("team", "DELETE", "b-one", None, 403, "refused"),
        (None, "DELETE", "b-one", None, 401, "refused"),
        ("ann", "DELETE", "none/such", None, 404, "failed"),
    ]  # fmt: skip
    assert {x["address"] for x in lines} == {"127.0.0.1"}
    assert lines[-1]["path"] == "/connectors/none%2Fsuch"
    assert "hunter" not in (worker.folder / "audit.jsonl").read_text()


# ---- origins -----------------------------------------------------------------------------------


def test_a_page_of_another_site_changes_nothing(worker):
    """A browser sends credentials it knows along; its Origin gives the page away."""
    elsewhere = {"origin": "https://evil.example"}
    status, message = worker.refusal(ANN, "POST", "/connectors/a-one/restart", headers=elsewhere)
    assert (status, "access.control.allow.origin" in message) == (403, True)
    assert worker.refusal(ANN, "DELETE", "/connectors/a-one", headers={"origin": "null"})[0] == 403
    own = {"origin": worker.url}
    assert worker.call(ANN, "PUT", "/connectors/a-one/stop", headers=own).status_code == 204


# ---- bad input, as a user --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{bad", {"content-type": "application/json"}, 400),
        (b'{"name": "a", "config": {}, "more": 1}', {"content-type": "application/json"}, 400),
        (b"name=a", {"content-type": "application/x-www-form-urlencoded"}, 415),
        (b'{"x": "%s"}' % (b"y" * 20_000_000), {"content-type": "application/json"}, 413),
    ],
)
def test_bad_bodies_are_what_they_are_without_users(worker, body, headers, status):
    """A known user gets the same answers as on an open worker; nothing is created."""
    auth = httpx.BasicAuth(*ANN)
    answer = worker.http.post("/connectors", content=body, headers=headers, auth=auth)
    assert (answer.status_code, answer.json()["error_code"]) == (status, status)
    assert worker.call(ANN, "GET", "/connectors").json() == ["a-one", "b-one"]


@pytest.mark.parametrize("name", ["a-new/../b", "a-new b", "a-newé中😀", "a-new%2F", 'a-new"<x>'])
def test_strange_names_are_matched_as_they_are(worker, name):
    """Slashes, spaces, percent signs, Unicode: the pattern sees the name, encoded or not."""
    path = f"/connectors/{httpx.QueryParams({'n': name})!s}".replace("n=", "").replace("+", "%20")
    assert create(worker, TEAM, name).status_code == 201
    assert worker.call(TEAM, "GET", path).json()["name"] == name
    assert worker.call(VIEWER, "DELETE", path).status_code == 403
    assert worker.call(TEAM, "DELETE", path).status_code == 204


def test_a_name_with_control_characters_is_refused(worker):
    """400, and the log of changes stays one line each."""
    before = len(worker.noted())
    assert create(worker, ANN, "a\nb\x00").status_code == 400
    assert len(worker.noted()) == before + 1
    assert worker.refusal(ANN, "DELETE", "/connectors/a%0Ab")[0] == 404


# ---- extensions and docs ---------------------------------------------------------------------


def test_an_extension_adds_routes_and_middleware(worker):
    """It sees connectors, configs, states and health, behind authentication."""
    answer = worker.call(ANN, "GET", "/greeter")
    assert answer.text.split() == [
        "ahoy", "ann", "healthy",
        "a-one=FileStreamSource", "b-one=FileStreamSource", "source", "source",
    ]  # fmt: skip
    assert worker.http.get("/health").headers["x-greeted"] == "yes"
    assert worker.refusal(VIEWER, "GET", "/greeter")[0] == 403
    assert worker.refusal(TEAM, "POST", "/greeter/anything")[0] == 403
    listed = worker.call(ANN, "GET", "/connector-plugins?connectorsOnly=false").json()
    assert not any("Greeter" in plugin["class"] for plugin in listed)


def test_an_extension_may_say_who_it_is(worker):
    """A middleware that knows the user by other means puts the name into the scope."""
    answer = worker.http.get("/connectors", headers={"x-single-sign-on": "viewer"})
    assert answer.json() == ["a-one"]
    assert worker.http.get("/", headers={"x-single-sign-on": "stranger"}).status_code == 401


def test_docs_are_served_without_loading_anything(worker):
    """The page lists the operations; the OpenAPI document is there for machines."""
    page = worker.call(ANN, "GET", "/docs")
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "/connectors/{connector}/restart" in page.text
    assert "/connectors" in worker.call(ANN, "GET", "/openapi.json").json()["paths"]


# ---- at the start ----------------------------------------------------------------------------


def test_an_open_listener_is_warned_of_and_kafkas_extension_closes_and_limits_it(
    standalone, tmp_path, monkeypatch
):
    """The warning names the setting; with Kafka's class the users of its file get in."""
    everywhere = {"listeners": "http://0.0.0.0:0"}
    with standalone(tmp_path, **everywhere) as worker:
        [line] = [x for x in worker.log.splitlines() if "Everybody who reaches" in x]
        assert " WARNING " in line
        assert "rest.auth.file" in line
        # Without users a change is noted in the log, with the address.
        worker.call("DELETE", "/connectors/none")
        wait_for(lambda: '"path":"/connectors/none"' in worker.log, "the change to be noted")
    (tmp_path / "users.properties").write_text("kafka=secret\nother=secret\n")
    (tmp_path / "jaas.conf").write_text(
        "KafkaConnect { org.apache.kafka.connect.rest.basic.auth.extension."
        f'PropertyFileLoginModule required file="{tmp_path / "users.properties"}"; }};'
    )
    monkeypatch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={tmp_path / 'jaas.conf'}")
    extension = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
    limits = {"rest.rate.limit": "0.01", "rest.rate.burst": "3"}
    kafkas = {"rest.extension.classes": extension}
    with standalone(tmp_path, **everywhere, **kafkas, **limits) as worker:
        assert "Everybody who reaches" not in worker.log
        assert worker.call("GET", "/connectors").status_code == 401
        assert worker.call("GET", "/connectors", auth=("kafka", "secret")).json() == []
        assert worker.call("DELETE", "/connectors/x", auth=("kafka", "secret")).status_code == 404
        _check_limits(worker)


def _check_limits(worker):
    """A client that sends too much is told when to come again; others are not touched."""
    worker.call("GET", "/", auth=("kafka", "secret"))
    refused = worker.call("GET", "/", auth=("kafka", "secret"))
    assert (refused.status_code, refused.json()["error_code"]) == (429, 429)
    assert "rest.rate.limit" in refused.json()["message"]
    assert int(refused.headers["retry-after"]) >= 1
    assert worker.call("GET", "/", auth=("other", "secret")).status_code == 200
    # To guess is limited by address: by now it was two right ones, and one without any.
    assert worker.call("GET", "/", auth=("other", "guess")).status_code == 429
    assert worker.call("GET", "/health").status_code == 200
