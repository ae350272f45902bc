"""TLS for https listeners, from Kafka's `ssl.*` keys with PEM, PKCS12 or JKS stores.

Keys with the listener's prefix (`listeners.https.ssl.…`) are taken all or none: with one of them
set, those without prefix don't count.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from connect.config.keystores import KeyStoreError, present, read_pem, read_store
from connect.config.secret import Secret
from connect.errors import ConfigError
from connect.javalang.trust import as_java_trusts

_CLIENT_AUTH = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


def server_context(config: Mapping[str, Any], listeners_key: str) -> ssl.SSLContext:
    """What an https listener of `listeners` or `admin.listeners` presents and asks for."""
    prefix = f"{listeners_key}.https."
    if not any(key.startswith(prefix) for key in config):
        prefix = ""
    keys = _Keys(config, prefix)
    context = as_java_trusts(ssl.create_default_context(ssl.Purpose.CLIENT_AUTH))
    _load_identity(context, keys)
    auth = keys.text("ssl.client.auth") or "none"
    if auth not in _CLIENT_AUTH:
        raise keys.wrong("ssl.client.auth", f"String must be one of: {', '.join(_CLIENT_AUTH)}")
    context.verify_mode = _CLIENT_AUTH[auth]
    if auth != "none":
        _load_trusted(context, keys)
    return context


def client_tls(config: Mapping[str, Any]) -> Callable[[], ssl.SSLContext]:
    """How this worker speaks to others over https: whom it trusts, and who it says it is.

    Wrong keys are told of now. Without any there is nothing to get wrong, and the system's
    authorities can be loaded when the first request is sent.
    """
    if any(key.removeprefix("listeners.https.").startswith("ssl.") for key in config):
        context = _client_context(config)
        return lambda: context
    return lambda: _client_context(config)


def _client_context(config: Mapping[str, Any]) -> ssl.SSLContext:
    prefix = "listeners.https."
    if not any(key.startswith(prefix) for key in config):
        prefix = ""
    keys = _Keys(config, prefix)
    context = as_java_trusts(ssl.create_default_context())
    if keys.text("ssl.truststore.location") or keys.text("ssl.truststore.certificates"):
        _load_trusted(context, keys)
    if keys.text("ssl.keystore.location") or keys.text("ssl.keystore.key"):
        _load_identity(context, keys)
    if keys.text("ssl.endpoint.identification.algorithm") is None and (
        prefix + "ssl.endpoint.identification.algorithm" in config
    ):
        context.check_hostname = False  # set to nothing, as Kafka's clients have it switched off
    return context


def common_name(certificate: Mapping[str, Any] | None) -> str | None:
    """The name of a client's certificate, as Python shows those it has verified."""
    parts = (pair for part in (certificate or {}).get("subject", ()) for pair in part)
    return next((value for key, value in parts if key == "commonName"), None)


class _Keys:
    def __init__(self, config: Mapping[str, Any], prefix: str) -> None:
        self._config = config
        self._prefix = prefix

    def text(self, key: str) -> str | None:
        value = self._config.get(self._prefix + key)
        if isinstance(value, Secret):
            return value.reveal() or None
        return str(value) if value not in (None, "") else None

    def wrong(self, key: str, reason: str) -> ConfigError:
        return ConfigError(self._prefix + key, self._config.get(self._prefix + key), reason)


def _load_identity(context: ssl.SSLContext, keys: _Keys) -> None:
    chain, key = keys.text("ssl.keystore.certificate.chain"), keys.text("ssl.keystore.key")
    password = keys.text("ssl.key.password")
    if location := keys.text("ssl.keystore.location"):
        named = "ssl.keystore.location"
        store_password = keys.text("ssl.keystore.password")
        store = _read(keys, named, partial(read_store, location, store_password, password))
        # In a PEM file both are the key's.
        password = password or store_password
    elif chain and key:
        named = "ssl.keystore.certificate.chain"
        store = _read(keys, named, partial(read_pem, f"{key}\n{chain}\n"))
    else:
        raise keys.wrong(
            "ssl.keystore.location",
            "an https listener needs a store with its private key and certificate chain",
        )
    if store.key is None:
        raise keys.wrong(named, "holds no private key with its certificates")
    _read(keys, named, partial(present, context, store, password))


def _load_trusted(context: ssl.SSLContext, keys: _Keys) -> None:
    if location := keys.text("ssl.truststore.location"):
        named = "ssl.truststore.location"
        read = partial(read_store, location, keys.text("ssl.truststore.password"))
    elif inline := keys.text("ssl.truststore.certificates"):
        named = "ssl.truststore.certificates"
        read = partial(read_pem, inline)
    else:
        raise keys.wrong(
            "ssl.truststore.location",
            "ssl.client.auth needs a store with the authorities that sign clients",
        )
    certificates = _read(keys, named, read).certificates
    try:
        context.load_verify_locations(cadata=certificates)
    except (OSError, ValueError) as error:
        raise keys.wrong(named, f"can't load the authorities: {error}") from error


_T = TypeVar("_T")


def _read(keys: _Keys, named: str, read: Callable[[], _T]) -> _T:
    try:
        return read()
    except KeyStoreError as error:
        raise keys.wrong(named, str(error)) from error
