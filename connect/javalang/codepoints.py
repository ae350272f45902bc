"""Sets of Unicode code points: what a Java character class comes down to."""

import bisect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

MAX_CODE_POINT = 0x10FFFF

# What Python's re puts between brackets as it is; all else is written as an escape.
_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


@dataclass(frozen=True, slots=True)
class CodePoints:
    """Sorted inclusive ranges that neither touch nor overlap."""

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, ranges: Iterable[tuple[int, int]]) -> "CodePoints":
        merged: list[tuple[int, int]] = []
        for low, high in sorted(ranges):
            if merged and low <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
            else:
                merged.append((low, high))
        return cls(tuple(merged))

    @classmethod
    def chars(cls, text: str) -> "CodePoints":
        return cls.of((ord(char), ord(char)) for char in text)

    @classmethod
    def hex(cls, text: str) -> "CodePoints":
        """Read blank-separated hexadecimal ranges: `41-5a 5f 61-7a`."""
        pairs = (item.partition("-") for item in text.split())
        return cls.of((int(low, 16), int(high or low, 16)) for low, _, high in pairs)

    @classmethod
    def where(cls, accepts: Callable[[str], bool]) -> "CodePoints":
        """Ask for every code point there is: slow (a fifth of a second), so keep the answer."""
        found: list[tuple[int, int]] = []
        start = -1
        for code in range(MAX_CODE_POINT + 1):
            if accepts(chr(code)):
                if start < 0:
                    start = code
            elif start >= 0:
                found.append((start, code - 1))
                start = -1
        if start >= 0:
            found.append((start, MAX_CODE_POINT))
        return cls(tuple(found))

    def __or__(self, other: "CodePoints") -> "CodePoints":
        return CodePoints.of(self.ranges + other.ranges)

    def __invert__(self) -> "CodePoints":
        gaps: list[tuple[int, int]] = []
        start = 0
        for low, high in self.ranges:
            if low > start:
                gaps.append((start, low - 1))
            start = high + 1
        if start <= MAX_CODE_POINT:
            gaps.append((start, MAX_CODE_POINT))
        return CodePoints(tuple(gaps))

    def __and__(self, other: "CodePoints") -> "CodePoints":
        return ~(~self | ~other)

    def __sub__(self, other: "CodePoints") -> "CodePoints":
        return self & ~other

    def __contains__(self, code: int) -> bool:
        at = bisect.bisect_right(self.ranges, (code, MAX_CODE_POINT)) - 1
        return at >= 0 and self.ranges[at][1] >= code

    def __iter__(self) -> Iterator[int]:
        for low, high in self.ranges:
            yield from range(low, high + 1)

    def source(self) -> str:
        """Python regex source that matches one code point of the set."""
        if not self.ranges:
            return r"[^\s\S]"
        if self.ranges == ALL.ranges:
            return "(?s:.)"
        if len(self.ranges) == 1 and self.ranges[0][0] == self.ranges[0][1]:
            return _escaped(self.ranges[0][0])
        outside = (~self).ranges
        if len(outside) < len(self.ranges):
            return "[^" + _spelled(outside) + "]"
        return "[" + _spelled(self.ranges) + "]"


ALL = CodePoints(((0, MAX_CODE_POINT),))
NONE = CodePoints(())


def _spelled(ranges: Iterable[tuple[int, int]]) -> str:
    parts: list[str] = []
    for low, high in ranges:
        parts.append(_escaped(low))
        if high > low:
            parts.append(("-" if high > low + 1 else "") + _escaped(high))
    return "".join(parts)


def _escaped(code: int) -> str:
    char = chr(code)
    if char in _BARE:
        return char
    if code <= 0xFF:
        return f"\\x{code:02x}"
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    return f"\\U{code:08x}"
