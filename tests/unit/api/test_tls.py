import os
import ssl
import subprocess
import tempfile

import pytest

from api.tls import server_context
from connect.config.secret import Secret
from connect.errors import ConfigError
from tests.support.keystores import STORE_PASSWORD, new_key


@pytest.fixture(scope="module")
def pem(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tls")
    key, certificate = directory / "key.pem", directory / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost"],
        check=True, capture_output=True,
    )  # fmt: skip
    both = directory / "both.pem"
    both.write_text(key.read_text() + certificate.read_text())
    return both, key, certificate


def test_a_pem_file_gives_an_identity(pem):
    """One file with key and certificates is enough; clients need none by default."""
    context = server_context({"ssl.keystore.location": str(pem[0])}, "listeners")

    assert context.verify_mode is ssl.CERT_NONE


def test_an_identity_needs_no_file_in_memory(pem, monkeypatch, tmp_path):
    """Pythons that run on very old systems know none; then nothing of the key stays on the disk."""
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    server_context({"ssl.keystore.location": str(pem[0])}, "listeners")

    assert [*tmp_path.iterdir()] == []


def test_key_and_certificate_may_be_in_the_settings_themselves(pem):
    """PEM text from a config provider works as well as a file."""
    inline = {
        "ssl.keystore.key": pem[1].read_text(),
        "ssl.keystore.certificate.chain": pem[2].read_text(),
    }

    server_context(inline, "listeners")


def test_required_clients_are_checked_against_the_truststore(pem):
    """ssl.client.auth=required asks for a certificate signed by a trusted authority."""
    config = {
        "ssl.keystore.location": str(pem[0]),
        "ssl.client.auth": "required",
        "ssl.truststore.location": str(pem[2]),
    }

    context = server_context(config, "listeners")

    assert context.verify_mode is ssl.CERT_REQUIRED
    assert len(context.get_ca_certs()) == 1


def test_prefixed_keys_count_alone(pem):
    """With one listeners.https. key set, those without the prefix are not mixed in."""
    config = {
        "ssl.keystore.location": str(pem[0]),
        "listeners.https.ssl.client.auth": "none",
    }

    with pytest.raises(ConfigError, match=r"listeners\.https\.ssl\.keystore\.location"):
        server_context(config, "listeners")
    server_context(config, "admin.listeners")


@pytest.mark.parametrize(
    ("change", "key", "reason"),
    [
        ({"ssl.keystore.location": None}, "ssl.keystore.location", "needs a store"),
        ({"ssl.keystore.location": "/nope.pem"}, "ssl.keystore.location", "No such file"),
        ({"ssl.client.auth": "maybe"}, "ssl.client.auth", "none, requested, required"),
        ({"ssl.client.auth": "required"}, "ssl.truststore.location", "authorities"),
    ],
)
def test_what_is_wrong_is_said_by_key(pem, change, key, reason):
    """Each mistake names its key and the way out."""
    with pytest.raises(ConfigError, match=reason) as caught:
        server_context({"ssl.keystore.location": str(pem[0]), **change}, "listeners")
    assert caught.value.key == key


@pytest.mark.parametrize(("type", "name"), [("JKS", "us.jks"), ("PKCS12", "us.p12")])
def test_javas_own_stores_are_read(tmp_path, type, name):
    """A store that keytool made serves as well as PEM, and its wrong password is told."""
    new_key(tmp_path / name, type, "us")
    config = {"ssl.keystore.location": str(tmp_path / name), "ssl.keystore.type": type}
    server_context({**config, "ssl.keystore.password": Secret(STORE_PASSWORD)}, "listeners")
    with pytest.raises(ConfigError, match="password is wrong"):
        server_context({**config, "ssl.keystore.password": Secret("other-secret")}, "listeners")
