"""Connector configs in files, as Kafka Connect's command line takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from connect.errors import ConfigError


@dataclass(frozen=True, slots=True)
class ConnectorFile:
    """A connector to be created: what a POST to /connectors would carry."""

    name: str
    config: dict[str, str]
    initial_state: str | None = None


def read_connector_file(path: Path, name: str | None = None) -> ConnectorFile:
    """A flat JSON map, a create request as JSON, or a .properties file.

    `name` is for a file that names no connector; one that does must agree.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text: {error}") from error
    return parse_connector(text, str(path), name)


def parse_connector(text: str, where: str, name: str | None = None) -> ConnectorFile:
    """The same from text; `where` is named in errors."""
    if not text.lstrip().startswith(("{", "[")):
        from connect.javalang.properties import load_properties  # noqa: PLC0415 - seldom needed

        return _connector(name, load_properties(text), None, where)
    try:
        # Numbers stay as they are written: config values are text, and 1.50 is not 1.5.
        found = json.loads(text, parse_int=_Number, parse_float=_Number)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{where} is not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from error
    if not isinstance(found, dict):
        raise ConfigError(f"{where} holds a list: one connector goes into one file")
    if not isinstance(found.get("config"), dict):
        return _connector(name, _strings(found, where), None, where)
    config = _strings(found["config"], where)
    about = _strings(
        {k: v for k, v in found.items() if k in ("name", "initial_state") and v}, where
    )
    if "name" in about:
        config = {"name": about["name"], **config}
    return _connector(name, config, about.get("initial_state"), where)


def _connector(
    wanted: str | None, config: Mapping[str, str], state: str | None, where: str
) -> ConnectorFile:
    name = config.get("name", "").strip() or wanted
    if not name:
        raise ConfigError(f"{where} names no connector: add the key name")
    if wanted is not None and name != wanted:
        raise ConfigError(f"{where} is for the connector {name}, not for {wanted}")
    return ConnectorFile(name, {**config, "name": name}, state)


class _Number(str):
    __slots__ = ()


def _strings(values: Mapping[str, Any], where: str) -> dict[str, str]:
    strings = {}
    for key, value in values.items():
        if isinstance(value, (dict, list)) or value is None:
            raise ConfigError(
                f"{where}: the value of {key} must be a string, a number or a boolean; configs are "
                "flat, so write nested keys with dots and lists with commas"
            )
        strings[key] = str(value).lower() if isinstance(value, bool) else str(value)
    return strings
