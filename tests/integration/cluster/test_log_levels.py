"""Log levels in a cluster: one worker is told, the task on another follows."""

from pathlib import Path

import pytest

from tests.support.cluster import cluster
from tests.support.waiting import wait_for

PLUGINS = Path(__file__).parents[2] / "support" / "plugins"


@pytest.fixture(scope="module")
def workers(kafka, tmp_path_factory):
    with cluster(kafka, tmp_path_factory.mktemp("levels"), 2, plugin__path=PLUGINS) as running:
        yield running


def test_level_of_a_connector_reaches_its_tasks_on_all_workers(workers, topic):
    """scope=cluster, asked of any worker, is in force wherever the connector's tasks are."""
    flowing = {"count": "100000000", "batch": "1", "pause.ms": "20", "tasks.max": "4"}
    workers.any.create("spread", {"connector.class": "NumbersSource", "topic": topic, **flowing})
    workers.wait_all_running({"spread": 4})

    def set_level(level):
        answer = workers.workers[1].rest.put(
            "/admin/loggers/connector.spread", params={"scope": "cluster"}, json={"level": level}
        )
        assert answer.status_code == 204, answer.text

    def loud_since(sizes):
        """The tasks that have told of a poll."""
        told = "".join(w.log_text()[sizes[w.url] :] for w in workers.workers)
        return {n for n in range(4) if f"DEBUG [spread|task-{n}] poll() gave" in told}

    def sizes():
        return {w.url: len(w.log_text()) for w in workers.workers}

    before = sizes()
    set_level("DEBUG")
    wait_for(lambda: loud_since(before) == {0, 1, 2, 3}, lambda: f"all: {loud_since(before)}")
    for worker in workers.workers:
        assert worker.rest.get("/admin/loggers/connector.spread").json()["level"] == "DEBUG"
    set_level("INFO")

    def offsets():
        found = workers.any.rest.get("/connectors/spread/offsets").json()["offsets"]
        return {each["partition"]["numbers"]: each["offset"]["n"] for each in found}

    mark = (sizes(), offsets())

    def quiet():
        nonlocal mark
        if loud_since(mark[0]):
            mark = (sizes(), offsets())
        return all(n > mark[1].get(task, 0) for task, n in offsets().items())

    wait_for(quiet, "all tasks to go on and tell nothing of it")
    workers.any.rest.delete("/connectors/spread")
