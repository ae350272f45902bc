"""A real worker for tests: `penstock standalone` in a process of its own, driven over REST."""

import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support import processes
from tests.support.waiting import wait_for

ROOT = Path(__file__).parents[2]
# A second or two, unless the machine has a lot else to do.
START_SECONDS = 180


class RunningWorker:
    """A worker that answers, and what tests ask of it."""

    def __init__(
        self, process: subprocess.Popen, url: str, log: Path, trusted: ssl.SSLContext | None = None
    ) -> None:
        self.process = process
        self.url = url
        self.log = log
        self.rest = httpx.Client(base_url=url, timeout=30, verify=trusted or True)

    def create(self, name: str, config: Mapping[str, Any], **more: Any) -> dict:
        answer = self.rest.post("/connectors", json={"name": name, "config": config, **more})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def status(self, name: str) -> dict:
        return self.rest.get(f"/connectors/{name}/status").json()

    def wait_running(self, name: str, tasks: int = 1) -> dict:
        """Wait until the connector and that many tasks run."""
        return self.wait_states(name, ["RUNNING"] * tasks)

    def wait_states(self, name: str, states: list[str], timeout: float = 60) -> dict:
        def reached() -> dict | None:
            status = self.status(name)
            found = [task["state"] for task in status.get("tasks", [])]
            return status if found == states else None

        return wait_for(
            reached, lambda: f"{name} to have tasks {states}; is: {self.status(name)}", timeout
        )

    @property
    def id(self) -> str:
        """As statuses name it."""
        return self.url.partition("://")[2]

    def log_text(self) -> str:
        return self.log.read_text(errors="replace")

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@contextmanager
def standalone(
    bootstrap: str,
    folder: Path,
    connector_files: list[Path] = (),
    *,
    environment: Mapping[str, str] | None = None,
    **settings: Any,
) -> Iterator[RunningWorker]:
    """Run a worker until the block is left; its log is shown when the block raises."""
    properties = folder / "worker.properties"
    offered = {
        "bootstrap.servers": bootstrap,
        "listeners": "http://127.0.0.1:0",
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "false",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "offset.storage.file.filename": str(folder / "offsets.json"),
        "offset.flush.interval.ms": "1000",
        **{k.replace("__", "."): v for k, v in settings.items()},
    }
    properties.write_text("".join(f"{k}={v}\n" for k, v in offered.items()))
    log = folder / "worker.log"
    with log.open("wb") as output:
        process = processes.start(
            [sys.executable, "-m", "penstock", "standalone", properties, *connector_files],
            stdout=output,
            stderr=output,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
            cwd=folder,
        )
    worker = None
    try:
        worker = RunningWorker(process, _url(process, log), log)
        wait_for(
            lambda: worker.rest.get("/health").status_code == 200,
            lambda: f"the worker to be healthy; its log:\n{worker.log_text()}",
            START_SECONDS,
        )
        yield worker
    except BaseException:
        print(log.read_text(errors="replace")[-20_000:])  # noqa: T201
        raise
    finally:
        if worker is not None:
            worker.rest.close()
        processes.stop(process)


def _url(process: subprocess.Popen, log: Path) -> str:
    def found() -> str | None:
        assert process.poll() is None, f"the worker ended early:\n{log.read_text()}"
        for line in log.read_text(errors="replace").splitlines():
            if "The REST API listens on " in line:
                return line.split("listens on ")[1].split()[0].rstrip(",")
        return None

    return wait_for(
        found, lambda: f"the worker to listen; its log:\n{log.read_text()}", START_SECONDS
    )


def read_lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def json_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in read_lines(path)]
