"""Passwords and tokens as they are stored."""

import pytest

from api.security.credentials import Scrypt, hash_password, hash_token, new_token


def test_a_password_matches_its_own_hash_only():
    """What is stored is read back, knows its password, and differs each time."""
    stored = str(hash_password("pässwörd"))

    assert Scrypt.parse(stored).matches("pässwörd")
    assert not Scrypt.parse(stored).matches("passwörd")
    assert str(hash_password("pässwörd")) != stored
    assert "pässwörd" not in stored


@pytest.mark.parametrize(
    "text",
    ["", "plain", "md5:1:2:3:4:5", "scrypt:x:8:1:AAAA:AAAA", "scrypt:14:8:1:?:AAAA",
     "scrypt:31:8:1:AAAA:AAAA", "scrypt:0:8:1:AAAA:AAAA", "scrypt:14:8:1:AAAA"],
)  # fmt: skip
def test_what_is_no_hash_is_refused_without_being_shown(text):
    """A password in clear that stands in its place must not get into a log."""
    with pytest.raises(ValueError, match="scrypt") as raised:
        Scrypt.parse(text)
    assert not text or text not in str(raised.value)


def test_tokens_are_long_and_hashed():
    """A token has 256 random bits; its hash does not tell it."""
    assert len(new_token()) >= 43
    assert new_token() != new_token()
    assert hash_token("abc") == hash_token("abc") != hash_token("abd")
