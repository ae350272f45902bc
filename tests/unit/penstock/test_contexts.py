"""Contexts: which worker a command asks, and with which credentials."""

import json

import pytest

from penstock.contexts import Context, Contexts, find_context, shown
from penstock.errors import UserError

DEFAULT = Context("http://localhost:8083")
PROD = Context("https://prod", username="ann", password="s3cret")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A config folder of the test's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "penstock"


def save(current=None, **contexts):
    stored = Contexts()
    stored.all, stored.current = contexts, current
    stored.save()


def find(given=DEFAULT, name=None, **environment):
    return find_context(given, name, default=DEFAULT, environment=environment)


def test_contexts_are_kept_where_only_their_user_reads_them(folder):
    """The file is private, also when it is written again, and reads back the same."""
    save("prod", prod=PROD)
    save("prod", prod=PROD, ci=Context("https://ci", token="t"))

    [path] = folder.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    assert Contexts().all["prod"] == PROD
    assert Contexts().current == "prod"


def test_the_context_in_use_is_asked_unless_another_is_named():
    """By --context, or by --url, which takes no credentials along."""
    assert find() == DEFAULT
    save("prod", prod=PROD, ci=Context("https://ci", token="t"))

    assert find() == PROD
    assert find(name="ci").token == "t"
    assert find(Context("http://other")) == Context("http://other")
    assert find(Context("http://other"), "prod") == Context("http://other", "ann", "s3cret")
    with pytest.raises(UserError, match=r"no context 'nope'. There are: ci, prod"):
        find(name="nope")


def test_the_environment_has_credentials_too():
    """A token replaces a name and password; a password alone goes with the context's name."""
    save("prod", prod=PROD)

    assert find(PENSTOCK_PASSWORD="new").password == "new"
    assert find(PENSTOCK_TOKEN="t") == Context("https://prod", token="t")
    env = {"PENSTOCK_USERNAME": "bob", "PENSTOCK_PASSWORD": "b"}
    assert find(Context("http://other"), **env) == Context("http://other", "bob", "b")


def test_a_command_may_print_the_secret():
    """It is the password of a user, else a token; a command that fails is told."""
    assert Context("u", "ann", secret_command="echo s3cret").with_secret().password == "s3cret"
    assert Context("u", secret_command="echo 'a b'").with_secret().token == "a b"
    for command in ("false", "no-such-command-here"):
        with pytest.raises(UserError, match="secret command failed"):
            Context("u", secret_command=command).with_secret()


def test_secrets_are_not_shown():
    """Neither in a listing nor in a representation."""
    assert shown(PROD) == {"url": "https://prod", "username": "ann", "password": "[hidden]"}
    assert "s3cret" not in repr(PROD)


@pytest.mark.parametrize("text", ["", "{}", "[]", json.dumps({"contexts": {"a": {"x": 1}}})])
def test_a_file_that_is_broken_is_named(folder, text):
    """Not a trace."""
    folder.mkdir()
    (folder / "contexts.json").write_text(text)
    with pytest.raises(UserError, match=r"contexts.json is not what"):
        Contexts()
