"""Both workers, started once: Apache Kafka Connect and Penstock on one broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.conformance.sides import Side
from tests.oracle import echo, worker
from tests.support.worker import standalone

TWINS = Path(echo.__file__).parent / "plugins"

# Offsets tell when a sink is done; a minute between commits would be a minute for each.
_COMMIT_MS = "200"


@contextmanager
def oracle_side(
    bootstrap: str, folder: Path, plugins: Path, say: Callable[[str], None]
) -> Iterator[Side]:
    """The JVM's worker; `plugins` holds the echo sink."""
    settings = {"offset.flush.interval.ms": _COMMIT_MS}
    options = worker.Options(settings=settings, plugins=[plugins])
    with worker.standalone(bootstrap, say, options) as running:
        side = Side("jvm", running.url, bootstrap, folder)
        yield side
        side.close()


@contextmanager
def penstock_side(bootstrap: str, folder: Path) -> Iterator[Side]:
    """Ours, with the twins of the echo sink and the replay source."""
    settings = {
        "offset__flush__interval__ms": _COMMIT_MS,
        "plugin__path": str(TWINS),
        **{
            f"{side}__converter__schemas__enable": "true" for side in ("key", "value")
        },  # as the oracle's
    }
    with standalone(bootstrap, folder, **settings) as running:
        side = Side("penstock", running.url, bootstrap, folder)
        yield side
        side.close()


@contextmanager
def both(
    bootstrap: str, folder: Path, plugins: Path, say: Callable[[str], None]
) -> Iterator[tuple[Side, Side]]:
    with ExitStack() as running:
        yield (
            running.enter_context(oracle_side(bootstrap, folder, plugins, say)),
            running.enter_context(penstock_side(bootstrap, folder)),
        )
