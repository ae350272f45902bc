"""`penstock standalone` as somebody types it: what is wrong is said in one sentence."""

import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from tests.support.processes import alive, descendants, start
from tests.support.waiting import wait_for
from tests.support.worker import ROOT, standalone


def penstock(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "penstock", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.fixture
def properties(tmp_path):
    """properties(**settings) writes a worker.properties; a setting of None is left out."""

    def write(**settings):
        offered = {
            "bootstrap.servers": "127.0.0.1:1",
            "listeners": "http://127.0.0.1:0",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "offset.storage.file.filename": str(tmp_path / "offsets.json"),
            **{k.replace("__", "."): v for k, v in settings.items()},
        }
        path = tmp_path / "worker.properties"
        path.write_text("".join(f"{k}={v}\n" for k, v in offered.items() if v is not None))
        return path

    return write


def told(run):
    """The one sentence on standard error that is not a log line."""
    [line] = [x for x in run.stderr.splitlines() if x.startswith("penstock: ")]
    assert "Traceback" not in run.stderr
    return line


def test_file_that_is_not_there(tmp_path):
    """The path is named, and no traceback shown."""
    run = penstock("standalone", "nowhere.properties", cwd=tmp_path)
    assert run.returncode == 1
    assert "nowhere.properties" in told(run)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bootstrap__servers": None}, 'Missing required configuration "bootstrap.servers"'),
        ({"offset__flush__interval__ms": "soon"}, "Not a number of type LONG"),
        ({"listeners": "ftp://here"}, "listeners"),
        ({"task__isolation": "vm"}, "task.isolation"),
    ],
)
def test_wrong_setting_is_named(properties, tmp_path, settings, words):
    """The key, the value and the file are in the sentence."""
    path = properties(**settings)
    run = penstock("standalone", path, cwd=tmp_path)
    assert run.returncode == 1
    assert words in told(run)
    assert str(path) in told(run) or "listeners" in told(run)


def test_broker_out_of_reach(properties, tmp_path):
    """A worker that finds no broker says at which address, and ends."""
    run = penstock("standalone", properties(request__timeout__ms="1500"), cwd=tmp_path)
    assert run.returncode == 1
    assert "bootstrap.servers=127.0.0.1:1" in told(run)


def test_port_that_is_taken(properties, tmp_path):
    """The setting to change is named."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        run = penstock("standalone", properties(listeners=f"http://127.0.0.1:{port}"), cwd=tmp_path)
    assert run.returncode == 1
    assert "listeners" in told(run)
    assert str(port) in told(run)


def test_connector_file_that_can_not_be_started(kafka, properties, tmp_path):
    """Exit code 3, the connector's name and the reason; nothing is left running."""
    connector = tmp_path / "bad.json"
    connector.write_text(json.dumps({"name": "bad", "connector.class": "NoSuchThing"}))
    run = penstock("standalone", properties(bootstrap__servers=kafka), connector, cwd=tmp_path)
    assert run.returncode == 3
    assert "Connector bad" in told(run)
    assert "NoSuchThing" in told(run)


def test_why_it_ends_is_told_before_it_shuts_down(kafka, topic, properties, tmp_path):
    """A signal while tasks are still being stopped does not swallow the sentence."""
    configs = {
        # Its task takes as long to stop as it is given.
        "stubborn": {"connector.class": "NumbersSource", "topic": topic, "fault": "stop:block",
                     "pid.file": str(tmp_path / "pid")},
        "bad": {"connector.class": "NoSuchThing"},
    }  # fmt: skip
    files = []
    for name, config in configs.items():
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps({"name": name, **config}))
    path = properties(
        bootstrap__servers=kafka,
        plugin__path=ROOT / "tests" / "support" / "plugins",
        task__shutdown__graceful__timeout__ms="60000",
    )
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = start(
            [sys.executable, "-m", "penstock", "standalone", path, *files],
            stderr=output,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    try:
        wait_for(lambda: "penstock: Connector bad" in log.read_text(), log.read_text, 60)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) != 0
    finally:
        process.kill()
        process.wait()
    assert log.read_text().count("penstock: Connector bad") == 1


def test_connector_file_that_is_no_json(properties, tmp_path):
    """The file and the place in it are named before anything starts."""
    connector = tmp_path / "torn.json"
    connector.write_text('{"name": "torn", ')
    run = penstock("standalone", properties(), connector, cwd=tmp_path)
    assert run.returncode == 1
    assert "torn.json" in told(run)
    assert "line 1" in told(run)


def test_a_signal_to_all_its_processes_is_one_to_the_worker(kafka, topic, tmp_path):
    """As service managers send it: tasks end when the worker says so, in good order."""
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("a line\n")
    more = {"errors.restart.policy": "always"}
    reads = {"connector.class": "FileStreamSource", "file": str(source), "topic": topic, **more}
    writes = {"connector.class": "FileStreamSink", "file": str(target), "topics": topic, **more}
    with standalone(kafka, tmp_path, offset__flush__interval__ms="3600000") as worker:
        worker.create("reads", reads)
        worker.create("writes", writes)
        wait_for(lambda: target.exists() and target.read_text(), "the line to come through")
        below = descendants(worker.process.pid)
        for pid in [*below, worker.process.pid]:
            os.kill(pid, signal.SIGTERM)
        assert worker.process.wait(30) == 0
        wait_for(lambda: not [pid for pid in below if alive(pid)], "all children to be gone", 5)
    assert "position" in (tmp_path / "offsets.json").read_text()  # stored by the task that stopped
    for word in ("restarted in", "Traceback", "unhandled", "was ended by"):
        assert word not in worker.log_text()


def test_ctrl_c_leaves_nothing_behind(kafka, topic, tmp_path):
    """SIGINT ends worker and tasks in good order, with exit code 0."""
    source = tmp_path / "in.txt"
    source.write_text("a line\n")
    config = {"connector.class": "FileStreamSource", "file": str(source), "topic": topic}
    with standalone(kafka, tmp_path) as worker:
        worker.create("reads", config)
        worker.wait_running("reads")
        below = descendants(worker.process.pid)
        worker.process.send_signal(signal.SIGINT)
        assert worker.process.wait(30) == 0
        wait_for(lambda: not [pid for pid in below if alive(pid)], "all children to be gone", 5)
