"""Which certificates are taken."""

import ssl

import pytest

from connect.javalang.trust import as_java_trusts
from tests.support.certificates import make_certificates


def shake_hands(server, client):
    """Both sides in turn, until neither wants more."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname="localhost")
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    waiting = [ours, theirs]
    while waiting:
        side = waiting.pop(0)
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            waiting.append(side)


def test_an_authority_without_key_usage_is_trusted_as_by_java(tmp_path):
    """Strict, as Python's contexts are from 3.13 on, they refuse it."""
    made = make_certificates(tmp_path)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(made / "server.pem")
    client = ssl.create_default_context(cafile=made / "ca.pem")
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    with pytest.raises(ssl.SSLCertVerificationError, match="key usage"):
        shake_hands(server, client)
    shake_hands(server, as_java_trusts(client))
