"""What the records of a status topic come to."""

import json

import pytest

from connect.cluster.herder import State, Status, TaskId
from connect.cluster.kafka_log import Record
from connect.cluster.status_log import StatusState
from connect.errors import DataError


def put(state, key, value):
    data = None if value is None else json.dumps(value).encode()
    state.apply(Record(key.encode(), data, 0, 0))


def status(state, worker="w1:1", generation=1, **more):
    return {"state": state, "trace": None, "worker_id": worker, "generation": generation, **more}


def test_connector_and_tasks():
    """Statuses are found by connector and by task, tasks in their order."""
    state = StatusState()
    put(state, "status-connector-a-b", status("RUNNING", version="1"))
    put(state, "status-task-a-b-10", status("FAILED", trace="boom"))
    put(state, "status-task-a-b-2", status("PAUSED"))
    assert state.get("a-b") == Status(State.RUNNING, "w1:1", None, "1")
    assert list(state.tasks("a-b")) == [2, 10]
    assert state.get(TaskId("a-b", 10)).trace == "boom"
    assert state.tasks("a") == {}


def test_tombstone_removes():
    """A deleted status is gone."""
    state = StatusState()
    put(state, "status-connector-a", status("RUNNING"))
    put(state, "status-task-a-0", status("RUNNING"))
    put(state, "status-connector-a", None)
    put(state, "status-task-a-0", None)
    assert state.get("a") is None
    assert state.tasks("a") == {}


def test_old_owners_late_goodbye_is_ignored():
    """UNASSIGNED from the worker before does not hide that the new one runs the task."""
    state = StatusState()
    put(state, "status-task-a-0", status("RUNNING", "w2:1", 5))
    put(state, "status-task-a-0", status("UNASSIGNED", "w1:1", 5))
    assert state.get(TaskId("a", 0)).state is State.RUNNING
    put(state, "status-task-a-0", status("UNASSIGNED", "w2:1", 5))
    assert state.get(TaskId("a", 0)).state is State.UNASSIGNED


def test_who_may_overwrite():
    """A worker that gives up a task may say so unless another has taken it since."""
    state = StatusState()
    assert state.may_overwrite("a", "w1:1", 1)
    put(state, "status-connector-a", status("RUNNING", "w2:1", 5))
    assert not state.may_overwrite("a", "w1:1", 4)
    assert state.may_overwrite("a", "w1:1", 5)
    assert state.may_overwrite("a", "w2:1", 4)


def test_topics():
    """Topics in use are kept by connector, whatever its name looks like."""
    state = StatusState()
    key = "status-topic-orders:connector-a:connector-b"
    put(state, key, {"topic": {"name": "orders", "connector": "a:connector-b", "task": 0}})
    assert state.topics("a:connector-b") == {"orders"}
    assert state.connectors_with_topics() == ["a:connector-b"]
    put(state, key, None)
    assert state.topics("a:connector-b") == set()
    assert state.connectors_with_topics() == []


def test_foreign_key_is_refused():
    """A key that is none of ours is an error of that record alone."""
    with pytest.raises(DataError):
        put(StatusState(), "something", {})
