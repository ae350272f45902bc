"""What the dlq commands work with: Kafka, a worker that knows the connectors, config files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from connect.config.files import read_connector_file
from connect.errors import ConnectError
from connect.javalang.properties import read_properties
from connect.plugins import Plugins
from connect.runtime import clients
from connect.runtime.sink_delivery import SinkDelivery
from connect.runtime.spec import ConnectorSpec, Kind
from dlq.desk import Desk, topics_of
from dlq.edit import Edit, PatchEdit, TransformEdit, edit_config
from dlq.json_patch import JsonPatch
from dlq.probe import ProbeSpec
from dlq.retest import Retest
from dlq.state import STATE_TOPIC
from penstock.client import WorkerClient
from penstock.contexts import Context
from penstock.errors import UserError

_DEFAULT_BOOTSTRAP = "localhost:9092"


@dataclass(frozen=True)
class Access:
    """Resolves the options that all dlq commands share."""

    url: Context
    bootstrap: str | None
    worker_config: Path | None
    state_topic: str | None
    # Set when the connectors were asked for and the worker did not answer.
    problems: list[str] = field(default_factory=list)

    @cached_property
    def worker(self) -> dict[str, str]:
        """The worker's settings, as far as they are known here."""
        settings = self._read(self.worker_config) if self.worker_config else {}
        address = self.bootstrap or settings.get("bootstrap.servers")
        settings["bootstrap.servers"] = address or os.environ.get(
            "KAFKA_BOOTSTRAP", _DEFAULT_BOOTSTRAP
        )
        return settings

    def _read(self, path: Path) -> dict[str, str]:
        try:
            found = read_properties(path)
        except OSError as error:
            raise UserError(f"{path} can't be read: {error.strerror}.") from error
        if not found.get("config.providers"):
            return dict(found)
        providers = Plugins.of_worker(found).providers(found)
        try:
            resolved = providers.resolve(found).values
        finally:
            providers.close()
        return {k: v for k, v in resolved.items() if v is not None}

    @cached_property
    def plugins(self) -> Plugins:
        return Plugins.of_worker(self.worker)

    @cached_property
    def desk(self) -> Desk:
        folder = self.worker.get("dlq.index.folder")
        return Desk(
            clients.worker_settings(self.worker),
            folder=Path(folder) if folder else None,
            state_topic=self.state_topic or self.worker.get("dlq.state.topic") or STATE_TOPIC,
            replication_factor=int(self.worker.get("dlq.state.replication.factor", -1)),
        )

    @cached_property
    def configs(self) -> dict[str, dict[str, str]]:
        """The configs of all connectors. UserError when no worker answers."""
        found: dict[str, Any] = WorkerClient(self.url).get("/connectors", expand="info")
        return {name: entry["info"]["config"] for name, entry in found.items()}

    def known_configs(self) -> dict[str, dict[str, str]]:
        """The same, or none: much can be done without."""
        try:
            return self.configs
        except UserError as error:
            self.problems.append(str(error))
            return {}

    def probe_spec(self, name: str, config: dict[str, str]) -> ProbeSpec:
        return ProbeSpec(name, config, self.worker, self.plugins)

    def retest(self, topic: str, candidate: Path | None, seconds: float) -> Retest:
        """Tests with the candidate, or with what the worker has."""
        if candidate is not None:
            config = self.candidate(candidate)
            return Retest({}, candidate=self.probe_spec(config["name"], config), seconds=seconds)
        configs = self.known_configs()
        users = topics_of(configs).get(topic, [])
        return Retest(
            {name: self.probe_spec(name, config) for name, config in configs.items()},
            only=users[0] if len(users) == 1 else None,
            seconds=seconds,
        )

    def candidate(self, path: Path) -> dict[str, str]:
        found = read_connector_file(path, None if _names_itself(path) else "candidate")
        return {**found.config, "name": found.name}

    def connector(self, topic: str, name: str | None, candidate: Path | None) -> dict[str, str]:
        """The one connector that a replay into a sink, or an edit, is about."""
        if candidate is not None:
            return self.candidate(candidate)
        users = topics_of(self.configs).get(topic, [])
        if name is None and len(users) == 1:
            name = users[0]
        if name is None:
            known = f" Its connectors are {', '.join(users)}." if users else ""
            raise UserError(f"Name the connector by --connector, or its config by --config.{known}")
        if name not in self.configs:
            raise UserError(
                f"There is no connector '{name}' on {self.url}: give its config by --config."
            )
        return {**self.configs[name], "name": name}

    def patch(self, path: Path) -> Edit:
        try:
            return PatchEdit(JsonPatch.parse(path.read_bytes()))
        except OSError as error:
            raise UserError(f"{path} can't be read: {error.strerror}.") from error

    def transforms(self, connector: dict[str, str], path: Path) -> Edit:
        """An edit by the transforms of a config file, between the connector's converters."""
        changed = edit_config(connector, self.candidate(path))
        return TransformEdit(self.probe_spec(connector["name"], changed).pipeline_spec())

    @contextmanager
    def spark(self, master: str) -> Iterator[Any]:
        """A Spark session. MissingExtraError without the extra."""
        from spark_sink.session import sparks_words, start_session

        with sparks_words():
            session = start_session({"spark.master": master}, "dlq", needed_for="--spark")
            session.sparkContext.setLogLevel("ERROR")
            try:
                yield session
            finally:
                session.stop()

    def delivery(self, connector: dict[str, str]) -> SinkDelivery:
        return SinkDelivery(
            ConnectorSpec(connector["name"], Kind.SINK, connector, self.worker, self.plugins)
        )


def _names_itself(path: Path) -> bool:
    try:
        read_connector_file(path)
    except ConnectError:
        return False
    return True
