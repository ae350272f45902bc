"""Reads a java.util.regex pattern into a tree. Flags are resolved on the way."""

from dataclasses import dataclass, field
from typing import NoReturn

from connect.javalang import unicode_sets
from connect.javalang.codepoints import ALL, CodePoints
from connect.javalang.errors import JavaRegexError, UnsupportedRegexError
from connect.javalang.regex_classes import ClassReader
from connect.javalang.regex_scanner import JavaFlag
from connect.javalang.regex_tree import (
    EMPTY,
    Assertion,
    Atomic,
    BackReference,
    Capture,
    Chars,
    Choice,
    LineBreak,
    Look,
    Node,
    Repeat,
    Sequence,
)

_INLINE = {
    "i": JavaFlag.CASE_INSENSITIVE,
    "m": JavaFlag.MULTILINE,
    "s": JavaFlag.DOTALL,
    "d": JavaFlag.UNIX_LINES,
    "u": JavaFlag.UNICODE_CASE,
    "c": JavaFlag(0),  # Java takes the letter and does nothing
    "x": JavaFlag.COMMENTS,
    "U": JavaFlag.UNICODE_CHARACTER_CLASS | JavaFlag.UNICODE_CASE,
}
_MAX_INT = 2**31 - 1

_ANY_BREAK = r"[\n\r\x85\u2028\u2029]"
_NOT_INSIDE_CRLF = r"(?!(?<=\r)\n)"
_LINE_START = rf"(?:\A|(?<={_ANY_BREAK}){_NOT_INSIDE_CRLF})(?!\Z)"
_UNIX_LINE_START = r"(?:\A|(?<=\n))(?!\Z)"
_LINE_END = rf"(?={_ANY_BREAK}|\Z){_NOT_INSIDE_CRLF}"
_UNIX_LINE_END = r"(?=\n|\Z)"
_LAST_LINE_END = rf"(?=(?:\r\n|{_ANY_BREAK})?\Z){_NOT_INSIDE_CRLF}"
_UNIX_LAST_LINE_END = r"(?=\n?\Z)"
_LINE_BREAK = LineBreak(
    Sequence((Chars(CodePoints.chars("\r")), Chars(CodePoints.chars("\n")))),
    Chars(unicode_sets.VERTICAL_SPACE),
)


@dataclass(frozen=True, slots=True)
class Parsed:
    r"""The tree, how many groups it captures, and whether it begins with `\G`."""

    tree: Node
    group_count: int
    anchored: bool


def parse(pattern: str, flags: JavaFlag) -> Parsed:
    """Raise JavaRegexError as Java would, UnsupportedRegexError for what re cannot do."""
    if JavaFlag.CANON_EQ in flags:
        raise UnsupportedRegexError(
            "the flag CANON_EQ", pattern, 0, "normalise the texts before matching"
        )
    if JavaFlag.UNICODE_CHARACTER_CLASS in flags:
        flags |= JavaFlag.UNICODE_CASE
    parser = _Parser(pattern, flags)
    tree = parser.whole()
    return Parsed(tree, parser.group_count, parser.anchored)


