"""How a worker starts: without the command line's libraries, and of others with what it needs."""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from connect.runtime.fork_server import fork_server
from connect.runtime.memory import stays_shared
from penstock.errors import tell


def worker(properties: Path) -> None:
    """Run a worker of a cluster until a signal ends it."""
    _worker().run_distributed(properties)


def standalone(properties: Path, connectors: Sequence[Path]) -> None:
    """Run a standalone worker until a signal ends it. Exits with 3 over a connector's file."""
    module = _worker()
    try:
        module.run_standalone(properties, connectors)
    except module.ConnectorFileError as error:
        tell(error)
        sys.exit(3)


def _worker() -> Any:
    if stays_shared():
        fork_server.begin()
    _load_parts_only("kafka", "kafka.protocol.admin", "uvicorn")
    importlib.import_module("kafka.protocol.admin.groups")  # the one that joining a group asks for
    return importlib.import_module("penstock.worker")


def _load_parts_only(*packages: str) -> None:
    """Let modules of a package be imported without all of the others, which the package loads.

    It does so only when it is itself asked for something that none of the loaded ones defines.
    """
    for name in packages:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        package = importlib.util.module_from_spec(spec)

        def load(attribute: str, package: Any = package) -> Any:
            for part in [part for part in sys.modules if part.startswith(f"{package.__name__}.")]:
                found = vars(sys.modules[part]).get(attribute)
                if getattr(found, "__module__", None) == part:
                    return found
            del package.__getattr__
            package.__spec__.loader.exec_module(package)
            return getattr(package, attribute)

        package.__getattr__ = load  # type: ignore[method-assign]
        sys.modules[name] = package
