import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.config.configdef import ConfigType
from connect.config.masking import mask, secret_keys, unmask
from connect.errors import ConfigError


def test_a_declared_type_decides_over_the_name():
    """A key declared as STRING is shown though it is called token; a PASSWORD is secret."""
    declared = {"token": ConfigType.STRING, "connection.login": ConfigType.PASSWORD}

    assert secret_keys(["token", "connection.login", "file"], declared) == {"connection.login"}


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "connection.password",
        "producer.override.sasl.jaas.config",
        "ssl.key.password",
        "aws.secret.access.key",
        "basic.auth.user.info",
        "github_token",
        "api-key",
        "SECRET",
    ],
)
def test_undeclared_keys_are_secret_by_their_names(key):
    """A key that no installed plugin declares is hidden when its name says it is a secret."""
    assert secret_keys([key], {}) == {key}


@pytest.mark.parametrize(
    "key",
    ["file", "topics", "key.converter", "tokenizer", "transforms.mask.fields", "password.file"],
)
def test_ordinary_keys_are_shown(key):
    """A name that only contains such a word is no secret."""
    assert secret_keys([key], {}) == frozenset()


def test_mask_hides_secrets_only():
    """A secret is replaced, the rest of the config is as it was."""
    shown = mask({"password": "p4ss", "file": "out"}, {"password"})

    assert shown == {"password": "[hidden]", "file": "out"}


@pytest.mark.parametrize("value", ["${file:/etc/s.properties:key}", "${env:NAME}", ""])
def test_references_and_empty_values_stay_readable(value):
    """What a provider resolves later is not the secret itself, and neither is nothing."""
    assert mask({"password": value}, {"password"}) == {"password": value}


@pytest.mark.parametrize("value", ["pre${env:NAME}", "${env:A}x", "$NAME", "${nocolon}"])
def test_text_beside_a_reference_is_hidden(value):
    """Literal text in a secret may be the other half of it."""
    assert mask({"password": value}, {"password"}) == {"password": "[hidden]"}


def test_a_masked_value_written_back_keeps_the_stored_secret():
    """Reading a config, changing a key and writing it back does not lose the password."""
    stored = {"password": "p4ss", "file": "a"}

    assert unmask({"password": "[hidden]", "file": "b"}, stored) == {
        "password": "p4ss",
        "file": "b",
    }


def test_a_new_secret_replaces_the_stored_one():
    """Only the mask means the stored value."""
    assert unmask({"password": "new"}, {"password": "old"}) == {"password": "new"}


def test_a_mask_without_a_stored_secret_is_refused():
    """A config copied from one connector to another fails at once, and the error names the key."""
    with pytest.raises(ConfigError, match=r"configuration password: .*give the secret itself"):
        unmask({"password": "[hidden]"}, {})


@given(
    st.dictionaries(st.text(), st.text().filter(lambda text: text != "[hidden]")).flatmap(
        lambda config: st.tuples(st.just(config), st.sets(st.sampled_from([*config, ""])))
    )
)
def test_writing_back_what_was_read_changes_nothing(config_and_secrets):
    """For any config and any of its keys secret, unmask undoes mask."""
    config, secrets = config_and_secrets

    assert unmask(mask(config, secrets), config) == config
