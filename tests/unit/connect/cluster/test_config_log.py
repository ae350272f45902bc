"""What the records of a config topic come to."""

import json

import pytest

from connect.cluster.assignment import Work
from connect.cluster.config_log import ConfigState, LevelRequest, RestartRequest
from connect.cluster.herder import TargetState, TaskId
from connect.cluster.kafka_log import Record
from connect.errors import DataError


class Topic:
    """Records written one after the other, and what became of them."""

    def __init__(self):
        self.state = ConfigState()
        self.offset = 0
        self.events = []

    def put(self, key, value, *, skip=0):
        self.offset += skip
        data = None if value is None else json.dumps(value).encode()
        event = self.state.apply(Record(key.encode(), data, self.offset, 0))
        self.offset += 1
        if event:
            self.events.append(event)
        return self

    def connector(self, name, **config):
        return self.put(f"connector-{name}", {"properties": config})

    def tasks(self, name, *configs):
        for n, config in enumerate(configs):
            self.put(f"task-{name}-{n}", {"properties": config})
        return self.put(f"commit-{name}", {"tasks": len(configs)})

    @property
    def now(self):
        return self.state.snapshot()


def test_connector_and_its_tasks():
    """A connector is there with its record, its tasks with their commit."""
    topic = Topic().connector("a", x="1")
    assert topic.now.connectors == {"a": {"x": "1"}}
    assert topic.now.work == Work(frozenset("a"))
    topic.tasks("a", {"t": "0"}, {"t": "1"})
    assert topic.now.task_configs("a") == [{"t": "0"}, {"t": "1"}]
    assert topic.now.work == Work(frozenset("a"), frozenset([TaskId("a", 0), TaskId("a", 1)]))
    assert topic.now.offset == 4


def test_tasks_count_only_with_their_commit():
    """Task configs whose commit never came change nothing."""
    topic = Topic().connector("a").tasks("a", {"t": "old"})
    topic.put("task-a-0", {"properties": {"t": "new"}})
    assert topic.now.task_configs("a") == [{"t": "old"}]


def test_names_with_hyphens_keep_their_task_numbers():
    """A task's number is what comes after the last hyphen."""
    topic = Topic().connector("my-1-conn").tasks("my-1-conn", {"t": "0"})
    assert topic.now.task_configs("my-1-conn") == [{"t": "0"}]


def test_fewer_tasks_after_compaction():
    """A record that compaction kept of a task that was dropped does not count."""
    topic = Topic().connector("a").put("task-a-2", {"properties": {"t": "dropped"}})
    topic.tasks("a", {"t": "0"}, {"t": "1"})
    assert len(topic.now.task_configs("a")) == 2
    assert not topic.now.inconsistent


def test_tasks_lost_by_compaction_make_the_connector_inconsistent():
    """When a commit's tasks are not all there, the connector has no tasks until new ones come."""
    topic = Topic().connector("a").put("task-a-1", {"properties": {}}).put("commit-a", {"tasks": 2})
    assert topic.now.inconsistent == {"a"}
    assert topic.now.task_configs("a") == []
    topic.tasks("a", {"t": "0"})
    assert not topic.now.inconsistent


def test_deleted_connector_is_gone_with_its_tasks():
    """A connector's tombstone takes its tasks along."""
    topic = Topic().connector("a").tasks("a", {"t": "0"})
    topic.put("connector-a", None).put("target-state-a", None)
    assert topic.now.work == Work()


def test_connector_of_the_same_name_does_not_get_old_tasks():
    """Tasks of a deleted connector, whose tombstone compaction removed, are never used again."""
    topic = Topic().tasks("a", {"t": "old"}).connector("a", x="new")
    assert not topic.now.task_configs("a")
    assert not topic.now.inconsistent


