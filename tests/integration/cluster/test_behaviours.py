"""What users of Kafka Connect rely on, asked of three workers: restarts, states, offsets."""

import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import ConfigResource, ResourceType

from tests.support.cluster import forwarded
from tests.support.topics import admin_client, consume_all
from tests.support.waiting import wait_for
from tests.support.worker import json_lines


def numbers(topic, **more):
    config = {"connector.class": "NumbersSource", "topic": topic, "count": 1, **more}
    return {k: str(v) for k, v in config.items()}


def connector_state(cluster, name):
    return cluster.any.status(name)["connector"]["state"]


def put(worker, path, status):
    answer = worker.rest.put(path)
    assert answer.status_code == status, forwarded(answer)


def half_failed(status):
    states = sorted(task["state"] for task in status["tasks"])
    return status if states == ["FAILED", "RUNNING"] else None


# ---- restarts --------------------------------------------------------------------------------


@pytest.mark.parametrize("only_failed", [False, True])
@pytest.mark.parametrize("include_tasks", [False, True])
def test_restart_does_what_its_flags_say(
    three, connect, topic, tmp_path, include_tasks, only_failed
):
    """Of a connector with a failed task and one that runs, just those parts start again that
    includeTasks and onlyFailed name, whoever is asked."""
    name = f"flags-{include_tasks}-{only_failed}"
    once = tmp_path / "once"
    connect(
        name,
        {
            **numbers(topic, fault="poll:raise", **{"fault.once.file": once, "tasks.max": 2}),
            "errors.restart.policy": "off",
        },
    )
    # The fault happens to the task that comes first.
    status = wait_for(
        lambda: half_failed(three.any.status(name)),
        lambda: f"one task to fail: {three.any.status(name)}",
    )
    [failed] = [t["id"] for t in status["tasks"] if t["state"] == "FAILED"]
    wait_for(lambda: three.starts()[f"{name}-{1 - failed}"] == 1, "the start to be logged")
    before = three.starts()
    flags = f"includeTasks={str(include_tasks).lower()}&onlyFailed={str(only_failed).lower()}"
    bystander = next(w for w in three.workers if w.id != status["connector"]["worker_id"])
    answer = bystander.rest.post(f"/connectors/{name}/restart?{flags}")
    if not include_tasks and not only_failed:
        assert answer.status_code == 204, forwarded(answer)
    else:
        assert answer.status_code == 202, forwarded(answer)
        told = answer.json()
        assert (told["connector"]["state"] == "RESTARTING") == (not only_failed)
        restarting = {t["id"] for t in told["tasks"] if t["state"] == "RESTARTING"}
        expected = ({failed} if only_failed else {0, 1}) if include_tasks else set()
        assert restarting == expected
    if include_tasks:
        three.wait_all_running({name: 2})
        wanted = {failed: 1, 1 - failed: 0 if only_failed else 1}
        wait_for(
            lambda: (
                {n: three.starts()[f"{name}-{n}"] - before[f"{name}-{n}"] for n in (0, 1)} == wanted
            ),
            lambda: f"{wanted} more starts: {three.starts()} after {before}",
        )
    else:
        assert three.any.status(name)["tasks"][failed]["state"] == "FAILED"
        assert three.starts()[f"{name}-{1 - failed}"] == 1


def test_failed_connector_is_restarted(three, connect, topic, tmp_path):
    """A connector that fails to start has no tasks and says why; restarted, it has both."""
    once = tmp_path / "once"
    config = numbers(topic, fault="start:raise", **{"fault.once.file": once})
    connect("late", {**config, "connector.class": "WatchingSource", "errors.restart.policy": "off"})
    wait_for(lambda: connector_state(three, "late") == "FAILED", "the connector to fail")
    status = three.any.status("late")
    assert status["tasks"] == []
    assert "start fails as told" in status["connector"]["trace"]
    answer = three.workers[1].rest.post("/connectors/late/restart?onlyFailed=true")
    assert answer.status_code == 202, forwarded(answer)
    assert answer.json()["connector"]["state"] == "RESTARTING"
    three.wait_all_running({"late": 1})
    answer = three.any.rest.post("/connectors/unknown/restart?includeTasks=true")
    assert answer.status_code == 404, forwarded(answer)


