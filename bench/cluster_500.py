"""How three workers bear hundreds of connectors: create, list, restart and delete all of them.

    python -m bench.cluster_500 [connectors] [thread|process]

Each connector is a file source with one idle task. Starts three workers, and a broker unless
KAFKA_BOOTSTRAP names one, and takes everything away again. Memory is the proportional set size
(PSS) of the workers and all processes below them.
"""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx

from bench.processes import cpu_seconds, memory
from penstock.stack import throwaway
from tests.support.cluster import Cluster, cluster

AT_ONCE = 4
DEADLINE_SECONDS = 1800


def run(count: int, isolation: str) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        throwaway.kafka(_say) as bootstrap,
        cluster(bootstrap, Path(folder), 3, task__isolation=isolation) as workers,
    ):
        idle = Path(folder) / "idle.txt"
        idle.touch()
        config = {"connector.class": "FileStreamSource", "file": str(idle), "topic": "idle"}
        names = [f"bench-{n:04}" for n in range(count)]
        print(f"{count} connectors with a task each ({isolation}) on three workers")
        empty = _pss(workers)
        print(f"  memory without connectors  {empty:8.0f} MB")
        with _asking(workers) as latencies:
            step = _Steps(workers, latencies)
            with step("create, until all run"):
                _each(names, lambda rest, name: _create(rest, name, config), workers)
                _wait(lambda: _running(workers) == count)
            full = _pss(workers)
            with step("list with expand=info,status"):
                answer = workers.any.rest.get("/connectors?expand=info&expand=status")
                assert len(answer.json()) == count
            starts = workers.starts().total()
            with step("restart with tasks"):
                _each(names, _restart, workers)
                _wait(lambda: workers.starts().total() >= starts + count)
                _wait(lambda: _running(workers) == count)
            with step("delete, until all are gone"):
                _each(names, _delete, workers)
                _wait(lambda: all(not w.rest.get("/connectors").json() for w in workers.workers))
        print(f"  memory a connector         {(full - empty) / count:8.2f} MB")


class _Steps:
    """Times what is done, and tells how long others waited for an answer meanwhile."""

    def __init__(self, workers: Cluster, latencies: list[float]) -> None:
        self._workers = workers
        self._latencies = latencies

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        self._latencies.clear()
        rounds, cpu, began = _rounds(self._workers), _cpu(self._workers), time.monotonic()
        yield
        took, cpu = time.monotonic() - began, _cpu(self._workers) - cpu
        seen = sorted(self._latencies) or [0.0]
        print(
            f"  {what:28}{took:7.1f} s  {cpu:7.1f} s CPU  "
            f"{_rounds(self._workers) - rounds:5} rounds  "
            f"GET status: median {statistics.median(seen) * 1000:.0f} ms, "
            f"99 % {seen[len(seen) * 99 // 100] * 1000:.0f} ms, most {seen[-1] * 1000:.0f} ms",
            flush=True,
        )


def _create(rest: httpx.Client, name: str, config: dict[str, str]) -> httpx.Response:
    return rest.post("/connectors", json={"name": name, "config": config})


def _restart(rest: httpx.Client, name: str) -> httpx.Response:
    return rest.post(f"/connectors/{name}/restart?includeTasks=true")


def _delete(rest: httpx.Client, name: str) -> httpx.Response:
    return rest.delete(f"/connectors/{name}")


def _each(
    names: list[str], ask: Callable[[httpx.Client, str], httpx.Response], workers: Cluster
) -> None:
    """Ask for every connector, some at once, and all workers in turn."""
    done = 0
    lock = threading.Lock()

    def one(number: int) -> None:
        nonlocal done
        answer = ask(workers.workers[number % 3].rest, names[number])
        assert answer.is_success, f"{answer.request.url}: {answer.status_code} {answer.text}"
        with lock:
            done += 1
            if sys.stderr.isatty() or done % 100 == 0:
                print(f"\r  … {done} of {len(names)}", end="", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(one, range(len(names))))
    print("\r", end="", file=sys.stderr, flush=True)


@contextmanager
def _asking(workers: Cluster) -> Iterator[list[float]]:
    """Somebody who looks at a status ten times a second: the seconds each answer took."""
    latencies: list[float] = []
    over = threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=workers.workers[-1].url, timeout=120) as rest:
            while not over.wait(0.1):
                began = time.monotonic()
                rest.get("/connectors/bench-0000/status")
                latencies.append(time.monotonic() - began)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield latencies
    finally:
        over.set()
        thread.join()


def _running(workers: Cluster) -> int:
    statuses = workers.any.rest.get("/connectors?expand=status", timeout=120).json()
    return sum(
        [task["state"] for task in each["status"]["tasks"]] == ["RUNNING"]
        and each["status"]["connector"]["state"] == "RUNNING"
        for each in statuses.values()
    )


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the cluster did not get there"
        time.sleep(1)


def _rounds(workers: Cluster) -> int:
    """How often the group has divided its work."""
    found = re.findall(r"\] Generation (\d+)", workers.any.log_text())
    return int(found[-1]) if found else 0


def _cpu(workers: Cluster) -> float:
    return sum(cpu_seconds(worker.process.pid) for worker in workers.workers)


def _pss(workers: Cluster) -> float:
    """In MB, of the workers and everything they have started."""
    return sum(memory(worker.process.pid) for worker in workers.workers) / 2**20


def _say(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else 500, (*sys.argv[2:], "thread")[0])
