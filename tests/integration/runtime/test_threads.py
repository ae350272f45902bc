"""task.isolation=thread: many tiny tasks in one process beside the worker."""

from tests.support.waiting import wait_for
from tests.support.worker import json_lines

THREAD = {"task.isolation": "thread"}


def test_tasks_share_a_process_and_flow(worker, connect, topic, tmp_path):
    """Source and sink as threads deliver everything, pause, resume and stop."""
    out = tmp_path / "out.jsonl"
    source = {"connector.class": "NumbersSource", "topic": topic, "count": 500, **THREAD}
    connect("thread-source", source)
    connect(
        "thread-sink", {"connector.class": "CollectSink", "topics": topic, "file": out, **THREAD}
    )
    wait_for(lambda: len(json_lines(out)) == 500, lambda: str(worker.status("thread-sink")), 60)
    worker.rest.put("/connectors/thread-sink/pause")
    worker.wait_states("thread-sink", ["PAUSED"])
    worker.rest.put("/connectors/thread-sink/resume")
    worker.wait_states("thread-sink", ["RUNNING"])
    assert worker.rest.put("/connectors/thread-sink/stop").status_code == 204
    assert worker.status("thread-sink")["tasks"] == []


def test_thread_that_raises_fails_alone(worker, connect, topic, tmp_path):
    """An error in one thread is that task's alone."""
    calm = {"connector.class": "NumbersSource", "topic": topic, "count": 10, **THREAD}
    connect("calm-thread", calm)
    worker.wait_running("calm-thread")
    connect("bad-thread", {**calm, "fault": "poll:raise"})
    status = worker.wait_states("bad-thread", ["FAILED"])
    assert "poll fails as told" in status["tasks"][0]["trace"]
    assert worker.status("calm-thread")["tasks"][0]["state"] == "RUNNING"


def test_thread_that_ends_the_process_is_told_to_all_and_restart_works(worker, connect, topic):
    """The shared process is gone: every task in it fails and says so; a restart makes a new one."""
    calm = {"connector.class": "NumbersSource", "topic": topic, "count": 10, **THREAD}
    connect("first-thread", calm)
    worker.wait_running("first-thread")
    connect("exit-thread", {**calm, "fault": "poll:exit"})
    status = worker.wait_states("first-thread", ["FAILED"])
    assert "task.isolation=process" in status["tasks"][0]["trace"]
    assert worker.rest.post("/connectors/first-thread/tasks/0/restart").status_code == 204
    worker.wait_running("first-thread")
