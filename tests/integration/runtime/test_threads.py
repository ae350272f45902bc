"""task.isolation=thread: many tiny tasks in one process beside the worker."""

import threading
from multiprocessing import Pipe

from connect.errors import ConnectError
from connect.plugins import Plugins
from connect.runtime import thread_host
from connect.runtime.spec import Failed, Kind, Reply, TaskSpec, Transactions
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


def test_exactly_once_task_that_may_not_start_leaves_nothing_behind(kafka, topic, tmp_path):
    """The process lives on, so none of the threads that such a task has begun may stay in it."""
    text = "org.apache.kafka.connect.storage.StringConverter"
    runs_by = {"bootstrap.servers": kafka, "key.converter": text, "value.converter": text}
    file = str(tmp_path / "lines")
    config = {"name": "unwanted", "connector.class": "FileStreamSource", "file": file}
    config["topic"] = topic
    spec = TaskSpec(
        "unwanted",
        0,
        Kind.SOURCE,
        config,
        config,
        runs_by,
        Plugins.of_worker(runs_by),
        transactions=Transactions(f"owner-of-{topic}", topic),
    )
    threads = {*threading.enumerate()}
    for _ in range(2):
        line, theirs = Pipe()
        threading.Thread(target=thread_host._run, args=(theirs, spec)).start()
        asked = line.recv()
        assert asked.method == "may_start"
        line.send(Reply(asked.id, error=ConnectError("it has already been revoked")))
        failed = line.recv()
        assert isinstance(failed, Failed)
        assert "already been revoked" in failed.trace
    wait_for(lambda: {*threading.enumerate()} <= threads, lambda: str(threading.enumerate()))
