"""Certificates and keys for the registry, put into the client's SSL context.

The client itself takes PEM files only; in Java's configs they may be PKCS12, JKS or PEM text.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from connect import ConfigError
from connect.config.keystores import KeyStore, KeyStoreError, present, read_pem, read_store
from connect.javalang.trust import as_java_trusts

_PREFIX = "schema.registry.ssl."


def configure_tls(context: ssl.SSLContext, config: Mapping[str, Any]) -> None:
    """Make the context trust and present what `schema.registry.ssl.*` says."""
    _trust(context, config)
    _present(context, config)
    if not config[_PREFIX + "endpoint.identification.algorithm"]:
        context.check_hostname = False


def _trust(context: ssl.SSLContext, config: Mapping[str, Any]) -> None:
    if text := config[_PREFIX + "truststore.certificates"]:
        key, read = _PREFIX + "truststore.certificates", partial(read_pem, text)
    elif location := config[_PREFIX + "truststore.location"]:
        key = _PREFIX + "truststore.location"
        read = partial(read_store, location, _secret(config, "truststore.password"))
    else:
        return
    store = _store(config, key, read)
    as_java_trusts(context)
    try:
        context.load_verify_locations(cadata=store.certificates)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(key, config[key], f"holds no readable certificates: {error}") from error


def _present(context: ssl.SSLContext, config: Mapping[str, Any]) -> None:
    store_password = _secret(config, "keystore.password")
    password = _secret(config, "key.password") or store_password
    if chain := config[_PREFIX + "keystore.certificate.chain"]:
        key = _PREFIX + "keystore.certificate.chain"
        private = _secret(config, "keystore.key")
        if private is None:
            raise ConfigError(_PREFIX + "keystore.key", None, f"is needed beside {key}")
        read = partial(read_pem, f"{private}\n{chain}\n")
    elif location := config[_PREFIX + "keystore.location"]:
        key = _PREFIX + "keystore.location"
        read = partial(read_store, location, store_password, password)
    else:
        return
    store = _store(config, key, read)
    if store.key is None:
        raise ConfigError(key, config[key], "has no private key")
    try:
        present(context, store, password)
    except KeyStoreError as error:
        raise ConfigError(key, config[key], str(error)) from error


def _store(config: Mapping[str, Any], key: str, read: Callable[[], KeyStore]) -> KeyStore:
    try:
        return read()
    except KeyStoreError as error:
        raise ConfigError(key, config[key], str(error)) from error


def _secret(config: Mapping[str, Any], name: str) -> str | None:
    secret = config[_PREFIX + name]
    return secret.reveal() if secret else None
