"""Servers for the length of a `with` block: for tests, the demo and benchmarks.

They run on free ports, keep their files in a temporary directory, and are gone with both when the
block is left; a guard process sees to that even if we are killed. A server that the environment
names (KAFKA_BOOTSTRAP, SCHEMA_REGISTRY_URL, MYSQL_URL) is used as it is.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.stack import mariadb as mariadb_server
from penstock.stack import postgres as postgres_server
from penstock.stack.docker import Container
from penstock.stack.guard import Guard
from penstock.stack.kafka import KafkaOptions
from penstock.stack.process import Launch, Process, start
from penstock.stack.servers import Server, Starter
from penstock.stack.stack import KAFKA_VARIABLE, REGISTRY_VARIABLE

MYSQL_VARIABLE = "MYSQL_URL"

Say = Callable[[str], None]


@contextmanager
def kafka(say: Say, options: KafkaOptions | None = None) -> Iterator[str]:
    """A broker; gives its bootstrap address. `options` are not for one the environment names."""
    if external := os.environ.get(KAFKA_VARIABLE):
        yield external
        return
    with _started(
        say, lambda starter, home: starter.kafka(home, options or KafkaOptions())
    ) as address:
        yield address


@contextmanager
def registry(say: Say) -> Iterator[str]:
    """A schema registry; gives the URL that Confluent's clients take."""
    if external := os.environ.get(REGISTRY_VARIABLE):
        yield external
        return
    with _started(say, lambda starter, home: starter.registry(home)) as address:
        yield address


@contextmanager
def postgres() -> Iterator[str]:
    """A PostgreSQL server; gives a libpq URL. PostgresMissingError where there are no binaries."""
    postgres_server.find_binaries()
    with server(postgres_server.prepare) as (launch, _):
        yield launch.service.address


@contextmanager
def mariadb() -> Iterator[str]:
    """A MariaDB or MySQL server; gives its URL. MariaDbMissingError where there are no binaries."""
    if external := os.environ.get(MYSQL_VARIABLE):
        yield external
        return
    mariadb_server.find_binaries()
    with server(mariadb_server.prepare) as (launch, _):
        yield launch.service.address


@contextmanager
def server(
    prepare: Callable[[Path], Launch], *, seconds: float = 90
) -> Iterator[tuple[Launch, Process]]:
    """Whatever `prepare` says how to start in the directory it is given; it has so long to."""
    with _guarded_directory() as (home, guard):
        launch = prepare(home)
        yield (
            launch,
            start(launch, lambda body: guard.watch(body, launch.stop_signal), seconds=seconds),
        )


@contextmanager
def _started(say: Say, run: Callable[[Starter, Path], Server]) -> Iterator[str]:
    containers: list[Container] = []

    with _guarded_directory() as (home, guard):

        def started(_: str, server: Server) -> None:
            if isinstance(server.body, Process):
                guard.watch(server.body)
            else:
                containers.append(server.body)

        try:
            yield run(
                Starter(say, started, usual_ports=False, outlive_us=False), home / "server"
            ).address
        finally:
            for container in containers:
                container.stop()


@contextmanager
def _guarded_directory() -> Iterator[tuple[Path, Guard]]:
    # Not below pytest's own: a short path, for the sake of Unix sockets, and open to other users.
    home = Path(tempfile.mkdtemp(prefix="penstock-"))
    with Guard(home) as guard:
        yield home, guard
