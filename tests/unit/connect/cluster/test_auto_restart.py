"""Whether and when a failure is followed by a restart."""

import pytest

from connect.cluster.auto_restart import AutoRestarts
from connect.cluster.herder import TaskId


@pytest.mark.parametrize(
    "key", ["policy", "backoff.ms", "backoff.max.ms", "max.attempts"], ids=lambda key: key
)
def test_policy_that_makes_no_sense_here_is_none(key, caplog):
    """Who tells of a failure goes on; the log names the key, its value and the way out."""
    config = {"errors.restart.policy": "always", f"errors.restart.{key}": "${env:RESTART}"}
    restarts, task = AutoRestarts(), TaskId("a", 0)
    restarts.failed(task, config, restart=None)
    assert restarts.shown(task) == {}
    [told] = caplog.messages
    assert told.startswith("a-0 is not restarted by itself: ")
    for part in (f"errors.restart.{key}", "${env:RESTART}", "Give the value itself"):
        assert part in told
