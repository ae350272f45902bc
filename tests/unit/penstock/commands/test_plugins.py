"""`penstock plugins`."""

import json

import pytest
from typer.testing import CliRunner

from penstock.app import build_app
from penstock.errors import UserError


def run(*arguments):
    return CliRunner().invoke(build_app(), ["plugins", *arguments], catch_exceptions=False)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from connect import Predicate\n"
        "class IsMinePredicate(Predicate):\n"
        "    version = '1.2'\n"
        "    def test(self, record): return True\n"
    )
    (tmp_path / "broken.py").write_text("raise RuntimeError('no licence')")
    return tmp_path


def test_table_shows_what_is_installed(folder):
    """Type, class, version, aliases and origin of each plugin, and why a broken one is so."""
    done = run("--plugin-path", str(folder))
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["TYPE", "CLASS", "VERSION", "ALIASES", "ORIGIN", "ERROR"]
    (mine,) = [line for line in lines if "IsMine" in line]
    assert mine.split() == [
        "predicate", "mine.IsMinePredicate", "1.2", "IsMinePredicate,", "IsMine",
        str(folder / "mine.py"),
    ]  # fmt: skip
    assert "org.apache.kafka.connect.file.FileStreamSinkConnector" in done.stdout
    assert "RuntimeError: no licence" in done.stdout


def test_json_is_for_scripts(folder):
    """With -o json there is one object a plugin, and -t narrows the list."""
    done = run("--plugin-path", str(folder), "-t", "predicate", "-o", "json")
    found = {plugin["name"]: plugin for plugin in json.loads(done.stdout)}
    assert found["mine.IsMinePredicate"]["aliases"] == ["IsMinePredicate", "IsMine"]
    assert found["broken"]["error"].startswith("RuntimeError: no licence")
    assert not any("FileStream" in name for name in found)


def test_path_of_a_worker_is_used(folder, tmp_path):
    """The plugin.path of a worker's file is where plugins are looked for."""
    worker = tmp_path / "worker.properties"
    worker.write_text(f"plugin.path={folder}\n")
    assert "mine.IsMinePredicate" in run("--worker", str(worker)).stdout


def test_wrong_type_is_named():
    """An unknown type is refused with those that there are."""
    with pytest.raises(UserError, match="no plugin type sinc; the types are: sink, source"):
        run("-t", "sinc")


def test_unreadable_worker_file_is_named(tmp_path):
    """A worker file that is not there is named."""
    with pytest.raises(UserError, match=r"cannot read the properties file .*nowhere"):
        run("--worker", str(tmp_path / "nowhere"))
