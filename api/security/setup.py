"""What a worker's settings make of its gate, and the warnings about what they leave open."""

from __future__ import annotations

import ipaddress
import logging
import ssl
from collections.abc import Mapping, Sequence
from typing import Any

from api.listeners import OpenListener
from api.security import kafka_extension
from api.security.audit import Audit
from api.security.gate import Security
from api.security.rates import Rates
from api.security.users import SETTING, Users
from api.settings import RestSettings, parse
from connect.cluster.herder import Herder

log = logging.getLogger(__name__)


def make_security(config: Mapping[str, Any], herder: Herder) -> Security:
    """From a worker's settings. ConfigError when a file of theirs can't be used."""
    settings = parse(config)
    file = settings[SETTING]
    if not file and kafka_extension.BASIC_AUTH in settings["rest.extension.classes"]:
        file = kafka_extension.users_file()
    protocol = config.get("connect.protocol", "sessioned")
    if file and protocol != "sessioned":
        log.warning(
            "Requests between workers are not signed with connect.protocol=%s, and so anybody's: "
            "set it to sessioned",
            protocol,
        )
    rate = settings["rest.rate.limit"]
    return Security(
        herder,
        Users(file) if file else None,
        Rates(rate, settings["rest.rate.burst"]) if rate else None,
        Audit(settings["rest.audit.file"]),
        RestSettings.of(config).allow_origins,
    )


def warn_of_open_listeners(
    listeners: Sequence[OpenListener], tls: ssl.SSLContext | None, security: Security
) -> None:
    """Whoever reaches an address that is not loopback can run connectors, and with them code."""
    if security.users is not None:
        return
    for listener in listeners:
        asks = listener.scheme == "https" and tls and tls.verify_mode is ssl.CERT_REQUIRED
        if not asks and not all(_is_loopback(s.getsockname()[0]) for s in listener.sockets):
            log.warning(
                "Everybody who reaches %s can create connectors, and with them run code: set "
                "%s, or listen on loopback only",
                listener.url,
                SETTING,
            )


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback
