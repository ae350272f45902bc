"""Reads the characters of a java.util.regex pattern: quoting, comments and escapes."""

import enum
import unicodedata
from dataclasses import dataclass, field
from typing import NoReturn

from connect.javalang import unicode_sets
from connect.javalang.codepoints import CodePoints
from connect.javalang.errors import JavaRegexError, UnsupportedRegexError


class JavaFlag(enum.IntFlag):
    """The flags of java.util.regex.Pattern, with Java's numbers."""

    UNIX_LINES = 0x01
    CASE_INSENSITIVE = 0x02
    COMMENTS = 0x04
    MULTILINE = 0x08
    LITERAL = 0x10
    DOTALL = 0x20
    UNICODE_CASE = 0x40
    CANON_EQ = 0x80
    UNICODE_CHARACTER_CLASS = 0x100


_CONTROL_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_HEX = frozenset("0123456789abcdefABCDEF")
_OCTAL = frozenset("01234567")
_BLANKS = frozenset(" \t\n\x0b\f\r")


@dataclass(slots=True)
class Scanner:
    """A pattern and a place in it."""

    pattern: str
    flags: JavaFlag
    _chars: list[str] = field(default_factory=list)
    # Which of the characters stood between \Q and \E and have no meaning but themselves.
    _quoted: list[bool] = field(default_factory=list)
    _index: list[int] = field(default_factory=list)
    _at: int = 0

    def __post_init__(self) -> None:
        at, quoted, text = 0, JavaFlag.LITERAL in self.flags, self.pattern
        while at < len(text):
            if JavaFlag.LITERAL not in self.flags and text[at] == "\\":
                if text.startswith("\\E" if quoted else "\\Q", at):
                    quoted = not quoted
                    at += 2
                    continue
                if not quoted and at + 1 < len(text):
                    self._take_over(at, quoted)
                    at += 1
            self._take_over(at, quoted)
            at += 1

    def _take_over(self, at: int, quoted: bool) -> None:
        self._chars.append(self.pattern[at])
        self._quoted.append(quoted)
        self._index.append(at)

    def _error(self, description: str, at: int) -> NoReturn:
        raise JavaRegexError(description, self.pattern, self._original(at))

    def _unsupported(self, construct: str, at: int, way_out: str) -> NoReturn:
        raise UnsupportedRegexError(construct, self.pattern, self._original(at), way_out)

    def _original(self, at: int) -> int:
        if at < len(self._index):
            return self._index[at]
        return len(self.pattern) + at - len(self._index)

    def _raw(self) -> str:
        """The next character whatever it means, or the empty string at the end."""
        return self._chars[self._at] if self._at < len(self._chars) else ""

    def _peek(self) -> str:
        """The next character if it may be syntax; the empty string for a quoted one or the end."""
        if JavaFlag.COMMENTS in self.flags:
            self._skip_comments()
        if self._at >= len(self._chars) or self._quoted[self._at]:
            return ""
        return self._chars[self._at]

    def _skip_comments(self) -> None:
        unix = JavaFlag.UNIX_LINES in self.flags
        ends = CodePoints.chars("\n") if unix else unicode_sets.LINE_TERMINATOR
        while self._at < len(self._chars) and not self._quoted[self._at]:
            char = self._chars[self._at]
            if char == "#":
                while self._at < len(self._chars) and ord(self._chars[self._at]) not in ends:
                    self._at += 1
            elif char in _BLANKS:
                self._at += 1
            else:
                return

    def _ended(self) -> bool:
        if JavaFlag.COMMENTS in self.flags:
            self._skip_comments()
        return self._at >= len(self._chars)

    def _is_digit(self) -> bool:
        return self._raw() != "" and self._raw() in "0123456789"

    def _single(self) -> int:
        """Read what follows the backslash of an escape that stands for one code point."""
        char = self._raw()
        self._at += 1
        if char in _CONTROL_ESCAPES:
            return ord(_CONTROL_ESCAPES[char])
        match char:
            case "0":
                return self._octal()
            case "x":
                return self._hexadecimal()
            case "u":
                return self._utf16()
            case "c":
                if not self._raw():
                    self._error("Illegal control escape sequence", self._at - 1)
                self._at += 1
                return ord(self._chars[self._at - 1]) ^ 64
            case "N":
                return self._character_name()
            case _:
                if char.isascii() and char.isalnum():
                    self._error("Illegal/unsupported escape sequence", self._at - 1)
                return ord(char)

    def _octal(self) -> int:
        digits = ""
        while len(digits) < 3 and self._raw() and self._raw() in _OCTAL:
            if len(digits) == 2 and digits[0] > "3":
                break
            digits += self._raw()
            self._at += 1
        if not digits:
            self._error("Illegal octal escape sequence", self._at)
        return int(digits, 8)

    def _hexadecimal(self) -> int:
        start = self._at
        if self._raw() != "{":
            return int(self._hex_digits(2, "Illegal hexadecimal escape sequence"), 16)
        self._at += 1
        code = 0
        while self._raw() in _HEX:
            code = code * 16 + int(self._raw(), 16)
            if code > 0x10FFFF:
                self._error("Hexadecimal codepoint is too big", self._at)
            self._at += 1
        if self._at == start + 1:
            self._error("Illegal hexadecimal escape sequence", start)
        if self._raw() != "}":
            self._error("Unclosed hexadecimal escape sequence", self._at)
        self._at += 1
        return code

    def _hex_digits(self, count: int, description: str) -> str:
        digits = ""
        while len(digits) < count:
            if self._raw() not in _HEX:
                self._error(description, self._at)
            digits += self._raw()
            self._at += 1
        return digits

    def _utf16(self) -> int:
        unit = int(self._hex_digits(4, "Illegal Unicode escape sequence"), 16)
        following = "".join(self._chars[self._at : self._at + 6])
        if 0xD800 <= unit < 0xDC00 and following[:2] == "\\u" and set(following[2:]) <= _HEX:
            low = int(following[2:] or "0", 16)
            if len(following) == 6 and 0xDC00 <= low < 0xE000:
                self._at += 6
                return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
        return unit

    def _character_name(self) -> int:
        if self._raw() != "{":
            self._error("Illegal character name escape sequence", self._at)
        start = self._at + 1
        if "}" not in self._chars[start:]:
            self._error("Unclosed character name escape sequence", len(self._chars) - 1)
        self._at = self._chars.index("}", start)
        name = "".join(self._chars[start : self._at])
        try:
            code = ord(unicodedata.lookup(name))
        except (KeyError, TypeError) as cause:
            raise JavaRegexError(
                f"Unknown character name [{name}]", self.pattern, self._original(self._at)
            ) from cause
        self._at += 1
        return code
