"""Stands before a broker and passes requests on, or does what networks do to them."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

ADD_PARTITIONS, COMMIT, PRODUCE, CLAIM = 24, 26, 0, 22


class KafkaProxy:
    """Each fault happens to the next request of its kind, once."""

    def __init__(self, server: socket.socket, broker: tuple[str, int]) -> None:
        self.address = server.getsockname()
        self.seen: list[int] = []  # kinds of requests
        self._server = server
        self._broker = broker
        self._faults: dict[int, Callable[[bytes], bytes | None]] = {}
        self._held: list[bytes] = []

    def lose_answer(self, kind: int) -> None:
        """The broker does it, and nobody hears of it."""
        self._faults[kind] = self._drop_answer

    def hold(self, kind: int) -> None:
        """It hangs somewhere on its way, until it is released; whoever sent it is cut off."""
        self._faults[kind] = self._held.append

    def release(self) -> bytes:
        """Let what was held arrive now. The broker's answer, which nobody else hears of."""
        return self._ask(self._held.pop())

    def before(self, kind: int, do: Callable[[], None]) -> None:
        """Do something between the request's coming and its going on."""

        def fault(request: bytes) -> bytes:
            do()
            return self._ask(request)

        self._faults[kind] = fault

    def serve(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                client, _ = self._server.accept()
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._broker) as broker, suppress(OSError):
            while request := _frame(client):
                (kind,) = struct.unpack_from(">h", request, 4)
                self.seen.append(kind)
                fault = self._faults.pop(kind, None)
                answer = fault(request) if fault else _exchange(broker, request)
                if answer is None:
                    return
                client.sendall(answer)

    def _ask(self, request: bytes) -> bytes:
        with socket.create_connection(self._broker) as broker:
            return _exchange(broker, request)

    def _drop_answer(self, request: bytes) -> None:
        self._ask(request)


def _exchange(broker: socket.socket, request: bytes) -> bytes:
    broker.sendall(request)
    return _frame(broker)


def _frame(source: socket.socket) -> bytes:
    size = source.recv(4, socket.MSG_WAITALL)
    return size and size + source.recv(struct.unpack(">i", size)[0], socket.MSG_WAITALL)


@contextmanager
def kafka_proxy(bootstrap: str) -> Iterator[KafkaProxy]:
    host, port = bootstrap.rsplit(":", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        proxy = KafkaProxy(server, (host, int(port)))
        threading.Thread(target=proxy.serve, daemon=True).start()
        yield proxy
        server.shutdown(socket.SHUT_RDWR)
