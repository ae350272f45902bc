"""JSON Patch (RFC 6902): changes of a JSON document as a list of operations."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any

from connect.errors import ConnectError


class PatchError(ConnectError):
    """A patch is malformed, or does not fit the document; names the operation."""


_NEEDS = {
    "add": ("path", "value"),
    "remove": ("path",),
    "replace": ("path", "value"),
    "move": ("from", "path"),
    "copy": ("from", "path"),
    "test": ("path", "value"),
}


class JsonPatch:
    """A checked list of operations, applied to one document after the other."""

    def __init__(self, operations: Any) -> None:
        if not isinstance(operations, list):
            raise PatchError("A JSON Patch is a list of operations.")
        for n, operation in enumerate(operations):
            _check(n, operation)
        self._operations: list[dict[str, Any]] = operations

    @classmethod
    def parse(cls, text: str | bytes) -> JsonPatch:
        try:
            return cls(json.loads(text))
        except ValueError as error:
            raise PatchError(f"The patch is not JSON: {error}") from error

    def apply(self, document: Any) -> Any:
        """The changed document; the one given stays as it is. PatchError if it does not fit."""
        document = copy.deepcopy(document)
        for n, operation in enumerate(self._operations):
            try:
                document = _apply(document, operation)
            except PatchError as error:
                raise PatchError(
                    f"Operation {n} ({operation['op']} {operation['path']}): {error}"
                ) from error
        return document


def _check(n: int, operation: Any) -> None:
    name = operation.get("op") if isinstance(operation, dict) else None
    if name not in _NEEDS:
        raise PatchError(f"Operation {n} has no op of {', '.join(_NEEDS)}.")
    for field in _NEEDS[name]:
        if field not in operation:
            raise PatchError(f"Operation {n} ({name}) has no {field}.")
        if field != "value" and not _is_pointer(operation[field]):
            raise PatchError(
                f"Operation {n} ({name}): {field} is {operation[field]!r}, and not empty or "
                "beginning with /."
            )


def _is_pointer(value: Any) -> bool:
    return isinstance(value, str) and (not value or value.startswith("/"))


def _apply(document: Any, operation: dict[str, Any]) -> Any:
    path = _steps(operation["path"])
    match operation["op"]:
        case "add":
            return _add(document, path, copy.deepcopy(operation["value"]))
        case "remove":
            return _remove(document, path)
        case "replace":
            _get(document, path)
            if not path:
                return copy.deepcopy(operation["value"])
            parent = _get(document, path[:-1])
            parent[_key(parent, path[-1])] = copy.deepcopy(operation["value"])
            return document
        case "copy":
            return _add(document, path, copy.deepcopy(_get(document, _steps(operation["from"]))))
        case "move":
            source = _steps(operation["from"])
            if path[: len(source)] == source and path != source:
                raise PatchError("a value can't be moved into itself")
            value = _get(document, source)
            return _add(_remove(document, source), path, value)
        case _:
            if not _same(_get(document, path), operation["value"]):
                raise PatchError("the value is another one")
            return document


def _steps(pointer: str) -> list[str]:
    return [s.replace("~1", "/").replace("~0", "~") for s in pointer.split("/")[1:]]


def _get(document: Any, path: Sequence[str]) -> Any:
    for step in path:
        document = document[_key(document, step)]
    return document


def _key(parent: Any, step: str) -> Any:
    """The key or position of something that is there."""
    if isinstance(parent, dict):
        if step not in parent:
            raise PatchError(f"there is no '{step}'")
        return step
    if isinstance(parent, list):
        position = _position(step)
        if position >= len(parent):
            raise PatchError(f"there is no item {step}")
        return position
    raise PatchError(f"'{step}' is looked for in what is neither object nor list")


def _position(step: str) -> int:
    if not (step.isascii() and step.isdigit()) or (step[0] == "0" and step != "0"):
        raise PatchError(f"'{step}' is no position in a list")
    return int(step)


def _add(document: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    parent = _get(document, path[:-1])
    last = path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list):
        position = len(parent) if last == "-" else _position(last)
        if position > len(parent):
            raise PatchError(f"there is no place {last} in a list of {len(parent)}")
        parent.insert(position, value)
    else:
        raise PatchError(f"'{last}' can't be added to what is neither object nor list")
    return document


def _remove(document: Any, path: Sequence[str]) -> Any:
    if not path:
        return None
    parent = _get(document, path[:-1])
    del parent[_key(parent, path[-1])]
    return document


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
