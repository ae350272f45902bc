"""A record batch as Kafka stores it (magic 2), made of values alone with no Python call for each.

What a record has beside its value depends on the value's length and on the record's place, so both
are looked up in tables, and all pieces are joined at once. A few records with keys, as offsets are,
may be added one by one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import google_crc32c

from connect.data.framed import Framed

# First offset, length of what follows, leader epoch, magic, crc.
_BEGIN = struct.Struct(">qiibI")
# What the crc covers: attributes, last offset delta, first and greatest timestamp, producer id,
# epoch and sequence, and the number of records.
_COVERED = struct.Struct(">hiqqqhii")
_AFTER_LENGTH = _BEGIN.size - 8 - 4
_MAGIC = 2
_NO_EPOCH = -1  # of a leader
_TRANSACTIONAL = 0x10  # among the attributes

# A number takes one byte below the first of these, two below the second, and so on.
_WIDTHS = (1 << 6, 1 << 13, 1 << 20)
MOST_RECORDS = _WIDTHS[-1]
MOST_DELTA_MS = _WIDTHS[1] - 1  # between two timestamps
# Lengths that are remembered. Most topics have a few hundred; a text of any length has no end.
_MOST_LENGTHS = 4096


class Signature(NamedTuple):
    """Whose batch it is, and which: the number of its first record in a partition."""

    producer: int
    epoch: int
    sequence: int


class RecordBatch:
    """Records without headers. It grows by many of one time."""

    def __init__(self, timestamp: int) -> None:
        self.count = 0
        self.size = _BEGIN.size + _COVERED.size
        self._first_time = self._last_time = timestamp
        self._segments: list[bytes] = []

    def takes(self, count: int, timestamp: int) -> bool:
        """Whether so many of this time can be added."""
        in_time = 0 <= timestamp - self._first_time <= MOST_DELTA_MS
        return in_time and self.count + count <= MOST_RECORDS

    def add(self, values: Sequence[bytes], timestamp: int, most_bytes: int) -> bool:
        """Add them unless it would be larger than that."""
        segment = _records(values, self.count, timestamp - self._first_time)
        if self.size + len(segment) > most_bytes:
            return False
        self._last_time = max(self._last_time, timestamp)
        self._segments.append(segment)
        self.count += len(values)
        self.size += len(segment)
        return True

    def add_keyed(self, key: bytes, value: bytes | None) -> None:
        """Add one with a key, of the batch's own time. Without a value it is a tombstone."""
        record = b"".join((b"\0\0", _varint(self.count), _sized(key), _sized(value), b"\0"))
        segment = _varint(len(record)) + record
        self._segments.append(segment)
        self.count += 1
        self.size += len(segment)

    def parts(self, signed: Signature, *, transactional: bool = False) -> list[bytes]:
        """What is to be sent, in this order."""
        covered = _COVERED.pack(
            _TRANSACTIONAL if transactional else 0,
            self.count - 1,
            self._first_time,
            self._last_time,
            *signed,
            self.count,
        )
        crc = google_crc32c.value(covered)
        for segment in self._segments:
            crc = google_crc32c.extend(crc, segment)
        length = self.size - _BEGIN.size + _AFTER_LENGTH
        return [_BEGIN.pack(0, length, _NO_EPOCH, _MAGIC, crc) + covered, *self._segments]


def _records(values: Sequence[bytes], first_place: int, delta_ms: int) -> bytes:
    """Each is: size, attributes, time and place, no key, the value, no headers."""
    before = behind = b""
    texts: Sequence[bytes] = values
    if isinstance(values, Framed):
        before, texts, behind = values.before, values.texts, values.behind
    lengths = [*map(len, texts)]
    last_place = first_place + len(lengths)
    pieces = [b""] * (4 * len(lengths) + 1)
    for width, (begin, end) in _spans(first_place, last_place):
        some = slice(4 * (begin - first_place), 4 * (end - first_place), 4)
        these = lengths[begin - first_place : end - first_place]
        pieces[some] = map(_beginnings(before, behind, delta_ms, width).__getitem__, these)
    pieces[1:-1:4] = _places(first_place, last_place)
    pieces[2:-1:4] = map(_middles(before, behind).__getitem__, lengths)
    pieces[3:-1:4] = texts
    # The end of a record stands at the beginning of the next: a piece less for each.
    end_of_record = behind + b"\0"
    pieces[0] = pieces[0].removeprefix(end_of_record)
    pieces[-1] = end_of_record
    return b"".join(pieces)


def _spans(first: int, last: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """Of the places from first to last, those that take one byte, two bytes, and so on."""
    for width, limit in enumerate(_WIDTHS, 1):
        if first < min(limit, last):
            yield width, (first, min(limit, last))
            first = limit


def _varint(number: int) -> bytes:
    """A whole number as Kafka writes it, for zero and above."""
    number <<= 1
    out = bytearray()
    while number > 0x7F:
        out.append(0x80 | number & 0x7F)
        number >>= 7
    out.append(number)
    return bytes(out)


def _sized(data: bytes | None) -> bytes:
    return b"\1" if data is None else _varint(len(data)) + data


class _ByLength(dict[int, bytes]):
    """What depends on a text's length; made when it is first asked for."""

    def __init__(self, make: Callable[[int], bytes]) -> None:
        self._make = make

    def __missing__(self, length: int) -> bytes:
        if len(self) >= _MOST_LENGTHS:
            self.clear()
        made = self[length] = self._make(length)
        return made


@lru_cache(maxsize=16)
def _beginnings(before: bytes, behind: bytes, delta_ms: int, width: int) -> _ByLength:
    """What stands before a record's place, which takes so many bytes."""
    frame, time = len(before) + len(behind), _varint(delta_ms)

    def beginning(length: int) -> bytes:
        value = frame + length
        rest = 1 + len(time) + width + 1 + 1  # attributes; no key; no headers
        size = rest + len(_varint(value)) + value
        # The end of the record before, and of this one its size, its attributes and its time.
        return behind + b"\0" + _varint(size) + b"\0" + time

    return _ByLength(beginning)


@lru_cache(maxsize=8)
def _middles(before: bytes, behind: bytes) -> _ByLength:
    """What stands between a record's place and its text."""
    frame = len(before) + len(behind)
    return _ByLength(lambda length: b"\1" + _varint(frame + length) + before)  # 1: no key


_PLACES: list[bytes] = []


def _places(first: int, last: int) -> list[bytes]:
    if len(_PLACES) < last:
        _PLACES[:] = [*map(_varint, range(last))]  # at once: tasks may be threads
    return _PLACES[first:last]


def partition_of(key: bytes, partitions: int) -> int:
    """Where Java's producer puts a key: murmur2 of it, by the number of partitions."""
    mask, mixer = 0xFFFFFFFF, 0x5BD1E995
    hashed = (0x9747B28C ^ len(key)) & mask
    words, rest = divmod(len(key), 4)
    for (word,) in struct.iter_unpack("<I", key[: 4 * words]):
        mixed = word * mixer & mask
        mixed = (mixed ^ mixed >> 24) * mixer & mask
        hashed = (hashed * mixer & mask) ^ mixed
    if rest:
        hashed = (hashed ^ int.from_bytes(key[4 * words :], "little")) * mixer & mask
    hashed = (hashed ^ hashed >> 13) * mixer & mask
    hashed ^= hashed >> 15
    return (hashed & 0x7FFFFFFF) % partitions
