"""The two workers: started alike, given the same configs over REST."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from penstock.stack import jvm, throwaway
from penstock.stack.process import Launch, Service, free_port
from tests.oracle import worker as oracle

JVM, PENSTOCK = "JVM", "Penstock"

# What Kafka's own start scripts give a broker and a Connect worker.
JVM_FLAGS = (
    "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent", "-Xms256m",
)  # fmt: skip
JVM_HEAP = "2g"
# By service files alone: the default looks into every class and takes half of the start.
JVM_SETTINGS = {"plugin.discovery": "service_load"}
START_SECONDS = 300.0

# Both workers' settings: larger batches than the clients' defaults, from and to Kafka.
SETTINGS = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "offset.flush.interval.ms": "5000",
    "consumer.max.poll.records": "2000",
    "consumer.fetch.min.bytes": "1",
    "producer.linger.ms": "5",
    "producer.batch.size": "262144",
}

PLUGINS = Path(__file__).parent / "plugins"


class SideError(Exception):
    """A worker refused a config, or its task failed."""


@dataclass(frozen=True)
class Side:
    """A worker that runs."""

    name: str
    url: str
    pid: int
    start_seconds: float

    def create(self, name: str, config: Mapping[str, str]) -> None:
        answer = self._ask("PUT", f"/connectors/{name}/config", json=dict(config))
        if answer.is_error:
            raise SideError(f"{self.name} refuses {name}: {answer.text[:2000]}")

    def delete(self, name: str) -> None:
        self._ask("DELETE", f"/connectors/{name}")

    def check(self, name: str) -> None:
        """Raise if the connector or one of its tasks has failed."""
        for part in self._parts(name):
            if part["state"] == "FAILED":
                raise SideError(f"{name} failed on {self.name}: {part.get('trace', '')[:3000]}")

    def runs(self, name: str, tasks: int) -> bool:
        states = [part["state"] for part in self._parts(name)]
        return states == ["RUNNING"] * (tasks + 1)

    def running(self) -> int:
        """How many connectors have a task that runs."""
        answer = self._ask("GET", "/connectors?expand=status")
        return sum(
            any(task["state"] == "RUNNING" for task in connector["status"]["tasks"])
            for connector in answer.json().values()
        )

    def _parts(self, name: str) -> list[dict[str, Any]]:
        answer = self._ask("GET", f"/connectors/{name}/status")
        if answer.is_error:
            return []
        status = answer.json()
        return [status["connector"], *status["tasks"]]

    def _ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        for _ in range(50):
            answer = httpx.request(method, self.url + path, timeout=60, trust_env=False, **more)
            if answer.status_code != httpx.codes.CONFLICT:  # a rebalance is under way
                break
            time.sleep(0.2)
        return answer


@contextmanager
def jvm_worker(
    bootstrap: str,
    settings: Mapping[str, str],
    say: Callable[[str], None],
    plugins: Path | None = None,
) -> Iterator[Side]:
    """Apache Kafka Connect, distributed, as its own scripts would start it."""
    options = oracle.Options(
        {**SETTINGS, **JVM_SETTINGS, **settings},
        [plugins] if plugins else (),
        heap=JVM_HEAP,
        jvm_flags=JVM_FLAGS,
        start_seconds=START_SECONDS,
    )
    oracle.libraries(say)  # a download is no part of the start
    began = time.perf_counter()
    with oracle.distributed(bootstrap, say, options) as running:
        yield Side(JVM, running.url, running.pid, time.perf_counter() - began)


@contextmanager
def penstock_worker(bootstrap: str, settings: Mapping[str, str]) -> Iterator[Side]:
    """Penstock, distributed."""

    def prepare(home: Path) -> Launch:
        url = f"http://127.0.0.1:{free_port()}"
        group = home.name
        properties = home / "worker.properties"
        properties.write_text(
            jvm.properties(
                {
                    "bootstrap.servers": bootstrap,
                    "listeners": url,
                    "rest.advertised.host.name": "127.0.0.1",
                    "group.id": group,
                    **{
                        f"{k}.storage.topic": f"{group}-{k}" for k in ("config", "offset", "status")
                    },
                    "offset.storage.partitions": "1",
                    "status.storage.partitions": "1",
                    **{
                        f"{k}.storage.replication.factor": "1"
                        for k in ("config", "offset", "status")
                    },
                    "scheduled.rebalance.max.delay.ms": "0",
                    "plugin.path": str(PLUGINS),
                    **SETTINGS,
                    **settings,
                }
            )
        )
        return Launch(
            Service("Penstock", url, lambda: oracle._is_healthy(url)),
            command=[sys.executable, "-m", "penstock", "worker", str(properties)],
            log=home / "worker.log",
        )

    began = time.perf_counter()
    with throwaway.server(prepare, seconds=START_SECONDS) as (launch, process):
        yield Side(PENSTOCK, launch.service.address, process.pid, time.perf_counter() - began)


@contextmanager
def both(
    bootstrap: str,
    settings: Mapping[str, str],
    say: Callable[[str], None],
    plugins: Path,
) -> Iterator[tuple[Side, Side]]:
    with ExitStack() as running:
        yield (
            running.enter_context(jvm_worker(bootstrap, settings, say, plugins)),
            running.enter_context(penstock_worker(bootstrap, settings)),
        )
