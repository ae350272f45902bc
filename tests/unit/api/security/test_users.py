"""The file of users."""

import os

import pytest

from api.security.credentials import Scrypt, hash_password, hash_token
from api.security.roles import Role
from api.security.users import Users
from connect.errors import ConfigError

ANN = f'[users.ann]\npassword = "{hash_password("right")}"\nadmin = ["*"]\n'


def written(tmp_path, text, name="users.toml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_users_are_found_by_password_and_token(tmp_path):
    """Each by what is theirs; a wrong password, an unknown name and a strange token by nothing."""
    users = Users(
        written(tmp_path, ANN + f'[users.bot]\ntokens = ["{hash_token("t0k")}"]\nread = ["a*"]\n')
    )

    assert users.by_password("ann", "right").name == "ann"
    assert users.by_password("ann", "wrong") is None
    assert users.by_password("nobody", "right") is None
    assert users.by_password("bot", "") is None
    assert users.by_token("t0k").grants[Role.READ] == ("a*",)
    assert users.by_token("other") is None


def test_an_unknown_name_costs_a_hash_too(tmp_path, monkeypatch):
    """Who measures the time learns nothing about who there is."""
    users = Users(written(tmp_path, ANN))
    hashed = []
    monkeypatch.setattr(Scrypt, "of", lambda self, password: hashed.append(password) or b"")

    users.by_password("ann", "wrong")
    users.by_password("nobody", "wrong")

    assert hashed == ["wrong", "wrong"]


def test_a_properties_file_is_kafkas(tmp_path):
    """user=password in clear; Kafka knows no roles, so all are admins."""
    users = Users(written(tmp_path, "ann=right\nbob=pass word\n", "users.properties"))

    assert users.by_password("bob", "pass word").grants == {Role.ADMIN: ("*",)}
    assert users.by_password("bob", "pass") is None


def test_the_file_is_read_again_when_it_changes_and_kept_when_it_breaks(tmp_path, caplog):
    """New users come in, those removed are gone; a broken or missing file changes nothing."""
    path = written(tmp_path, ANN)
    users = Users(path)

    path.write_text(ANN.replace("ann", "eve") + "# changed\n")
    users.refresh()
    assert (users.named("ann"), users.named("eve").name, users.version) == (None, "eve", 1)

    path.write_text("[users")
    users.refresh()
    path.unlink()
    users.refresh()
    users.refresh()
    assert users.named("eve") is not None
    told = [r.message for r in caplog.records if r.levelname == "ERROR"]
    assert len(told) == 2
    assert all("rest.auth.file" in text for text in told)

    path.write_text(ANN)
    os.utime(path, ns=(1, 1))
    users.refresh()
    assert users.named("ann") is not None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "tables"),
        ("x = 1", "tables"),
        ("[users", "is not what it should be"),
        ("[users]\nann = 1", "user ann: expected a table"),
        ('[users.ann]\nadmins = ["*"]', "unknown"),
        ('[users.ann]\nadmin = "*"', "admin is a list"),
        ('[users.ann]\npassword = "hunter2"', "the password is not as"),
        ("[users.ann]\npassword = 7", "the password"),
        ('[users.ann]\ntokens = ["hunter2"]', "tokens are hashes"),
        ('[users."a:b"]\nadmin = []', "no colon"),
    ],
)
def test_an_entry_that_is_wrong_is_named(tmp_path, text, reason):
    """The error has the setting, the file, the user and the way out, and no secret."""
    with pytest.raises(ConfigError, match=reason) as raised:
        Users(written(tmp_path, text))
    assert "rest.auth.file" in str(raised.value)
    assert "hunter2" not in str(raised.value)


def test_a_file_that_is_not_there_is_told(tmp_path):
    """By the setting that names it."""
    with pytest.raises(ConfigError, match=r"rest.auth.file.*can't be read: No such file"):
        Users(tmp_path / "none.toml")
