"""What is changed and changed back while a worker is still busy with the change."""

from pathlib import Path

import pytest

from tests.support.cluster import cluster, forwarded
from tests.support.waiting import wait_for

PLUGINS = Path(__file__).parents[2] / "support" / "plugins"


@pytest.fixture(scope="module")
def slow(kafka, tmp_path_factory):
    """A worker that waits for tasks that won't stop, long enough for what comes meanwhile."""
    grace = {"task__shutdown__graceful__timeout__ms": 3000}
    with cluster(kafka, tmp_path_factory.mktemp("slow"), 1, plugin__path=PLUGINS, **grace) as alone:
        yield alone


def stop_and_resume(rest, name, config):
    return [rest.put(f"/connectors/{name}/stop"), rest.put(f"/connectors/{name}/resume")]


def delete_and_create(rest, name, config):
    body = {"name": name, "config": config}
    return [rest.delete(f"/connectors/{name}"), rest.post("/connectors", json=body)]


@pytest.mark.parametrize("change", [stop_and_resume, delete_and_create])
def test_tasks_come_back(slow, topic, change):
    """A connector that is stopped and resumed at once, or deleted and created as it was, gets its
    tasks although the old one takes its time to stop."""
    name = change.__name__
    config = {"connector.class": "NumbersSource", "topic": topic, "count": "1"}
    config["fault"] = "stop:block"
    slow.any.create(name, config)
    slow.wait_all_running({name: 1})
    wait_for(lambda: slow.starts()[f"{name}-0"] == 1, "the start to be logged")
    for answer in change(slow.any.rest, name, config):
        assert answer.is_success, forwarded(answer)
    wait_for(
        lambda: slow.starts()[f"{name}-0"] == 2,
        lambda: f"the task to start again: {slow.any.status(name)}",
    )
    slow.wait_all_running({name: 1})
