"""Reads .properties files as java.util.Properties does."""

import os
import pathlib
import re
from collections.abc import Iterator

from connect.javalang.errors import PropertiesError

__all__ = ["PropertiesError", "load_properties", "read_properties"]

_BLANKS = " \t\f"
_NATURAL_LINE = re.compile(r"\r\n|\n|\r")
_TRAILING_BACKSLASHES = re.compile(r"\\*\Z")
# A key ends at the first separator that has no backslash before it.
_KEY = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.|\Z)", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_SURROGATE = re.compile("[\ud800-\udfff]")


def load_properties(text: str, *, source: str = "the properties") -> dict[str, str]:
    """Read the text of a properties file. source is what an error calls it."""
    properties: dict[str, str] = {}
    for number, line in _logical_lines(text):
        key = _KEY.match(line)
        assert key is not None
        separator = _SEPARATOR.match(line, key.end())
        assert separator is not None
        try:
            properties[_unescaped(key.group())] = _unescaped(line[separator.end() :])
        except ValueError as cause:
            raise PropertiesError(f"{source}, line {number}: {cause}") from cause
    return properties


def read_properties(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read a properties file: UTF-8, or Latin-1 where that cannot be, as Java wrote it before."""
    try:
        content = pathlib.Path(path).read_bytes()
    except OSError as cause:
        reason = cause.strerror or str(cause)
        raise PropertiesError(
            f"cannot read the properties file {os.fspath(path)}: {reason}; "
            "check the path and that this user may read it"
        ) from cause
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return load_properties(text, source=os.fspath(path))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their continuations, and the number of the first of each."""
    lines = iter(enumerate(_NATURAL_LINE.split(text), 1))
    for number, natural in lines:
        line = natural.lstrip(_BLANKS)
        if _says_nothing(line):
            continue
        while _is_continued(line):
            line = line[:-1]
            for _, following in lines:
                more = following.lstrip(_BLANKS)
                # A lone backslash continues nothing: comments after it are still comments.
                if line or not _says_nothing(more):
                    line += more
                    break
        if line:
            yield number, line


def _says_nothing(line: str) -> bool:
    return not line or line[0] in "#!"


def _is_continued(line: str) -> bool:
    backslashes = _TRAILING_BACKSLASHES.search(line)
    return backslashes is not None and len(backslashes.group()) % 2 == 1


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    text = _ESCAPE.sub(_meaning, text)
    if _SURROGATE.search(text):
        # Two escapes may stand for the halves of one character.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return text


def _meaning(escape: re.Match[str]) -> str:
    char = escape[1]
    if len(char) == 5:
        return chr(int(char[1:], 16))
    if char == "u":
        found = escape.string[escape.start() : escape.start() + 6]
        raise ValueError(f"malformed escape '{found}': four hexadecimal digits must follow \\u")
    return _ESCAPED.get(char, char)
