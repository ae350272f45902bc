"""Real Spark on loopback, from PySpark alone: a standalone cluster, a Connect server."""

import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pyspark

from tests.support.processes import alive, command, descendants, start, stop
from tests.support.waiting import wait_for

HOME = Path(pyspark.__file__).parent
ROOT = Path(__file__).parents[2]
# Small and quick to start: there are several of them on a machine of two cores.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@dataclass(frozen=True)
class Cluster:
    """A master and its workers."""

    url: str
    workers: tuple[int, ...]

    def executors(self) -> list[int]:
        """The pids of the executors' JVMs."""
        below = [pid for worker in self.workers for pid in descendants(worker)]
        return [pid for pid in below if b"CoarseGrainedExecutorBackend" in command(pid)]


@contextmanager
def standalone_cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master with workers of one core each, for as long as the block lasts."""
    deploy = "org.apache.spark.deploy"
    place = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    environment = {
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": JAVA,
        "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
    }
    with ExitStack() as running:
        run = ["spark-class", f"{deploy}.master.Master", *place]
        master = running.enter_context(_Server(folder / "master.log", run, environment))
        url = master.told(r"Starting Spark master at (spark://\S+)")
        started = []
        for number in range(workers):
            room = ("--cores", "1", "--memory", "1g", "--work-dir", folder / f"work-{number}")
            run = ["spark-class", f"{deploy}.worker.Worker", *place, *room, url]
            log = folder / f"worker-{number}.log"
            started.append(running.enter_context(_Server(log, run, environment)))
        for worker in started:
            worker.told(r"(Successfully registered) with master")
        yield Cluster(url, tuple(worker.pid for worker in started))


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """A Spark Connect server that runs queries on two cores of its own; its sc:// address."""
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": JAVA,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.python.authenticate.socketTimeout": "120s",
    }
    run = [
        "spark-submit", "--master", "local[2]",
        "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
        *(word for key, value in conf.items() for word in ("--conf", f"{key}={value}")),
        "spark-internal",
    ]  # fmt: skip
    # What the server's and its executors' Python has: as installed beside it.
    environment = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    with _Server(folder / "connect.log", run, environment) as server:
        port = server.told(r"Spark Connect server started at: \S*?:(\d+)")
        yield f"sc://127.0.0.1:{port}"


class _Server:
    """One of Spark's own processes, which is gone with all below it when the block is left."""

    def __init__(self, log: Path, run: list, environment: dict[str, str]) -> None:
        self._log = log
        with log.open("wb") as output:
            self._process = start(
                [HOME / "bin" / run[0], *run[1:]],
                stdout=output,
                stderr=output,
                cwd=log.parent,
                env={
                    **{k: v for k, v in os.environ.items() if not k.startswith("PY")},
                    "SPARK_HOME": str(HOME),
                    "SPARK_LOCAL_IP": "127.0.0.1",
                    **environment,
                },
            )
        self.pid = self._process.pid

    def told(self, pattern: str) -> str:
        """Wait until the log has what is looked for."""

        def found() -> re.Match[str] | None:
            text = self._log.read_text(errors="replace")
            assert self._process.poll() is None, f"it ended early:\n{text[-3000:]}"
            return re.search(pattern, text)

        return wait_for(found, lambda: f"{pattern}; the log:\n{self._log.read_text()[-3000:]}", 90)[
            1
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        below = descendants(self.pid)
        stop(self._process, seconds=20)
        for pid in below:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
