"""Moving a cluster from the JVM to Penstock: at once over its topics, or worker by worker."""

import uuid
from collections import Counter
from contextlib import ExitStack, contextmanager

import httpx
import pytest

from tests.oracle.worker import Options, _worker
from tests.support.cluster import Cluster
from tests.support.topics import read_up_to_now
from tests.support.waiting import wait_for

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
STORES = ("config", "offset", "status")


@pytest.fixture
def settings(kafka):
    group = f"moved-{uuid.uuid4().hex[:8]}"
    return {
        "group.id": group,
        **{f"{kind}.storage.topic": f"{group}-{kind}" for kind in STORES},
        **{f"{kind}.storage.replication.factor": "1" for kind in STORES},
        "offset.storage.partitions": "2",
        "status.storage.partitions": "2",
        "scheduled.rebalance.max.delay.ms": "0",
        "session.timeout.ms": "6000",
        "heartbeat.interval.ms": "500",
    }


@contextmanager
def penstock(kafka, folder, settings):
    """Workers of ours in the JVM's group; `add` starts one."""
    json_converter = "org.apache.kafka.connect.json.JsonConverter"
    ours = Cluster(
        kafka,
        folder,
        {
            **settings,
            "bootstrap.servers": kafka,
            "listeners": "http://127.0.0.1:0",
            "key.converter": json_converter,
            "value.converter": json_converter,
            "offset.flush.interval.ms": "1000",
        },
    )
    try:
        yield ours
    except BaseException:
        print(ours.logs())  # noqa: T201
        raise
    finally:
        ours.close()


class Files:
    """Two file sources on the JVM, and what they have written."""

    def __init__(self, kafka, jvm, folder, make_topic):
        self.kafka = kafka
        self.lines = Counter()
        self.files = {}
        for name in ("first", "second"):
            self.files[name] = (folder / f"{name}.txt", make_topic())
            self.append(name)
            path, topic = self.files[name]
            config = {
                "connector.class": SOURCE,
                "file": str(path),
                "topic": topic,
                "tasks.max": "1",
            }
            config["value.converter"] = "org.apache.kafka.connect.storage.StringConverter"
            answer = jvm.post("/connectors", json={"name": name, "config": config})
            assert answer.status_code == 201, answer.text
        self.wait_written()
        for name, (path, _) in self.files.items():
            self.wait_stored(jvm, name, path.stat().st_size)

    def append(self, name, count=100):
        path, _ = self.files[name]
        with path.open("a") as file:
            for _ in range(count):
                line = f"{name} {self.lines[name]}"
                self.lines[name] += 1
                file.write(line + "\n")

    def append_all(self):
        for name in self.files:
            self.append(name)

    def wait_written(self):
        """Until every line is in its topic; none may be there twice."""
        for name, (_, topic) in self.files.items():
            expected = [f"{name} {n}".encode() for n in range(self.lines[name])]

            def complete(topic=topic, expected=expected):
                found = read_up_to_now(self.kafka, topic)
                assert len(found) <= len(expected), "lines were written twice"
                return found == expected

            wait_for(complete, f"all {len(expected)} lines of {name}", 60)

    def wait_stored(self, rest, name, position):
        wait_for(
            lambda: (
                [o["offset"] for o in rest.get(f"/connectors/{name}/offsets").json()["offsets"]]
                == [{"position": position}]
            ),
            f"the offset of {name} to be {position}",
            60,
        )


def test_topics_of_a_jvm_cluster_are_taken_over(kafka, say, settings, make_topic, tmp_path):
    """After the last JVM worker is gone, ours go on with its connectors from its offsets."""
    with penstock(kafka, tmp_path, settings) as ours:
        with (
            _worker("ConnectDistributed", kafka, settings, say, Options()) as (launch, _),
            httpx.Client(base_url=launch.service.address, timeout=60, trust_env=False) as jvm,
        ):
            files = Files(kafka, jvm, tmp_path, make_topic)
            jvm.put("/connectors/second/pause")
            told = jvm.get("/connectors/first").json()
        ours.add(2)
        assert ours.any.rest.get("/connectors/first").json() == told
        ours.wait_all_running({"first": 1})
        ours.workers[1].wait_states("second", ["PAUSED"])
        ours.any.rest.put("/connectors/second/resume")
        ours.wait_all_running({"first": 1, "second": 1})
        files.append_all()
        files.wait_written()


def test_workers_are_replaced_one_by_one(kafka, say, settings, make_topic, tmp_path):
    """A JVM worker and one of ours share a group and its work, until ours has it all."""
    with penstock(kafka, tmp_path, settings) as ours, ExitStack() as running:
        launch, _ = running.enter_context(
            _worker("ConnectDistributed", kafka, settings, say, Options())
        )
        jvm = running.enter_context(
            httpx.Client(base_url=launch.service.address, timeout=60, trust_env=False)
        )
        files = Files(kafka, jvm, tmp_path, make_topic)
        [worker] = ours.add()

        def shared():
            every = [worker.status(name) for name in ("first", "second")]
            places = {task["worker_id"] for s in every for task in s.get("tasks", [])}
            running = all(t["state"] == "RUNNING" for s in every for t in s.get("tasks", []))
            return running and len(places) == 2

        wait_for(shared, lambda: f"each to have a task: {worker.status('first')}", 60)
        files.append_all()
        files.wait_written()
        # The JVM leads: what is asked of ours is passed on to it.
        answer = worker.rest.patch("/connectors/first/config", json={"tasks.max": "2"})
        assert answer.status_code == 200, answer.text
        assert jvm.get("/connectors/first/config").json()["tasks.max"] == "2"
        wait_for(shared, lambda: f"each to have a task again: {worker.status('first')}", 60)
        for name, (path, _) in files.files.items():
            files.wait_stored(worker.rest, name, path.stat().st_size)
        running.close()
        ours.wait_all_running({"first": 1, "second": 1})
        files.append_all()
        files.wait_written()
