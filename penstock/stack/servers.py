"""Starts Kafka and the registry: as containers where a Docker engine answers, else as processes."""

import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from penstock.errors import UserError
from penstock.stack import docker, jars, kafka, process, registry
from penstock.stack.docker import Container
from penstock.stack.java import Java, find_java
from penstock.stack.process import Launch, Process, Service, free_port

# A port can be taken between our look and the server's. Once may happen; three times is no chance.
_PORT_ATTEMPTS = 3


@dataclass(frozen=True)
class Server:
    """A server that runs: where it is reached, and what to stop."""

    address: str
    body: Process | Container


@dataclass(frozen=True)
class Starter:
    """How this caller wants his servers.

    `started` hears of every server before it is ready, so that it is cleaned up whatever happens.
    With `usual_ports` the well-known ports are taken when they are free.
    """

    say: Callable[[str], None]
    started: Callable[[str, Server], None]
    usual_ports: bool
    outlive_us: bool
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def fetch(self, *, with_registry: bool) -> None:
        """Download what a later start will need. Docker does that on its own."""
        if self._in_docker():
            return
        for bundle in [kafka.BUNDLE, registry.BUNDLE] if with_registry else [kafka.BUNDLE]:
            jars.retrieve(bundle, self.say, self.environment)

    def kafka(self, directory: Path, options: kafka.KafkaOptions) -> Server:
        def as_process(java: Java, files: Path, port: int) -> Launch:
            return kafka.prepare(directory, java, files, options, port)

        def as_container(port: int) -> tuple[Service, docker.Image]:
            address = f"127.0.0.1:{port}"
            service = Service(kafka.TITLE, address, lambda: kafka.cluster_at(address) is not None)
            return service, kafka.image(port, options)

        if self._in_docker():
            return self._start_container("kafka", kafka.USUAL_PORT, as_container)
        return self._start_process("kafka", kafka.USUAL_PORT, kafka.BUNDLE, directory, as_process)

    def registry(self, directory: Path) -> Server:
        def as_process(java: Java, files: Path, port: int) -> Launch:
            return registry.prepare(directory, java, files, port)

        def as_container(port: int) -> tuple[Service, docker.Image]:
            return registry.service(port), registry.image()

        if self._in_docker():
            return self._start_container("registry", registry.USUAL_PORT, as_container)
        return self._start_process(
            "registry", registry.USUAL_PORT, registry.BUNDLE, directory, as_process
        )

    def _in_docker(self) -> bool:
        wanted = self.environment.get("PENSTOCK_STACK", "auto")
        if wanted not in {"auto", "local", "docker"}:
            raise UserError(
                f"PENSTOCK_STACK is {wanted!r}: set it to 'local' for JVM processes, to 'docker' "
                "for containers, or to 'auto' for containers where a Docker engine answers."
            )
        if wanted == "local":
            return False
        answers = docker.engine_answers()
        if wanted == "docker" and not answers:
            raise UserError(
                "PENSTOCK_STACK is 'docker', but no Docker engine of this machine answers or the "
                "extra 'docker' is not installed: start the engine, pip install "
                "'penstock[docker]', or set PENSTOCK_STACK to 'local'."
            )
        return answers

    def _start_container(
        self, name: str, usual_port: int, make: Callable[[int], tuple[Service, docker.Image]]
    ) -> Server:
        port = self._port(usual_port)
        service, image = make(port)
        self.say(f"Starting {service.name} in Docker ({image.name})")
        body = docker.start(
            service,
            image,
            port,
            lambda body: self.started(name, Server(service.address, body)),
            outlives_us=self.outlive_us,
        )
        return Server(service.address, body)

    def _start_process(
        self,
        name: str,
        usual_port: int,
        bundle: jars.Bundle,
        directory: Path,
        make: Callable[[Java, Path, int], Launch],
    ) -> Server:
        java = find_java(self.environment)
        files = jars.retrieve(bundle, self.say, self.environment)
        for attempt in range(_PORT_ATTEMPTS):
            launch = make(java, files, self._port(usual_port))
            self.say(f"Starting {launch.service.name}")
            try:
                return self._start_launch(name, launch)
            except process.ServerDiedError:
                if not _port_was_taken(launch.log) or attempt == _PORT_ATTEMPTS - 1:
                    raise
                shutil.rmtree(directory)
        raise AssertionError("the last attempt returns or raises")

    def _start_launch(self, name: str, launch: Launch) -> Server:
        address = launch.service.address
        body = process.start(launch, lambda body: self.started(name, Server(address, body)))
        return Server(address, body)

    def _port(self, usual: int) -> int:
        return free_port(usual if self.usual_ports else None)


def _port_was_taken(log: Path) -> bool:
    text = log.read_text(errors="replace")
    return re.search(r"already in use|already bound|in use by another", text) is not None
