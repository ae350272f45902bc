"""Texts that begin alike and end alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import overload


class Framed(Sequence[bytes]):
    """`before` + text + `behind` for each text, put together when somebody asks for it.

    No part may have a line end. JSON has none, which is what this is for: who writes a whole batch
    somewhere can put the frame where it belongs, and needs no bytes object for each.
    """

    def __init__(self, before: bytes, texts: Sequence[bytes], behind: bytes) -> None:
        self.before = before
        self.texts = texts
        self.behind = behind

    @cached_property
    def whole(self) -> list[bytes]:
        # Framed and cut apart again at once.
        framed = (self.behind + b"\n" + self.before).join(self.texts)
        return (self.before + framed + self.behind).split(b"\n") if self.texts else []

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.whole)

    @overload
    def __getitem__(self, index: int) -> bytes: ...

    @overload
    def __getitem__(self, index: slice) -> Framed: ...

    def __getitem__(self, index: int | slice) -> bytes | Framed:
        if isinstance(index, slice):
            return Framed(self.before, self.texts[index], self.behind)
        return self.whole[index]


def total_bytes(values: Sequence[bytes | None]) -> int:
    """How much all of them take together."""
    if isinstance(values, Framed):
        frame = len(values.before) + len(values.behind)
        return frame * len(values) + sum(map(len, values.texts))
    return sum(map(len, filter(None, values)))
