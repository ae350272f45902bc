"""The task that is run before others are forked: it leaves nothing but memory behind."""

import logging
import os
import subprocess
import sys
import threading

import pytest

from connect.errors import ConnectError
from connect.runtime import rehearsal
from connect.runtime.log import set_up_logging

STATE = (
    "sorted(os.listdir('/proc/self/fd')), len(os.listdir('/proc/self/task')), "
    "signal.getsignal(signal.SIGTERM), os.getsid(0), resource.getrlimit(resource.RLIMIT_DATA), "
    "logging.getLogger().handlers, logging.getLogger().level, sys.stderr is sys.__stderr__"
)


def test_nothing_is_left_behind():
    """No file, thread or setting; and nothing is printed, though it logs as tasks do."""
    script = (
        "import logging, os, resource, signal, sys\n"
        "from connect.runtime.rehearsal import rehearse\n"
        f"before = {STATE}\n"
        "rehearse()\n"
        f"assert before == ({STATE}), (before, {STATE})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_it_logs_apart(capsys):
    """Where the process's own log goes nothing comes, during it and not after it either."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        set_up_logging({"log.level": "WARNING"})
        mine = root.handlers[:]
        rehearsal.rehearse()
        assert (root.handlers, root.level) == (mine, logging.WARNING)
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
    assert capsys.readouterr().err == ""


def test_ctrl_c_ends_it_at_once(monkeypatch):
    """Who waits for it is interrupted, and the task has ended then."""
    threads = threading.active_count()

    def interrupted(_line):
        raise KeyboardInterrupt

    monkeypatch.setattr(rehearsal, "_until_it_idles", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rehearsal.rehearse()
    assert threading.active_count() == threads


def test_a_task_that_fails_is_told(monkeypatch, tmp_path):
    """Its reason is the error's, and its threads have ended all the same."""
    threads = threading.active_count()
    wrong = {**rehearsal._CONNECTOR, "file": os.fspath(tmp_path / "no" / "such" / "folder")}
    monkeypatch.setattr(rehearsal, "_CONNECTOR", wrong)
    with pytest.raises(ConnectError, match="no/such/folder"):
        rehearsal.rehearse()
    assert threading.active_count() == threads
