"""Workers that come, go and die: work moves as it must, and no more than that."""

import json
import time
from collections import Counter

import pytest

from tests.support.topics import read_up_to_now
from tests.support.waiting import wait_for


def numbers(topic, tasks, **more):
    config = {
        "connector.class": "NumbersSource",
        "topic": topic,
        "tasks.max": tasks,
        "count": 1_000_000,
        "batch": 5,
        "pause.ms": 50,
        **more,
    }
    return {k: str(v) for k, v in config.items()}


def seen(bootstrap, topic):
    """How often each number of each task is in the topic."""
    values = [json.loads(value) for value in read_up_to_now(bootstrap, topic)]
    return {
        task: Counter(v["n"] for v in values if v["task"] == task)
        for task in {v["task"] for v in values}
    }


def assert_no_gaps(found):
    for task, counts in found.items():
        missing = [n for n in range(max(counts)) if n not in counts]
        assert not missing, f"task {task} misses {missing[:10]}"


def grows(bootstrap, topic, task):
    """A condition: the task has produced since now."""
    before = max(seen(bootstrap, topic).get(task, {0: 0}))
    return lambda: max(seen(bootstrap, topic).get(task, {0: 0})) > before


def test_vanished_workers_tasks_wait_and_come_back(new_cluster, make_topic):
    """With a delay, lost tasks are shown as unassigned, and come with their worker's return."""
    topic = make_topic()
    with new_cluster(2, scheduled__rebalance__max__delay__ms=300_000) as cluster:
        cluster.any.create("c", numbers(topic, 2))
        cluster.wait_all_running({"c": 2})
        victim = next(w for w in cluster.workers if w is not cluster.leader)
        url = victim.url
        cluster.kill(victim)
        wait_for(
            lambda: (
                sorted(t["state"] for t in cluster.any.status("c")["tasks"])
                == ["RUNNING", "UNASSIGNED"]
            ),
            lambda: f"one task to be unassigned: {cluster.any.status('c')}",
        )
        cluster.add(1, listeners=url)
        cluster.wait_all_running({"c": 2}, timeout=20)


def test_rolling_restart_keeps_connectors_flowing(new_cluster, make_topic):
    """Stopped workers hand over at once, whatever the delay, and new ones take their share: all are
    replaced one by one, and no number is lost or there twice."""
    topics = {f"c{n}": make_topic() for n in range(2)}
    tasks = dict.fromkeys(topics, 2)
    with new_cluster(2, scheduled__rebalance__max__delay__ms=300_000) as cluster:
        for name, topic in topics.items():
            cluster.any.create(name, numbers(topic, 2))
        cluster.wait_all_running(tasks)
        for worker in list(cluster.workers):
            began = time.monotonic()
            assert cluster.stop(worker) == 0
            cluster.wait_all_running(tasks, timeout=20)
            assert time.monotonic() - began < 20
            cluster.add()
            wait_for(
                lambda: (
                    sorted(cluster.task_counts(cluster.wait_all_running(tasks)).values()) == [2, 2]
                ),
                "the new worker to have its share",
            )
        for topic in topics.values():
            for task in ("0", "1"):
                wait_for(grows(cluster.bootstrap, topic, task), f"task {task} to go on")
            found = seen(cluster.bootstrap, topic)
            assert_no_gaps(found)
            assert {n for counts in found.values() for n in counts.values()} == {1}


@pytest.mark.parametrize(
    ("store", "partitions", "policy", "told"),
    [
        ("config", 2, "compact", "It must have exactly one"),
        ("offset", 1, "delete", "cleanup.policy=delete"),
    ],
)
def test_unfit_internal_topic_is_refused(new_cluster, make_topic, store, partitions, policy, told):
    """A worker does not start on a topic in which it would lose what it knows, and says why."""
    topic = make_topic(partitions=partitions, config={"cleanup.policy": policy})
    with new_cluster(0, **{f"{store}__storage__topic": topic}) as cluster:
        process, log = cluster._start({})
        assert process.wait(60) == 1
        text = log.read_text()
        assert f"{store}.storage.topic" in text
        assert told in text
        assert "Traceback" not in text.splitlines()[-1]


def test_more_replicas_than_brokers_are_refused(new_cluster):
    """A worker whose internal topic can't have its replicas ends, naming the setting to change."""
    with new_cluster(0, offset__storage__replication__factor=99) as cluster:
        process, log = cluster._start({})
        assert process.wait(60) == 1
        last = log.read_text().splitlines()[-1]
        assert cluster.settings["offset.storage.topic"] in last
        assert "Set offset.storage.replication.factor to the number of brokers at most." in last
