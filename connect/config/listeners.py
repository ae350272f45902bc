"""Settings of the REST server that are written as little languages: URLs and header rules."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from connect.errors import ConfigError

_ACTIONS = ("set", "add", "setDate", "addDate")
_DEFAULT_PORT = 8083


class Listener(NamedTuple):
    """Where to listen. An empty host means all interfaces."""

    protocol: str
    host: str
    port: int


class HeaderRule(NamedTuple):
    action: str
    name: str
    value: str


def parse_listeners(name: str, urls: Iterable[str]) -> list[Listener]:
    """The listeners of a list of URLs, or ConfigError for the first that is none."""
    listeners = []
    for url in urls:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ConfigError(name, url, f"not a URL: {error}") from error
        protocol = parts.scheme.lower()
        if protocol not in ("http", "https") or "://" not in url:
            raise ConfigError(
                name, url, "Listeners are URLs with http or https, such as http://localhost:8083"
            )
        listeners.append(
            Listener(protocol, parts.hostname or "", _DEFAULT_PORT if port is None else port)
        )
    return listeners


def check_listeners(name: str, value: Any) -> None:
    if not value:
        raise ConfigError(
            "Invalid value for listeners, at least one URL is expected, "
            "ex: http://localhost:8080,https://localhost:8443."
        )
    if "" in value:
        raise ConfigError("Empty URL found when parsing listeners list.")
    parse_listeners(name, value)


def parse_header_rules(text: str) -> list[HeaderRule]:
    """The rules of `response.http.headers.config`. A rule with a comma is in double quotes."""
    if not text.strip():
        return []
    rules = []
    for item in next(csv.reader([text], skipinitialspace=True)):
        rule = item.strip()
        action, _, pair = rule.partition(" ")
        if not pair.strip():
            raise ConfigError(
                f"Invalid format of header config '{rule}'. "
                "Expected: '[action] [header name]:[header value]'"
            )
        if action not in _ACTIONS:
            raise ConfigError(
                f"Invalid header config action: '{action}'. Expected one of [{', '.join(_ACTIONS)}]"
            )
        header, colon, value = pair.strip().partition(":")
        if not colon:
            raise ConfigError(
                f"Invalid format of header name and header value pair '{pair.strip()}'. "
                "Expected: '[header name]:[header value]'"
            )
        if any(c.isspace() for c in header.strip()) or not header.strip():
            raise ConfigError(
                f"Invalid header name '{header.strip()}'. "
                "The '[header name]' cannot contain whitespace"
            )
        rules.append(HeaderRule(action, header.strip(), value.strip()))
    return rules


def check_header_rules(name: str, value: Any) -> None:  # noqa: ARG001 - a validator's signature
    parse_header_rules(value or "")
