"""Secrets: values that must never be seen in a log, a REST answer or a trace."""

from __future__ import annotations

HIDDEN = "[hidden]"

# Replacing very short texts would garble every message and hide nothing worth hiding.
_SHORTEST_SECRET = 4


class Secret:
    """A password or key. Prints as [hidden]; `reveal()` gives the text to the one who needs it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return HIDDEN

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(HIDDEN, spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)


def scrub(message: str, shown_as: dict[str, str]) -> str:
    """The message with every secret text replaced by what may be shown instead of it."""
    for text in sorted(shown_as, key=len, reverse=True):
        if len(text) >= _SHORTEST_SECRET:
            message = message.replace(text, shown_as[text])
    return message