@dataclass(slots=True)
class _Parser(ClassReader):
    group_count: int = 0
    anchored: bool = False
    _depth: int = 0
    _names: dict[str, int] = field(default_factory=dict)
    _closed: set[int] = field(default_factory=set)

    # Structure

    def whole(self) -> Node:
        tree = self._choice()
        if not self._ended():
            index = self._original(self._at) - 1
            raise JavaRegexError("Unmatched closing ')'", self.pattern, index)
        return tree

    def _choice(self) -> Node:
        branches = [self._sequence(first=True)]
        while self._peek() == "|":
            if self.anchored and self._depth == 0:
                self._unsupported_last_match(self._at)
            self._at += 1
            branches.append(self._sequence(first=False))
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def _sequence(self, *, first: bool) -> Node:
        items: list[Node] = []
        while not self._ended():
            char = self._peek()
            if char in ("|", ")") and char:
                break
            if char == "\\" and self._chars[self._at + 1 : self._at + 2] == ["G"]:
                if items or not first or self._depth or self.anchored:
                    self._unsupported_last_match(self._at)
                self._at += 2
                self.anchored = True
                continue
            item = self._group() if char == "(" else self._atom(char)
            if item is not None:
                items.append(self._quantified(item))
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def _unsupported_last_match(self, at: int) -> NoReturn:
        self._unsupported(
            r"\G other than at the beginning of the whole pattern",
            at,
            r"put one \G first, before a group with the alternatives",
        )

    def _atom(self, char: str) -> Node:
        match char:
            case "[":
                self._at += 1
                return Chars(self._class())
            case "\\":
                return self._escape()
            case "^":
                self._at += 1
                return Assertion(self._start_of_line())
            case "$":
                self._at += 1
                return Assertion(self._end_of_line())
            case ".":
                self._at += 1
                return Chars(self._dot())
            case "{":
                return EMPTY  # to Java it repeats the nothing before it
            case _:
                return self._plain(char)

    def _plain(self, char: str) -> Node:
        if char in ("*", "+", "?"):
            self._error(f"Dangling meta character '{char}'", self._at)
        literal = self._raw()
        self._at += 1
        return self._literal(ord(literal))

    def _quantified(self, item: Node) -> Node:
        match self._peek():
            case "*":
                least, most = 0, None
            case "+":
                least, most = 1, None
            case "?":
                least, most = 0, 1
            case "{":
                least, most = self._counts()
            case _:
                return item
        self._at += 1
        mode = self._peek()
        if mode not in ("?", "+"):
            return Repeat(item, least, most, "")
        self._at += 1
        return Repeat(item, least, most, mode)

    def _counts(self) -> tuple[int, int | None]:
        """Read `{n`, `{n,` or `{n,m` and stop before the brace."""
        self._at += 1
        if not self._is_digit():
            self._error("Illegal repetition", self._at)
        least = self._count()
        most: int | None = least
        if self._raw() == ",":
            self._at += 1
            most = None if self._raw() == "}" else self._count()
        if self._raw() != "}":
            self._error("Unclosed counted closure", self._at)
        if most is not None and most < least:
            self._error("Illegal repetition range", self._at)
        return least, most

    def _count(self) -> int:
        number = 0
        while self._is_digit():
            number = number * 10 + int(self._raw())
            if number > _MAX_INT:
                self._error("Illegal repetition range", self._at)
            self._at += 1
        return number

    # Groups and flags

    def _group(self) -> Node | None:
        """Read a group, or None for one that only sets flags."""
        opened = self._at
        self._at += 1
        outer = self.flags
        if self._peek() != "?":
            return self._capture(None, outer)
        self._at += 1
        kind = self._raw()
        if kind == "<":
            self._at += 1
            kind = "<" + self._raw()
            if kind not in ("<=", "<!"):
                return self._capture(self._new_name(), outer)
        if kind in ("$", "@"):
            self._error("Unknown group type", self._at)
        if kind not in (":", "=", "!", ">", "<=", "<!"):
            if self._set_flags():
                return None
            return self._body(outer)
        self._at += 1
        body = self._body(outer)
        match kind:
            case ":":
                return body
            case ">":
                return Atomic(body)
            case _:
                return Look(kind[0] == "<", kind[-1] == "!", body, self._original(opened))

    def _body(self, outer: JavaFlag) -> Node:
        self._depth += 1
        body = self._choice()
        self._depth -= 1
        if self._peek() != ")":
            self._error("Unclosed group", len(self._chars))
        self._at += 1
        self.flags = outer
        return body

    def _capture(self, name: str | None, outer: JavaFlag) -> Node:
        self.group_count += 1
        number = self.group_count
        if name is not None:
            self._names[name] = number
        body = self._body(outer)
        self._closed.add(number)
        return Capture(name, body)

    def _name(self) -> str:
        """Read a name and stop at its closing bracket."""
        start = self._at
        if not (self._raw().isascii() and self._raw().isalpha()):
            self._error("capturing group name does not start with a Latin letter", self._at)
        while self._raw().isascii() and self._raw().isalnum():
            self._at += 1
        if self._raw() != ">":
            self._error("named capturing group is missing trailing '>'", self._at)
        return "".join(self._chars[start : self._at])

    def _new_name(self) -> str:
        name = self._name()
        if name in self._names:
            self._error(f"Named capturing group <{name}> is already defined", self._at)
        self._at += 1
        return name

    def _set_flags(self) -> bool:
        """Read the flags of `(?i-s)` and say whether that was all, not the start of `(?i-s:`."""
        on = True
        while True:
            char = self._raw()
            self._at += 1
            if char in (")", ":"):
                return char == ")"
            if char == "-" and on:
                on = False
            elif char not in _INLINE:
                self._error("Unknown inline modifier", self._at - 1)
            elif on:
                self.flags |= _INLINE[char]
            else:
                self.flags &= ~_INLINE[char]

    # Single characters

    def _literal(self, code: int) -> Chars:
        return Chars(self._with_case(CodePoints(((code, code),))))

    def _dot(self) -> CodePoints:
        if JavaFlag.DOTALL in self.flags:
            return ALL
        if JavaFlag.UNIX_LINES in self.flags:
            return ~CodePoints.chars("\n")
        return ~unicode_sets.LINE_TERMINATOR

    def _start_of_line(self) -> str:
        if JavaFlag.MULTILINE not in self.flags:
            return r"\A"
        return _UNIX_LINE_START if JavaFlag.UNIX_LINES in self.flags else _LINE_START

    def _end_of_line(self) -> str:
        if JavaFlag.MULTILINE not in self.flags:
            return self._end_of_last_line()
        return _UNIX_LINE_END if JavaFlag.UNIX_LINES in self.flags else _LINE_END

    def _end_of_last_line(self) -> str:
        return _UNIX_LAST_LINE_END if JavaFlag.UNIX_LINES in self.flags else _LAST_LINE_END

    def _escape(self) -> Node:
        start = self._at
        self._at += 1
        char = self._raw()
        match char:
            case "":
                self._error("Unescaped trailing backslash", self._at)
            case "A":
                node: Node = Assertion(r"\A")
            case "z":
                node = Assertion(r"\Z")
            case "Z":
                node = Assertion(self._end_of_last_line())
            case "b" | "B":
                if "".join(self._chars[self._at : self._at + 4]) == "b{g}":
                    self._unsupported(r"\b{g}", start, "use \\b")
                node = Assertion(self._word_boundary(negative=char == "B"))
            case "R":
                node = _LINE_BREAK
            case "X":
                self._unsupported(
                    r"\X (a grapheme cluster)", start, r"use a class such as \P{M}\p{M}*"
                )
            case "k":
                return self._named_reference(start)
            case _ if char in "123456789":
                return self._numbered_reference(start)
            case _:
                points = self._class_escape()
                return Chars(points) if points is not None else self._literal(self._single())
        self._at += 1
        return node

    def _word_boundary(self, *, negative: bool) -> str:
        # Java took any letter for a word character here until version 19, and takes the same
        # as \w since. We do as the later ones.
        if JavaFlag.UNICODE_CHARACTER_CLASS not in self.flags:
            return r"(?a:(?!\b))" if negative else r"(?a:\b)"
        word = unicode_sets.unicode_word().source()
        if negative:
            return f"(?:(?<={word})(?={word})|(?<!{word})(?!{word}))"
        return f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"

    def _numbered_reference(self, start: int) -> Node:
        number = int(self._raw())
        self._at += 1
        while self._is_digit() and number * 10 + int(self._raw()) <= self.group_count:
            number = number * 10 + int(self._raw())
            self._at += 1
        return self._reference(number, start)

    def _named_reference(self, start: int) -> Node:
        self._at += 1
        if self._raw() != "<":
            self._error(r"\k is not followed by '<' for named capturing group", self._at)
        self._at += 1
        name = self._name()
        if name not in self._names:
            self._error(f"named capturing group <{name}> does not exist", self._at)
        self._at += 1
        return self._reference(self._names[name], start)

    def _reference(self, number: int, start: int) -> Node:
        flags = ""
        if JavaFlag.CASE_INSENSITIVE in self.flags:
            flags = "i" if JavaFlag.UNICODE_CASE in self.flags else "ai"
        return BackReference(number, flags, number in self._closed, self._original(start))
