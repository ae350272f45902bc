"""Any worker of a cluster answers for all of it."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from kafkaconnect.connect import Connect

from connect.cluster.signing import new_session_key, sign
from tests.support.cluster import forwarded
from tests.support.topics import consume_all
from tests.support.waiting import wait_for
from tests.support.worker import json_lines


def numbers(topic, **more):
    config = {"connector.class": "NumbersSource", "topic": topic, "tasks.max": 1, **more}
    return {k: str(v) for k, v in config.items()}


def test_every_worker_creates_and_shows(three, connect, make_topic):
    """A connector created through one worker runs and is shown the same by all."""
    topics = [make_topic() for _ in three.workers]
    for worker, topic in zip(three.workers, topics, strict=True):
        connect(f"made-{topic}", numbers(topic, count=20), worker)
    names = {f"made-{topic}": 1 for topic in topics}
    three.wait_all_running(names)
    for worker in three.workers:
        assert names.keys() <= set(worker.rest.get("/connectors").json())
    for topic in topics:
        told = [w.rest.get(f"/connectors/made-{topic}").json() for w in three.workers]
        assert told[0]["tasks"] == [{"connector": f"made-{topic}", "task": 0}]
        assert all(each == told[0] for each in told)
        statuses = [
            wait_for(
                lambda w=w, topic=topic: (s := w.status(f"made-{topic}"))["tasks"] and s,
                "every worker to have read the statuses",
            )
            for w in three.workers
        ]
        assert all(each == statuses[0] for each in statuses)
        assert statuses[0]["connector"]["version"] == "1.2.3"


def test_records_flow(three, connect, topic):
    """What the tasks of a source produce arrives, each number once for every task."""
    connect("flowing", numbers(topic, count=50, **{"tasks.max": 3}))
    messages = consume_all(three.bootstrap, topic, 150)
    seen = sorted((m["task"], m["n"]) for m in (json.loads(m.value()) for m in messages))
    assert seen == sorted((str(task), n) for task in range(3) for n in range(50))


def test_tasks_are_spread(three, connect, topic):
    """The tasks of one connector run on different workers."""
    connect("spread", numbers(topic, count=1, **{"tasks.max": 3}))
    statuses = three.wait_all_running({"spread": 3})
    assert len({task["worker_id"] for task in statuses["spread"]["tasks"]}) == 3


def test_requests_at_the_same_time_go_one_after_the_other(three, topic):
    """Of many that create a connector one does; of many that change keys of it none is lost; of
    many that delete it one does."""
    config = numbers(topic, count=1)

    def at_once(send):
        workers = three.workers * 2
        with ThreadPoolExecutor(len(workers)) as threads:
            return list(threads.map(send, workers, range(len(workers))))

    def create(worker, number):
        more = {"name": "wanted", "config": config, "initial_state": "STOPPED"}
        return worker.rest.post("/connectors", json=more).status_code

    def change(worker, number):
        key = {f"key.{number}": "x"}
        return worker.rest.patch("/connectors/wanted/config", json=key).status_code

    def delete(worker, number):
        return worker.rest.delete("/connectors/wanted").status_code

    assert sorted(at_once(create)) == [201, *[409] * 5]
    assert at_once(change) == [200] * 6
    stored = three.any.rest.get("/connectors/wanted/config").json()
    assert {f"key.{n}" for n in range(6)} <= stored.keys()
    assert sorted(at_once(delete)) == [204, *[404] * 5]


def test_errors_come_back_from_the_leader(three, connect, topic):
    """What the leader refuses is refused in the same words by whoever was asked."""
    connect("taken", numbers(topic))
    for worker in three.workers:
        answer = worker.rest.post("/connectors", json={"name": "taken", "config": numbers(topic)})
        assert answer.status_code == 409, forwarded(answer)
        assert answer.json()["message"] == "Connector taken already exists"
        answer = worker.rest.delete("/connectors/unknown")
        assert answer.status_code == 404, forwarded(answer)
        bad = {"name": "bad", "config": {"connector.class": "NumbersSource", "name": "bad"}}
        answer = worker.rest.post("/connectors", json=bad)
        assert answer.status_code == 400, forwarded(answer)
        assert 'Missing required configuration "topic"' in answer.json()["message"]


def test_more_and_fewer_tasks(three, connect, topic):
    """tasks.max 1 → 5 → 3 is what the status shows."""
    connect("sized", numbers(topic, count=1))
    three.wait_all_running({"sized": 1})
    for count in (5, 3):
        answer = three.workers[1].rest.put(
            "/connectors/sized/config", json=numbers(topic, count=1, **{"tasks.max": count})
        )
        assert answer.status_code == 200, forwarded(answer)
        three.wait_all_running({"sized": count})
        wait_for(
            lambda count=count: len(three.any.status("sized")["tasks"]) == count,
            f"{count} tasks to be shown",
        )


def test_changing_one_connector_leaves_the_others_alone(three, connect, make_topic):
    """A changed connector's tasks restart; nobody else's do."""
    steady, changed = make_topic(), make_topic()
    connect("steady", numbers(steady, count=1, **{"tasks.max": 3}))
    connect("changing", numbers(changed, count=1, **{"tasks.max": 3}))
    three.wait_all_running({"steady": 3, "changing": 3})
    wait_for(lambda: three.starts()["changing-2"] == 1, "all tasks to have logged their start")
    three.any.rest.patch("/connectors/changing/config", json={"count": "2"})
    wait_for(
        lambda: all(three.starts()[f"changing-{n}"] == 2 for n in range(3)),
        lambda: f"all tasks of the changed connector to restart once: {three.starts()}",
    )
    three.wait_all_running({"steady": 3, "changing": 3})
    assert [three.starts()[f"steady-{n}"] for n in range(3)] == [1, 1, 1]
    assert [three.starts()[f"changing-{n}"] for n in range(3)] == [2, 2, 2]


def test_pause_resume_stop(three, connect, topic):
    """Every transition works from every worker, and stopping leaves no tasks."""
    connect("moody", numbers(topic, count=1, **{"tasks.max": 2}))
    three.wait_all_running({"moody": 2})
    first, second, third = three.workers
    assert first.rest.put("/connectors/moody/pause").status_code == 202
    second.wait_states("moody", ["PAUSED", "PAUSED"])
    assert third.rest.put("/connectors/moody/resume").status_code == 202
    first.wait_states("moody", ["RUNNING", "RUNNING"])
    for worker in three.workers:
        answer = worker.rest.put("/connectors/moody/stop")
        assert answer.status_code == 204, forwarded(answer)
    wait_for(
        lambda: (
            (s := second.status("moody"))["tasks"] == [] and s["connector"]["state"] == "STOPPED"
        ),
        lambda: f"the connector to be stopped: {second.status('moody')}",
    )
    assert third.rest.put("/connectors/moody/resume").status_code == 202
    three.wait_all_running({"moody": 2})


def test_source_offsets(three, connect, topic):
    """Offsets are read on any worker, and a stopped connector goes on from those it is given."""
    connect("numbered", numbers(topic, count=30))
    consume_all(three.bootstrap, topic, 30)
    for worker in three.workers:
        wait_for(
            lambda worker=worker: (
                worker.rest.get("/connectors/numbered/offsets").json()
                == {"offsets": [{"partition": {"numbers": "0"}, "offset": {"n": 30}}]}
            ),
            "the offset to be stored",
        )
    change = {"offsets": [{"partition": {"numbers": "0"}, "offset": {"n": 20}}]}
    answer = three.any.rest.patch("/connectors/numbered/offsets", json=change)
    assert answer.status_code == 400, forwarded(answer)
    three.any.rest.put("/connectors/numbered/stop")
    for worker in three.workers:
        answer = worker.rest.patch("/connectors/numbered/offsets", json=change)
        assert answer.status_code == 200, forwarded(answer)
    three.any.rest.put("/connectors/numbered/resume")
    assert len(consume_all(three.bootstrap, topic, 40)) == 40
    three.any.rest.put("/connectors/numbered/stop")
    for worker in three.workers:
        answer = worker.rest.delete("/connectors/numbered/offsets")
        assert answer.status_code == 200, forwarded(answer)
        assert worker.rest.get("/connectors/numbered/offsets").json() == {"offsets": []}


def test_sink_and_its_topics(three, connect, topic, produce, tmp_path):
    """A sink reads all partitions; the topics it uses are shown until they are reset."""
    produce(topic, [json.dumps({"n": n}) for n in range(10)])
    out = tmp_path / "out.json"
    connect("collecting", {"connector.class": "CollectSink", "topics": topic, "file": out})
    wait_for(lambda: len(json_lines(out)) == 10, "all records to arrive")
    for worker in three.workers:
        wait_for(
            lambda worker=worker: (
                worker.rest.get("/connectors/collecting/topics").json()
                == {"collecting": {"topics": [topic]}}
            ),
            "the topic to be known",
        )
    assert three.any.rest.put("/connectors/collecting/topics/reset").status_code == 202
    wait_for(
        lambda: (
            not three.any.rest.get("/connectors/collecting/topics").json()["collecting"]["topics"]
        ),
        "the topics to be forgotten",
    )


@pytest.mark.parametrize("index", [0, 1, 2])
def test_failed_task_is_restarted_from_any_worker(three, connect, topic, tmp_path, index):
    """A failed task shows its trace everywhere and runs again after a restart request."""
    once = tmp_path / "once"
    config = numbers(topic, fault="poll:raise", **{"fault.once.file": once})
    connect(f"failing-{index}", {**config, "errors.restart.policy": "off"})
    worker = three.workers[index]
    status = worker.wait_states(f"failing-{index}", ["FAILED"])
    assert "Error" in status["tasks"][0]["trace"]
    once.write_text("")
    if index == 0:
        answer = worker.rest.post(f"/connectors/failing-{index}/tasks/0/restart")
        assert answer.status_code == 204, forwarded(answer)
    else:
        answer = worker.rest.post(
            f"/connectors/failing-{index}/restart?includeTasks=true&onlyFailed=true"
        )
        assert answer.status_code == 202, forwarded(answer)
        assert answer.json()["tasks"][0]["state"] == "RESTARTING"
    three.wait_all_running({f"failing-{index}": 1})
    answer = worker.rest.post(f"/connectors/failing-{index}/restart")
    assert answer.status_code == 204, forwarded(answer)


def test_deleted_connector_is_gone_everywhere(three, connect, topic):
    """After a delete no worker knows the connector, its status or its tasks."""
    connect("doomed", numbers(topic, count=1))
    three.wait_all_running({"doomed": 1})
    assert three.workers[2].rest.delete("/connectors/doomed").status_code == 204
    for worker in three.workers:
        wait_for(
            lambda worker=worker: worker.rest.get("/connectors/doomed/status").status_code == 404,
            "the status to be gone",
        )
        assert worker.rest.get("/connectors/doomed").status_code == 404


def test_log_level_of_the_whole_cluster(three):
    """scope=cluster sets a level on every worker, scope=worker on one."""
    answer = three.any.rest.put("/admin/loggers/some.logger?scope=cluster", json={"level": "DEBUG"})
    assert answer.status_code == 204, forwarded(answer)
    for worker in three.workers:
        wait_for(
            lambda worker=worker: (
                worker.rest.get("/admin/loggers/some.logger").json().get("level") == "DEBUG"
            ),
            "the level to be set everywhere",
        )


def test_internal_requests_must_be_signed(three):
    """Without a signature 400, with a wrong one 403, whatever the connector's name."""
    body = b"[]"
    wrong = sign(new_session_key("HmacSHA256"), body, "HmacSHA256")
    json_body = {"Content-Type": "application/json"}
    for worker in three.workers:
        for method, path in (("POST", "tasks"), ("PUT", "fence")):
            url = f"/connectors/unknown/{path}"
            answer = worker.rest.request(method, url, content=body, headers=json_body)
            assert answer.status_code == 400, forwarded(answer)
            assert answer.json()["message"] == "Internal request missing required signature"
            answer = worker.rest.request(method, url, content=body, headers={**json_body, **wrong})
            assert answer.status_code == 403, forwarded(answer)
            assert answer.json()["message"] == "Internal request contained invalid signature."


