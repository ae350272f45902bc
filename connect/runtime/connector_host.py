"""The inside of a connector's process: start it, ask for its tasks, keep it while it watches."""

from __future__ import annotations

import logging
import queue
from multiprocessing.connection import Connection
from typing import Any

from connect.errors import ConnectError
from connect.plugin import Connector
from connect.plugins.registry import load_plugin
from connect.runtime.host import find_connector, isolate, resolve
from connect.runtime.levels import connector_levels
from connect.runtime.log import set_process_context, set_up_logging
from connect.runtime.spec import (
    ConnectorSpec,
    Failed,
    Reconfigure,
    SetLogLevel,
    Started,
    Stop,
    TaskConfigs,
    WantTaskConfigs,
)
from connect.traces import format_trace

log = logging.getLogger(__name__)


def run_connector(line: Connection, spec: ConnectorSpec) -> None:
    """Run one connector instance. The process's main function.

    A connector that overrides `start` watches something, so its process stays until it is told to
    stop. Any other has said all when it has named its tasks, and its process ends.
    """
    isolate()
    set_up_logging(spec.worker_config, spec.log_levels)
    set_process_context(f"[{spec.connector}|worker] ", spec.connector)
    try:
        _run(line, spec)
    except BaseException as error:
        log.error("Connector failed: %s", error, exc_info=error)  # noqa: TRY400 - one level up
        line.send(Failed(format_trace(error)))


class _Context:
    """The ConnectorContext. Plugins call it from any thread, so all goes through one queue."""

    def __init__(self, events: queue.SimpleQueue[Any]) -> None:
        self._events = events

    def request_task_reconfiguration(self) -> None:
        self._events.put(Reconfigure())

    def raise_error(self, error: Exception) -> None:
        self._events.put(error)


def _run(line: Connection, spec: ConnectorSpec) -> None:
    [config] = resolve(spec.plugins, spec.worker_config, spec.config)
    info = find_connector(spec.plugins, spec.kind, config)
    cls: type[Connector] = load_plugin(info)
    connector = cls()
    events: queue.SimpleQueue[Any] = queue.SimpleQueue()
    connector.context = _Context(events)
    connector.config = cls.config_def.parse(config)
    watches = cls.start is not Connector.start
    try:
        connector.start()
        line.send(Started(paused=False, version=info.version))
        line.send(TaskConfigs(_task_configs(connector, spec, config), last=not watches))
        while watches:
            if line.poll(0.2):
                match line.recv():
                    case Stop():
                        return
                    case SetLogLevel() as wanted:
                        connector_levels.apply([(wanted.logger, wanted.level)])
                    case WantTaskConfigs():
                        line.send(TaskConfigs(_task_configs(connector, spec, config), last=False))
            while not events.empty():
                event = events.get()
                if isinstance(event, Exception):
                    raise event
                line.send(event)
    finally:
        connector.stop()


def _task_configs(
    connector: Connector, spec: ConnectorSpec, resolved: dict[str, str]
) -> tuple[dict[str, str], ...]:
    limit = int(resolved.get("tasks.max", "1"))
    configs = connector.task_configs(limit)
    if len(configs) > limit:
        told = (
            f"The connector {spec.connector} has generated {len(configs)} tasks, which is greater "
            f"than {limit}, the maximum number of tasks it is configured to create."
        )
        if resolved.get("tasks.max.enforce", "true").strip().lower() == "true":
            raise ConnectError(
                f"{told} Raise tasks.max, or set tasks.max.enforce=false to let it be."
            )
        log.warning("%s They run, because tasks.max.enforce=false.", told)
    task = type(connector).task_class
    # Clients show it, and a JVM worker that takes over the cluster's topics needs it.
    task_class = {"task.class": f"{task.__module__}.{task.__qualname__}"}
    # A secret that was looked up must not be stored or shown: the reference goes back in.
    return tuple(
        {
            key: spec.config[key] if value == resolved.get(key) and key in spec.config else value
            for key, value in {**config, **task_class}.items()
        }
        for config in configs
    )
