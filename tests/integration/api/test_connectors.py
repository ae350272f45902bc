"""The connector routes over a real worker. Statuses and texts are Kafka Connect 4.3.1's, seen on
the wire, but where a docstring says otherwise.
"""

from urllib.parse import quote

import pytest

from tests.support.waiting import wait_for

pytestmark = pytest.mark.stack


def error(answer):
    body = answer.json()
    assert body["error_code"] == answer.status_code
    assert set(body) == {"error_code", "message"}
    return answer.status_code, body["message"]


def test_a_connector_is_created_read_listed_and_deleted(worker, source):
    """POST answers 201 with Location and the whole connector; after DELETE it is gone."""
    answer = worker.call("POST", "/connectors", {"name": "a", "config": source})

    assert answer.status_code == 201
    assert answer.headers["location"] == f"{worker.url}/connectors/a"
    created = answer.json()
    assert created["name"] == "a"
    assert created["config"] == {**source, "name": "a"}
    assert created["type"] == "source"
    assert worker.call("GET", "/connectors").json() == ["a"]
    assert worker.call("GET", "/connectors/a").json()["config"] == created["config"]
    assert worker.call("GET", "/connectors/a/config").json() == created["config"]
    deleted = worker.call("DELETE", "/connectors/a")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert worker.call("GET", "/connectors").json() == []
    assert error(worker.call("GET", "/connectors/a")) == (404, "Connector a not found")


def test_a_running_connector_shows_its_tasks(worker, source):
    """Status, tasks and task status of a connector that runs."""
    worker.create("a", source)

    status = worker.wait_for_state("a", "RUNNING", tasks=1)

    assert status["name"] == "a"
    assert status["type"] == "source"
    assert status["tasks"][0]["id"] == 0
    assert status["tasks"][0]["worker_id"] == worker.url.removeprefix("http://")
    (task,) = worker.call("GET", "/connectors/a/tasks").json()
    assert task["id"] == {"connector": "a", "task": 0}
    assert task["config"]["file"] == source["file"]
    assert "task.class" in task["config"]
    assert worker.call("GET", "/connectors/a/tasks/0/status").json() == status["tasks"][0]
    assert worker.call("GET", "/connectors/a").json()["tasks"] == [{"connector": "a", "task": 0}]


def test_a_taken_name_is_409(worker, source):
    """Creating a connector twice says that it exists, and not to wait for it."""
    worker.create("a", source, "STOPPED")

    answer = worker.call("POST", "/connectors", {"name": "a", "config": source})

    assert error(answer) == (409, "Connector a already exists")
    assert "retry-after" not in answer.headers


@pytest.mark.parametrize(
    "name",
    ["a/b", "with space", "ünï ☃", "100%", "a+b", "a;b", "a?b#c", "%2F", '"quoted"', "[x]{y}"],
)
def test_any_printable_name_works_everywhere(worker, source, name):
    """Names are percent-encoded in paths, slashes too, which Kafka Connect refuses."""
    worker.create(name, source, "STOPPED")
    path = f"/connectors/{quote(name, safe='')}"

    assert worker.call("GET", path).json()["name"] == name
    assert worker.call("GET", f"{path}/status").json()["name"] == name
    assert worker.call("GET", f"{path}/config").json()["name"] == name
    assert worker.call("PUT", f"{path}/config", source).status_code == 200
    assert name in worker.call("GET", "/connectors?expand=info").json()
    assert worker.call("DELETE", path).status_code == 204


def test_the_location_of_a_new_connector_leads_to_it(worker, source):
    """Location is encoded so that a client can follow it."""
    answer = worker.call("PUT", f"/connectors/{quote('a/b c', safe='')}/config", source)

    assert answer.status_code == 201
    assert answer.headers["location"] == f"{worker.url}/connectors/a%2Fb%20c"
    assert worker.http.get(answer.headers["location"]).json()["name"] == "a/b c"


@pytest.mark.parametrize("name", ["a\x01b", "a\tb", "a\x7f", " ", ""])
def test_names_nobody_could_read_are_refused(worker, source, name):
    """Control characters and blank names are 400, and nothing is created."""
    status, message = error(worker.call("POST", "/connectors", {"name": name, "config": source}))

    assert status == 400
    assert "configuration name" in message
    assert worker.call("GET", "/connectors").json() == []


