"""A worker's life: read its settings, serve, run connectors, and end cleanly on a signal."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from api.server import RestServer
from connect.cluster.herder import Herder, TargetState
from connect.config.files import ConnectorFile, read_connector_file
from connect.config.worker import WorkerConfig, load_worker_config
from connect.errors import ConfigError, ConnectError
from connect.javalang.errors import PropertiesError
from connect.javalang.properties import read_properties
from connect.plugins import Plugins
from connect.runtime.log import set_process_context, set_up_logging
from connect.runtime.memory import give_back, tune_allocation
from penstock.errors import UserError, tell

log = logging.getLogger(__name__)


class ConnectorFileError(ConnectError):
    """A connector file named on the command line could not be started."""


def run_standalone(properties: Path, connector_files: Sequence[Path]) -> None:
    """Run a standalone worker until a signal ends it."""
    config = _load(properties, distributed=False)
    connectors = [read_connector_file(path) for path in connector_files]
    asyncio.run(_serve(config, _standalone, connectors))


def run_distributed(properties: Path) -> None:
    """Run a worker of a cluster until a signal ends it."""
    asyncio.run(_serve(_load(properties, distributed=True), _distributed))


def _standalone(config: WorkerConfig, server: RestServer) -> Herder:
    from connect.cluster.standalone import StandaloneHerder

    return StandaloneHerder(config, server.worker_id)


def _distributed(config: WorkerConfig, server: RestServer) -> Herder:
    from connect.cluster.distributed import DistributedHerder

    return DistributedHerder(config, server.worker_id, server.advertised_url, server.peers)


def _load(properties: Path, *, distributed: bool) -> WorkerConfig:
    try:
        config = load_worker_config(
            read_properties(properties),
            distributed=distributed,
            providers=lambda props: Plugins.of_worker(props).providers(props),
        )
    except PropertiesError as error:
        raise UserError(str(error)) from error
    except ConfigError as error:
        raise UserError(f"{properties}: {error}") from error
    set_up_logging(config.raw)
    set_process_context("[worker] ")
    tune_allocation()
    return config


async def _serve(
    config: WorkerConfig,
    make_herder: Callable[[WorkerConfig, RestServer], Herder],
    connectors: Sequence[ConnectorFile] = (),
) -> None:
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ending.set)
    server = RestServer(config.raw)
    herder = make_herder(config, server)
    try:
        await server.start(herder)
        starting = asyncio.create_task(_start(herder, connectors))
        waiting = asyncio.create_task(ending.wait())
        await asyncio.wait({starting, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
        await waiting
        log.info("Stopping")
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError, ConnectError):
            await starting
    finally:
        # A second Ctrl-C ends the process the hard way; children go with it.
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        await server.stop()
        await herder.stop()


async def _start(herder: Herder, connectors: Sequence[ConnectorFile]) -> None:
    try:
        await _start_all(herder, connectors)
    except ConnectError as error:
        # At once: shutting down takes a while, and a signal may cut it short.
        tell(error)
        raise


async def _start_all(herder: Herder, connectors: Sequence[ConnectorFile]) -> None:
    await herder.start()
    give_back()
    for connector in connectors:
        state = _target(connector)
        try:
            await herder.create(connector.name, connector.config, state)
        except ConnectError as error:
            raise ConnectorFileError(f"Connector {connector.name}: {error}") from error
        log.info("Created connector %s", connector.name)


def _target(connector: ConnectorFile) -> TargetState | None:
    if connector.initial_state is None:
        return None
    name = connector.initial_state.upper()
    try:
        return TargetState("STARTED" if name == "RUNNING" else name)
    except ValueError:
        raise ConnectorFileError(
            f"Connector {connector.name}: initial_state {connector.initial_state} is none of "
            "RUNNING, PAUSED, STOPPED"
        ) from None
