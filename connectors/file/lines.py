"""Bytes cut into lines, each with the place where it ends."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

log = logging.getLogger(__name__)

# Half of a UTF-16 pair, as some writers put it: one broken character for Java, three for Python.
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_REPLACEMENT = "\ufffd".encode()


@dataclass(frozen=True)
class Lines:
    """Lines that follow each other in a file, and the positions where they begin and end."""

    texts: list[str]
    start: int = 0
    end: int = 0
    # Of each, with its line end; None if it is a byte for a character, and one for the line end.
    sizes: list[int] | None = None

    def end_of(self, index: int) -> int:
        """The position after this one; for the last one without counting."""
        return self.end if index == len(self.texts) - 1 else self.ends[index]

    @cached_property
    def ends(self) -> list[int]:
        """The position after each."""
        sizes = self.sizes or [len(text) + 1 for text in self.texts]
        return [*accumulate(sizes, initial=self.start)][1:]

    def parts(self, count: int) -> Iterator[Lines]:
        """The same, some at a time. Of each no more is looked at than where it ends."""
        end = self.start
        for begin in range(0, len(self.texts), count):
            start, texts, sizes = end, self.texts[begin : begin + count], None
            if self.sizes is None:
                end += sum(map(len, texts)) + len(texts)
            else:
                sizes = self.sizes[begin : begin + count]
                end += sum(sizes)
            yield Lines(texts, start, end, sizes)


NO_LINES = Lines([])


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
        text = self._decode(rest).removesuffix("\r")
        return self._found([text], len(rest), [len(rest)])

    def _split(self, block: bytes) -> Lines:
        text = self._decode(block)
        sizes: list[int] | None = None
        if b"\r" in block:
            sizes = [len(line) for line in block.splitlines(keepends=True)]
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        elif not block.isascii():
            sizes = [len(line) + 1 for line in block.split(b"\n")]
            sizes.pop()
        texts = text.split("\n")
        texts.pop()  # what follows the last line end: nothing
        return self._found(texts, len(block), sizes)

    def _found(self, texts: list[str], size: int, sizes: list[int] | None) -> Lines:
        start = self._position
        self._position += size
        return Lines(texts, start, self._position, sizes)

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
