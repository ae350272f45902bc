"""The worker's settings that concern the REST API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connect.config.configdef import Config, ConfigDef
from connect.config.listeners import HeaderRule, parse_header_rules
from connect.config.worker import STANDALONE_CONFIG

_KEYS = (
    "listeners",
    "admin.listeners",
    "rest.advertised.host.name",
    "rest.advertised.port",
    "rest.advertised.listener",
    "rest.request.timeout.ms",
    "rest.request.max.bytes",
    "access.control.allow.origin",
    "access.control.allow.methods",
    "response.http.headers.config",
    "rest.extension.classes",
    "rest.auth.file",
    "rest.audit.file",
    "rest.rate.limit",
    "rest.rate.burst",
)
_REST_CONFIG = ConfigDef(STANDALONE_CONFIG.keys[name] for name in _KEYS)


@dataclass(frozen=True, slots=True)
class RestSettings:
    """What routes and middleware need to know of the worker's settings."""

    timeout_seconds: float
    max_body_bytes: int
    allow_origins: Sequence[str]
    allow_methods: Sequence[str]
    headers: Sequence[HeaderRule]
    admin_on_main: bool

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> RestSettings:
        parsed = parse(config)
        return cls(
            timeout_seconds=parsed["rest.request.timeout.ms"] / 1000,
            max_body_bytes=parsed["rest.request.max.bytes"],
            allow_origins=_items(parsed["access.control.allow.origin"]),
            allow_methods=_items(parsed["access.control.allow.methods"]),
            headers=parse_header_rules(parsed["response.http.headers.config"]),
            admin_on_main=parsed["admin.listeners"] is None,
        )


def parse(config: Mapping[str, Any]) -> Config:
    """The REST keys of a worker's settings, whether they come as text or already parsed."""
    return _REST_CONFIG.parse(config)


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]
