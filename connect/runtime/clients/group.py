"""Security settings for kafka-python, which carries the group membership."""

from __future__ import annotations

import ssl
import threading
import time
from typing import Any

from kafka.net.sasl.oauth import AbstractTokenProvider

from connect.config.keystores import KeyStoreError, present
from connect.errors import ConnectError
from connect.runtime.clients.security import (
    checks_names,
    cipher_suites,
    mechanism_of,
    own_identity,
    protocol_of,
    sasl_settings,
    trusted_authorities,
    uses_sasl,
    uses_tls,
)
from connect.runtime.clients.settings import Settings


def kafka_python_security(settings: Settings) -> dict[str, Any]:
    """The same in kafka-python's words."""
    result: dict[str, Any] = {"security_protocol": protocol_of(settings)}
    if uses_tls(settings):
        result["ssl_context"] = ssl_context(settings)
    if not uses_sasl(settings):
        return result
    mechanism = result["sasl_mechanism"] = mechanism_of(settings)
    ours = sasl_settings(settings)
    if "sasl.username" in ours:
        result["sasl_plain_username"] = ours["sasl.username"]
        result["sasl_plain_password"] = ours["sasl.password"]
    elif mechanism == "GSSAPI":
        service = ours.get("sasl.kerberos.service.name")
        if service:
            result["sasl_kerberos_service_name"] = service
    else:
        if "sasl.oauthbearer.client.id" not in ours:
            raise settings.wrong(
                "sasl.mechanism", "OAUTHBEARER works with client credentials only for worker groups"
            )
        result["sasl_oauth_token_provider"] = ClientCredentials(ours)
    return result


def ssl_context(settings: Settings) -> ssl.SSLContext:
    """The same for Python's own TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = checks_names(settings)
    trusted = trusted_authorities(settings)
    if trusted is None:
        context.load_default_certs()
    else:
        context.load_verify_locations(cadata=trusted)
        # As in Java, whatever is in a trust store is trusted, be it a root or not.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    identity = own_identity(settings)
    if identity is not None:
        try:
            present(context, identity, settings.get("ssl.key.password"))
        except KeyStoreError as error:
            raise settings.wrong("ssl.keystore.location", str(error)) from error
    if suites := cipher_suites(settings):
        context.set_ciphers(suites)
    return context


class ClientCredentials(AbstractTokenProvider):  # type: ignore[misc]
    """Fetches OAuth tokens for client credentials, and keeps each for most of its life."""

    def __init__(self, ours: dict[str, Any]) -> None:
        super().__init__()
        self._url = ours["sasl.oauthbearer.token.endpoint.url"]
        self._auth = (
            ours["sasl.oauthbearer.client.id"],
            ours["sasl.oauthbearer.client.secret"],
        )
        self._form = {"grant_type": "client_credentials"}
        if scope := ours.get("sasl.oauthbearer.scope"):
            self._form["scope"] = scope
        pairs = filter(None, ours.get("sasl.oauthbearer.extensions", "").split(","))
        self._extensions = dict(pair.split("=", 1) for pair in pairs)
        self._lock = threading.Lock()
        self._token = ""
        self._renew_at = 0.0

    def token(self) -> str:
        with self._lock:
            if time.monotonic() >= self._renew_at:
                self._fetch()
            return self._token

    def extensions(self) -> dict[str, str]:
        return self._extensions

    def _fetch(self) -> None:
        import httpx  # noqa: PLC0415 - heavy, rarely needed

        try:
            answer = httpx.post(self._url, data=self._form, auth=self._auth, timeout=10)
            answer.raise_for_status()
            body = answer.json()
            self._token = str(body["access_token"])
        except (httpx.HTTPError, ValueError, KeyError) as error:
            raise ConnectError(
                f"sasl.oauthbearer.token.endpoint.url {self._url} gives no token: {error}"
            ) from error
        # As Java does: renewed when four fifths of its life are over.
        self._renew_at = time.monotonic() + 0.8 * float(body.get("expires_in", 300))
