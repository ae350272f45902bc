"""Source offsets in memory, held to what the real store can hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class OffsetStore:
    """Source offsets by partition. Outlives the tasks that write it, as the offsets topic does.

    Both are kept as JSON text, so that what comes back is what a restarted task would see.
    """

    def __init__(self) -> None:
        self._offsets: dict[str, str] = {}

    def store(self, partition: Mapping[str, Any], offset: Mapping[str, Any] | None) -> None:
        """Keep an offset; None forgets the partition."""
        key = _as_json("source_partition", partition)
        if offset is None:
            self._offsets.pop(key, None)
        else:
            self._offsets[key] = _as_json("source_offset", offset)

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        text = self._offsets.get(_as_json("source_partition", partition))
        if text is None:
            return None
        offset: dict[str, Any] = json.loads(text)
        return offset

    def all(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        return [(json.loads(k), json.loads(v)) for k, v in self._offsets.items()]


def _as_json(what: str, given: Mapping[str, Any]) -> str:
    for key, value in given.items():
        flat = isinstance(key, str) and isinstance(value, (str, int, float, bool, type(None)))
        assert flat, (
            f"{what} must be a flat map of strings to strings, numbers, booleans and None, "
            f"but has {key!r}: {value!r}"
        )
    return json.dumps(dict(given), sort_keys=True)
