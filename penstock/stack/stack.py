"""The stack of `penstock stack`: servers that outlive the command, recorded in one directory."""

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from penstock.errors import UserError
from penstock.stack import kafka, registry
from penstock.stack.docker import Container
from penstock.stack.process import Process
from penstock.stack.servers import Server, Starter

# Variables that name a server of the user's own, which is then used as it is and never touched.
KAFKA_VARIABLE = "KAFKA_BOOTSTRAP"
REGISTRY_VARIABLE = "SCHEMA_REGISTRY_URL"

_VARIABLES = {"kafka": KAFKA_VARIABLE, "registry": REGISTRY_VARIABLE}
_RECORD = "stack.json"

State = Literal["running", "not answering", "dead", "external"]


@dataclass(frozen=True)
class Part:
    """One server as it is now. An external one has neither pid nor container."""

    name: str
    state: State
    address: str
    pid: int | None = None
    container: str | None = None
    log: str | None = None


class Stack:
    """Kafka, and the registry on demand, under one directory.

    Safe against a second command at the same time, and against what an earlier one left behind.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        directory: Path | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._say = say
        self._environment = environment
        chosen = directory or Path(environment.get("PENSTOCK_STACK_DIR") or ".stack")
        self.directory = chosen.absolute()

    def up(self, *, with_registry: bool = False) -> list[Part]:
        """Start what is not running yet and return when all of it answers."""
        wanted = ["kafka", "registry"] if with_registry else ["kafka"]
        ours = [name for name in wanted if not self._external(name)]
        for name in wanted:
            if name not in ours:
                self._say(f"{_VARIABLES[name]} is set: using that {name}, starting none.")
        if ours:
            with self._locked():
                for name in ours:
                    self._ensure(name)
        return [part for part in self.status() if part.name in wanted]

    def fetch(self, *, with_registry: bool = False) -> None:
        """Download what `up` needs, so that it works without a network; starts nothing."""
        if not self._external("kafka"):
            self._starter().fetch(with_registry=with_registry and not self._external("registry"))

    def status(self) -> list[Part]:
        """The parts there are; none when nothing was started here and nothing external is named."""
        record = self._read()
        parts = []
        for name in _VARIABLES:
            external = self._external(name)
            if external:
                parts.append(_external_part(name, external))
            elif name in record:
                parts.append(self._part(name, record[name]))
        return parts

    def down(self) -> list[str]:
        """Stop what was started here and remove every file of it; returns its names."""
        if not self.directory.is_dir():
            return []
        with self._locked():
            names = list(self._read())
            for name in reversed(names):
                self._remove(name)
            self._remove_directory()
        return names

    def _ensure(self, name: str) -> None:
        server = self._read().get(name)
        if server is not None:
            part = self._part(name, server)
            if part.state == "running":
                return
            self._say(f"The {name} of an earlier run is {part.state}: starting a new, empty one.")
            self._remove(name)
        starter = self._starter()
        try:
            if name == "kafka":
                starter.kafka(self.directory / name, kafka.KafkaOptions())
            else:
                starter.registry(self.directory / name)
        except BaseException:
            self._remove(name)
            if not self._read():
                self._remove_directory()
            raise

    def _starter(self) -> Starter:
        return Starter(
            self._say,
            self._started,
            usual_ports=True,
            outlive_us=True,
            environment=self._environment,
        )

    def _part(self, name: str, server: Server) -> Part:
        state: State = "running"
        if not server.body.is_alive():
            state = "dead"
        elif not _answers(name, server.address):
            state = "not answering"
        if isinstance(server.body, Container):
            return Part(name, state, server.address, container=server.body.id)
        log = self.directory / name / f"{name}.log"
        return Part(name, state, server.address, pid=server.body.pid, log=str(log))

    def _external(self, name: str) -> str | None:
        return self._environment.get(_VARIABLES[name]) or None

    # The record: written as soon as a server runs, so that it is found even if we are killed next.

    def _read(self) -> dict[str, Server]:
        path = self.directory / _RECORD
        try:
            return {
                name: _server_from(entry) for name, entry in json.loads(path.read_text()).items()
            }
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError, AttributeError) as cause:
            raise UserError(
                f"{path} cannot be read as the record of a stack ({cause}): end the processes that "
                f"were started from {self.directory}, if any, and remove that directory."
            ) from cause

    def _started(self, name: str, server: Server) -> None:
        self._write({**self._read(), name: server})

    def _write(self, servers: Mapping[str, Server]) -> None:
        new = self.directory / f"{_RECORD}.new"
        new.write_text(json.dumps({name: _entry_of(server) for name, server in servers.items()}))
        new.replace(self.directory / _RECORD)

    def _remove(self, name: str) -> None:
        servers = self._read()
        server = servers.pop(name, None)
        if server is not None:
            server.body.stop()
        shutil.rmtree(self.directory / name, ignore_errors=True)
        self._write(servers)

    def _remove_directory(self) -> None:
        """Take away what is ours. What somebody else put there stays, and the directory."""
        for name in _VARIABLES:
            shutil.rmtree(self.directory / name, ignore_errors=True)
        for file in (_RECORD, f"{_RECORD}.new"):
            (self.directory / file).unlink(missing_ok=True)
        if not any(self.directory.iterdir()):
            self.directory.rmdir()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the directory, made if need be, against other commands."""
        while True:
            self._require_own_directory()
            try:
                held = os.open(self.directory, os.O_RDONLY)
            except FileNotFoundError:  # a `down` was quicker
                continue
            try:
                try:
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    self._say(f"Another command works on {self.directory}; waiting for it.")
                    fcntl.flock(held, fcntl.LOCK_EX)
                if not self._is_still(held):
                    continue
                if not (self.directory / _RECORD).exists():
                    self._write({})
                yield
            finally:
                os.close(held)
            return

    def _is_still(self, held: int) -> bool:
        """Whether the directory we waited for was not removed, and perhaps made anew, meanwhile."""
        try:
            return os.path.samestat(os.fstat(held), self.directory.stat())
        except FileNotFoundError:
            return False

    def _require_own_directory(self) -> None:
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            stranger = any(self.directory.iterdir()) and not (self.directory / _RECORD).exists()
        except OSError as cause:
            raise UserError(
                f"The stack's directory {self.directory} cannot be used ({cause.strerror}): set "
                "PENSTOCK_STACK_DIR to one you may write to."
            ) from cause
        if stranger:
            raise UserError(
                f"{self.directory} holds files that are not a stack's: set PENSTOCK_STACK_DIR to a "
                "directory that is empty or does not exist yet."
            )


def _external_part(name: str, address: str) -> Part:
    parts = urlsplit(address)
    if parts.password is not None:
        address = address.replace(f":{parts.password}@", ":***@")
    return Part(name, "external", address)


def _answers(name: str, address: str) -> bool:
    return (
        registry.answers(address) if name == "registry" else kafka.cluster_at(address) is not None
    )


def _entry_of(server: Server) -> dict[str, Any]:
    if isinstance(server.body, Container):
        return {"address": server.address, "container": server.body.id}
    return {
        "address": server.address,
        "process": {"pid": server.body.pid, "started": server.body.started},
    }


def _server_from(entry: Mapping[str, Any]) -> Server:
    if "container" in entry:
        return Server(entry["address"], Container(entry["container"]))
    process = entry["process"]
    return Server(entry["address"], Process(int(process["pid"]), process["started"]))