# ---- configs ---------------------------------------------------------------------------------


def reconfigure(worker, name, config):
    answer = worker.rest.put(f"/connectors/{name}/config", json=config)
    assert answer.status_code == 200, forwarded(answer)


def wait_failed(cluster, name, *told):
    wait_for(lambda: connector_state(cluster, name) == "FAILED", f"{name} to fail")
    trace = cluster.any.status(name)["connector"]["trace"]
    assert all(text in trace for text in told), trace


def test_tasks_max_is_kept(three, connect, topic):
    """A connector that makes more tasks than tasks.max fails and says so, and the tasks it had go
    on; with tasks.max.enforce=false they run, and a warning is logged."""
    greedy = numbers(topic, tasks=3, **{"tasks.max": 2, "errors.restart.policy": "off"})
    greedy["connector.class"] = "GreedySource"
    connect("greedy", greedy)
    text = "The connector greedy has generated {} tasks, which is greater than 2, the maximum"
    wait_failed(three, "greedy", text.format(3), "tasks.max.enforce=false")
    assert three.any.status("greedy")["tasks"] == []
    reconfigure(three.workers[1], "greedy", {**greedy, "tasks.max.enforce": "false"})
    three.wait_all_running({"greedy": 3})
    logs = [line for worker in three.workers for line in worker.log_text().splitlines()]
    assert [line for line in logs if " WARN" in line and text.format(3) in line]
    started = {f"greedy-{n}": 1 for n in range(3)}
    wait_for(lambda: three.starts().keys() >= started.keys(), "the starts to be logged")
    reconfigure(three.workers[2], "greedy", {**greedy, "tasks": "4"})
    wait_failed(three, "greedy", text.format(4))
    three.any.wait_states("greedy", ["RUNNING"] * 3)
    assert {task: three.starts()[task] for task in started} == started
    reconfigure(three.any, "greedy", {**greedy, "tasks.max": "3"})
    three.wait_all_running({"greedy": 3})


def test_broken_provider_reference_is_told_and_mended(three, connect, topic, tmp_path):
    """A config whose secret can't be read is refused; a connector that starts without its secret
    fails, and runs once it is back; one whose secret is gone can be given another config."""
    secret = tmp_path / "secret.properties"
    config = numbers(topic, count=f"${{file:{secret}:n}}", **{"errors.restart.policy": "off"})
    refused = three.any.rest.post("/connectors", json={"name": "keeper", "config": config})
    assert refused.status_code == 400, forwarded(refused)
    assert "count" in refused.json()["message"]
    assert str(secret) in refused.json()["message"]

    secret.write_text("n=2\n")
    connect("keeper", config)
    consume_all(three.bootstrap, topic, 2)
    three.wait_all_running({"keeper": 1})
    secret.unlink()
    answer = three.any.rest.post("/connectors/keeper/restart?includeTasks=true")
    assert answer.status_code == 202, forwarded(answer)
    wait_failed(three, "keeper", "count", str(secret))
    three.any.wait_states("keeper", ["FAILED"])
    broken = {**config, "batch": "1"}
    answer = three.workers[1].rest.put("/connectors/keeper/config", json=broken)
    assert answer.status_code == 400, forwarded(answer)
    assert three.any.rest.get("/connectors/keeper/config").json() == {**config, "name": "keeper"}

    secret.write_text("n=4\n")
    answer = three.workers[2].rest.post(
        "/connectors/keeper/restart?includeTasks=true&onlyFailed=true"
    )
    assert answer.status_code == 202, forwarded(answer)
    consume_all(three.bootstrap, topic, 4)
    three.wait_all_running({"keeper": 1})

    secret.unlink()
    reconfigure(three.workers[1], "keeper", {**config, "count": "6"})
    found = consume_all(three.bootstrap, topic, 6)
    assert [json.loads(m.value())["n"] for m in found] == list(range(6))
    three.wait_all_running({"keeper": 1})


