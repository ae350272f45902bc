"""Dead letters over the REST API of a worker."""

import json
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from dlq import letter as names
from tests.integration.dlq.conftest import LETTERS, PLUGINS
from tests.integration.dlq.test_faults import dead
from tests.support.waiting import wait_for
from tests.support.worker import json_lines, standalone


@pytest.fixture
def room(worker, connect, make_topic, produce, wait_for_letters, tmp_path):
    """A sink that refuses `old` records, with thirty letters: (topic, letters, out)."""
    topic, letters, out = make_topic("rest"), make_topic("rest-dlq"), tmp_path / "out.jsonl"
    connect(
        "rest",
        {
            "connector.class": "CollectSink",
            "topics": topic,
            "file": out,
            "transforms": "old",
            "transforms.old.type": "FailOn",
            "transforms.old.field": "old",
            # A secret of a converter: the worker masks it, and re-tests all the same.
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            "value.converter.some.password": "s3",
            "errors.deadletterqueue.topic.name": letters,
            **LETTERS,
        },
    )
    produce(topic, [json.dumps({"n": n, "old": True, "secret": "s3"}) for n in range(20)])
    produce(topic, [b"{broken"] * 10)
    wait_for_letters(letters, 30)
    return topic, letters, out


def ended(worker, job):
    def done():
        now = worker.rest.get(f"/dlq/replays/{job['id']}").json()
        return now if now["state"] != "RUNNING" else None

    return wait_for(done, "the replay to end", 60)


def test_letters_are_seen_tested_dismissed_and_replayed(worker, room):
    """The whole way over REST: topics, stats, letters, one letter, test, dismiss, replay."""
    topic, letters, out = room
    rest = worker.rest
    [summary] = [s for s in rest.get("/dlq").json() if s["topic"] == letters]
    assert (summary["connectors"], summary["depth"]["open"]) == (["rest"], 30)

    stats = rest.get(f"/dlq/{letters}/stats").json()
    assert [(g["stage"], g["count"]) for g in stats] == [
        ("TRANSFORMATION", 20),
        ("VALUE_CONVERTER", 10),
    ]
    listed = rest.get(f"/dlq/{letters}/letters", params={"stage": "VALUE_CONVERTER"}).json()
    assert len(listed) == 10
    one = rest.get(f"/dlq/{letters}/letters/0/0").json()
    assert one["value"]["decoded"] == {"n": 0, "old": True, "secret": "s3"}
    assert one["cause"]["message"] == "old is set"
    assert one["origin"] == f"{topic}/0/0"

    candidate = {k: v for k, v in rest.get("/connectors/rest/config").json().items()
                 if not k.startswith("transforms")}  # fmt: skip
    assert candidate.pop("value.converter.some.password") == "[hidden]"
    told = rest.post(f"/dlq/{letters}/test", json={}).json()
    assert {t["verdict"] for t in told} == {"fails"}
    told = rest.post(f"/dlq/{letters}/test", json={"config": candidate}).json()
    assert {t["verdict"]: t["count"] for t in told} == {"passes": 20, "fails": 10}

    marked = rest.post(
        f"/dlq/{letters}/dismiss",
        json={"select": {"stage": "VALUE_CONVERTER"}, "by": "ann", "note": "junk"},
    ).json()
    assert marked["letters"] == 10
    dismissed = rest.get(f"/dlq/{letters}/letters/0/25").json()["state"]
    assert (dismissed["state"], dismissed["by"], dismissed["note"]) == ("dismissed", "ann", "junk")
    assert sum(g["count"] for g in rest.get(f"/dlq/{letters}/stats").json()) == 20
    reopened = rest.post(f"/dlq/{letters}/reopen", json={"select": {"letters": ["0/25"]}}).json()
    assert reopened["letters"] == 1

    patch = [{"op": "remove", "path": "/old"}]
    job = rest.post(
        f"/dlq/{letters}/replays", json={"select": {"limit": 15}, "passing": True, "patch": patch}
    ).json()
    job = ended(worker, job)
    assert (job["state"], job["progress"]["replayed"]) == ("DONE", 15), job
    wait_for(lambda: len(json_lines(out)) >= 15, "the replayed records in the sink")
    assert json_lines(out)[0]["v"] == {"n": 0, "secret": "s3"}
    assert job["id"] in [each["id"] for each in rest.get("/dlq/replays").json()]


def test_a_replay_straight_into_the_sink(worker, room, consume_all):
    """`to: sink` reaches the sink as the original record; the topic sees nothing of it."""
    topic, letters, out = room
    before = len(consume_all(topic))
    edit = {"transforms": "cut", "transforms.cut.type": "ReplaceField$Value",
            "transforms.cut.exclude": "old"}  # fmt: skip
    job = worker.rest.post(
        f"/dlq/{letters}/replays", json={"select": {}, "to": "sink", "edit": edit}
    ).json()
    job = ended(worker, job)
    assert (job["state"], job["progress"]["replayed"]) == ("DONE", 20), job
    assert sum(job["progress"]["left_open"].values()) == 10
    assert [(line["t"], line["o"]) for line in json_lines(out)] == [(topic, n) for n in range(20)]
    assert len(consume_all(topic)) == before


