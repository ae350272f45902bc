"""Requests between workers, signed by a key that the leader publishes in the config topic."""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
import time
from dataclasses import dataclass

from connect.errors import ConnectError

SIGNATURE_HEADER = "X-Connect-Authorization"
ALGORITHM_HEADER = "X-Connect-Request-Signature-Algorithm"

_DIGESTS = {
    "HmacMD5": "md5",
    "HmacSHA1": "sha1",
    "HmacSHA224": "sha224",
    "HmacSHA256": "sha256",
    "HmacSHA384": "sha384",
    "HmacSHA512": "sha512",
}
# Bits of the keys that Java makes for these algorithms.
_KEY_BITS = {"HmacMD5": 512, "HmacSHA1": 512, "HmacSHA224": 224, "HmacSHA256": 256,
             "HmacSHA384": 384, "HmacSHA512": 512}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SessionKey:
    """A key, what it was made for, and when (in milliseconds of the wall clock)."""

    key: bytes
    algorithm: str
    created: int

    def __repr__(self) -> str:
        return f"SessionKey(algorithm={self.algorithm}, created={self.created})"


@dataclass(frozen=True, slots=True)
class Signature:
    """What came with a request: the signature and how it was made."""

    digest: bytes
    algorithm: str


@dataclass(frozen=True, slots=True)
class Signed:
    """A request between workers: its body as it came, and the signature if there was one."""

    body: bytes
    signature: Signature | None


def new_session_key(algorithm: str, bits: int | None = None) -> SessionKey:
    size = (bits or _KEY_BITS[algorithm]) // 8
    return SessionKey(secrets.token_bytes(size), algorithm, int(time.time() * 1000))


def sign(key: SessionKey, body: bytes, algorithm: str) -> dict[str, str]:
    """The headers that make a request one of a worker."""
    digest = hmac.digest(key.key, body, _DIGESTS[algorithm])
    return {
        SIGNATURE_HEADER: base64.b64encode(digest).decode(),
        ALGORITHM_HEADER: algorithm,
    }


def read_signature(signature: str | None, algorithm: str | None) -> Signature | None:
    """The signature that a request's headers hold; None when one of them is missing."""
    if signature is None or algorithm is None:
        return None
    try:
        return Signature(base64.b64decode(signature, validate=True), algorithm)
    except binascii.Error as error:
        raise ConnectError(f"{SIGNATURE_HEADER} is not base64: {error}") from error


def is_signed_by(key: SessionKey, body: bytes, signature: Signature) -> bool:
    digest = hmac.digest(key.key, body, _DIGESTS[signature.algorithm])
    return hmac.compare_digest(digest, signature.digest)