def test_failure_is_shown_whatever_stands_for_the_restart_policy(three, connect, topic, tmp_path):
    """A reference in errors.restart.* is not looked up; the status tells of the failure and the log
    why it stays one."""
    (tmp_path / "restarts").write_text("attempts=3")
    more = {"errors.restart.policy": "on-failure"}
    more["errors.restart.max.attempts"] = f"${{file:{tmp_path / 'restarts'}:attempts}}"
    connect("unsure", numbers(topic, fault="poll:raise", **more))
    three.any.wait_states("unsure", ["FAILED"])
    logs = [line for worker in three.workers for line in worker.log_text().splitlines()]
    [told] = [line for line in logs if "unsure-0 is not restarted by itself" in line]
    assert "errors.restart.max.attempts" in told


# ---- states ----------------------------------------------------------------------------------


def test_failed_connector_can_be_stopped_and_resumed(three, connect, topic):
    """Stopping ends what failed, even a task that fails to stop, and offsets may be changed."""
    connect("f", {**numbers(topic, fault="poll:raise"), "errors.restart.policy": "off"})
    connect("s", numbers(topic, fault="stop:raise"))
    three.any.wait_states("f", ["FAILED"])
    three.wait_all_running({"s": 1})
    for name in ("f", "s"):
        put(three.workers[1], f"/connectors/{name}/stop", 204)
        wait_for(
            lambda name=name: (
                (s := three.any.status(name))["connector"]["state"] == "STOPPED" and not s["tasks"]
            ),
            lambda name=name: f"no tasks to be left: {three.any.status(name)}",
        )
        assert three.any.rest.delete(f"/connectors/{name}/offsets").status_code == 200
    put(three.any, "/connectors/s/pause", 202)
    wait_for(lambda: connector_state(three, "s") == "PAUSED", "the stopped one to be paused")
    assert three.any.status("s")["tasks"] == []
    for name, state in (("f", "FAILED"), ("s", "RUNNING")):
        put(three.any, f"/connectors/{name}/resume", 202)
        three.any.wait_states(name, [state])


def test_stopped_from_the_beginning_with_offsets_of_its_own(three, connect, topic, tmp_path):
    """Connectors created STOPPED or PAUSED have no tasks; one whose offsets are set before its
    first start begins there, source and sink alike; a delete needs no start."""
    connect("idle", numbers(topic), initial_state="paused")
    connect("src", numbers(topic, count=10), initial_state="STOPPED")
    out = tmp_path / "out.json"
    sink = {"connector.class": "CollectSink", "topics": topic, "file": out}
    snk = f"snk-{topic}"  # its group is new
    connect(snk, sink, initial_state="stopped")
    for name, state in (("idle", "PAUSED"), ("src", "STOPPED"), (snk, "STOPPED")):
        wait_for(lambda n=name, s=state: connector_state(three, n) == s, f"{name} to be {state}")
        assert three.any.rest.get(f"/connectors/{name}/tasks").json() == []
    for name, partition, offset in (
        ("src", {"numbers": "0"}, {"n": 4}),
        (snk, {"kafka_topic": topic, "kafka_partition": 0}, {"kafka_offset": 2}),
    ):
        change = {"offsets": [{"partition": partition, "offset": offset}]}
        answer = three.workers[1].rest.patch(f"/connectors/{name}/offsets", json=change)
        assert answer.status_code == 200, forwarded(answer)
        assert three.workers[2].rest.get(f"/connectors/{name}/offsets").json() == change
    # One after the other: a sink that begins behind the end of its topic begins anew.
    put(three.workers[2], "/connectors/src/resume", 202)
    assert [json.loads(m.value())["n"] for m in consume_all(three.bootstrap, topic, 6)] == [
        4, 5, 6, 7, 8, 9,
    ]  # fmt: skip
    put(three.workers[2], f"/connectors/{snk}/resume", 202)
    wait_for(
        lambda: [v["v"]["n"] for v in json_lines(out)] == [6, 7, 8, 9],
        lambda: f"6 to 9, there is {json_lines(out)}",
    )
    assert three.workers[1].rest.delete("/connectors/idle").status_code == 204


