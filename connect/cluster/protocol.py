"""What workers write in the group protocol: who they are, and what the leader tells them.

The bytes are those of Kafka Connect's protocols `compatible` (version 1) and `sessioned`
(version 2), so that both kinds of workers can be in one group. Numbers are big-endian; a string is
an int16 length and UTF-8, bytes are an int32 length (-1 for none) and the bytes:

    metadata    int16 version, string url, int64 config offset, bytes assignment it has
    assignment  int16 version, int16 error, string leader, string leader's url, int64 config offset,
                [string connector, [int32 task]] assigned, the same revoked, int32 delay in ms

In the lists, task -1 is the connector instance. A worker that leaves adds five bytes to its
metadata, which JVM workers skip.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from connect.cluster.assignment import NO_WORK, Work
from connect.cluster.herder import TaskId
from connect.errors import ConnectError

PROTOCOL_TYPE = "connect"
COMPATIBLE = "compatible"
SESSIONED = "sessioned"
VERSIONS = {COMPATIBLE: 1, SESSIONED: 2}

NO_ERROR = 0
# The leader could not read the config topic as far as some member has: all must try again.
CONFIG_MISMATCH = 1

_INSTANCE = -1
_LEAVING = b"pnst\x01"


class ProtocolError(ConnectError):
    """Bytes from another member that are not what they should be."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What the leader tells a member. In a member's metadata: what it has, with nothing revoked."""

    leader: str
    leader_url: str
    config_offset: int
    assigned: Work = NO_WORK
    revoked: Work = NO_WORK
    delay_ms: int = 0
    error: int = NO_ERROR


@dataclass(frozen=True, slots=True)
class MemberState:
    """How a worker introduces itself when it joins."""

    url: str
    config_offset: int
    assignment: Assignment | None = None
    leaving: bool = False


def encode_assignment(assignment: Assignment, protocol: str) -> bytes:
    return b"".join(
        [
            struct.pack(">hh", VERSIONS[protocol], assignment.error),
            _string(assignment.leader),
            _string(assignment.leader_url),
            struct.pack(">q", assignment.config_offset),
            _work(assignment.assigned),
            _work(assignment.revoked),
            struct.pack(">i", assignment.delay_ms),
        ]
    )


def encode_member(state: MemberState, protocol: str) -> bytes:
    has = state.assignment
    assignment = b"" if has is None else encode_assignment(has, protocol)
    return b"".join(
        [
            struct.pack(">h", VERSIONS[protocol]),
            _string(state.url),
            struct.pack(">q", state.config_offset),
            struct.pack(">i", -1 if has is None else len(assignment)),
            assignment,
            _LEAVING if state.leaving else b"",
        ]
    )


def decode_assignment(data: bytes) -> Assignment:
    """ProtocolError when the bytes are not an assignment."""
    reader = _Reader(data, "assignment")
    reader.version()
    error = reader.number(">h")
    leader, url = reader.string(), reader.string()
    offset = reader.number(">q")
    assigned, revoked = reader.work(), reader.work()
    return Assignment(leader, url, offset, assigned, revoked, reader.number(">i"), error)


def decode_member(data: bytes) -> MemberState:
    """ProtocolError when the bytes are not a member's metadata."""
    reader = _Reader(data, "member metadata")
    reader.version()
    url, offset = reader.string(), reader.number(">q")
    length = reader.number(">i")
    assignment = decode_assignment(reader.take(length)) if length > 0 else None
    return MemberState(url, offset, assignment, leaving=reader.rest() == _LEAVING)


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _work(work: Work) -> bytes:
    by_connector: dict[str, list[int]] = defaultdict(list)
    for connector in work.connectors:
        by_connector[connector].append(_INSTANCE)
    for task in work.tasks:
        by_connector[task.connector].append(task.task)
    parts = [struct.pack(">i", len(by_connector))]
    for connector, numbers in sorted(by_connector.items()):
        parts += [_string(connector), _numbers(sorted(numbers))]
    return b"".join(parts)


def _numbers(numbers: Iterable[int]) -> bytes:
    listed = list(numbers)
    return struct.pack(f">i{len(listed)}i", len(listed), *listed)


class _Reader:
    """Reads from the front of some bytes."""

    def __init__(self, data: bytes, what: str) -> None:
        self._data = data
        self._at = 0
        self._what = what

    def version(self) -> None:
        version = self.number(">h")
        # Later versions may add fields at the end, as these do to the one before.
        if version < min(VERSIONS.values()):
            raise ProtocolError(
                f"A worker's {self._what} has version {version}, which is that of "
                "connect.protocol=eager: set it to compatible or sessioned there."
            )

    def number(self, kind: str) -> int:
        size = struct.calcsize(kind)
        (value,) = struct.unpack(kind, self.take(size))
        return int(value)

    def string(self) -> str:
        length = self.number(">h")
        try:
            return self.take(max(0, length)).decode()
        except UnicodeDecodeError as error:
            raise ProtocolError(f"A worker's {self._what} has a string that is none") from error

    def work(self) -> Work:
        connectors, tasks = set(), set()
        for _ in range(self.number(">i")):
            connector = self.string()
            for _ in range(self.number(">i")):
                number = self.number(">i")
                if number == _INSTANCE:
                    connectors.add(connector)
                else:
                    tasks.add(TaskId(connector, number))
        return Work(frozenset(connectors), frozenset(tasks))

    def take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise ProtocolError(f"A worker's {self._what} is cut off after {len(self._data)} bytes")
        self._at += size
        return taken

    def rest(self) -> bytes:
        return self._data[self._at :]
