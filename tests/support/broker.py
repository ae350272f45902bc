"""A Kafka broker of a test's own: one that can be ended, frozen and started again."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from penstock.stack import jars, kafka, throwaway
from penstock.stack.guard import Guard
from penstock.stack.java import find_java
from penstock.stack.kafka import KafkaOptions
from penstock.stack.process import Launch, Process, free_port, start
from tests.support.processes import stands_still
from tests.support.waiting import wait_for


class Broker:
    """A broker on its port and with its data, whether it runs or not."""

    def __init__(self, launch: Launch, guard: Guard) -> None:
        self.address = launch.service.address
        self._launch = launch
        self._guard = guard
        self._process: Process | None = None

    def start(self) -> None:
        """Start it, with the data it had, and wait until it answers."""
        self._process = start(self._launch, self._guard.watch)

    def kill(self) -> None:
        """End it the hard way."""
        self._process.stop(signal.SIGKILL)

    def freeze(self) -> None:
        """It keeps its connections and does nothing."""
        os.kill(self._process.pid, signal.SIGSTOP)
        wait_for(lambda: stands_still(self._process.pid), "the broker to stand still")

    def thaw(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)


@contextmanager
def own_broker(
    say: Callable[[str], None],
    settings: Mapping[str, str] | None = None,
    port: int | None = None,
    features: Mapping[str, int] | None = None,
) -> Iterator[Broker]:
    """A broker that nobody else uses, even where the environment names one."""
    files = jars.retrieve(kafka.BUNDLE, say)
    with throwaway._guarded_directory() as (home, guard):
        options = KafkaOptions(settings=settings or {}, features=features or {})
        launch = kafka.prepare(home, find_java(), files, options, port or free_port())
        broker = Broker(launch, guard)
        broker.start()
        yield broker
