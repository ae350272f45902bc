"""Passwords and tokens: how they are stored, and how one that came is compared."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import secrets
from typing import NamedTuple

# What the scrypt paper means for interactive use: 16 MiB, a tenth of a second.
_LOG_N, _R, _P = 14, 8, 1
_SALT_BYTES = 16
# Beyond it a file that somebody else wrote could take all memory.
_MAX_MEMORY = 256 * 1024 * 1024


class Scrypt(NamedTuple):
    """A password, hashed: `scrypt:14:8:1:salt:hash`."""

    log_n: int
    r: int
    p: int
    salt: bytes
    hash: bytes

    @classmethod
    def parse(cls, text: str) -> Scrypt:
        """ValueError when it is none, without saying what it is: it may be a password."""
        try:
            scheme, log_n, r, p, salt, digest = text.split(":")
            found = cls(int(log_n), int(r), int(p), _unbase64(salt), _unbase64(digest))
        except (ValueError, binascii.Error):
            scheme = ""
        if scheme != "scrypt":
            raise ValueError("is not as `penstock user` prints it: scrypt:14:8:1:salt:hash")
        if not (1 <= found.log_n < 32 and found.r > 0 and found.p > 0) or (
            (128 << found.log_n) * found.r * found.p > _MAX_MEMORY
        ):
            raise ValueError("has costs that scrypt can't have, or that no worker should pay")
        return found

    def of(self, password: str) -> bytes:
        """The hash that a password has with this salt and these costs. Takes its time."""
        return hashlib.scrypt(
            password.encode(), salt=self.salt, n=1 << self.log_n, r=self.r, p=self.p,
            maxmem=_MAX_MEMORY * 2, dklen=len(self.hash) or 32,
        )  # fmt: skip

    def matches(self, password: str) -> bool:
        return hmac.compare_digest(self.of(password), self.hash)

    def __str__(self) -> str:
        salt, digest = (base64.b64encode(part).decode() for part in (self.salt, self.hash))
        return f"scrypt:{self.log_n}:{self.r}:{self.p}:{salt}:{digest}"


def hash_password(password: str) -> Scrypt:
    blank = Scrypt(_LOG_N, _R, _P, os.urandom(_SALT_BYTES), b"")
    return blank._replace(hash=blank.of(password))


def new_token() -> str:
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """A token is long and random, so that a fast hash hides it well."""
    return "sha256:" + hashlib.sha256(token.encode()).hexdigest()


def same(given: str, stored: str) -> bool:
    """Whether two texts are the same, in a time that does not tell how much of them is."""
    return hmac.compare_digest(given.encode(), stored.encode())


def _unbase64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
