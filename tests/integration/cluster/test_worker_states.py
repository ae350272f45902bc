"""What a worker answers that starts, has lost its broker, or leaves."""

import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.broker import own_broker
from tests.support.cluster import cluster
from tests.support.processes import descendants, is_task
from tests.support.waiting import wait_for
from tests.support.worker import RunningWorker, _url

PLUGINS = Path(__file__).parents[2] / "support" / "plugins"
CONFIG = {"connector.class": "NumbersSource", "topic": "numbers", "count": "1"}

READS = ["/connectors", "/connectors?expand=status", "/connectors/c", "/connectors/c/status"]
CHANGES = [
    ("POST", "/connectors", {"name": "new", "config": CONFIG}),
    ("PUT", "/connectors/c/config", {**CONFIG, "count": "2"}),
    ("PUT", "/connectors/c/stop", None),
    ("POST", "/connectors/c/restart?includeTasks=true", None),
    ("DELETE", "/connectors/c", None),
]


def assert_refused(answer, *statuses):
    """It failed, in the shape of every error."""
    assert answer.status_code in statuses, answer.text
    assert answer.json()["error_code"] == answer.status_code
    assert answer.json()["message"]


@pytest.fixture
def silent():
    """The address of a server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield "127.0.0.1:{1}".format(*server.getsockname())


def test_worker_that_starts_does_not_answer_for_what_it_does_not_know(kafka, silent, tmp_path):
    """Until the topics are read no request is met, not even with an empty list: it waits, and in
    the end says what the worker is doing. Health says that it starts."""
    settings = {"bootstrap.servers": silent, "rest.request.timeout.ms": "3000"}
    with cluster(kafka, tmp_path, 0, **settings) as none:
        process, log = none._start({})
        worker = RunningWorker(process, _url(process, log), log)
        health = worker.rest.get("/health")
        assert (health.status_code, health.json()["status"]) == (503, "starting")
        doing = "The worker is currently connecting to Kafka, which began at "
        assert doing in health.json()["message"]
        with ThreadPoolExecutor(len(READS) + len(CHANGES)) as threads:
            asked = [threads.submit(worker.rest.get, path) for path in READS]
            asked += [threads.submit(worker.rest.request, m, p, json=b) for m, p, b in CHANGES]
        for answer in asked:
            assert_refused(answer.result(), 500)
            assert answer.result().json()["message"].startswith(f"Request timed out. {doing}")
        assert worker.rest.get("/").status_code == 200


def test_worker_that_loses_its_broker_and_one_that_leaves(say, tmp_path):
    """Without a broker a worker tells what it knows, refuses changes, says that it is not well,
    and goes on when the broker is back. One that leaves answers what it was still asked."""
    settings = {"plugin.path": PLUGINS, "rest.request.timeout.ms": "30000"}
    with own_broker(say) as broker, cluster(broker.address, tmp_path, 1, **settings) as running:
        worker = running.any
        worker.create("c", CONFIG)
        running.wait_all_running({"c": 1})
        broker.freeze()
        try:
            wait_for(lambda: worker.rest.get("/health").status_code == 500, "health to tell", 60)
            for path in READS:
                assert worker.rest.get(path).status_code == 200, path
            for method, path, body in CHANGES:
                assert_refused(worker.rest.request(method, path, json=body), 409, 500)
        finally:
            broker.thaw()
        wait_for(lambda: worker.rest.get("/health").status_code == 200, "health to be good", 60)
        running.wait_all_running({"c": 1})

        # A validation that never ends, when the worker is told to stop.
        config = {**CONFIG, "connector.class": "StrictSource", "fault": "validate:block"}
        before = [pid for pid in descendants(worker.process.pid) if is_task(pid)]
        with ThreadPoolExecutor(1) as threads:
            url = "/connector-plugins/StrictSource/config/validate"
            asked = threads.submit(worker.rest.put, url, json=config)
            wait_for(
                lambda: (
                    len([p for p in descendants(worker.process.pid) if is_task(p)]) > len(before)
                ),
                "the validation to begin",
            )
            worker.process.send_signal(signal.SIGTERM)
            assert_refused(asked.result(), 500)
            assert asked.result().json()["message"] == "Worker is shutting down"
        assert worker.process.wait(60) == 0
