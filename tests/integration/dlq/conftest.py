"""A worker with the probe connectors, and the dlq commands run against it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dlq.reader import Reader
from penstock.cli import main
from tests.support import processes
from tests.support.topics import admin_client
from tests.support.waiting import wait_for
from tests.support.worker import ROOT, standalone

PLUGINS = Path(__file__).parents[2] / "support" / "plugins"
STATE_TOPIC = "dlq-state-of-the-tests"
LETTERS = {
    "errors.tolerance": "all",
    "errors.deadletterqueue.topic.replication.factor": "1",
    "errors.deadletterqueue.context.headers.enable": "true",
}


@pytest.fixture(scope="session")
def indexes(tmp_path_factory):
    return tmp_path_factory.mktemp("indexes")


@pytest.fixture(scope="session")
def worker(kafka, tmp_path_factory, indexes):
    folder = tmp_path_factory.mktemp("worker")
    settings = {
        "plugin__path": PLUGINS,
        "dlq__state__topic": STATE_TOPIC,
        "dlq__index__folder": indexes,
        "dlq__state__replication__factor": 1,
    }
    with standalone(kafka, folder, **settings) as running:
        running.properties = folder / "worker.properties"
        yield running
    admin = admin_client(kafka)
    admin.delete_topics([STATE_TOPIC])[
        STATE_TOPIC
    ].exception()  # it is there only if a test changed a state


@pytest.fixture
def connect(worker):
    """connect(name, config) creates a connector that is gone after the test."""
    created = []

    def create(name, config):
        worker.create(name, {k: str(v) for k, v in config.items()})
        created.append(name)
        worker.wait_running(name)

    yield create
    for name in created:
        worker.rest.delete(f"/connectors/{name}")


@pytest.fixture
def arguments(worker):
    """arguments(*words) are those of `penstock dlq …` against the worker."""

    def made(*words):
        access = ["--url", worker.url, "--worker-config", str(worker.properties)]
        return ["dlq", *map(str, words), *access, "-o", "json"]

    return made


@pytest.fixture
def start(arguments):
    """start(*words) begins `penstock dlq …` in a process of its own."""
    running = []

    def start(*words):
        process = processes.start(
            [sys.executable, "-m", "penstock", *arguments(*words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        running.append(process)
        return process

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def dlq(arguments, monkeypatch, capsys):
    """dlq(*words, fails=False) runs `penstock dlq …` and gives the JSON, or the error, printed."""

    def run(*words, fails=False):
        monkeypatch.setattr(sys, "argv", ["penstock", *arguments(*words)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert bool(ended.value.code) == fails, printed.out + printed.err
        return json.loads(printed.out) if printed.out else printed.err

    return run


@pytest.fixture
def wait_for_letters(kafka):
    """wait_for_letters(topic, n) until a dead-letter topic holds n letters."""
    reader = Reader({"bootstrap.servers": kafka})

    def depth(topic):
        return sum(span.end - span.start for span in reader.spans(reader.topic(topic)))

    def wait(topic, n):
        wait_for(lambda: depth(topic) >= n, lambda: f"{n} letters; {depth(topic)} so far", 120)

    return wait
