"""Key and trust stores as Java's configs name them, read into PEM texts.

A store may be PEM (a file or inline), PKCS12 or JKS. What it is shows in its first bytes and not in
its name or declared type: Java's own tools write PKCS12 under names that end in .jks, and Java
itself reads either under either type.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import re
import ssl
import struct
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_JKS = b"\xfe\xed\xfe\xed"
_JCEKS = b"\xce\xce\xce\xce"
# Sun's own way to protect keys in JKS files, as an object identifier in DER.
_JKS_PROTECTION = bytes.fromhex("060a2b060104012a02110101")
_DIGEST = 20

_PEM_BLOCK = re.compile(
    r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----",
    re.DOTALL,
)


class KeyStoreError(Exception):
    """A store can't be read. The message says why, and holds nothing secret."""


@dataclass(frozen=True, slots=True)
class KeyStore:
    """What a store holds, as PEM texts. The key may still be encrypted if it came as PEM."""

    key: str | None = field(repr=False)
    chain: str  # of the key, its own certificate first
    trusted: str  # certificates that are in the store for their own sake

    @property
    def certificates(self) -> str:
        """Everything a trust store vouches for: those of a key entry count as well."""
        return self.trusted + self.chain


def read_store(path: str, password: str | None, key_password: str | None = None) -> KeyStore:
    """Read a store from a file. `key_password` is the key's own, if it has one."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise KeyStoreError(f"can't be read: {error.strerror}") from error
    if data.startswith(_JKS):
        return _read_jks(data, password, key_password or password)
    if data.startswith(_JCEKS):
        raise KeyStoreError(
            "is a JCEKS store, which can't be read here. Convert it: keytool -importkeystore "
            "-srckeystore IN -srcstoretype JCEKS -destkeystore OUT -deststoretype PKCS12"
        )
    if b"-----BEGIN " in data:
        return read_pem(data.decode("utf-8", "replace"))
    if data[:1] == b"\x30":
        return _read_pkcs12(data, password)
    raise KeyStoreError("is neither a PEM, PKCS12 nor JKS store")


def read_pem(text: str) -> KeyStore:
    """The key and the certificates of a PEM text; its lines may have been joined by a config."""
    key = None
    certificates = []
    for match in _PEM_BLOCK.finditer(text):
        label = match[1]
        if label.endswith("CERTIFICATE"):
            certificates.append(_tidy(match))
        elif label.endswith("PRIVATE KEY") and key is None:
            key = _tidy(match)
    if key is None and not certificates:
        raise KeyStoreError("has no key and no certificate in PEM")
    chain = "".join(certificates)
    return KeyStore(key, chain if key else "", "" if key else chain)


def present(context: ssl.SSLContext, store: KeyStore, key_password: str | None) -> None:
    """Let a context present a store's key and certificates. KeyStoreError if OpenSSL won't."""
    # Python reads keys from files only. This one is in memory where the system can do that, and
    # otherwise for its owner alone and gone at once.
    try:
        with _scratch_file(f"{store.key}{store.chain}".encode()) as path:
            # The callable keeps OpenSSL from asking for a passphrase on the terminal.
            context.load_cert_chain(path, password=lambda: key_password or "")
    except (OSError, ValueError) as error:
        raise KeyStoreError(f"can't be used: {error}") from error


@contextlib.contextmanager
def _scratch_file(content: bytes) -> Iterator[str]:
    if hasattr(os, "memfd_create"):  # on Linux, unless Python was built to run on very old ones
        descriptor = os.memfd_create("identity")
        try:
            os.write(descriptor, content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile(suffix=".pem") as file:
            file.write(content)
            file.flush()
            yield file.name


def _tidy(match: re.Match[str]) -> str:
    label, body = match[1], match[2]
    if ":" in body:  # an old encrypted key with headers, whose lines matter
        return f"-----BEGIN {label}-----{body}-----END {label}-----\n"
    return _armour(label, "".join(body.split()))


def _armour(label: str, text: str) -> str:
    lines = "\n".join(text[i : i + 64] for i in range(0, len(text), 64))
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"


def _pem(label: str, der: bytes) -> str:
    return _armour(label, base64.b64encode(der).decode())


# ---- PKCS12 ----------------------------------------------------------------------------------


def _read_pkcs12(data: bytes, password: str | None) -> KeyStore:
    # Loaded here because it is slow to load and few need it.
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import pkcs12  # noqa: PLC0415

    try:
        store = pkcs12.load_pkcs12(data, password.encode() if password else None)
    except ValueError as error:
        raise KeyStoreError(_wrong_password(password, "PKCS12")) from error
    pem = serialization.Encoding.PEM
    others = "".join(c.certificate.public_bytes(pem).decode() for c in store.additional_certs)
    own = store.cert.certificate.public_bytes(pem).decode() if store.cert else ""
    if store.key is None:
        return KeyStore(None, "", own + others)
    key = store.key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return KeyStore(key.decode(), own + others, "")


def _wrong_password(password: str | None, kind: str) -> str:
    if not password:
        return f"is a {kind} store that needs a password, and none is set"
    return f"can't be opened: it is not a whole {kind} store, or the password is wrong"


# ---- JKS -------------------------------------------------------------------------------------


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        piece = self._data[self.at : self.at + size]
        if len(piece) < size:
            raise KeyStoreError("is a JKS store that ends too early")
        self.at += size
        return piece

    def number(self) -> int:
        return int(struct.unpack(">I", self.take(4))[0])

    def block(self) -> bytes:
        return self.take(self.number())

    def text(self) -> bytes:
        return self.take(struct.unpack(">H", self.take(2))[0])


def _read_jks(data: bytes, password: str | None, key_password: str | None) -> KeyStore:
    if password is not None:
        # Without a password Java does not check either: certificates are no secrets.
        salted = password.encode("utf-16-be") + b"Mighty Aphrodite" + data[:-_DIGEST]
        if hashlib.sha1(salted, usedforsecurity=False).digest() != data[-_DIGEST:]:
            raise KeyStoreError(_wrong_password(password, "JKS"))
    reader = _Reader(data[:-_DIGEST])
    reader.take(4)
    version = reader.number()
    key: str | None = None
    chain: list[str] = []
    trusted: list[str] = []
    for _ in range(reader.number()):
        tag = reader.number()
        reader.text()  # alias
        reader.take(8)  # when it was made
        if tag == 1:
            protected = reader.block()
            certificates = [_jks_certificate(reader, version) for _ in range(reader.number())]
            if key is None:  # of several keys the first, as Java's clients mostly do
                key = _pem("PRIVATE KEY", _unprotect(protected, key_password))
                chain = certificates
        elif tag == 2:
            trusted.append(_jks_certificate(reader, version))
        else:
            raise KeyStoreError(f"is a JKS store with an entry of unknown kind {tag}")
    return KeyStore(key, "".join(chain), "".join(trusted))


def _jks_certificate(reader: _Reader, version: int) -> str:
    if version >= 2:
        kind = reader.text()
        if kind not in (b"X.509", b"X509"):
            raise KeyStoreError(f"holds a certificate of kind {kind.decode('ascii', 'replace')}")
    return _pem("CERTIFICATE", reader.block())


def _unprotect(info: bytes, password: str | None) -> bytes:
    """The key inside an EncryptedPrivateKeyInfo: salt, key xored with a chain of digests, check."""
    if not password:
        raise KeyStoreError(_wrong_password(password, "JKS"))
    outer, _ = _der(info, 0x30)
    algorithm, rest = _der(outer, 0x30)
    if not algorithm.startswith(_JKS_PROTECTION):
        raise KeyStoreError("holds a key that is protected in an unknown way")
    sealed, _ = _der(rest, 0x04)
    salt, hidden, check = sealed[:_DIGEST], sealed[_DIGEST:-_DIGEST], sealed[-_DIGEST:]
    secret = password.encode("utf-16-be")
    stream = bytearray()
    block = salt
    while len(stream) < len(hidden):
        block = hashlib.sha1(secret + block, usedforsecurity=False).digest()
        stream += block
    key = bytes(a ^ b for a, b in zip(hidden, stream, strict=False))
    if hashlib.sha1(secret + key, usedforsecurity=False).digest() != check:
        raise KeyStoreError("has a key with another password: set ssl.key.password")
    return key


def _der(data: bytes, tag: int) -> tuple[bytes, bytes]:
    """The content of the DER element that data begins with, and what follows it."""
    if len(data) < 2 or data[0] != tag:
        raise KeyStoreError("holds a key that is not in DER")
    length, start = data[1], 2
    if length & 0x80:
        start = 2 + (length & 0x7F)
        length = int.from_bytes(data[2:start], "big")
    return data[start : start + length], data[start + length :]
