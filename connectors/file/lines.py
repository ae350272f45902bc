"""Bytes cut into lines, each with the place where it ends."""

from __future__ import annotations

import logging
import re
from itertools import accumulate
from typing import NamedTuple

log = logging.getLogger(__name__)

# Half of a UTF-16 pair, as some writers put it: one broken character for Java, three for Python.
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_REPLACEMENT = "\ufffd".encode()


class Lines(NamedTuple):
    """Lines and, for each, the position in the file after its line end."""

    texts: list[str]
    ends: list[int]


NO_LINES = Lines([], [])


class LineSplitter:
    r"""Takes bytes as they come and gives the lines that are complete.

    A line ends with \n, \r\n or \r. Whether a \r that came last is all of its line end shows with
    the next byte, so that line waits. Positions count bytes, from `position` on.

    Text is UTF-8. What is not becomes U+FFFD, with a warning for the first place.
    """

    def __init__(self, name: str, position: int = 0) -> None:
        self._name = name
        self._position = position
        # Kept in pieces, so that a line of many blocks is joined once and not once a block.
        self._unfinished: list[bytes] = []
        self._warned = False

    def feed(self, block: bytes) -> Lines:
        pieces = self._unfinished
        if pieces:
            if b"\n" not in block and b"\r" not in block and not pieces[-1].endswith(b"\r"):
                pieces.append(block)
                return NO_LINES
            block = b"".join([*pieces, block])
        last = len(block) - block.endswith(b"\r")
        cut = 1 + max(block.rfind(b"\n", 0, last), block.rfind(b"\r", 0, last))
        rest = block[cut:]
        self._unfinished = [rest] if rest else []
        return self._split(block[:cut]) if cut else NO_LINES

    def finish(self) -> Lines:
        """What is left when no more can come: a last line without its line end."""
        rest = b"".join(self._unfinished)
        self._unfinished = []
        if not rest:
            return NO_LINES
        end = self._position + len(rest)
        text = self._decode(rest).removesuffix("\r")
        self._position = end
        return Lines([text], [end])

    def _split(self, block: bytes) -> Lines:
        text = self._decode(block)
        if b"\r" in block:
            sizes = [len(line) for line in block.splitlines(keepends=True)]
            text = text.replace("\r\n", "\n").replace("\r", "\n")
            texts = text.split("\n")
        else:
            texts = text.split("\n")
            counted = texts if block.isascii() else block.split(b"\n")
            sizes = [len(line) + 1 for line in counted]
            sizes.pop()
        texts.pop()  # what follows the last line end: nothing
        ends = list(accumulate(sizes, initial=self._position))
        self._position = ends[-1]
        del ends[0]
        return Lines(texts, ends)

    def _decode(self, block: bytes) -> str:
        try:
            return block.decode()
        except UnicodeDecodeError as error:
            if not self._warned:
                self._warned = True
                log.warning(
                    "%s is not all UTF-8: byte 0x%02x at position %d, and others like it from now "
                    "on, are read as U+FFFD.",
                    self._name,
                    block[error.start],
                    self._position + error.start,
                )
            return _SURROGATE.sub(_REPLACEMENT, block).decode("utf-8", "replace")
