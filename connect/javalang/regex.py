r"""Java's regular expressions: a pattern means here what it means to java.util.regex.

The pattern is read as Java reads it and rewritten for Python's re. Differences that remain:
positions count code points, not UTF-16 units, and `\b` is that of Java 19 and later.
"""

import functools
import re
from collections.abc import Iterator

from connect.javalang.errors import JavaRegexError, ReplacementError, UnsupportedRegexError
from connect.javalang.regex_parser import parse
from connect.javalang.regex_scanner import JavaFlag
from connect.javalang.regex_tree import Writer

__all__ = [
    "JavaFlag",
    "JavaPattern",
    "JavaRegexError",
    "ReplacementError",
    "UnsupportedRegexError",
    "compile_java",
]


@functools.lru_cache(maxsize=1024)
def compile_java(pattern: str, flags: int = 0) -> "JavaPattern":
    """Compile as Pattern.compile(pattern, flags) does.

    Raise JavaRegexError for what Java refuses, with Java's text, and UnsupportedRegexError for
    what Java accepts and Python's re has no means to express.
    """
    return JavaPattern(pattern, flags)


class JavaPattern:
    """A compiled pattern. Safe to share between threads."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self.flags = JavaFlag(flags)
        python, self._anchored = _translated(pattern, self.flags)
        self.group_count = python.groups
        self._names = dict(python.groupindex)
        self._match_whole = python.fullmatch
        self._find = python.match if self._anchored else python.search
        # The replacement last used and its parts: a transform uses one all its life.
        self._replacement: tuple[str, tuple[str | int, ...]] = ("", ())

    def __repr__(self) -> str:
        return f"JavaPattern({self.pattern!r})"

    def matches(self, text: str) -> bool:
        """Whether the whole text matches."""
        return self._match_whole(text) is not None

    def match(self, text: str) -> re.Match[str] | None:
        """The match of the whole text with its groups, by number and name."""
        return self._match_whole(text)

    def find(self, text: str, start: int = 0) -> re.Match[str] | None:
        """The first match at or after start."""
        return self._find(text, start)

    def find_all(self, text: str) -> Iterator[re.Match[str]]:
        """The matches that repeated calls of Matcher.find() give."""
        at = 0
        while at <= len(text) and (found := self._find(text, at)):
            yield found
            at = found.end()
            if found.start() == at:
                # re.finditer would look here for a longer match. Java moves on, away from \G.
                if self._anchored:
                    return
                at += 1

    def replace_first(self, text: str, replacement: str) -> str:
        r"""Replace the first match; `$1`, `${name}`, `\$` and `\\` are special in replacement."""
        found = self._find(text)
        if found is None:
            return text
        return text[: found.start()] + self._expand(found, replacement) + text[found.end() :]

    def replace_all(self, text: str, replacement: str) -> str:
        """Replace every match; see replace_first."""
        pieces: list[str] = []
        at = 0
        for found in self.find_all(text):
            pieces += text[at : found.start()], self._expand(found, replacement)
            at = found.end()
        return "".join(pieces) + text[at:]

    def _expand(self, found: re.Match[str], replacement: str) -> str:
        known, parts = self._replacement
        if known != replacement:
            parts = tuple(_replacement_parts(replacement, self.group_count, self._names))
            self._replacement = (replacement, parts)
        return "".join(part if isinstance(part, str) else found.group(part) or "" for part in parts)


def _translated(pattern: str, flags: JavaFlag) -> tuple[re.Pattern[str], bool]:
    r"""The pattern for Python's re, and whether it began with `\G`."""
    try:
        parsed = parse(pattern, flags)
        source = Writer(pattern, parsed.group_count).source(parsed.tree)
        return re.compile(source), parsed.anchored
    except RecursionError as cause:
        raise UnsupportedRegexError(
            "nesting this deep", pattern, 0, "simplify the pattern"
        ) from cause
    except (re.error, OverflowError) as cause:
        raise UnsupportedRegexError(
            f"a construct that Python's re refuses ({cause})", pattern, 0, "simplify the pattern"
        ) from cause


def _replacement_parts(text: str, groups: int, names: dict[str, int]) -> Iterator[str | int]:
    """Literal characters and numbers of groups."""
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "\\":
            if at == len(text):
                raise ReplacementError("character to be escaped is missing")
            yield text[at]
            at += 1
        elif char != "$":
            yield char
        elif text[at : at + 1] == "{":
            name, at = _group_name(text, at + 1)
            if name not in names:
                raise ReplacementError(f"No group with name {{{name}}}")
            yield names[name]
        else:
            number, at = _group_number(text, at, groups)
            yield number


def _group_name(text: str, start: int) -> tuple[str, int]:
    at = start
    while at < len(text) and text[at].isascii() and text[at].isalnum():
        at += 1
    name = text[start:at]
    if not name:
        raise ReplacementError("named capturing group has 0 length name")
    if at == len(text) or text[at] != "}":
        raise ReplacementError("named capturing group is missing trailing '}'")
    if name[0].isdigit():
        raise ReplacementError(f"capturing group name {{{name}}} starts with digit character")
    return name, at + 1


def _group_number(text: str, at: int, groups: int) -> tuple[int, int]:
    if at == len(text):
        raise ReplacementError("Illegal group reference: group index is missing")
    if text[at] not in "0123456789":
        raise ReplacementError("Illegal group reference")
    number = int(text[at])
    if number > groups:
        raise ReplacementError(f"No group {number}")
    at += 1
    while at < len(text) and text[at] in "0123456789":
        longer = number * 10 + int(text[at])
        if longer > groups:
            break
        number = longer
        at += 1
    return number, at
