"""Hides fields of values that are shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from connect.config.secret import HIDDEN
from connect.pipeline.samples import shown_bytes
from dlq.fingerprint import normalised


class Mask:
    """Fields by name, wherever they are, or by path (`card.number`); `*` hides everything."""

    def __init__(self, fields: Sequence[str] = ()) -> None:
        names = [field.strip() for field in fields if field.strip()]
        self._all = "*" in names
        self._paths = {tuple(name.lower().split(".")) for name in names}

    def __bool__(self) -> bool:
        return bool(self._paths)

    def value(self, value: Any) -> Any:
        """A decoded value without what is to be hidden."""
        return self._masked(value, ()) if self else value

    def raw(self, data: bytes | None) -> Any:
        """Bytes as text or base64. With fields to hide, only JSON can be shown at all."""
        if data is None or not self:
            return shown_bytes(data)
        try:
            document = json.loads(data)
        except ValueError:
            return HIDDEN
        return json.dumps(self._masked(document, ()), ensure_ascii=False)

    def text(self, text: str | None) -> str | None:
        """A message, which may quote what is to be hidden."""
        return text if text is None or not self else normalised(text)

    def trace(self, trace: str | None) -> str | None:
        """A trace: its frames as they are, its messages as messages."""
        if trace is None or not self:
            return trace
        lines = trace.splitlines()
        return "\n".join(x if x.startswith("\tat ") else normalised(x) for x in lines)

    def _masked(self, value: Any, path: tuple[str, ...]) -> Any:
        if self._all and not isinstance(value, (Mapping, list)):
            return HIDDEN if value is not None else None
        if isinstance(value, Mapping):
            return {
                key: HIDDEN
                if self._hides((*path, str(key).lower()))
                else self._masked(item, (*path, str(key).lower()))
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [self._masked(item, path) for item in value]
        # A bare value has no name that could be asked for.
        return value if path else HIDDEN

    def _hides(self, path: tuple[str, ...]) -> bool:
        return any(path[-len(wanted) :] == wanted for wanted in self._paths)
