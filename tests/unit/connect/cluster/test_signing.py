"""Signatures of requests between workers."""

import pytest

from connect.cluster.signing import (
    ALGORITHM_HEADER,
    SIGNATURE_HEADER,
    SessionKey,
    is_signed_by,
    new_session_key,
    read_signature,
    sign,
)
from connect.errors import ConnectError


def test_signature_is_the_hmac_of_the_body():
    """The header holds what Java's Mac gives for the same key and body."""
    headers = sign(SessionKey(b"key", "HmacSHA256", 0), b"body", "HmacSHA256")
    assert headers == {
        SIGNATURE_HEADER: "UVquEztDXUAAlWcx9orlz164XU8NxqVG0r/NNZXsGuE=",
        ALGORITHM_HEADER: "HmacSHA256",
    }


@pytest.mark.parametrize(
    "algorithm", ["HmacMD5", "HmacSHA1", "HmacSHA224", "HmacSHA256", "HmacSHA384", "HmacSHA512"]
)
def test_own_signature_is_accepted_and_others_are_not(algorithm):
    """A signature fits its body and its key, and nothing else."""
    key = new_session_key(algorithm)
    headers = sign(key, b"body", algorithm)
    signature = read_signature(headers[SIGNATURE_HEADER], headers[ALGORITHM_HEADER])
    assert is_signed_by(key, b"body", signature)
    assert not is_signed_by(key, b"other", signature)
    assert not is_signed_by(new_session_key(algorithm), b"body", signature)


def test_missing_or_broken_signature():
    """No header is no signature; one that is no base64 is an error."""
    assert read_signature(None, "HmacSHA256") is None
    assert read_signature("AA==", None) is None
    with pytest.raises(ConnectError):
        read_signature("?", "HmacSHA256")
