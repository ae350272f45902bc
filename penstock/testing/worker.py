"""RealWorker: `penstock standalone` in a process of its own, which tests feed, kill and restart."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self, TypeVar

from connect.plugin import Connector, SinkConnector, SourceConnector
from connect.testing.running import wait_until
from penstock.client import WorkerClient, connector_path
from penstock.contexts import Context
from penstock.errors import UserError
from penstock.stack.guard import Guard
from penstock.stack.process import Process, tail
from penstock.testing import topics

T = TypeVar("T")

# A second or two, unless the machine has a lot else to do.
_SECONDS = 90.0


class RealWorker:
    """A worker on a real Kafka, and what tests ask of it.

        worker.create("out", {"connector.class": MySink, "topics": topic})
        worker.feed(topic, ["a", "b"])
        worker.kill_task("out")     # SIGKILL
        worker.restart("out")       # "a" and "b" come again, unless they were committed

    Keys are text and values are JSON without schemas, unless a connector's config says otherwise.
    The worker ends with the tests, even if they are killed, and its topics with it.
    """

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.bootstrap = bootstrap
        self.folder = folder
        self.log = folder / "worker.log"
        self._starts = itertools.count(1)
        self._connectors: dict[str, tuple[dict[str, str], int]] = {}
        self._topics: list[str] = []
        self._fed: Counter[tuple[str, int]] = Counter()
        self._process: subprocess.Popen[bytes] | None = None
        self._ending = ExitStack()

    def __enter__(self) -> Self:
        self._guard = self._ending.enter_context(Guard())
        self._ending.callback(self._delete_topics)
        self._ending.callback(self.stop)
        try:
            self.start()
        except BaseException:
            self._ending.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.close()

    # -- the worker -----------------------------------------------------------------------------

    def start(self) -> None:
        """Run it, again if need be: with the offsets and the connectors that it had."""
        self.log = self.folder / f"worker-{next(self._starts)}.log"
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "penstock", "standalone", self._properties()],
                stdout=output,
                stderr=output,
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": _python_path(self._announced())},
                start_new_session=True,
            )
        self._guard.watch(Process.of(self._process.pid))
        self.rest = WorkerClient(Context(self._wait(self._url, "the worker to listen")))
        self._wait(self._is_healthy, "the worker to be healthy")
        for name, (config, tasks) in self._connectors.items():
            self.create(name, config, tasks=tasks)

    @property
    def pid(self) -> int | None:
        """Its process, while it runs."""
        return None if self._process is None else self._process.pid

    def stop(self) -> None:
        """End it in good order."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power cut does, with all its tasks."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        Process.of(self._process.pid).stop(how, seconds=_SECONDS)
        self._process.wait()
        self._process = None
        self.rest.close()

    def _properties(self) -> Path:
        settings = {
            "bootstrap.servers": self.bootstrap,
            "listeners": "http://127.0.0.1:0",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            "offset.storage.file.filename": self.folder / "offsets.json",
            # Often, so that tests need not wait for it.
            "offset.flush.interval.ms": 200,
            # The least that brokers allow: so long do the partitions of a killed worker lie idle.
            "consumer.session.timeout.ms": 6000,
        }
        file = self.folder / "worker.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        return file

    def _announced(self) -> Path:
        """A folder by which the worker finds the connectors that the tests have, installed or not:
        Python takes it for the metadata of one more distribution.
        """
        about = self.folder / "metadata" / "connectors_of_the_tests-0.dist-info"
        about.mkdir(parents=True, exist_ok=True)
        (about / "METADATA").write_text("Name: connectors-of-the-tests\nVersion: 0\n")
        points = (
            f"{each.__name__} = {each.__module__}:{each.__qualname__}\n" for each in _imported()
        )
        (about / "entry_points.txt").write_text("[penstock.connectors]\n" + "".join(points))
        return about.parent

    def _url(self) -> str | None:
        assert self._process is not None
        assert self._process.poll() is None, f"the worker ended early:\n{tail(self.log)}"
        said = re.search(r"The REST API listens on ([^\s,]+)", self._said())
        return said and said[1]

    def _is_healthy(self) -> bool:
        try:
            self.rest.get("/health")
        except UserError:
            return False
        return True

    def _said(self) -> str:
        return self.log.read_text(errors="replace")

    # -- its connectors -------------------------------------------------------------------------

    def create(self, name: str, config: Mapping[str, Any], *, tasks: int = 1) -> None:
        """Create or change a connector, and return when it runs with so many tasks.

        `connector.class` may be the class itself, if it can be imported by its name.
        """
        props = {key: _text(value) for key, value in config.items()}
        self.rest.call("PUT", f"{connector_path(name)}/config", props)
        self._connectors[name] = props, tasks
        self.wait_running(name, tasks)

    def delete(self, name: str) -> None:
        self.rest.call("DELETE", connector_path(name))
        del self._connectors[name]

    def restart(self, name: str, *, tasks: int = 1) -> None:
        """Restart a connector and its tasks, and return when they run."""
        self.rest.call("POST", f"{connector_path(name)}/restart", params={"includeTasks": "true"})
        self.wait_running(name, tasks)

    def kill_task(self, name: str, task: int = 0) -> None:
        """Kill a task's process with SIGKILL, and return when the worker has seen it fail."""
        os.kill(self._wait(lambda: self._task(name, task), f"{name}-{task} to run"), signal.SIGKILL)
        self._wait(lambda: self._states(name)[task] == "FAILED", f"{name}-{task} to be missed")

    def wait_running(self, name: str, tasks: int = 1) -> None:
        """Return when the connector runs with so many tasks. One that fails is told at once."""

        def running() -> bool:
            status = self.status(name)
            for part in (status["connector"], *status["tasks"]):
                assert part["state"] != "FAILED", f"{name} failed:\n{part['trace']}"
            return self._states(name) == ["RUNNING"] * tasks

        self._wait(running, lambda: f"{name} to run with {tasks} tasks; it is {self.status(name)}")

    def status(self, name: str) -> Any:
        return self.rest.get(f"{connector_path(name)}/status")

    def offsets(self, name: str) -> list[dict[str, Any]]:
        """What is committed, as the REST API tells it: a list of partitions with their offsets."""
        told: list[dict[str, Any]] = self.rest.get(f"{connector_path(name)}/offsets")["offsets"]
        return told

    def wait_committed(self, name: str) -> None:
        """Return when a sink has committed everything that was fed to its topics."""
        own = self._connectors[name][0]["topics"].split(",")
        fed = {place: count for place, count in self._fed.items() if place[0] in own}

        def committed() -> dict[tuple[str, int], int]:
            return {
                (at["kafka_topic"], at["kafka_partition"]): each["offset"]["kafka_offset"]
                for each in self.offsets(name)
                for at in [each["partition"]]
            }

        self._wait(
            lambda: committed() == fed,
            lambda: f"{name} to commit {fed}; it has {committed()} and is {self.status(name)}",
        )

    def _states(self, name: str) -> list[str]:
        return [task["state"] for task in self.status(name)["tasks"]]

    def _task(self, name: str, task: int) -> int | None:
        """The pid of a task that is alive; what the log has last may be one that is gone."""
        line = rf"\[{re.escape(name)}\|task-{task}\] Task started in process (\d+)"
        pids = re.findall(line, self._said())
        return int(pids[-1]) if pids and Process.of(int(pids[-1])).started != "gone" else None

    # -- its topics -----------------------------------------------------------------------------

    def topic(self, partitions: int = 1) -> str:
        """A new topic; it is gone with the worker."""
        self._topics.append(topics.create(self.bootstrap, partitions))
        return self._topics[-1]

    def feed(self, topic: str, values: Iterable[Any], *, partition: int = 0) -> None:
        """Write values as JSON, or bytes as they are, and return when all are safe in Kafka."""
        self._fed[topic, partition] += topics.feed(self.bootstrap, topic, values, partition)

    def read(self, topic: str, count: int, *, seconds: float = 60) -> list[Any]:
        """Every value of the topic, once there are `count` or more."""
        return topics.read(self.bootstrap, topic, count, seconds)

    def _delete_topics(self) -> None:
        topics.delete(self.bootstrap, self._topics)

    def _wait(self, condition: Callable[[], T | None], what: str | Callable[[], str]) -> T:
        def told() -> str:
            waited_for = what if isinstance(what, str) else what()
            return f"{waited_for}. The end of the worker's log:\n{tail(self.log)}"

        return wait_until(condition, told, _SECONDS)


def _imported() -> Iterator[type[Connector]]:
    """Every connector that this process knows and another can import."""
    left: list[type[Connector]] = [SourceConnector, SinkConnector]
    for each in left:  # grows while it is walked
        left += each.__subclasses__()
        if each.__module__ != "connect.plugin" and "<locals>" not in each.__qualname__:
            yield each


def _text(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}" if isinstance(value, type) else str(value)


def _python_path(first: Path) -> str:
    return os.pathsep.join([str(first), *filter(None, sys.path)])
