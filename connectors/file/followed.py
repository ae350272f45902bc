"""Where lines come from: a file that is followed as it grows, or standard input."""

from __future__ import annotations

import errno
import logging
import os
import select
import stat
import sys
from typing import Protocol

from connect import ConnectError
from connectors.file.lines import NO_LINES, Lines, LineSplitter

log = logging.getLogger(__name__)

# One read. Large enough that the cost is in the lines and not in the calls, small enough that a
# task holds little more than this in memory.
BLOCK_BYTES = 1 << 18

_STDIN_WAIT_SECONDS = 0.25


class LineInput(Protocol):
    def read(self) -> Lines:
        """The lines that are there now, perhaps none."""

    def close(self) -> None: ...


class FollowedFile:
    """A file read from a position on, and followed as `tail -F` does.

    Opened when it appears. When it was cut shorter than what was read already, or another file has
    taken its name, reading starts over at position 0 of what is there now; the end of the old file
    is read first.
    """

    def __init__(self, path: str, position: int) -> None:
        self._path = path
        self._position = position  # where the next byte is read
        self._fd: int | None = None
        self._lines = LineSplitter(path, position)
        self._waiting = False

    def read(self) -> Lines:
        if self._fd is None and not self._open():
            return NO_LINES
        assert self._fd is not None
        block = self._read_block()
        if block:
            return self._lines.feed(block)
        if not self._is_regular:
            return NO_LINES
        size = os.fstat(self._fd).st_size
        if size < self._position:
            log.warning(
                "%s was cut to %d bytes after %d were read: reading it from its start.",
                self._path, size, self._position,
            )  # fmt: skip
            # Half a line that was cut away is gone for its writer too.
            self._start_over()
        elif self._replaced():
            # It may have grown between our last read and its being replaced.
            if block := self._read_block():
                return self._lines.feed(block)
            log.info("%s is another file now: reading it from its start.", self._path)
            last = self._lines.finish()
            self.close()
            self._start_over()
            return last
        return NO_LINES

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self) -> bool:
        try:
            # Without O_NONBLOCK a named pipe would hold us here until somebody writes to it.
            fd = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            if not self._waiting:
                self._waiting = True
                log.warning("%s is not there yet: waiting for it.", self._path)
            return False
        except OSError as error:
            raise self._failed("open", error) from error
        self._fd = fd
        self._waiting = False
        status = os.fstat(fd)
        if stat.S_ISDIR(status.st_mode):
            raise ConnectError(
                f"Cannot read file '{self._path}': it is a directory. Name a file in 'file'."
            )
        self._is_regular = stat.S_ISREG(status.st_mode)
        if self._is_regular:
            if self._position > status.st_size:
                log.warning(
                    "%s has %d bytes, less than the %d that were read before: it was replaced or "
                    "cut in the meantime. Reading it from its start.",
                    self._path, status.st_size, self._position,
                )  # fmt: skip
                self._start_over()
            os.lseek(fd, self._position, os.SEEK_SET)
        log.info("Reading %s from position %d.", self._path, self._position)
        return True

    def _read_block(self) -> bytes:
        assert self._fd is not None
        try:
            block = os.read(self._fd, BLOCK_BYTES)
        except BlockingIOError:  # a named pipe with nothing in it
            return b""
        except OSError as error:
            raise self._failed("read", error) from error
        self._position += len(block)
        return block

    def _replaced(self) -> bool:
        assert self._fd is not None
        try:
            there = os.stat(self._path)  # noqa: PTH116
        except OSError:
            return False  # renamed or removed, and no successor yet
        return not os.path.samestat(there, os.fstat(self._fd))

    def _start_over(self) -> None:
        self._position = 0
        self._lines = LineSplitter(self._path)
        if self._fd is not None:
            os.lseek(self._fd, 0, os.SEEK_SET)

    def _failed(self, action: str, error: OSError) -> ConnectError:
        hint = (
            " Give the worker's user the right to read it." if error.errno == errno.EACCES else ""
        )
        return ConnectError(f"Cannot {action} file '{self._path}': {error.strerror}.{hint}")


class StandardInput:
    """The worker's own standard input, line by line until it ends."""

    def __init__(self) -> None:
        self._fd = sys.stdin.fileno() if sys.stdin is not None else None
        self._lines = LineSplitter("Standard input")

    def read(self) -> Lines:
        if self._fd is None:
            return NO_LINES
        ready, _, _ = select.select([self._fd], [], [], _STDIN_WAIT_SECONDS)
        if not ready:
            return NO_LINES
        block = os.read(self._fd, BLOCK_BYTES)
        if block:
            return self._lines.feed(block)
        log.info("Standard input has ended. To read a file, name it in 'file'.")
        self._fd = None
        return self._lines.finish()

    def close(self) -> None:
        """It is the worker's, so it stays open."""