def test_a_sink_gets_no_letters_of_another_connector(worker, room, dlq, produce):
    """They stay open and name the connector, over REST and by the command."""
    topic, letters, out = room
    fit = dead(topic, 99, b'{"n": 99}', **{names.CONNECTOR: "gone"})
    produce(letters, [replace(fit, key=None)])
    foreign = {"of connector gone: needs --connector gone": 1}
    patch = [{"op": "add", "path": "/old", "value": False}]
    body = {"select": {}, "to": "sink", "patch": patch}
    job = ended(worker, worker.rest.post(f"/dlq/{letters}/replays", json=body).json())
    assert (job["state"], job["progress"]["replayed"]) == ("DONE", 20), job
    assert foreign.items() <= job["progress"]["left_open"].items()
    told = dlq("replay", letters, "--to", "sink")
    assert (told["replayed"], told["seen"]) == (0, 11)
    assert foreign.items() <= told["left_open"].items()
    assert 99 not in [line["v"]["n"] for line in json_lines(out)]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "said"),
    [
        ("GET", "/dlq/unknown-topic/stats", None, 404, "dead-letter topic of no connector"),
        ("GET", "/dlq/{}/stats?since=soon", None, 400, "'soon' is no time"),
        ("GET", "/dlq/{}/stats?colour=red", None, 400, "colour"),
        ("GET", "/dlq/{}/letters/0/999999", None, 404, "There is no letter"),
        ("GET", "/dlq/{}/letters/7/0", None, 404, "There is no letter"),
        ("POST", "/dlq/{}/replays", {}, 400, "missing required field `select`"),
        ("POST", "/dlq/{}/replays", {"select": {}, "to": "moon"}, 400, "'moon' is no target"),
        (
            "POST",
            "/dlq/{}/dismiss",
            {"select": {"colour": 1}},
            400,
            "select: Object contains unknown field `colour`",
        ),
        ("GET", "/dlq/replays/none", None, 404, "There is no replay none"),
    ],
)
def test_wrong_requests_are_explained(worker, room, method, path, body, status, said):
    """The status tells whose fault it is, the message what it is."""
    answer = worker.rest.request(method, path.format(room[1]), json=body)
    assert (answer.status_code, said in answer.json()["message"]) == (status, True), answer.text


def test_the_routes_are_documented(worker):
    """Every route and body is in the OpenAPI document."""
    document = worker.rest.get("/openapi.json").json()
    paths = document["paths"]
    assert {p for p in paths if p.startswith("/dlq")} >= {
        "/dlq", "/dlq/{topic}/stats", "/dlq/{topic}/replays", "/dlq/replays/{id}",
    }  # fmt: skip
    body = paths["/dlq/{topic}/replays"]["post"]["requestBody"]["content"]["application/json"]
    assert body["schema"] == {"$ref": "#/components/schemas/ReplayRequest"}
    assert "max_attempts" in document["components"]["schemas"]["ReplayRequest"]["properties"]


def test_a_new_cause_is_told_to_the_webhook_and_counted(
    kafka, make_topic, produce, tmp_path, indexes
):
    """What lay there before is no news; a new cause is posted once, and metrics count it."""
    alerts = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self):
            length = int(self.headers["Content-Length"])
            alerts.append(json.loads(self.rfile.read(length)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    hook = HTTPServer(("127.0.0.1", 0), Hook)
    Thread(target=hook.serve_forever, daemon=True).start()
    topic, letters = make_topic("alerts"), make_topic("alerts-dlq")
    settings = {
        "plugin__path": PLUGINS,
        "dlq__index__folder": tmp_path / "index",
        "dlq__scan__interval__ms": 200,
        "dlq__alert__webhook": f"http://127.0.0.1:{hook.server_port}/",
    }
    with standalone(kafka, tmp_path, **settings) as worker:
        worker.create(
            "alerts",
            {"connector.class": "CollectSink", "topics": topic, "file": str(tmp_path / "out"),
             "errors.deadletterqueue.topic.name": letters, **LETTERS},
        )  # fmt: skip
        produce(topic, [b"{broken"] * 3)
        wait_for(lambda: alerts, "an alert")
        produce(topic, [b'{"refuse": true}'] * 2)
        wait_for(lambda: len(alerts) > 1, "a second alert")
        labels = (
            'connector="alerts",exception="org.apache.kafka.connect.errors.DataException",'
            f'stage="TASK_PUT",topic="{letters}"'
        )
        wait_for(
            lambda: (
                f"penstock_dlq_open_letters{{{labels}}} 2.0" in worker.rest.get("/metrics").text
            ),
            lambda: worker.rest.get("/metrics").text[-2000:],
        )
        assert f"penstock_dlq_letters_total{{{labels}}} 2.0" in worker.rest.get("/metrics").text
    hook.shutdown()
    assert [(a["stage"], a["topic"]) for a in alerts] == [
        ("VALUE_CONVERTER", letters),
        ("TASK_PUT", letters),
    ]
    assert alerts[0]["letter"] == f"{letters}/0/0"
