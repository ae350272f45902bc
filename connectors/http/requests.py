"""From records to requests: addresses, headers and bodies."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from connect import Config, DataError, SinkRecord
from connectors.json_text import to_json

_REFERENCE = re.compile(r"\$\{([^}]+)\}")


@dataclass(frozen=True, slots=True)
class Address:
    """What records must have in common to go into one request."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]


class Template:
    """A text with references to parts of a record."""

    def __init__(self, text: str, encode: Callable[[str], str] = str) -> None:
        self._parts = _REFERENCE.split(text)
        self._encode = encode
        self.fixed = len(self._parts) == 1

    def fill(self, record: SinkRecord) -> str:
        if self.fixed:
            return self._parts[0]
        made = list(self._parts)
        for place in range(1, len(made), 2):
            made[place] = self._encode(_lookup(made[place], record))
        return "".join(made)


def _lookup(name: str, record: SinkRecord) -> str:
    match name:
        case "topic":
            return record.topic
        case "key":
            value = record.key
        case "partition":
            value = record.original_partition
        case "offset":
            value = record.offset
        case _:
            value = _path(record.value, name) if not name.startswith("key.") else (
                _path(record.key, name.removeprefix("key."))
            )  # fmt: skip
    if value is None:
        raise DataError(f"The record has nothing for ${{{name}}}")
    if isinstance(value, (dict, list, bytes)):
        raise DataError(f"${{{name}}} is a {type(value).__name__}, which has no form in a text")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _path(value: Any, path: str) -> Any:
    for name in path.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


class RequestMaker:
    def __init__(self, config: Config) -> None:
        self._method: str = config["request.method"].upper()
        self._url = Template(config["http.api.url"], lambda text: quote(text, safe=""))
        separator = config["header.separator"] or "|"
        self._headers = [
            (name.strip(), Template(value.strip(), _header_text))
            for name, _, value in (
                header.partition(":") for header in filter(None, config["headers"].split(separator))
            )
        ]
        names = {name.lower() for name, _ in self._headers}
        self._json = config["request.body.format"].lower() == "json"
        if "content-type" not in names:
            kind = "application/json" if self._json else "text/plain; charset=utf-8"
            self._headers.append(("Content-Type", Template(kind)))
        self._batches: bool = config["batch.max.size"] > 1
        self._array: bool = self._json and config["batch.json.as.array"]
        self._prefix: bytes = _unescaped(config["batch.prefix"])
        self._suffix: bytes = _unescaped(config["batch.suffix"])
        self._separator: bytes = _unescaped(config["batch.separator"])

    def address(self, record: SinkRecord) -> Address:
        return Address(
            "DELETE" if record.value is None else self._method,
            self._url.fill(record),
            tuple((name, template.fill(record)) for name, template in self._headers),
        )

    def body(self, record: SinkRecord) -> bytes:
        """A record's own part of a request."""
        value = record.value
        if value is None:
            return b""
        if not self._json:
            if isinstance(value, str):
                return value.encode()
            if isinstance(value, (bytes, bytearray, memoryview)):
                return bytes(value)
        return to_json(value)

    def content(self, bodies: list[bytes]) -> bytes:
        """The body of a request with all of these."""
        if not self._batches:
            return bodies[0]
        if self._array:
            return b"[" + b",".join(bodies) + b"]"
        return self._prefix + self._separator.join(bodies) + self._suffix


def _unescaped(text: str) -> bytes:
    return text.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r").encode()


def _header_text(text: str) -> str:
    if any(ord(c) < 32 for c in text):
        raise DataError("A header can't have control characters in it")
    return text