def test_sink_without_its_topics_is_deleted(three, connect, make_topic, tmp_path):
    """Neither a topic that never was nor one that is deleted under it keeps a sink alive."""
    gone, missing = make_topic(), f"missing-{uuid.uuid4().hex}"
    pid = tmp_path / "pid"
    sink = {
        "connector.class": "CollectSink",
        "file": tmp_path / "out.json",
        "pid.file": pid,
        "consumer.override.allow.auto.create.topics": "false",
    }
    connect("homeless", {**sink, "topics": f"{gone},{missing}"})
    three.wait_all_running({"homeless": 1})
    admin = admin_client(three.bootstrap)
    for done in admin.delete_topics([gone]).values():
        done.result()
    assert three.workers[1].rest.delete("/connectors/homeless").status_code == 204
    wait_for(lambda: not Path(f"/proc/{pid.read_text()}").exists(), "the task to end", 10)
    assert three.any.rest.get("/connectors/homeless").status_code == 404
    logs = [line for worker in three.workers for line in worker.log_text().splitlines()]
    assert not [line for line in logs if "homeless" in line and "is killed" in line]


# ---- offsets ---------------------------------------------------------------------------------


def test_offsets_of_a_sink(three, connect, make_topic, produce, tmp_path):
    """They are those of its group, also of one of its own choice; set and reset while it is
    stopped, refused while it runs or is paused, and the sink reads again what it is told to."""
    topic = make_topic(partitions=2)
    produce(topic, [json.dumps({"n": n}) for n in range(10)])
    out = tmp_path / "out.json"
    group = f"own-{topic}"
    connect(
        "again",
        {
            "connector.class": "CollectSink",
            "topics": topic,
            "file": out,
            "consumer.override.group.id": group,
        },
    )
    wait_for(lambda: len(json_lines(out)) == 10, "all records to arrive")
    places = {p: {"kafka_topic": topic, "kafka_partition": p} for p in (0, 1)}

    def told(worker):
        found = worker.rest.get("/connectors/again/offsets").json()["offsets"]
        return {o["partition"]["kafka_partition"]: o["offset"]["kafka_offset"] for o in found}

    for worker in three.workers:
        wait_for(lambda w=worker: sum(told(w).values()) == 10, "the offsets to be committed")
    change = {"offsets": [{"partition": places[0], "offset": {"kafka_offset": 0}}]}
    for state, code in (("RUNNING", None), ("PAUSED", 202)):
        if code:
            put(three.any, "/connectors/again/pause", code)
            wait_for(lambda s=state: connector_state(three, "again") == s, state)
        answer = three.any.rest.patch("/connectors/again/offsets", json=change)
        assert answer.status_code == 400, forwarded(answer)
        assert "STOPPED" in answer.json()["message"]
    put(three.any, "/connectors/again/stop", 204)
    for body, text in (
        ({"offsets": []}, "Partitions / offsets need to be provided"),
        ({"offsets": [{"partition": None, "offset": None}]}, "cannot be null or missing"),
        ({"offsets": [{"partition": {"kafka_topic": topic}, "offset": None}]}, "kafka_partition"),
        ({"offsets": [{"partition": places[0], "offset": {"n": 1}}]}, "kafka_offset"),
        (
            {"offsets": [{"partition": places[0], "offset": {"kafka_offset": "x"}}]},
            "need to be integers",
        ),
    ):
        answer = three.workers[1].rest.patch("/connectors/again/offsets", json=body)
        assert answer.status_code == 400, forwarded(answer)
        assert text in answer.json()["message"]
    ends = told(three.any)
    # Its consumers may still be leaving their group: that is a 500 which passes.
    wait_for(
        lambda: (
            three.workers[2].rest.patch("/connectors/again/offsets", json=change).status_code == 200
        ),
        "the offsets to be set",
    )
    assert told(three.any) == {**ends, 0: 0}
    put(three.any, "/connectors/again/resume", 202)
    wait_for(lambda: len(json_lines(out)) == 10 + ends[0], "the partition to be read again")
    put(three.any, "/connectors/again/stop", 204)
    for _ in range(2):  # a second time does no harm
        wait_for(
            lambda: three.workers[1].rest.delete("/connectors/again/offsets").status_code == 200,
            "the offsets to be reset",
        )
    assert told(three.any) == {}
    answer = three.any.rest.delete("/connectors/unknown/offsets")
    assert answer.status_code == 404, forwarded(answer)


