"""Encryption and authentication: `security.protocol`, `ssl.*` and `sasl.*` for librdkafka.

Key and trust stores become PEM in memory: nothing is written to disk.
"""

from __future__ import annotations

from typing import Any

from connect.config.keystores import KeyStore, KeyStoreError, read_pem, read_store
from connect.runtime.clients.jaas import LoginModule, parse_jaas
from connect.runtime.clients.settings import Settings, number, say_once

_JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"

# Java's own defaults: OpenSSL negotiates the same without being told.
_USUAL_PROTOCOLS = {"TLSv1.2", "TLSv1.3"}

_JVM_ONLY = {
    "ssl.provider", "ssl.keymanager.algorithm", "ssl.trustmanager.algorithm",
    "ssl.secure.random.implementation", "ssl.engine.factory.class",
    "sasl.client.callback.handler.class", "sasl.login.callback.handler.class", "sasl.login.class",
}  # fmt: skip


def uses_tls(settings: Settings) -> bool:
    return protocol_of(settings) in ("SSL", "SASL_SSL")


def uses_sasl(settings: Settings) -> bool:
    return protocol_of(settings).startswith("SASL_")


def protocol_of(settings: Settings) -> str:
    return (settings.get("security.protocol") or "PLAINTEXT").upper()


def librdkafka_security(settings: Settings) -> dict[str, Any]:
    """`ssl.*` and `sasl.*`; nothing where the protocol does not use them.

    A worker's `ssl.*` may well be for its REST listener while Kafka is reached in plain text.
    """
    result: dict[str, Any] = {}
    if uses_tls(settings):
        result |= _tls(settings)
    if uses_sasl(settings):
        result |= sasl_settings(settings)
    if result:
        for name in settings.values:
            if name in _JVM_ONLY:
                say_once("%s has no counterpart here and is ignored: it is the JVM's own",
                         settings.key(name))  # fmt: skip
    return result


# ---- TLS -------------------------------------------------------------------------------------


def _tls(settings: Settings) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ssl.endpoint.identification.algorithm": "https" if checks_names(settings) else "none"
    }
    trusted = trusted_authorities(settings)
    if trusted is not None:
        result["ssl.ca.pem"] = trusted
    identity = own_identity(settings)
    if identity is not None:
        result["ssl.certificate.pem"] = identity.chain
        result["ssl.key.pem"] = identity.key
        if _is_encrypted(identity):
            result["ssl.key.password"] = settings.get("ssl.key.password")
    if suites := cipher_suites(settings):
        result["ssl.cipher.suites"] = suites
    wanted = settings.get("ssl.enabled.protocols") or settings.get("ssl.protocol")
    if wanted and not {p.strip() for p in wanted.split(",")} & _USUAL_PROTOCOLS:
        say_once("%s=%s has no counterpart in librdkafka: TLSv1.2 and TLSv1.3 are offered",
                 settings.key("ssl.enabled.protocols"), wanted)  # fmt: skip
    return result


def checks_names(settings: Settings) -> bool:
    # Present and empty is Java's way to switch it off; librdkafka's is the word.
    wanted = settings.values.get("ssl.endpoint.identification.algorithm", "https").strip().lower()
    if wanted not in ("https", "", "none"):
        raise settings.wrong(
            "ssl.endpoint.identification.algorithm", "String must be https, or empty for none"
        )
    return wanted == "https"


def trusted_authorities(settings: Settings) -> str | None:
    """The authorities in PEM; None for those of the operating system."""
    inline = settings.get("ssl.truststore.certificates")
    if inline is not None:
        store = _read_inline(settings, "ssl.truststore.certificates", inline)
        key = "ssl.truststore.certificates"
    elif settings.get("ssl.truststore.location") is not None:
        key = "ssl.truststore.location"
        store = _read(settings, key, settings.get("ssl.truststore.password"), None)
    else:
        return None
    if not store.certificates:
        raise settings.wrong(key, "holds no certificate")
    return store.certificates


def own_identity(settings: Settings) -> KeyStore | None:
    inline_key = settings.get("ssl.keystore.key")
    chain = settings.get("ssl.keystore.certificate.chain")
    if inline_key is not None or chain is not None:
        if inline_key is None or chain is None:
            missing = "ssl.keystore.key" if chain else "ssl.keystore.certificate.chain"
            raise settings.wrong(missing, "is missing: key and certificate chain go together")
        key_pem = _read_inline(settings, "ssl.keystore.key", inline_key)
        chain_pem = _read_inline(settings, "ssl.keystore.certificate.chain", chain)
        store = KeyStore(key_pem.key, chain_pem.certificates, "")
        key = "ssl.keystore.key"
    elif settings.get("ssl.keystore.location") is not None:
        key = "ssl.keystore.location"
        store = _read(
            settings, key, settings.get("ssl.keystore.password"), settings.get("ssl.key.password")
        )
    else:
        return None
    if not store.key or not store.chain:
        raise settings.wrong(key, "holds no private key with its certificates")
    if _is_encrypted(store) and settings.get("ssl.key.password") is None:
        raise settings.wrong(key, "has an encrypted key: set ssl.key.password")
    return store


def _is_encrypted(store: KeyStore) -> bool:
    return store.key is not None and "ENCRYPTED" in store.key


def _read(
    settings: Settings, name: str, password: str | None, key_password: str | None
) -> KeyStore:
    try:
        return read_store(settings.values[name].strip(), password, key_password)
    except KeyStoreError as error:
        raise settings.wrong(name, str(error)) from error


def _read_inline(settings: Settings, name: str, text: str) -> KeyStore:
    try:
        return read_pem(text)
    except KeyStoreError as error:
        raise settings.wrong(name, str(error)) from error