def test_client_that_nobody_here_wrote(three, topic):
    """The PyPI package kafkaconnect validates, creates, lists, watches, pauses, resumes, restarts,
    changes and deletes a connector as it does on Kafka Connect."""
    client = Connect(three.workers[1].url)
    config = {"name": "foreign", **numbers(topic, count=5)}

    def states():
        status = json.loads(client.status("foreign"))
        return [part["state"] for part in (status["connector"], *status["tasks"])]

    def reach(*wanted):
        wait_for(lambda: states() == list(wanted), lambda: f"{wanted}: {states()}")

    assert "NumbersSource" in client.plugins()
    refused = json.loads(
        client.validate_and_create("foreign", json.dumps({**config, "count": "x"}))
    )
    assert refused["error_count"] == 1
    assert (
        json.loads(client.validate_and_create("foreign", json.dumps(config)))["name"] == "foreign"
    )
    assert "foreign" in json.loads(client.list())
    reach("RUNNING", "RUNNING")
    wait_for(lambda: topic in client.topics("foreign"), "the topic to be told")
    assert client.pause("foreign") == ""
    reach("PAUSED", "PAUSED")
    assert client.resume("foreign") == ""
    reach("RUNNING", "RUNNING")
    assert client.restart("foreign") == ""
    client.create_or_update("foreign", json.dumps({**config, "count": "8", "tasks.max": "2"}))
    reach("RUNNING", "RUNNING", "RUNNING")
    assert json.loads(client.config("foreign"))["count"] == "8"
    assert len(json.loads(client.info("foreign"))["tasks"]) == len(
        json.loads(client.tasks("foreign"))
    )
    assert client.remove("foreign") == ""
    wait_for(lambda: "foreign" not in json.loads(client.list()), "it to be gone")
    assert "not found" in client.status("foreign")
