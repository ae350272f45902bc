"""The loop around a sink task whose records are read elsewhere."""

import pytest

from connect import ConnectError, ExternalSinkTask
from connect.runtime.external import supervise


class Task(ExternalSinkTask):
    def __init__(self):
        self.calls = []

    def start(self, config):
        self.calls.append("start")

    def resume(self):
        self.calls.append("resume")

    def pause(self):
        self.calls.append("pause")

    def check(self):
        self.calls.append("check")
        if self.calls.count("check") == 4:
            raise ConnectError("the query failed")


class Script:
    """What a worker wants, one step for each look the loop takes."""

    def __init__(self, *steps):
        self._steps = list(steps)
        self.paused = self._steps.pop(0) == "paused"

    def wait(self, seconds):
        step = self._steps.pop(0)
        self.paused = step == "paused"
        return step == "stop"


def test_a_task_is_checked_while_it_runs_and_left_alone_while_paused():
    """Pause and resume are called once each and told; checks happen between."""
    task, told = Task(), []
    steps = ["run", "run", "paused", "paused", "run", "run", "stop"]
    supervise(task, Script(*steps), told.append)
    assert task.calls == ["check", "pause", "resume", "check"]
    assert told == [True, False]


def test_a_task_that_begins_paused_is_resumed_first():
    """Nothing is checked that has not begun."""
    task = Task()
    supervise(task, Script("paused", "paused", "run", "stop"), lambda paused: None)
    assert task.calls == ["resume"]


def test_an_error_of_check_fails_the_task():
    """What check raises goes up to the worker."""
    with pytest.raises(ConnectError, match="the query failed"):
        supervise(Task(), Script(*["run"] * 9), lambda paused: None)
