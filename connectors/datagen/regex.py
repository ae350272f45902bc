r"""Random strings that fit a regular expression.

For the expressions that describe data: literals, `.`, classes, `\d \w \s`, groups, `|` and the
quantifiers. What has no meaning for making text (anchors in the middle, look-around,
back-references) is refused by name.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from random import Random

# Makes so many strings at once, which is several times as quick as one by one.
Maker = Callable[[Random, int], list[str]]

# How far `*` and `+` go. Nobody wants a name of a thousand letters.
_MOST_REPEATS = 8

_DIGITS = string.digits
_WORD = string.ascii_letters + string.digits + "_"
_PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))
_CLASSES = {
    "d": _DIGITS,
    "w": _WORD,
    "s": " ",
    "D": "".join(c for c in _PRINTABLE if c not in _DIGITS),
    "W": "".join(c for c in _PRINTABLE if c not in _WORD),
    "S": _PRINTABLE.strip(),
}
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_UNSUPPORTED = {"b": "a word boundary", "B": "a word boundary"}


class RegexError(ValueError):
    """An expression that no text can be made from; says where and why."""


def string_maker(pattern: str) -> Maker:
    """A function that makes lists of strings matching the pattern, or RegexError."""
    return _Parser(pattern).parse()


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def parse(self) -> Maker:
        self._skip("^")
        maker = self._alternatives()
        if self._at < len(self._pattern):
            raise self._error("a ')' without its '('")
        return maker

    def _alternatives(self) -> Maker:
        choices = [self._sequence()]
        while self._skip("|"):
            choices.append(self._sequence())
        return choices[0] if len(choices) == 1 else _either(choices)

    def _sequence(self) -> Maker:
        parts: list[Maker] = []
        while (peeked := self._peek()) not in ("", "|", ")"):
            if peeked == "$":
                self._at += 1
                if self._peek() not in ("", "|", ")"):
                    raise self._error("'$' in the middle")
                break
            parts.append(self._quantified(self._atom()))
        return parts[0] if len(parts) == 1 else _joined(parts)

    def _atom(self) -> Maker:
        char = self._next()
        if char == "(":
            if self._skip("?") and not self._skip(":"):
                raise self._error("a '(?…' group, of which only '(?:' can be made")
            inner = self._alternatives()
            if not self._skip(")"):
                raise self._error("a '(' without its ')'")
            return inner
        if char == "[":
            return _one_of(self._character_class())
        if char == ".":
            return _one_of(_PRINTABLE)
        if char == "\\":
            return _one_of(self._escape())
        if char in "*+?{":
            raise self._error(f"{char!r} with nothing to repeat")
        if char == "^":
            raise self._error("'^' in the middle")
        return _one_of(char)

    def _quantified(self, atom: Maker) -> Maker:
        char = self._peek()
        if char == "" or char not in "*+?{":
            return atom
        self._at += 1
        low, high = {
            "*": (0, _MOST_REPEATS),
            "+": (1, _MOST_REPEATS),
            "?": (0, 1),
        }.get(char) or self._counts()
        if self._peek() in ("?", "+"):  # lazy or possessive: the same when making text
            self._at += 1
        return _joined([atom] * low) if low == high else _repeated(atom, low, high)

    def _counts(self) -> tuple[int, int]:
        end = self._pattern.find("}", self._at)
        text = self._pattern[self._at : end] if end >= 0 else ""
        low, comma, high = text.partition(",")
        if not low.isdecimal() or (high and not high.isdecimal()):
            raise self._error("a repeat that is not {n}, {n,} or {n,m}")
        self._at = end + 1
        least = int(low)
        most = int(high) if high else least + (_MOST_REPEATS if comma else 0)
        if most < least:
            raise self._error(f"a repeat of at least {least} and at most {most}")
        return least, most

    def _character_class(self) -> str:
        negated = self._skip("^")
        chars: list[str] = []
        while True:
            char = self._next()
            if char == "":
                raise self._error("a '[' without its ']'")
            if char == "]" and chars:
                break
            low = self._escape() if char == "\\" else char
            if self._peek() == "-" and self._pattern[self._at + 1 : self._at + 2] not in ("", "]"):
                self._at += 1
                char = self._next()
                high = self._escape() if char == "\\" else char
                if len(low) != 1 or len(high) != 1 or high < low:
                    raise self._error(f"the range {low}-{high}")
                chars += map(chr, range(ord(low), ord(high) + 1))
            else:
                chars += low
        if negated:
            chars = [c for c in _PRINTABLE if c not in chars]
        if not chars:
            raise self._error("a class that no character is in")
        return "".join(dict.fromkeys(chars))

    def _escape(self) -> str:
        char = self._next()
        if char == "":
            raise self._error("a '\\' at the end")
        if char in _CLASSES:
            return _CLASSES[char]
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char.isalnum():
            raise self._error(f"'\\{char}', {_UNSUPPORTED.get(char, 'which can not be made here')}")
        return char

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _next(self) -> str:
        char = self._peek()
        self._at += len(char)
        return char

    def _skip(self, char: str) -> bool:
        if self._peek() == char:
            self._at += 1
            return True
        return False

    def _error(self, what: str) -> RegexError:
        return RegexError(f"the regular expression {self._pattern!r} has {what}")


def _one_of(chars: str) -> Maker:
    if len(chars) == 1:
        return lambda _, count: [chars] * count
    return lambda random, count: random.choices(chars, k=count)


def _joined(parts: list[Maker]) -> Maker:
    if not parts:
        return lambda _, count: [""] * count
    return lambda random, count: [
        "".join(row) for row in zip(*[part(random, count) for part in parts], strict=True)
    ]


def _repeated(atom: Maker, low: int, high: int) -> Maker:
    def make(random: Random, count: int) -> list[str]:
        # All are made in the greatest length and cut: a column can't have gaps.
        rows = zip(*[atom(random, count) for _ in range(high)], strict=True)
        sizes = random.choices(range(low, high + 1), k=count)
        return ["".join(row[:size]) for row, size in zip(rows, sizes, strict=True)]

    return make


def _either(choices: list[Maker]) -> Maker:
    def make(random: Random, count: int) -> list[str]:
        made = [choice(random, count) for choice in choices]
        taken = random.choices(range(len(choices)), k=count)
        return [made[which][i] for i, which in enumerate(taken)]

    return make
