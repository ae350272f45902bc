"""Key and trust stores that Java's keytool made."""

import ssl

import pytest

from connect.config.keystores import KeyStoreError, read_pem, read_store
from tests.support.keystores import (
    KEY_PASSWORD,
    STORE_PASSWORD,
    certificate,
    new_key,
    trust,
)


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """key.jks (with a password of its own for the key), key.p12, trust.jks, trust.p12, cert.pem."""
    folder = tmp_path_factory.mktemp("stores")
    new_key(folder / "key.jks", "JKS", "us", KEY_PASSWORD)
    new_key(folder / "key.p12", "PKCS12", "us")
    (folder / "cert.pem").write_text(certificate(folder / "key.jks", "us"))
    for kind, name in (("JKS", "trust.jks"), ("PKCS12", "trust.p12")):
        trust(folder / name, kind, folder / "cert.pem", "them")
    return folder


def assert_belong_together(store, tmp_path):
    """OpenSSL takes key and certificate as a pair."""
    both = tmp_path / "both.pem"
    both.write_text(store.key + store.chain)
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(both)


def test_jks_key_comes_out_whole(stores, tmp_path):
    """Key and chain of a JKS store fit together, under store and key passwords that differ."""
    store = read_store(str(stores / "key.jks"), STORE_PASSWORD, KEY_PASSWORD)
    assert_belong_together(store, tmp_path)
    assert store.trusted == ""


def test_pkcs12_key_comes_out_whole(stores, tmp_path):
    """The same for PKCS12, which keytool makes by default."""
    assert_belong_together(read_store(str(stores / "key.p12"), STORE_PASSWORD), tmp_path)


@pytest.mark.parametrize("name", ["trust.jks", "trust.p12"])
def test_trust_store_gives_its_certificates(stores, name):
    """What was put in as PEM comes out as the same PEM."""
    found = read_store(str(stores / name), STORE_PASSWORD)
    assert found.key is None
    expected = read_pem((stores / "cert.pem").read_text()).certificates
    assert found.certificates == expected


def test_jks_trust_store_needs_no_password(stores):
    """Java reads the certificates without one, so do we."""
    assert "BEGIN CERTIFICATE" in read_store(str(stores / "trust.jks"), None).certificates


@pytest.mark.parametrize("name", ["key.jks", "key.p12", "trust.jks", "trust.p12"])
def test_wrong_password_is_told(stores, name):
    """The message speaks of the password and does not show it."""
    with pytest.raises(KeyStoreError, match="password is wrong") as raised:
        read_store(str(stores / name), "no-such-secret")
    assert "no-such-secret" not in str(raised.value)


def test_key_password_that_differs_is_told(stores):
    """The store opens, the key does not, and the message names the setting."""
    with pytest.raises(KeyStoreError, match=r"set ssl\.key\.password"):
        read_store(str(stores / "key.jks"), STORE_PASSWORD)


def test_missing_and_foreign_files_are_told(tmp_path):
    """Neither raises anything but KeyStoreError with a reason."""
    with pytest.raises(KeyStoreError, match="No such file"):
        read_store(str(tmp_path / "absent"), None)
    for content, told in [
        (b"hello", "neither a PEM, PKCS12 nor JKS"),
        (b"\xfe\xed\xfe\xed\0\0\0\2\0\0\0\1", "ends too early"),
        (b"\xce\xce\xce\xce", "JCEKS.*keytool -importkeystore"),
        (b"\x30\x03abc", "needs a password"),
        (b"", "neither"),
    ]:
        (tmp_path / "store").write_bytes(content)
        with pytest.raises(KeyStoreError, match=told):
            read_store(str(tmp_path / "store"), None)


def test_pem_on_one_line_is_read(stores):
    """Properties files join lines; the blanks between them don't matter."""
    pem = (stores / "cert.pem").read_text()
    assert read_pem(" ".join(pem.split("\n"))) == read_pem(pem)
