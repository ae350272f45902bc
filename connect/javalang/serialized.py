"""Java's serialised objects, as far as a HashMap of byte arrays needs it.

That is what a standalone worker on the JVM keeps its source offsets in.
"""

from __future__ import annotations

import struct

MAGIC = b"\xac\xed\x00\x05"

_NULL, _REFERENCE, _CLASS, _OBJECT = 0x70, 0x71, 0x72, 0x73
_ARRAY, _BLOCK, _END = 0x75, 0x77, 0x78
_FIRST_HANDLE = 0x7E0000


class SerializedError(ValueError):
    """The stream is damaged or holds something else."""


def read_byte_map(data: bytes) -> dict[bytes, bytes | None]:
    """The entries of a serialised HashMap<byte[], byte[]>."""
    return _Stream(data).byte_map()


class _Stream:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        # Everything that was written in full has a number, by which later places refer to it.
        self._handles: list[object] = []

    def byte_map(self) -> dict[bytes, bytes | None]:
        if self._take(len(MAGIC)) != MAGIC:
            raise SerializedError("it does not begin as one")
        self._expect(_OBJECT)
        if self._class() != "java.util.HashMap":
            raise SerializedError("it is not a HashMap")
        self._handles.append("the map")
        self._take(8)  # load factor and threshold, which are the JVM's own business
        self._expect(_BLOCK)
        if self._byte() != 8:
            raise SerializedError("the map's size is missing")
        _, size = struct.unpack(">ii", self._take(8))
        entries: dict[bytes, bytes | None] = {}
        for _ in range(size):
            key, value = self._bytes(), self._bytes()
            if key is not None:
                entries[key] = value
        self._expect(_END)
        return entries

    def _class(self) -> str:
        """The name of the class described here or referred to."""
        kind = self._byte()
        if kind == _REFERENCE:
            found = self._referred()
            if not isinstance(found, str):
                raise SerializedError("a class is referred to that is none")
            return found
        if kind != _CLASS:
            raise SerializedError(f"a class was expected at byte {self._at - 1}")
        name = self._text()
        self._take(9)  # serial version and flags
        self._handles.append(name)
        for _ in range(self._short()):
            type_code = self._take(1)
            self._text()
            if type_code in b"[L":
                raise SerializedError(f"{name} has fields of an unknown shape")
        self._expect(_END)
        self._expect(_NULL)  # no superclass that is serialised
        return name

    def _bytes(self) -> bytes | None:
        kind = self._byte()
        if kind == _NULL:
            return None
        if kind == _REFERENCE:
            found = self._referred()
            if not isinstance(found, bytes):
                raise SerializedError("a byte array is referred to that is none")
            return found
        if kind != _ARRAY:
            raise SerializedError(f"a byte array was expected at byte {self._at - 1}")
        if self._class() != "[B":
            raise SerializedError("keys and values must be byte arrays")
        place = len(self._handles)
        self._handles.append(b"")
        found = self._take(struct.unpack(">i", self._take(4))[0])
        self._handles[place] = found
        return found

    def _referred(self) -> object:
        handle = struct.unpack(">I", self._take(4))[0] - _FIRST_HANDLE
        if not 0 <= handle < len(self._handles):
            raise SerializedError("something is referred to that does not exist")
        return self._handles[handle]

    def _expect(self, code: int) -> None:
        if self._byte() != code:
            raise SerializedError(f"0x{code:02x} was expected at byte {self._at - 1}")

    def _text(self) -> str:
        return self._take(self._short()).decode("utf-8", "replace")

    def _short(self) -> int:
        return int(struct.unpack(">H", self._take(2))[0])

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, size: int) -> bytes:
        piece = self._data[self._at : self._at + size]
        if size < 0 or len(piece) < size:
            raise SerializedError("it ends too early")
        self._at += size
        return piece
