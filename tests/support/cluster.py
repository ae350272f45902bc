"""A real cluster for tests: several `penstock worker` processes, driven over REST."""

import itertools
import os
import ssl
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support import processes
from tests.support.topics import admin_client
from tests.support.waiting import wait_for
from tests.support.worker import ROOT, START_SECONDS, RunningWorker, _url

_STORES = ("config", "offset", "status")


class Cluster:
    """Workers of one group. `settings` are those of every worker that is added."""

    def __init__(
        self,
        bootstrap: str,
        folder: Path,
        settings: Mapping[str, str],
        trusted: ssl.SSLContext | None = None,
    ) -> None:
        self.bootstrap = bootstrap
        self._trusted = trusted
        self.settings = dict(settings)
        self.workers: list[RunningWorker] = []
        self._folder = folder
        self._started: list[subprocess.Popen] = []
        self._numbers = itertools.count(1)

    def add(self, n: int = 1, **settings: str) -> list[RunningWorker]:
        """Start workers side by side and wait until they are part of the group."""
        started = [self._start({k.replace("__", "."): v for k, v in settings.items()})
                   for _ in range(n)]  # fmt: skip
        workers = [
            RunningWorker(process, _url(process, log), log, self._trusted)
            for process, log in started
        ]
        self.workers += workers
        for worker in workers:
            wait_for(
                lambda worker=worker: worker.rest.get("/health").status_code == 200,
                lambda worker=worker: f"the worker to be healthy; its log:\n{worker.log_text()}",
                START_SECONDS,
            )
        return workers

    def _start(self, settings: Mapping[str, str]) -> tuple[subprocess.Popen, Path]:
        number = next(self._numbers)
        properties = self._folder / f"worker{number}.properties"
        every = {**self.settings, **settings}
        properties.write_text("".join(f"{k}={v}\n" for k, v in every.items()))
        log = self._folder / f"worker{number}.log"
        with log.open("wb") as output:
            process = processes.start(
                [sys.executable, "-m", "penstock", "worker", properties],
                stdout=output,
                stderr=output,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                cwd=self._folder,
            )
        self._started.append(process)
        return process, log

    def kill(self, worker: RunningWorker) -> None:
        """As if the machine had lost its power."""
        worker.process.kill()
        worker.process.wait()
        self._forget(worker)

    def stop(self, worker: RunningWorker) -> int:
        """SIGTERM; the exit code."""
        code = worker.stop()
        self._forget(worker)
        return code

    def _forget(self, worker: RunningWorker) -> None:
        self.workers.remove(worker)
        worker.rest.close()

    @property
    def any(self) -> RunningWorker:
        return self.workers[0]

    @property
    def leader(self) -> RunningWorker:
        """The one that led the last round."""

        def leads(worker: RunningWorker) -> bool:
            rounds = [x for x in worker.log_text().splitlines() if "] Generation " in x]
            return bool(rounds) and ": leading" in rounds[-1]

        return next(worker for worker in self.workers if leads(worker))

    def wait_all_running(self, tasks: Mapping[str, int], timeout: float = 60) -> dict[str, dict]:
        """Wait until all connectors and that many tasks run, on workers that are alive."""
        alive = {worker.id for worker in self.workers}

        def reached() -> dict | None:
            answer = self.any.rest.get("/connectors", params={"expand": "status"})
            found = {name: each["status"] for name, each in answer.json().items()}
            for name, count in tasks.items():
                parts = [found[name]["connector"], *found[name]["tasks"]] if name in found else []
                good = [p for p in parts if p["state"] == "RUNNING" and p["worker_id"] in alive]
                if len(good) != count + 1:
                    return None
            return found

        def told() -> str:
            answer = self.any.rest.get("/connectors", params={"expand": "status"}).text
            return f"all to run on {sorted(alive)}: {tasks}; they are: {answer[:5000]}"

        return wait_for(reached, told, timeout)

    def task_counts(self, statuses: Mapping[str, dict]) -> Counter[str]:
        """How many tasks each worker has."""
        return Counter(t["worker_id"] for s in statuses.values() for t in s["tasks"])

    def starts(self) -> Counter[str]:
        """How often each task was started, by all workers that ever were."""
        logs = [log.read_text(errors="replace") for log in self._folder.glob("worker*.log")]
        return Counter(
            line.split("|task-")[0].rpartition("[")[2] + "-" + line.split("|task-")[1].split("]")[0]
            for text in logs
            for line in text.splitlines()
            if "|task-" in line and "] Task started" in line
        )

    def close(self) -> None:
        processes.stop(*self._started)
        for worker in self.workers:
            worker.rest.close()
        admin = admin_client(self.bootstrap)
        topics = [self.settings[f"{kind}.storage.topic"] for kind in _STORES]
        for done in admin.delete_topics(topics).values():
            done.exception()  # a cluster that never started has none

    def logs(self) -> str:
        shown = []
        for path in sorted(self._folder.glob("worker*.log")):
            lines = path.read_text(errors="replace").splitlines()
            told = [line for line in lines if "(api.access)" not in line]
            shown += [f"--- {path.name}", *told[-80:]]
        return "\n".join(shown)


@contextmanager
def cluster(
    bootstrap: str,
    folder: Path,
    n: int = 3,
    *,
    trusted: ssl.SSLContext | None = None,
    admin_bootstrap: str | None = None,
    **settings: Any,
) -> Iterator[Cluster]:
    """Run n workers until the block is left; their logs are shown when the block raises.

    `trusted` is for workers with https, `admin_bootstrap` where the test itself reaches Kafka if
    that is another address than the workers'.
    """
    group = f"test-{uuid.uuid4().hex[:8]}"
    offered = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "listeners": "http://127.0.0.1:0",
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "false",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "offset.flush.interval.ms": "1000",
        **{f"{kind}.storage.topic": f"{group}-{kind}" for kind in _STORES},
        **{f"{kind}.storage.replication.factor": "1" for kind in _STORES},
        "offset.storage.partitions": "2",
        "status.storage.partitions": "2",
        # Short, so that a test need not wait long for a worker to be missed.
        "session.timeout.ms": "6000",
        "heartbeat.interval.ms": "500",
        "scheduled.rebalance.max.delay.ms": "0",
        **{k.replace("__", "."): str(v) for k, v in settings.items()},
    }
    running = Cluster(admin_bootstrap or bootstrap, folder, offered, trusted)
    try:
        running.add(n)
        yield running
    except BaseException:
        print(running.logs())  # noqa: T201
        raise
    finally:
        running.close()


def forwarded(answer: httpx.Response) -> str:
    """For messages: what was asked and what came."""
    return f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}"
