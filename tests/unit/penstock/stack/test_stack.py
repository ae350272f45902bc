import json
import sys

import pytest

from penstock.errors import UserError
from penstock.stack.process import Process
from penstock.stack.stack import Part, Stack
from tests.support import processes
from tests.support.fake_java import fake_java


def quiet(_: str) -> None:
    pass


def record(directory, pid, started):
    directory.mkdir(exist_ok=True)
    process = {"pid": pid, "started": started}
    text = json.dumps({"kafka": {"address": "127.0.0.1:1", "process": process}})
    (directory / "stack.json").write_text(text)


def test_nothing_started_is_nothing(tmp_path):
    """Status of a place where nothing was started is empty, and down has nothing to do."""
    stack = Stack(quiet, tmp_path / "stack", {})
    assert stack.status() == []
    assert stack.down() == []
    assert not (tmp_path / "stack").exists()


def test_the_directory_is_the_users_choice(tmp_path, monkeypatch):
    """PENSTOCK_STACK_DIR names the directory; without it it is .stack in the current one."""
    monkeypatch.chdir(tmp_path)
    assert Stack(quiet, environment={}).directory == tmp_path / ".stack"
    chosen = {"PENSTOCK_STACK_DIR": "elsewhere"}
    assert Stack(quiet, environment=chosen).directory == tmp_path / "elsewhere"


@pytest.mark.parametrize("command", ["up", "down"])
def test_a_directory_with_other_files_is_refused_and_kept(tmp_path, command):
    """A stack is never put into, nor removed from, a directory that holds something else."""
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UserError, match="holds files that are not a stack's: set PENSTOCK_STACK_D"):
        getattr(Stack(quiet, tmp_path, {}), command)()
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_down_keeps_what_somebody_put_beside_the_stack(tmp_path):
    """Only the stack's own files are removed, and the directory only if it is empty then."""
    record(tmp_path, 1, "long ago")
    (tmp_path / "kafka").mkdir()
    (tmp_path / "notes.txt").touch()
    assert Stack(quiet, tmp_path, {}).down() == ["kafka"]
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_down_never_kills_a_stranger(tmp_path):
    """A recorded process number that now belongs to somebody else is left alone."""
    with processes.start([sys.executable, "-c", "import signal; signal.pause()"]) as stranger:
        record(tmp_path / "stack", stranger.pid, "long ago")
        stack = Stack(quiet, tmp_path / "stack", {})
        assert [part.state for part in stack.status()] == ["dead"]
        assert stack.down() == ["kafka"]
        assert stranger.poll() is None
        stranger.kill()
    assert not (tmp_path / "stack").exists()


def test_a_process_that_lives_but_does_not_answer_is_reported(tmp_path):
    """Status tells a server that hangs from one that runs."""
    with processes.start([sys.executable, "-c", "import signal; signal.pause()"]) as silent:
        process = Process.of(silent.pid)
        record(tmp_path / "stack", process.pid, process.started)
        stack = Stack(quiet, tmp_path / "stack", {})
        assert [part.state for part in stack.status()] == ["not answering"]
        stack.down()
        assert not process.is_alive()


def test_a_record_that_cannot_be_read_is_named(tmp_path):
    """A damaged record is an error with its path, and nothing is removed."""
    (tmp_path / "stack.json").write_text("{nonsense")
    with pytest.raises(UserError, match=r"stack\.json cannot be read as the record of a stack"):
        Stack(quiet, tmp_path, {}).down()
    assert (tmp_path / "stack.json").exists()


def test_a_kafka_of_the_users_own_is_used_and_not_touched(tmp_path):
    """With both variables set, up starts nothing and says so, and down has nothing to do."""
    said: list[str] = []
    environment = {
        "PATH": "/nowhere",
        "KAFKA_BOOTSTRAP": "broker.example:9092",
        "SCHEMA_REGISTRY_URL": "http://me:secret@registry.example",
    }
    stack = Stack(said.append, tmp_path / "stack", environment)
    assert stack.up(with_registry=True) == [
        Part("kafka", "external", "broker.example:9092"),
        Part("registry", "external", "http://me:***@registry.example"),
    ]
    assert said == [
        "KAFKA_BOOTSTRAP is set: using that kafka, starting none.",
        "SCHEMA_REGISTRY_URL is set: using that registry, starting none.",
    ]
    assert stack.down() == []
    assert not (tmp_path / "stack").exists()


def test_an_unknown_kind_of_stack_is_refused(tmp_path):
    """PENSTOCK_STACK with an unknown value names the value and the possible ones."""
    stack = Stack(quiet, tmp_path / "stack", {"PENSTOCK_STACK": "podman"})
    with pytest.raises(
        UserError, match=r"PENSTOCK_STACK is 'podman': set it to 'local' .*'docker'"
    ):
        stack.up()
    assert not (tmp_path / "stack").exists()


def test_docker_that_does_not_answer_is_said(tmp_path, monkeypatch):
    """PENSTOCK_STACK=docker without an engine is an error; auto goes on with JVM processes."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    with pytest.raises(UserError, match="no Docker engine of this machine answers"):
        Stack(quiet, tmp_path / "stack", {"PENSTOCK_STACK": "docker"}).up()
    with pytest.raises(UserError, match="Java is missing"):
        Stack(quiet, tmp_path / "stack", {"PATH": "/nowhere"}).up()
    assert not (tmp_path / "stack").exists()


def test_a_failed_start_leaves_no_directory(tmp_path):
    """When up fails nothing of it stays behind."""
    environment = fake_java(tmp_path / "java", version="11") | {"PENSTOCK_STACK": "local"}
    with pytest.raises(UserError, match="is version 11"):
        Stack(quiet, tmp_path / "stack", environment).up()
    assert not (tmp_path / "stack").exists()


def test_fetch_starts_nothing(tmp_path):
    """Fetch asks for the files of what up would start, and for none that the environment names."""
    environment = fake_java(tmp_path / "java", ivy="exit 1") | {"PENSTOCK_STACK": "local"}
    stack = Stack(quiet, tmp_path / "stack", environment)
    with pytest.raises(UserError, match=r"^Kafka .* could not be downloaded"):
        stack.fetch()
    own = {**environment, "KAFKA_BOOTSTRAP": "broker.example:9092"}
    Stack(quiet, tmp_path / "stack", own).fetch()
    assert not (tmp_path / "stack").exists()
