"""A few of Kafka's requests, written here: those that the short ways of sources need.

librdkafka sends everything else. Each request is of an old version that Kafka 4 still takes: old
ones are simple. What goes wrong between here and a broker is an OSError.
"""

from __future__ import annotations

import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from confluent_kafka import Producer

from connect.runtime.record_batch import RecordBatch, Signature

CONNECT_SECONDS = 1.0
LOOK_SECONDS = 1.0  # how soon a stop is seen while the broker is silent
IDLE_SECONDS = 60.0  # brokers close what was not used for minutes
METADATA_SECONDS = 1.0
METADATA_AGE_SECONDS = 300.0  # as long as Java's producer believes what it knows

_MORE = getattr(socket, "MSG_MORE", 0)  # on Linux: wait for what follows

Address = tuple[str, int]
T = TypeVar("T")


class Reader:
    """Reads an answer from its beginning to its end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def numbers(self, form: str) -> tuple[int, ...]:
        """As struct writes them."""
        shape = struct.Struct(">" + form)
        found = shape.unpack_from(self._data, self._at)
        self._at += shape.size
        return found

    def number(self, form: str) -> int:
        return self.numbers(form)[0]

    def text(self) -> str:
        return self._bytes(self.number("h")).decode()

    def compact_text(self) -> str:
        return self._bytes(self.compact_number() - 1).decode()

    def compact_number(self) -> int:
        value = shift = 0
        while True:
            byte = self.number("B")
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def tags(self) -> None:
        """What newer brokers have to add. Nobody here needs it."""
        for _ in range(self.compact_number()):
            self.compact_number()
            self._bytes(self.compact_number())

    def _bytes(self, length: int) -> bytes:
        return bytes(*self.numbers(f"{length}s")) if length > 0 else b""


class Request(NamedTuple, Generic[T]):
    """What is asked, and how the answer is read."""

    kind: int
    version: int
    body: Sequence[bytes]
    read: Callable[[Reader], T]
    tagged: bool = False  # as newer versions are


# -- requests -------------------------------------------------------------------------------


class Identity(NamedTuple):
    """Whose records they are: a producer, and which of those that had this id in turn."""

    producer: int
    epoch: int


class Outcome(NamedTuple):
    """An error code, 0 for none, and an identity that is worth something if there is none."""

    code: int
    identity: Identity


class Owner(NamedTuple):
    """Who writes in transactions."""

    transactional_id: str
    identity: Identity

    def packed(self) -> bytes:
        return _text(self.transactional_id) + struct.pack(">qh", *self.identity)


def produce(
    topic: str,
    partition: int,
    records: RecordBatch,
    signed: Signature,
    *,
    acks: int,
    seconds: float,
    transactional_id: str | None = None,
) -> Request[int]:
    """Write a record batch. The answer is an error code."""
    name = _text(topic)
    owner = struct.pack(">h", -1) if transactional_id is None else _text(transactional_id)
    head = owner + struct.pack(
        f">hii{len(name)}siii", acks, int(seconds * 1000), 1, name, 1, partition, records.size
    )

    def read(answer: Reader) -> int:
        answer.numbers("i")
        answer.text()
        return answer.numbers("iih")[-1]

    batch = records.parts(signed, transactional=transactional_id is not None)
    return Request(0, 3, [head, *batch], read)


def init_producer_id() -> Request[Outcome]:
    """An identity for a sequence of record batches."""
    return Request(22, 0, [struct.pack(">hi", -1, 0)], _identified)


def claim_transactions(
    transactional_id: str, timeout_ms: int, current: Identity | None = None
) -> Request[Outcome]:
    """The identity of who has a transactional id from now on; no older one counts any more.

    It ends the transaction that is open. With the `current` one it is given only to who has that
    still, or who asked with it before and missed the answer.
    """
    body = _compact_text(transactional_id) + struct.pack(">i", timeout_ms)
    body += struct.pack(">qhb", *(current or (-1, -1)), 0)
    return Request(22, 4, [body], _identified, tagged=True)


def _identified(answer: Reader) -> Outcome:
    _, code = answer.numbers("ih")
    return Outcome(code, Identity(*answer.numbers("qh")))


def find_coordinator(transactional_id: str) -> Request[tuple[int, Address]]:
    """The broker that knows of a transactional id."""

    def read(answer: Reader) -> tuple[int, Address]:
        _, code = answer.numbers("ih")
        answer.text()
        answer.numbers("i")
        return code, (answer.text(), answer.number("i"))

    return Request(10, 1, [_text(transactional_id) + b"\1"], read)


def add_partitions(owner: Owner, places: Sequence[tuple[str, int]]) -> Request[int]:
    """Say which partitions a transaction is about to write to. The first one begins it."""
    by_topic: dict[str, list[int]] = {}
    for topic, partition in places:
        by_topic.setdefault(topic, []).append(partition)
    body = [owner.packed(), struct.pack(">i", len(by_topic))]
    for topic, numbers in by_topic.items():
        body += [_text(topic), struct.pack(f">{len(numbers) + 1}i", len(numbers), *numbers)]

    def read(answer: Reader) -> int:
        codes = []
        for _ in range(answer.numbers("ii")[-1]):
            answer.text()
            codes += [answer.numbers("ih")[-1] for _ in range(answer.number("i"))]
        # One of them says why; the others, only that they were not tried.
        return next((c for c in codes if c not in (0, _NOT_ATTEMPTED)), max(codes, default=0))

    return Request(24, 0, [b"".join(body)], read)


_NOT_ATTEMPTED = 55


def commit_transaction(owner: Owner) -> Request[int]:
    return Request(26, 0, [owner.packed() + b"\1"], lambda answer: answer.numbers("ih")[-1])


def describe_transaction(transactional_id: str) -> Request[Outcome]:
    """Who has a transactional id now."""

    def read(answer: Reader) -> Outcome:
        answer.number("i")
        answer.compact_number()  # one, as was asked for
        code = answer.number("h")
        answer.compact_text()
        answer.compact_text()
        answer.numbers("iq")
        return Outcome(code, Identity(*answer.numbers("qh")))

    return Request(65, 0, [b"\2" + _compact_text(transactional_id) + b"\0"], read, tagged=True)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _compact_text(text: str) -> bytes:
    data = text.encode()
    number, size = len(data) + 1, bytearray()
    while number > 0x7F:
        size.append(0x80 | number & 0x7F)
        number >>= 7
    return bytes(size) + bytes([number]) + data


# -- connections ----------------------------------------------------------------------------


class Connection:
    """One to a broker, which answers requests in order."""

    def __init__(
        self, address: Address, client_id: str, seconds: float, go_on: Callable[[], None]
    ) -> None:
        """An answer is waited for that long. `go_on` is called meanwhile, and may raise."""
        self._client = _text(client_id)
        self._seconds = seconds
        self._go_on = go_on
        self._socket = socket.create_connection(address, CONNECT_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._number = 0
        # Of the requests under way: their numbers, and how the answers are read.
        self._asked: deque[tuple[int, Request[Any]]] = deque()
        self._come = b""
        self._used = time.monotonic()

    @property
    def stale(self) -> bool:
        """Whether the broker may have closed it for want of use."""
        return not self._asked and time.monotonic() - self._used > IDLE_SECONDS

    def ask(self, request: Request[T], seconds: float | None = None) -> T:
        """Send it and wait for the answer. Nothing else may be under way."""
        self.send(request)
        answer: T = self.wait(seconds)
        return answer

    def wait(self, seconds: float | None = None) -> Any:
        """What the oldest request under way is answered, however long that may take."""
        longest = self._seconds if seconds is None else min(seconds, self._seconds)
        deadline = time.monotonic() + longest
        while (answer := self.answer(min(longest, LOOK_SECONDS))) is None:
            if time.monotonic() > deadline:
                raise TimeoutError("no answer came in time")
            self._go_on()
        return answer

    def send(self, request: Request[Any]) -> None:
        self._used = time.monotonic()
        self._number = (self._number + 1) & 0x7FFFFFFF
        head = struct.pack(">hhi", request.kind, request.version, self._number) + self._client
        if request.tagged:
            head += b"\0"
        size = struct.pack(">i", len(head) + sum(map(len, request.body)))
        parts = [size + head + request.body[0], *request.body[1:]]
        self._asked.append((self._number, request))
        self._socket.settimeout(LOOK_SECONDS)
        for part in parts:
            self._put(part, 0 if part is parts[-1] else _MORE)

    def answer(self, seconds: float) -> Any | None:
        """What the oldest request under way is answered; None if that did not come yet."""
        self._socket.settimeout(seconds)
        while len(self._come) < 4 or len(self._come) < 4 + _number(self._come, 0):
            try:
                some = self._socket.recv(4096)
            except (TimeoutError, BlockingIOError):
                return None
            if not some:
                raise ConnectionResetError("the broker closed the connection")
            self._come += some
        end = 4 + _number(self._come, 0)
        whole, self._come = self._come[:end], self._come[end:]
        number, request = self._asked.popleft()
        if end < 8 or _number(whole, 4) != number:
            raise ConnectionError("the broker answers what was not asked")
        reader = Reader(whole[8:])
        try:
            if request.tagged:
                reader.tags()
            return request.read(reader)
        except (struct.error, UnicodeDecodeError) as error:
            raise ConnectionError("the broker's answer ends too early") from error

    def close(self) -> None:
        self._socket.close()

    def _put(self, data: bytes, flags: int) -> None:
        left = memoryview(data)
        deadline = time.monotonic() + self._seconds
        while left:
            try:
                left = left[self._socket.send(left, flags) :]
            except TimeoutError:
                if time.monotonic() > deadline:
                    raise
                self._go_on()


def _number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big", signed=True)


class Connections:
    """One to each broker, opened when it is first wanted."""

    def __init__(self, client_id: str, seconds: float, go_on: Callable[[], None]) -> None:
        self._open: dict[Address, Connection] = {}
        self._terms = client_id, seconds, go_on

    def to(self, address: Address) -> Connection:
        connection = self._open.get(address)
        if connection is not None and connection.stale:
            connection.close()
            connection = None
        if connection is None:
            connection = self._open[address] = Connection(address, *self._terms)
        return connection

    def close(self) -> None:
        for connection in self._open.values():
            connection.close()
        self._open.clear()


# -- who leads what -------------------------------------------------------------------------


class Route(NamedTuple):
    """The leaders of a topic's partitions, and how many partitions there are."""

    leaders: dict[int, Address]
    partitions: int
    until: float


class Routes:
    """Remembers for a while who leads what. `client` gives one that can be asked."""

    def __init__(self, client: Callable[[], Producer]) -> None:
        self._client = client
        self._known: dict[str, Route] = {}

    def of(self, topic: str) -> Route:
        route = self._known.get(topic)
        if route is None or time.monotonic() > route.until:
            found = self._client().list_topics(topic, METADATA_SECONDS)
            partitions = found.topics[topic].partitions
            leaders = {
                partition.id: (leader.host, leader.port)
                for partition in partitions.values()
                if (leader := found.brokers.get(partition.leader)) is not None
            }
            if not leaders:
                raise ConnectionError(f"no partition of topic '{topic}' has a leader")
            route = Route(leaders, len(partitions), time.monotonic() + METADATA_AGE_SECONDS)
            self._known[topic] = route
        return route

    def clear(self) -> None:
        self._known.clear()
