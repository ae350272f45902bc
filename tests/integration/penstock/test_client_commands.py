"""The client verbs of the command line against a real worker."""

import io
import json
import sys

import pytest

from penstock.cli import main
from tests.support import worker as workers
from tests.support.waiting import wait_for

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def running(kafka, tmp_path_factory):
    with workers.standalone(kafka, tmp_path_factory.mktemp("worker")) as running:
        yield running


@pytest.fixture
def penstock(running, monkeypatch, capsys):
    """penstock(*arguments, exit_code=0) runs the command and gives what it printed."""
    for name in running.rest.get("/connectors").json():
        running.rest.delete(f"/connectors/{name}")

    def run(*arguments, stdin="", exit_code=0, url=running.url):
        monkeypatch.setenv("PENSTOCK_URL", url)
        monkeypatch.setattr(sys, "argv", ["penstock", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert (ended.value.code or 0) == exit_code, printed.out + printed.err
        return printed.out + printed.err

    return run


@pytest.fixture
def folder(tmp_path):
    """A folder with two connectors in different formats."""
    files = tmp_path / "connectors"
    files.mkdir()
    lines = tmp_path / "in.txt"
    lines.write_text("one\n")
    config = {"connector.class": "FileStreamSource", "file": str(lines), "topic": tmp_path.name}
    (files / "first.json").write_text(json.dumps({"name": "first", "config": config}))
    (files / "second.properties").write_text(
        f"name=second\nconnector.class=FileStreamSink\ntopics={tmp_path.name}\n"
        f"file={tmp_path / 'out.txt'}\n"
    )
    (files / "README.md").write_text("not a connector")
    return files


def test_info_shows_the_worker(penstock, running):
    """URL, version, cluster and health of the worker that is asked."""
    shown = penstock("info")

    assert f"Url:               {running.url}" in shown
    assert "ready to handle requests" in shown
    assert json.loads(penstock("info", "-o", "json"))["version"] == "4.3.1"


def test_a_folder_is_applied_and_applied_again(penstock, folder, running):
    """First created, then unchanged; what differs is shown and only that is changed."""
    dry = penstock("apply", "-f", str(folder), "--dry-run")
    assert "first: would be created" in dry
    assert running.rest.get("/connectors").json() == []

    assert "second: created" in penstock("apply", "-f", str(folder))
    assert penstock("apply", "-f", str(folder)) == "first: unchanged\nsecond: unchanged\n"

    changed = json.loads((folder / "first.json").read_text())
    changed["config"]["batch.size"] = 10
    assert penstock("apply", "-f", "-", stdin=json.dumps(changed)) == (
        "first: changed\n  + batch.size: 10\n"
    )
    assert running.rest.get("/connectors/first/config").json()["batch.size"] == "10"


def test_a_connector_that_is_refused_does_not_hold_up_the_others(penstock, folder):
    """The reason is shown under its name, the exit code is 1, the rest is applied."""
    (folder / "bad.json").write_text('{"name": "bad", "connector.class": "NoSuch"}')

    shown = penstock("apply", "-f", str(folder), exit_code=1)

    assert "bad: refused" in shown
    assert "NoSuch" in shown
    assert "first: created" in shown


def test_a_file_that_cannot_be_read_changes_nothing(penstock, folder, running):
    """All files are read before the first connector is created."""
    (folder / "zzz.json").write_text("{")

    shown = penstock("apply", "-f", str(folder), exit_code=1)

    assert "zzz.json is not valid JSON at line 1" in shown
    assert running.rest.get("/connectors").json() == []


def test_validate_names_each_wrong_key(penstock, folder):
    """Exit code 1 and a line for each error; a folder without errors is 0."""
    wrong = {"name": "a", "connector.class": "FileStreamSource", "tasks.max": "zero"}

    shown = penstock("validate", "-f", "-", stdin=json.dumps(wrong), exit_code=1)

    assert "tasks.max: Invalid value zero for configuration tasks.max" in shown
    assert "topic: Missing required configuration" in shown
    assert penstock("validate", "-f", str(folder)) == "first: valid\nsecond: valid\n"


def test_connectors_are_listed_described_and_go_through_their_life(penstock, folder, running):
    """get, describe, patch, pause, resume, restart, stop, offsets, delete."""
    penstock("apply", "-f", str(folder / "first.json"))
    running.wait_running("first")

    assert penstock("get", "connectors").split() == [
        "NAME", "TYPE", "STATE", "TASKS", "first", "source", "RUNNING", "0:", "RUNNING",
    ]  # fmt: skip
    page = penstock("describe", "connector", "first")
    assert "connector.class: FileStreamSource" in page
    assert "0: RUNNING on " in page
    assert penstock("patch", "connector", "first", "-s", "batch.size=7") == (
        "first: changed\n  + batch.size: 7\n"
    )
    assert penstock("pause", "connector", "first") == "first: paused\n"
    assert penstock("resume", "connector", "-e", "f.*") == "first: resumed\n"
    assert penstock("restart", "connector", "first", "-t", "all") == "first: restarted\n"
    running.wait_running("first")
    assert penstock("restart", "task", "first/0") == "first/0: restarted\n"
    wait_for(lambda: "position" in penstock("get", "offsets", "first"), "an offset to be stored")
    assert penstock("stop", "connector", "first") == "first: stopped\n"
    assert "have been reset successfully" in penstock("delete", "offsets", "first")
    assert "No offsets are stored." in penstock("get", "offsets", "first")
    assert penstock("delete", "connector", "first") == "first: deleted\n"


def test_an_unknown_name_shows_which_there_are(penstock, folder):
    """For connectors and for plugins."""
    penstock("apply", "-f", str(folder / "first.json"))

    assert penstock("describe", "connector", "nope", exit_code=1) == (
        "penstock: There is no connector 'nope'. There are:\n  first\n"
    )
    plugins = penstock("describe", "plugin", "Nope", exit_code=1)
    assert "FileStreamSink" in plugins


def test_plugins_and_loggers_are_listed(penstock):
    """Types, classes and versions; levels can be set and read."""
    assert "FileStreamSource" in penstock("get", "plugins", "-t", "source")
    assert "batch.size" in penstock("describe", "plugin", "FileStreamSource", "--search", "BATCH")
    assert penstock("patch", "logger", "some.one", "-l", "warn") == "some.one: WARN\n"
    assert "some.one" in penstock("get", "loggers")


def test_a_worker_that_does_not_answer_is_named(penstock):
    """One sentence with the URL and how to name another."""
    shown = penstock("get", "connectors", url="http://127.0.0.1:1", exit_code=1)

    assert shown.startswith("penstock: No worker answers at http://127.0.0.1:1 ")
    assert shown.endswith("name another by --url or PENSTOCK_URL.\n")
    assert "Traceback" not in shown
