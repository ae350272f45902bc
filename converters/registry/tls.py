"""Certificates and keys for the registry, put into the client's SSL context.

The client itself takes PEM files only. The rest is done here: PEM text in the config, PKCS12.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from connect import ConfigError, Secret

_PREFIX = "schema.registry.ssl."


def configure_tls(context: ssl.SSLContext, config: Mapping[str, Any]) -> None:
    """Make the context trust and present what `schema.registry.ssl.*` says."""
    _trust(context, config)
    _present(context, config)
    if not config[_PREFIX + "endpoint.identification.algorithm"]:
        context.check_hostname = False


def _trust(context: ssl.SSLContext, config: Mapping[str, Any]) -> None:
    key = _PREFIX + "truststore.location"
    location = config[key]
    certificates = config[_PREFIX + "truststore.certificates"]
    if certificates:
        key = _PREFIX + "truststore.certificates"
    elif location and config[_PREFIX + "truststore.type"] == "PEM":
        certificates = _read(key, location).decode("latin-1")
    elif location:
        _refuse_jks(_PREFIX + "truststore.type", config)
        certificates = _pkcs12(key, location, config[_PREFIX + "truststore.password"]).trusted
    else:
        return
    try:
        context.load_verify_locations(cadata=certificates)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(key, location, f"holds no readable certificates: {error}") from error


def _present(context: ssl.SSLContext, config: Mapping[str, Any]) -> None:
    location = config[_PREFIX + "keystore.location"]
    chain = config[_PREFIX + "keystore.certificate.chain"]
    password = config[_PREFIX + "key.password"] or config[_PREFIX + "keystore.password"]
    if chain:
        key = _PREFIX + "keystore.certificate.chain"
        private = config[_PREFIX + "keystore.key"]
        if private is None:
            raise ConfigError(_PREFIX + "keystore.key", None, f"is needed beside {key}")
        pem = f"{private.reveal()}\n{chain}\n"
    elif location and config[_PREFIX + "keystore.type"] == "PEM":
        key = _PREFIX + "keystore.location"
        pem = _read(key, location).decode("latin-1")
    elif location:
        key = _PREFIX + "keystore.location"
        _refuse_jks(_PREFIX + "keystore.type", config)
        pem = _pkcs12(key, location, config[_PREFIX + "keystore.password"]).own
        password = None
    else:
        return
    # The ssl module reads private keys from files only.
    handle, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(handle, "w", encoding="latin-1") as file:
            file.write(pem)
        context.load_cert_chain(name, password=password.reveal() if password else None)
    except (ssl.SSLError, OSError) as error:
        raise ConfigError(
            key, location, f"holds no certificate with a key that the password opens: {error}"
        ) from error
    finally:
        Path(name).unlink()


def _read(key: str, location: str) -> bytes:
    try:
        return Path(location).read_bytes()
    except OSError as error:
        raise ConfigError(key, location, f"can't be read: {error.strerror}") from error


def _refuse_jks(key: str, config: Mapping[str, Any]) -> None:
    if config[key] == "JKS":
        raise ConfigError(
            key,
            "JKS",
            "only Java reads it: convert the store with `keytool -importkeystore -srckeystore "
            "OLD -destkeystore NEW -deststoretype PKCS12` and set the type to PKCS12",
        )


class _pkcs12:  # noqa: N801
    """A PKCS12 store as PEM: what it trusts, and its own key and chain."""

    def __init__(self, key: str, location: str, password: Secret | None) -> None:
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
        from cryptography.hazmat.primitives.serialization import pkcs12  # noqa: PLC0415

        secret = password.reveal().encode() if password else None
        try:
            store = pkcs12.load_pkcs12(_read(key, location), secret)
        except ValueError as error:
            raise ConfigError(
                key, location, "is no PKCS12 store, or its password is another"
            ) from error
        pem = serialization.Encoding.PEM
        others = [c.certificate.public_bytes(pem) for c in store.additional_certs]
        first = [store.cert.certificate.public_bytes(pem)] if store.cert else []
        self.trusted = b"".join(first + others).decode()
        private = b""
        if store.key is not None:
            private = store.key.private_bytes(
                pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        self.own = b"".join([private, *first, *others]).decode()