@pytest.mark.parametrize(
    ("value", "target"),
    [
        ({"state": "PAUSED"}, TargetState.PAUSED),
        ({"state": "PAUSED", "state.v2": "STOPPED"}, TargetState.STOPPED),
        ({"state": "STARTED", "state.v2": "STARTED"}, TargetState.STARTED),
        (None, TargetState.STARTED),
    ],
)
def test_target_states(value, target):
    """The newer of the two fields says what is wanted; without a record it is to run."""
    topic = Topic().put("target-state-a", {"state": "PAUSED"}).put("target-state-a", value)
    assert topic.now.target("a") is target


def test_incarnation_tells_what_was_changed_and_changed_back():
    """It is another one after a real change of the config or the target state, and for a connector
    that was made anew; what is written again as it was leaves it."""
    topic = Topic().connector("a", x="1")
    seen = [topic.now.incarnations["a"]]
    for key, value, is_new in (
        ("target-state-a", {"state": "STARTED"}, False),
        ("connector-a", {"properties": {"x": "1"}}, False),
        ("connector-a", {"properties": {"x": "2"}}, True),
        ("commit-a", {"tasks": 0}, False),
        ("target-state-a", {"state": "PAUSED", "state.v2": "STOPPED"}, True),
        ("target-state-a", {"state": "PAUSED", "state.v2": "STOPPED"}, False),
        ("target-state-a", {"state": "STARTED"}, True),
        ("target-state-a", None, False),
    ):
        topic.put(key, value)
        seen.append(topic.now.incarnations["a"])
        assert (seen[-1] != seen[-2]) == is_new, (key, value)
    topic.put("connector-a", None).put("target-state-a", None)
    assert topic.now.incarnations == {}
    assert topic.connector("a", x="1").now.incarnations["a"] not in seen


def test_session_key():
    """A session key is read as the JVM writes it."""
    value = {"key": "AAEC", "algorithm": "HmacSHA256", "creation-timestamp": 12}
    key = Topic().put("session-key", value).now.session_key
    assert (key.key, key.algorithm, key.created) == (b"\0\1\2", "HmacSHA256", 12)
    assert "AAEC" not in repr(key)


def test_requests_come_out_as_events():
    """Restarts and log levels are not state: they are handed on."""
    topic = Topic().put("restart-connector-a", {"include-tasks": True, "only-failed": False})
    topic.put("logger-cluster-org.x", {"level": "DEBUG"})
    assert topic.events == [RestartRequest("a", True, False), LevelRequest("org.x", "DEBUG")]


def test_fencing_is_due_again_after_new_tasks():
    """A fencing record covers the tasks before it; later ones have to be fenced anew."""
    topic = Topic().connector("a").tasks("a", {}, {}).put("tasks-fencing-a", {"task-count": 2})
    assert topic.now.fenced_tasks == {"a": 2}
    assert not topic.now.unfenced
    topic.tasks("a", {})
    assert topic.now.unfenced == {"a"}


def test_offset_is_that_of_the_next_record():
    """Gaps left by compaction count."""
    topic = Topic().connector("a").put("connector-b", {"properties": {}}, skip=10)
    assert topic.now.offset == 12


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("connector-a", {"other": 1}),
        ("connector-a", [1]),
        ("task-a", {"properties": {}}),
        ("target-state-a", {"state": "FLYING"}),
    ],
)
def test_nonsense_is_refused_and_changes_nothing(key, value):
    """A record that makes no sense is an error of that record alone."""
    topic = Topic().connector("a", x="1")
    with pytest.raises(DataError):
        topic.put(key, value)
    assert topic.now.connectors == {"a": {"x": "1"}}


def test_higher_impact_wins():
    """Of two restart requests the one that touches more is carried out."""
    requests = [
        RestartRequest("a", tasks, failed) for tasks in (True, False) for failed in (True, False)
    ]
    ordered = sorted(requests, key=lambda r: r.impact)
    assert ordered[-1] == RestartRequest("a", True, False)
    assert ordered[0] == RestartRequest("a", False, True)
