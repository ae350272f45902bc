"""What tests start goes with them, even if they are killed."""

import os
import subprocess
import sys

import pytest

from tests.support.processes import alive, descendants, start
from tests.support.waiting import wait_for
from tests.support.worker import ROOT

OURS = """
import sys
from pathlib import Path
from tests.support.worker import standalone
with standalone(sys.argv[1], Path(sys.argv[2])) as worker:
    print(worker.process.pid, flush=True)
    sys.stdin.read()
"""
# What the tests of other people's connectors have.
PLUGIN = """
import sys
from pathlib import Path
from penstock.testing import RealWorker
with RealWorker(sys.argv[1], Path(sys.argv[2])) as worker:
    print(worker.pid, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("tests", [OURS, PLUGIN], ids=["ours", "plugin"])
def test_a_worker_does_not_outlive_tests_that_are_killed(tests, kafka, tmp_path):
    """The worker of a test run that got SIGKILL ends, and so does all below it."""
    running = start(
        [sys.executable, "-c", tests, kafka, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    with running:
        worker = int(running.stdout.readline())
        family = [worker, *descendants(worker)]
        assert all(map(alive, family))
        running.kill()
    wait_for(lambda: not any(map(alive, family)), "the worker and its processes to be gone")
