"""The same servers as containers, by testcontainers, where a Docker engine answers."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.stack.process import Service, wait_until_ready

# An engine on this machine answers in milliseconds. One that hangs must not hold up who has none.
_ANSWER_SECONDS = 2
# The first start pulls the image.
_READY_SECONDS = 90


def engine_answers() -> bool:
    if importlib.util.find_spec("testcontainers") is None:
        return False
    import docker

    try:
        client = docker.from_env(timeout=_ANSWER_SECONDS)
        # One at the end of a network publishes ports on its own loopback address, not on ours.
        return client.api.base_url.startswith("http+docker") and bool(client.ping())
    except Exception:  # noqa: BLE001 - whatever is wrong with it, it does not answer
        return False


@dataclass(frozen=True)
class Container:
    """A container by its id."""

    id: str

    def is_alive(self) -> bool:
        found = self._find()
        return found is not None and found.status == "running"

    def stop(self) -> None:
        found = self._find()
        if found is not None:
            found.remove(force=True, v=True)

    def last_words(self) -> str:
        found = self._find()
        return "" if found is None else str(found.logs(tail=15).decode(errors="replace"))

    def _find(self) -> Any:
        import docker

        try:
            return docker.from_env().containers.get(self.id)
        except docker.errors.NotFound:
            return None


@dataclass(frozen=True)
class Image:
    """What to run: `port` is the one inside, published on the loopback address."""

    name: str
    port: int
    environment: dict[str, str]


def start(
    service: Service,
    image: Image,
    port: int,
    started: Callable[[Container], None],
    *,
    outlives_us: bool,
) -> Container:
    """Run the image and return once it answers at `port`."""
    from testcontainers.core.config import testcontainers_config
    from testcontainers.core.container import DockerContainer

    # Testcontainers' own guard removes containers when their owner is gone.
    if outlives_us:
        testcontainers_config.ryuk_disabled = True
    wanted = DockerContainer(image.name).with_envs(**image.environment)
    # Its own with_bind_ports would publish on every address of the machine.
    ports: dict[str, Any] = wanted.ports
    ports[f"{image.port}/tcp"] = ("127.0.0.1", port)
    wanted.start()
    container = Container(wanted.get_container_id())
    started(container)
    try:
        wait_until_ready(service, container.is_alive, container.last_words, _READY_SECONDS)
    except BaseException:
        container.stop()
        raise
    return container