def test_put_creates_then_replaces(worker, source):
    """201 with Location the first time, 200 with the new config the next."""
    first = worker.call("PUT", "/connectors/a/config", source)
    second = worker.call("PUT", "/connectors/a/config", {**source, "batch.size": 10})

    assert (first.status_code, second.status_code) == (201, 200)
    assert "location" not in second.headers
    assert second.json()["config"] == {**source, "batch.size": "10", "name": "a"}


def test_put_for_another_name_is_refused(worker, source):
    """The name in the URL is the connector's name."""
    answer = worker.call("PUT", "/connectors/a/config", {**source, "name": "b"})

    assert error(answer) == (
        400,
        "Connector name configuration (b) doesn't match connector name in the URL (a)",
    )


def test_patch_sets_and_removes_keys(worker, source):
    """Values set keys, null removes them, the rest stays."""
    worker.create("a", {**source, "batch.size": "10"}, "STOPPED")

    answer = worker.call("PATCH", "/connectors/a/config", {"batch.size": None, "tasks.max": 1})

    assert answer.status_code == 200
    assert answer.json()["config"] == {**source, "tasks.max": "1", "name": "a"}


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("GET", "", "Connector nope not found"),
        ("GET", "/config", "Connector nope not found"),
        ("GET", "/tasks", "Connector nope not found"),
        ("GET", "/offsets", "Connector nope not found"),
        ("GET", "/status", "No status found for connector nope"),
        ("GET", "/tasks/0/status", "No status found for task nope-0"),
        ("GET", "/tasks/x/status", "HTTP 404 Not Found"),
        ("GET", "/tasks-config", "HTTP 404 Not Found"),
        ("DELETE", "", "Connector nope not found"),
        ("DELETE", "/offsets", "Connector nope not found"),
        ("PATCH", "/config", "Connector nope not found"),
        ("POST", "/restart", "Unknown connector: nope"),
        ("POST", "/restart?includeTasks=true", "Unknown connector: nope"),
        ("POST", "/tasks/0/restart", "Unknown connector: nope"),
        ("PUT", "/pause", "Unknown connector nope"),
        ("PUT", "/resume", "Unknown connector nope"),
        ("PUT", "/stop", "Unknown connector nope"),
    ],
)
def test_an_unknown_connector_is_404(worker, method, path, message):
    """Each route has its own words for it."""
    body = {"a": "b"} if method == "PATCH" else None

    assert error(worker.call(method, f"/connectors/nope{path}", body)) == (404, message)


def test_topics_of_an_unknown_connector_are_none(worker):
    """An empty list, not an error."""
    answer = worker.call("GET", "/connectors/nope/topics")

    assert (answer.status_code, answer.json()) == (200, {"nope": {"topics": []}})
    assert worker.call("PUT", "/connectors/nope/topics/reset").status_code == 202


def test_expand_shows_info_and_status(worker, source):
    """Both, one, or with an expansion nobody knows, neither."""
    worker.create("a", source, "STOPPED")

    both = worker.call("GET", "/connectors?expand=info&expand=status").json()["a"]

    assert both["info"] == worker.call("GET", "/connectors/a").json()
    assert both["status"] == worker.call("GET", "/connectors/a/status").json()
    assert list(worker.call("GET", "/connectors?expand=status").json()["a"]) == ["status"]
    assert worker.call("GET", "/connectors?expand=bogus").json() == {"a": {}}


def test_stop_pause_and_resume_change_the_state_and_may_be_repeated(worker, source):
    """All transitions; a stopped connector has no tasks."""
    worker.create("a", source)
    worker.wait_for_state("a", "RUNNING", tasks=1)

    for _ in range(2):
        assert worker.call("PUT", "/connectors/a/pause").status_code == 202
        worker.wait_for_state("a", "PAUSED", tasks=1)
    for _ in range(2):
        assert worker.call("PUT", "/connectors/a/stop").status_code == 204
        worker.wait_for_state("a", "STOPPED", tasks=0)
    for _ in range(2):
        assert worker.call("PUT", "/connectors/a/resume").status_code == 202
        worker.wait_for_state("a", "RUNNING", tasks=1)


def test_initial_state_is_honoured(worker, source):
    """A connector created paused or stopped has no tasks."""
    worker.create("p", source, "paused")
    worker.create("s", source, "STOPPED")

    assert worker.wait_for_state("p", "PAUSED")["tasks"] == []
    assert worker.wait_for_state("s", "STOPPED")["tasks"] == []