def cipher_suites(settings: Settings) -> str:
    """OpenSSL's names of the suites. Those of TLS 1.3 are always on and can't be chosen."""
    names = (n.strip() for n in (settings.get("ssl.cipher.suites") or "").split(","))
    return ":".join(_openssl_name(n) for n in names if n and not _is_tls13(n))


def _is_tls13(name: str) -> bool:
    return name.startswith("TLS_") and "_WITH_" not in name


def _openssl_name(name: str) -> str:
    exchange, with_, cipher = name.removeprefix("TLS_").partition("_WITH_")
    if not with_:
        return name  # OpenSSL's own name
    cipher = (
        cipher.replace("AES_", "AES").replace("_CBC", "").replace("POLY1305_SHA256", "POLY1305")
    )
    prefix = "" if exchange == "RSA" else exchange.replace("_", "-") + "-"
    return prefix + cipher.replace("_", "-")


# ---- SASL ------------------------------------------------------------------------------------


def mechanism_of(settings: Settings) -> str:
    return (settings.get("sasl.mechanism") or "GSSAPI").upper()


def _login(settings: Settings) -> LoginModule:
    line = settings.get("sasl.jaas.config")
    if line is None:
        return LoginModule("", {})
    try:
        return parse_jaas(line)
    except ValueError as error:
        raise settings.wrong("sasl.jaas.config", str(error)) from error


def sasl_settings(settings: Settings) -> dict[str, Any]:
    mechanism = mechanism_of(settings)
    result: dict[str, Any] = {"sasl.mechanism": mechanism}
    match mechanism:
        case "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512":
            name, password = _name_and_password(settings)
            return result | {"sasl.username": name, "sasl.password": password}
        case "OAUTHBEARER":
            return result | _oauth(settings)
        case "GSSAPI":
            return result | _kerberos(settings)
    raise settings.wrong(
        "sasl.mechanism",
        "String must be one of: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, GSSAPI",
    )


def _name_and_password(settings: Settings) -> tuple[str, str]:
    options = _login(settings).options
    name = options.get("username") or settings.get("sasl.username")
    password = options.get("password") or settings.get("sasl.password")
    if not name or not password:
        raise settings.wrong(
            "sasl.jaas.config",
            f"needs username and password for {mechanism_of(settings)}: "
            'org.apache.kafka.common.security.plain.PlainLoginModule required username="…" '
            'password="…";',
        )
    return name, password


def _kerberos(settings: Settings) -> dict[str, Any]:
    options = _login(settings).options
    found = {
        "sasl.kerberos.service.name": settings.get("sasl.kerberos.service.name")
        or options.get("serviceName"),
        "sasl.kerberos.keytab": options.get("keyTab"),
        "sasl.kerberos.principal": options.get("principal"),
    }
    if settings.get("sasl.kerberos.min.time.before.relogin"):
        found["sasl.kerberos.min.time.before.relogin"] = str(
            number(settings, "sasl.kerberos.min.time.before.relogin")
        )
    for name in ("sasl.kerberos.kinit.cmd", "sasl.kerberos.ticket.renew.jitter",
                 "sasl.kerberos.ticket.renew.window.factor"):  # fmt: skip
        if settings.get(name):
            say_once("%s has no counterpart here and is ignored: librdkafka renews tickets in its "
                     "own way", settings.key(name))  # fmt: skip
    return {name: value for name, value in found.items() if value}


def _oauth(settings: Settings) -> dict[str, Any]:
    options = _login(settings).options
    extensions = ",".join(
        f"{name.removeprefix('extension_')}={value}"
        for name, value in options.items()
        if name.startswith("extension_")
    )
    if (subject := options.get("unsecuredLoginStringClaim_sub")) and not settings.get(
        "sasl.oauthbearer.token.endpoint.url"
    ):
        return {
            "enable.sasl.oauthbearer.unsecure.jwt": "true",
            "sasl.oauthbearer.config": f"principal={subject}",
        }
    url = settings.get("sasl.oauthbearer.token.endpoint.url")
    if url is None:
        raise settings.wrong(
            "sasl.oauthbearer.token.endpoint.url", "is missing: tokens are fetched from there"
        )
    result = {"sasl.oauthbearer.method": "oidc", "sasl.oauthbearer.token.endpoint.url": url}
    if extensions:
        result["sasl.oauthbearer.extensions"] = extensions
    scope = settings.get("sasl.oauthbearer.scope") or options.get("scope")
    if scope:
        result["sasl.oauthbearer.scope"] = scope
    if (settings.get("sasl.oauthbearer.jwt.retriever.class") or "").endswith(
        "JwtBearerJwtRetriever"
    ):
        return result | _jwt_bearer(settings)
    name, secret = _client_credentials(settings, options)
    return result | {"sasl.oauthbearer.client.id": name, "sasl.oauthbearer.client.secret": secret}


def _client_credentials(settings: Settings, options: dict[str, str]) -> tuple[str, str]:
    prefix = "sasl.oauthbearer.client.credentials.client."
    name = settings.get(f"{prefix}id") or options.get("clientId")
    secret = settings.get(f"{prefix}secret") or options.get("clientSecret")
    if not name or not secret:
        raise settings.wrong(
            f"{prefix}{'secret' if name else 'id'}",
            "is missing: set it, or clientId and clientSecret in sasl.jaas.config",
        )
    return name, secret


def _jwt_bearer(settings: Settings) -> dict[str, Any]:
    prefix = "sasl.oauthbearer.assertion."
    result = {"sasl.oauthbearer.grant.type": _JWT_BEARER}
    for name in settings.values:
        value = settings.get(name)
        if name.startswith(prefix) and value is not None:
            ours = prefix + "jwt.template.file" if name == prefix + "template.file" else name
            result[ours] = value
    return result
