"""The command line against a worker that asks who is there."""

import io
import json
import os
import sys

import pytest

from penstock.cli import main
from tests.support import worker as workers
from tests.support.users import write_users

pytestmark = pytest.mark.stack


@pytest.fixture
def penstock(monkeypatch, capsys, tmp_path):
    """penstock(*arguments, stdin="", exit_code=0) runs the command and gives what it printed."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for key in [key for key in os.environ if key.startswith("PENSTOCK_")]:
        monkeypatch.delenv(key)

    def run(*arguments, stdin="", exit_code=0):
        monkeypatch.setattr(sys, "argv", ["penstock", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        run.told = printed.err
        assert (ended.value.code or 0) == exit_code, printed.out + printed.err
        return printed.out if exit_code == 0 else printed.err

    return run


def test_users_are_made_and_contexts_get_them_in(kafka, penstock, tmp_path, monkeypatch):
    """From `penstock user` to a connector, by contexts, --url and variables."""
    entries = [
        penstock("user", "ann", "--admin", "*", stdin="pass word\n"),
        penstock("user", "viewer.1", "--read", "a-*", stdin="v\n"),
    ]
    penstock("user", "bad:name", exit_code=1)
    penstock("user", "empty", stdin="\n", exit_code=1)
    settings = {"rest.auth.file": write_users(tmp_path / "users.toml", *entries)}
    with workers.standalone(kafka, tmp_path, **settings) as running:
        assert "`penstock context set" in penstock(
            "get", "connectors", "--url", running.url, exit_code=1
        )
        assert running.url in penstock(
            "context", "set", "ann", "--cluster", running.url, "--username", "ann",
            stdin="pass word\n",
        )  # fmt: skip
        config = {"connector.class": "FileStreamSource", "file": "/x", "topic": "t"}
        for name in ("a-one", "b-one"):
            body = {"name": name, "config": config, "initial_state": "STOPPED"}
            penstock("apply", "-f", "-", stdin=json.dumps(body))

        penstock("context", "set", "view", "--url", running.url, "--username", "viewer.1",
                 "--secret-command", "echo v")  # fmt: skip
        assert set(json.loads(penstock("get", "connectors", "-o", "json"))) == {"a-one", "b-one"}
        viewed = penstock("--context", "view", "get", "connectors", "-o", "json")
        assert set(json.loads(viewed)) == {"a-one"}
        monkeypatch.setenv("PENSTOCK_CONTEXT", "view")
        refused = penstock("delete", "connector", "a-one", exit_code=1)
        assert "User viewer.1 needs the role admin for a-one" in refused
        monkeypatch.delenv("PENSTOCK_CONTEXT")

        penstock("context", "use", "view")
        assert "*   view" in penstock("context", "ls")
        shown = penstock("context", "show", "ann")
        assert "password: [hidden]" in shown
        assert completed(penstock, "penstock describe connector ", monkeypatch) == ["a-one"]
        assert completed(penstock, "penstock --context ann pause connector b", monkeypatch) == [
            "b-one"
        ]
        assert completed(penstock, "penstock context use ", monkeypatch) == ["ann", "view"]
        penstock("context", "rm", "view")
        penstock("get", "connectors", exit_code=1)

        made = penstock("user", "bot", "--token", "--read", "*")
        token = penstock.told.split()[-1]
        assert token not in made
        write_users(tmp_path / "users.toml", *entries, made)
        monkeypatch.setenv("PENSTOCK_TOKEN", token)
        assert "b-one" in penstock("get", "connectors", "--url", running.url)


def completed(penstock, line, monkeypatch):
    """What a shell would offer at the end of a line."""
    monkeypatch.setenv("_PENSTOCK_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    try:
        return penstock().split()
    finally:
        for key in ("_PENSTOCK_COMPLETE", "COMP_WORDS", "COMP_CWORD"):
            monkeypatch.delenv(key)
