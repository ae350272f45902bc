"""Versions of plugins and ranges of them, written as Maven writes them.

`1.2` means exactly 1.2, `[1.2,2)` from 1.2 up to but without 2, `[1.2,)` from 1.2 on; ranges can
be listed: `[1,2),[3,4)`. `latest`, or nothing, means the newest there is.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

LATEST = "latest"

_NOT_A_SET = "Only fully-qualified sets allowed in multiple set scenario: "

_PART = re.compile(r"\d+|[a-z]+")
_QUALIFIERS = {
    "alpha": -5, "a": -5, "beta": -4, "b": -4, "milestone": -3, "m": -3, "rc": -2, "cr": -2,
    "dev": -6, "snapshot": -1, "ga": 0, "final": 0, "release": 0, "sp": 1, "post": 1,
}  # fmt: skip
_OTHER_QUALIFIER = 2


@functools.total_ordering
class Version:
    """A version that sorts: 1.9 < 1.10, 2.0-rc1 < 2.0 = 2 < 2.0.1."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts = [_rank(part) for part in _PART.findall(text.lower())]
        while self._parts and self._parts[-1] in (_ZERO, _rank("final")):
            self._parts.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._parts == other._parts

    def __lt__(self, other: Version) -> bool:
        length = max(len(self._parts), len(other._parts))
        return self._padded(length) < other._padded(length)

    def __hash__(self) -> int:
        return hash(tuple(self._parts))

    def __repr__(self) -> str:
        return self.text

    def _padded(self, length: int) -> list[tuple[int, int, str]]:
        return self._parts + [_ZERO] * (length - len(self._parts))


# A number counts more than any word at the same place, except that nothing (0) lies between
# pre-releases and everything else.
_ZERO = (0, 0, "")


def _rank(part: str) -> tuple[int, int, str]:
    if part.isdigit():
        number = int(part)
        return (3, number, "") if number else _ZERO
    rank = _QUALIFIERS.get(part, _OTHER_QUALIFIER)
    return (rank, 0, part if rank == _OTHER_QUALIFIER else "")


@dataclass(frozen=True, slots=True)
class _Span:
    low: Version | None
    high: Version | None
    low_included: bool
    high_included: bool

    def __contains__(self, version: Version) -> bool:
        if self.low is not None and not (
            self.low < version or (self.low_included and self.low == version)
        ):
            return False
        return self.high is None or (
            version < self.high or (self.high_included and self.high == version)
        )

    def __str__(self) -> str:
        opening, closing = "[" if self.low_included else "(", "]" if self.high_included else ")"
        return f"{opening}{self.low or ''},{self.high or ''}{closing}"


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Which versions will do. Without spans: every one."""

    spans: tuple[_Span, ...] = ()

    def __contains__(self, version: str | None) -> bool:
        if not self.spans:
            return True
        return version is not None and any(Version(version) in span for span in self.spans)

    def __str__(self) -> str:
        return ",".join(map(str, self.spans))

    @classmethod
    def parse(cls, text: str | None) -> VersionRange:
        """The range that a config asks for; ValueError with Maven's text if it is none."""
        rest = (text or "").strip()
        if not rest or rest == LATEST:
            return cls()
        if rest[0] not in "[(":
            if any(c in rest for c in "[](),"):
                raise ValueError(
                    f"Only fully-qualified sets allowed in multiple set scenario: {text}"
                )
            return cls((_Span(Version(rest), Version(rest), True, True),))
        spans: list[_Span] = []
        while rest:
            end = re.search(r"[\])]", rest)
            if rest[0] not in "[(":
                raise ValueError(
                    f"Only fully-qualified sets allowed in multiple set scenario: {text}"
                )
            if end is None:
                raise ValueError(f"Unbounded range: {text}")
            span = _span(rest[: end.end()])
            if spans and _reaches_into(spans[-1], span):
                raise ValueError(f"Ranges overlap: {text}")
            spans.append(span)
            rest = rest[end.end() :].lstrip().removeprefix(",").strip()
        return cls(tuple(spans))


def _reaches_into(before: _Span, after: _Span) -> bool:
    return before.high is None or after.low is None or after.low < before.high


def _span(text: str) -> _Span:
    low_included, high_included = text[0] == "[", text[-1] == "]"
    inner = text[1:-1].strip()
    if "," not in inner:
        if not (low_included and high_included):
            raise ValueError(f"Single version must be surrounded by []: {text}")
        return _Span(Version(inner), Version(inner), True, True)
    low_text, high_text = (part.strip() for part in inner.split(",", 1))
    if low_text and low_text == high_text:
        raise ValueError(f"Range cannot have identical boundaries: {text}")
    low = Version(low_text) if low_text else None
    high = Version(high_text) if high_text else None
    if low is not None and high is not None and high < low:
        raise ValueError(f"Range defies version ordering: {text}")
    return _Span(low, high, low_included, high_included)