def test_offsets_of_a_sink_with_a_zombie_are_left(three, connect, topic, produce, tmp_path):
    """While a consumer that nobody knows of is in a stopped sink's group, its offsets can be
    neither altered nor reset, and the answer says why; when it has left, they can."""
    produce(topic, ["{}"] * 3)
    name = f"haunted-{topic}"
    sink = {"connector.class": "CollectSink", "topics": topic, "file": tmp_path / "out.json"}
    connect(name, sink, initial_state="STOPPED")
    settings = {
        "bootstrap.servers": three.bootstrap,
        "group.id": f"connect-{name}",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    url = f"/connectors/{name}/offsets"
    place = {"kafka_topic": topic, "kafka_partition": 0}
    change = {"offsets": [{"partition": place, "offset": {"kafka_offset": 1}}]}
    drop = {"offsets": [{"partition": place, "offset": None}]}
    with closing(Consumer(settings)) as zombie:
        zombie.subscribe([topic])
        wait_for(lambda: zombie.poll(0.1), "the zombie to read")
        for method, body, verb in (
            ("PATCH", change, "alter"),
            ("PATCH", drop, "alter"),
            ("DELETE", None, "reset"),
        ):
            answer = three.workers[1].rest.request(method, url, json=body)
            assert answer.status_code == 500, forwarded(answer)
            assert answer.json()["message"] == (
                f"Failed to {verb} consumer group offsets for connector {name} either because its "
                "tasks haven't stopped completely yet or there are zombie sink tasks."
            )
    answer = three.workers[2].rest.patch(url, json=change)
    assert answer.status_code == 200, forwarded(answer)
    assert three.any.rest.get(url).json() == change


# ---- workers with settings of their own ------------------------------------------------------


def test_each_worker_keeps_to_its_own_settings(three, connect, topic):
    """What a connector may override and what is told of topics is the asked worker's to say."""
    no_overrides = {
        "connector__client__config__override__policy": "None",
        "topic__tracking__enable": "false",
        "admin__listeners": "",
    }
    logins_only = {
        "connector__client__config__override__policy": "Principal",
        "topic__tracking__allow__reset": "false",
        "response__http__headers__config": "set X-Frame-Options:DENY",
        "access__control__allow__origin": "https://ops.example.com",
    }
    one_key = {
        "connector__client__config__override__policy": "Allowlist",
        "connector__client__config__override__allowlist": "linger.ms, max.poll.records",
    }
    with ThreadPoolExecutor(3) as threads:
        [strict], [lenient], [listed] = threads.map(
            lambda settings: three.add(1, **settings), (no_overrides, logins_only, one_key)
        )
    try:
        login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u";'
        principal = {"producer.override.sasl.jaas.config": login}
        other = {"producer.override.linger.ms": "5"}
        for worker, policy, allowed in (
            (strict, "None", []),
            (lenient, "Principal", [principal]),
            (listed, "Allowlist", [other]),
            (three.any, "All", [principal, other]),
        ):
            for override in (principal, other):
                config = {**numbers(topic), "name": "policy", **override}
                url = "/connector-plugins/NumbersSource/config/validate"
                answer = worker.rest.put(url, json=config).json()
                errors = [e for c in answer["configs"] for e in c["value"]["errors"]]
                key = next(iter(override)).removeprefix("producer.override.")
                refused = (
                    f"The '{policy}' policy does not allow '{key}' to be overridden in the "
                    "connector configuration."
                )
                assert errors == ([] if override in allowed else [refused])
        for worker, method, path, text in (
            (strict, "GET", "topics", "Topic tracking is disabled."),
            (strict, "PUT", "topics/reset", "Topic tracking is disabled."),
            (lenient, "PUT", "topics/reset", "Topic tracking reset is disabled."),
        ):
            answer = worker.rest.request(method, f"/connectors/any/{path}")
            assert (answer.status_code, answer.json()["message"]) == (403, text)
        assert strict.rest.get("/admin/loggers").status_code == 404
        answer = lenient.rest.get("/connectors", headers={"Origin": "https://ops.example.com"})
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["Access-Control-Allow-Origin"] == "https://ops.example.com"
    finally:
        for worker in (strict, lenient, listed):
            three.stop(worker)


# ---- the cluster itself ----------------------------------------------------------------------


def test_log_levels_by_scope(three):
    """A worker's own level is its own; the cluster's is everybody's and newer; a level that is
    none is refused everywhere."""
    url = "/admin/loggers/behaviours.scope"
    first, *others = three.workers
    assert first.rest.put(url, json={"level": "DEBUG"}).json() == ["behaviours.scope"]
    modified = first.rest.get(url).json()["last_modified"]
    assert all(w.rest.get(url).status_code == 404 for w in others)
    for scope in ("worker", "cluster"):
        answer = first.rest.put(f"{url}?scope={scope}", json={"level": "LOUD"})
        assert answer.status_code == 404, forwarded(answer)
    assert others[0].rest.put(f"{url}?scope=cluster", json={"level": "ERROR"}).status_code == 204
    for worker in three.workers:
        wait_for(
            lambda w=worker: w.rest.get(url).json().get("level") == "ERROR", "the level everywhere"
        )
    assert first.rest.get(url).json()["last_modified"] >= modified


def test_work_and_states_survive_the_whole_cluster(new_cluster, make_topic):
    """After all workers are gone, new ones know what runs and what is paused, from where, and the
    internal topics are as they were asked for. A task that won't stop holds nobody up for longer
    than task.shutdown.graceful.timeout.ms."""
    flowing, paused = make_topic(), make_topic()
    extra = {
        "offset__storage__segment__bytes": "1048576",
        "status__storage__partitions": "3",
        "task__shutdown__graceful__timeout__ms": "1000",
    }
    with new_cluster(1, **extra) as cluster:
        kinds = {"config": 1, "offset": 2, "status": 3}
        for kind, partitions in kinds.items():
            name = cluster.settings[f"{kind}.storage.topic"]
            assert described(cluster.bootstrap, name)["partitions"] == partitions
            assert described(cluster.bootstrap, name)["cleanup.policy"] == "compact"
        name = cluster.settings["offset.storage.topic"]
        assert described(cluster.bootstrap, name)["segment.bytes"] == "1048576"
        cluster.any.create("flowing", numbers(flowing, count=10))
        cluster.any.create("paused", numbers(paused, count=10, **{"pause.ms": 200, "batch": 1}))
        cluster.any.create("stubborn", numbers(flowing, count=0, fault="stop:block"))
        consume_all(cluster.bootstrap, flowing, 10)
        cluster.wait_all_running({"flowing": 1, "paused": 1, "stubborn": 1})
        put(cluster.any, "/connectors/paused/pause", 202)
        cluster.any.wait_states("paused", ["PAUSED"])
        log = cluster.any.log
        assert cluster.stop(cluster.any) == 0
        assert "did not stop within 1.0 s and is killed" in log.read_text()
        held = len(consume_all(cluster.bootstrap, paused))
        cluster.add(1)
        cluster.any.rest.patch("/connectors/flowing/config", json={"count": "20"})
        found = consume_all(cluster.bootstrap, flowing, 20)
        assert [json.loads(m.value())["n"] for m in found] == list(range(20))
        cluster.any.wait_states("paused", ["PAUSED"])
        assert len(consume_all(cluster.bootstrap, paused)) == held


def described(bootstrap, topic):
    admin = admin_client(bootstrap)
    resource = ConfigResource(ResourceType.TOPIC, topic)
    [settings] = admin.describe_configs([resource]).values()
    partitions = admin.list_topics(topic, timeout=10).topics[topic].partitions
    return {k: v.value for k, v in settings.result().items()} | {"partitions": len(partitions)}