def test_restart_of_the_instance_is_done_when_answered(worker, source):
    """204 for the instance alone, 202 and what is about to restart with tasks."""
    worker.create("a", source)
    worker.wait_for_state("a", "RUNNING", tasks=1)

    alone = worker.call("POST", "/connectors/a/restart")
    all_of_it = worker.call("POST", "/connectors/a/restart?includeTasks=true&onlyFailed=false")

    assert (alone.status_code, alone.content) == (204, b"")
    assert all_of_it.status_code == 202
    assert all_of_it.json()["connector"]["state"] == "RESTARTING"
    assert [t["state"] for t in all_of_it.json()["tasks"]] == ["RESTARTING"]
    worker.wait_for_state("a", "RUNNING", tasks=1)


def test_restart_of_only_what_failed_leaves_the_rest_alone(worker, source):
    """With nothing failed, 202 and nothing is RESTARTING."""
    worker.create("a", source)
    worker.wait_for_state("a", "RUNNING", tasks=1)

    answer = worker.call("POST", "/connectors/a/restart?includeTasks=true&onlyFailed=true")

    assert answer.status_code == 202
    assert answer.json()["connector"]["state"] == "RUNNING"
    assert [t["state"] for t in answer.json()["tasks"]] == ["RUNNING"]


def test_a_flag_that_is_neither_true_nor_false_is_refused(worker, source):
    """Kafka Connect takes it for false, and restarts more than was meant; here it is 400."""
    worker.create("a", source, "STOPPED")

    status, message = error(worker.call("POST", "/connectors/a/restart?onlyFailed=huh"))

    assert status == 400
    assert message.startswith("query parameter onlyFailed=huh")


def test_a_task_is_restarted_by_its_number(worker, source):
    """204 when it is done; a number that does not exist is 404."""
    worker.create("a", source)
    worker.wait_for_state("a", "RUNNING", tasks=1)

    assert worker.call("POST", "/connectors/a/tasks/0/restart").status_code == 204
    assert error(worker.call("POST", "/connectors/a/tasks/7/restart")) == (
        404,
        "Unknown task: a-7",
    )
    worker.wait_for_state("a", "RUNNING", tasks=1)


def test_a_source_shows_its_topics_and_offsets(worker, source, tmp_path):
    """What it wrote to, and how far it has read; reset forgets the topics."""
    (tmp_path / "in.txt").write_text("one\ntwo\n")
    worker.create("a", source)

    def topics():
        return worker.call("GET", "/connectors/a/topics").json()["a"]["topics"]

    def offsets():
        return worker.call("GET", "/connectors/a/offsets").json()["offsets"]

    wait_for(lambda: topics() == [source["topic"]], "the topic to be tracked")
    assert wait_for(offsets, "offsets to be stored") == [
        {"partition": {"filename": source["file"]}, "offset": {"position": 8}}
    ]
    worker.call("PUT", "/connectors/a/stop")
    assert worker.call("PUT", "/connectors/a/topics/reset").status_code == 202
    assert topics() == []


def test_offsets_of_a_stopped_connector_can_be_changed(worker, source):
    """PATCH sets one, null forgets one, DELETE forgets all; each says what was done."""
    worker.create("altered", source, "STOPPED")
    entry = {"partition": {"filename": source["file"]}, "offset": {"position": 4}}

    set_one = worker.call("PATCH", "/connectors/altered/offsets", {"offsets": [entry]})
    assert set_one.json() == {
        "message": "The offsets for this connector have been altered successfully"
    }
    assert worker.call("GET", "/connectors/altered/offsets").json() == {"offsets": [entry]}
    entry["offset"] = None
    assert (
        worker.call("PATCH", "/connectors/altered/offsets", {"offsets": [entry]}).status_code == 200
    )
    assert worker.call("GET", "/connectors/altered/offsets").json() == {"offsets": []}
    assert worker.call("DELETE", "/connectors/altered/offsets").json() == {
        "message": "The offsets for this connector have been reset successfully"
    }


def test_offsets_of_a_connector_that_is_not_stopped_are_refused(worker, source):
    """400, and the text says how to stop it."""
    worker.create("a", source)
    body = {"offsets": [{"partition": {"filename": "x"}, "offset": {"position": 1}}]}

    for answer in (
        worker.call("PATCH", "/connectors/a/offsets", body),
        worker.call("DELETE", "/connectors/a/offsets"),
    ):
        assert error(answer) == (
            400,
            (
                "Connectors must be in the STOPPED state before their offsets can be modified. "
                "This can be done for the specified connector by issuing a 'PUT' request to the "
                "'/connectors/a/stop' endpoint"
            ),
        )
