"""What both herders answer in the same way: validation, plugins, offsets, the cluster's id."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from connect.cluster.herder import BadRequestError, ServerInfo, TimedOutError
from connect.cluster.sink_offsets import alter_group, parse_sink_offsets, read_group, reset_group
from connect.config.configdef import ConfigType
from connect.config.masking import secret_keys, unmask
from connect.config.worker import WorkerConfig
from connect.errors import ConfigError, ConnectError, NotFoundError, UnsupportedError
from connect.pipeline import PipelineSpec, dry_run
from connect.plugin import Connector, SinkConnector, SourceConnector, TopicPartition
from connect.plugins import CONNECTOR_TYPES, Plugins, PluginType
from connect.plugins.answers import ConfigInfos
from connect.plugins.registry import load_plugin
from connect.plugins.validation import plugin_config_keys, validate_connector
from connect.runtime import clients
from connect.runtime.host import find_connector, resolve
from connect.runtime.isolated import DeadlineError
from connect.runtime.spec import ConnectorSpec, Kind
from connect.runtime.worker import Worker

# The Kafka Connect whose REST API and configs this one speaks; clients gate features on it.
KAFKA_VERSION = "4.3.1"

_GIVE_UP_SECONDS = 0.2

NOT_STOPPED = (
    "Connectors must be in the STOPPED state before their offsets can be modified. This can be "
    "done for the specified connector by issuing a 'PUT' request to the "
    "'/connectors/{name}/stop' endpoint"
)

# What belongs to the worker is no part of a listing.
_WORKERS_OWN = (PluginType.CONFIG_PROVIDER, PluginType.REST_EXTENSION)
LISTED_TYPES = tuple(t for t in PluginType if t not in _WORKERS_OWN)

Offsets = Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
WriteOffsets = Callable[[str, Offsets], Awaitable[None]]


def server_info(cluster_id: str) -> ServerInfo:
    try:
        ours = version("penstock")
    except PackageNotFoundError:
        ours = "unknown"
    return ServerInfo(KAFKA_VERSION, f"penstock-{ours}", cluster_id)


def cluster_id(worker: Mapping[str, str], given_up: Callable[[], bool] = lambda: False) -> str:
    """The Kafka cluster's id. Blocks; ConnectError when no broker answers, or it is given up."""
    seconds = min(30.0, int(worker.get("request.timeout.ms", 30_000)) / 1000)
    admin = clients.admin_client("penstock-worker", worker, {})
    try:
        answer = admin.describe_cluster(request_timeout=seconds)
        # Whoever stops a worker that can't start should not have to wait for its broker.
        while not given_up() and not wait([answer], _GIVE_UP_SECONDS).done:
            pass
        description = answer.result(0)
    except Exception as error:
        raise ConnectError(
            f"No Kafka broker answers at bootstrap.servers={worker.get('bootstrap.servers')}: "
            "check the address, the security settings and that the broker runs."
        ) from error
    return str(description.cluster_id)


# ---- validation -----------------------------------------------------------------------------


async def validate(
    worker: Worker, plugins: Plugins, config: WorkerConfig, props: Mapping[str, str | None]
) -> dict[str, Any]:
    """The answer of a validate request."""
    infos, _ = await _validated(worker, plugins, config, props)
    return infos.to_json()


class Checked(NamedTuple):
    """What is known of a valid connector config."""

    config: dict[str, str]
    kind: Kind
    secrets: frozenset[str]  # the keys whose values are never shown


async def checked(
    worker: Worker, plugins: Plugins, config: WorkerConfig, props: Mapping[str, str | None]
) -> Checked:
    """A valid config; BadRequestError with all that is wrong when it is not."""
    infos, kind = await _validated(worker, plugins, config, props)
    if failure := infos.failure():
        raise BadRequestError(failure)
    declared = {
        info.definition.name: ConfigType(info.definition.type)
        for info in infos.configs
        if info.definition is not None
    }
    given = {k: v for k, v in props.items() if v is not None}
    return Checked(given, kind, secret_keys(given, declared))


def meant(props: Mapping[str, str | None], stored: Mapping[str, str]) -> dict[str, str | None]:
    """A config as its sender means it: [hidden] stands for the secret that is stored."""
    try:
        return unmask(props, stored)
    except ConfigError as error:
        raise BadRequestError(str(error)) from error


async def _validated(
    worker: Worker, plugins: Plugins, config: WorkerConfig, props: Mapping[str, str | None]
) -> tuple[ConfigInfos, Kind]:
    name = props.get("name") or props.get("connector.class") or "?"
    await asyncio.to_thread(plugins.discover)  # once here, and not in every child
    try:
        answer: tuple[ConfigInfos, Kind] = await worker.call(
            _validate,
            plugins,
            config,
            dict(props),
            what=f"Validating the config of {name}",
        )
    except DeadlineError as error:
        raise TimedOutError(f"Request timed out. {error}") from error
    except ConfigError as error:
        raise BadRequestError(str(error)) from error
    return answer


def _validate(
    plugins: Plugins, config: WorkerConfig, props: dict[str, str | None]
) -> tuple[ConfigInfos, Kind]:
    infos = validate_connector(plugins, config, props)
    written = {k: v for k, v in props.items() if v is not None}
    [resolved] = resolve(plugins, config.raw, written)
    found = plugins.find(CONNECTOR_TYPES, resolved["connector.class"].strip())
    return infos, Kind.SINK if found.type is PluginType.SINK else Kind.SOURCE


# ---- dry runs -------------------------------------------------------------------------------


async def transform(
    worker: Worker,
    plugins: Plugins,
    config: WorkerConfig,
    props: Mapping[str, str | None],
    samples: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """What the converters and transforms of a config make of samples, step by step."""
    written = {k: v for k, v in props.items() if v is not None}
    name = written.get("name") or written.get("connector.class") or "?"
    await asyncio.to_thread(plugins.discover)
    try:
        answer: list[dict[str, Any]] = await worker.call(
            run_dry,
            plugins,
            config.raw,
            written,
            list(samples),
            what=f"The dry run of {name}",
        )
    except DeadlineError as error:
        raise TimedOutError(f"Request timed out. {error}") from error
    except (ConfigError, NotFoundError) as error:
        raise BadRequestError(str(error)) from error
    return answer


def run_dry(
    plugins: Plugins,
    worker: Mapping[str, str],
    props: Mapping[str, str],
    samples: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """The same, here and now. Runs code of plugins."""
    providers = plugins.providers(worker)
    try:
        resolved = providers.resolve(props)
    finally:
        providers.close()
    settings = {k: v for k, v in resolved.values.items() if v is not None}
    hidden = {settings[key]: text for key, text in resolved.references.items()}
    spec = PipelineSpec(settings.get("name", "dry-run"), 0, settings, worker, plugins)
    return dry_run(spec, samples, source=_is_source(plugins, settings), hidden=hidden)


def _is_source(plugins: Plugins, config: Mapping[str, str]) -> bool:
    try:
        found = plugins.find(CONNECTOR_TYPES, config.get("connector.class", "").strip())
    except ConnectError:
        # Its pipeline can be tried where the connector itself is not installed.
        if "topics" in config or "topics.regex" in config:
            return False
        raise
    return found.type is PluginType.SOURCE


# ---- plugins --------------------------------------------------------------------------------


async def list_plugins(plugins: Plugins, *, connectors_only: bool) -> list[dict[str, Any]]:
    types = CONNECTOR_TYPES if connectors_only else LISTED_TYPES
    found = await asyncio.to_thread(plugins.list, types)
    return [
        {"class": info.name, "type": info.type, "version": info.version}
        if info.version
        else {"class": info.name, "type": info.type}
        for info in found
    ]


async def plugin_config(
    worker: Worker, plugins: Plugins, name: str, version: str | None
) -> list[dict[str, Any]]:
    await asyncio.to_thread(plugins.discover)
    try:
        keys = await worker.call(
            plugin_config_keys,
            plugins,
            name,
            version,
            what=f"Reading the config definition of {name}",
        )
    except ConfigError as error:
        raise BadRequestError(str(error)) from error
    return [asdict(key) for key in keys]


# ---- offsets --------------------------------------------------------------------------------


def sink_offsets(spec: ConnectorSpec) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    """The committed offsets of a sink. Blocks."""
    [config] = resolve(spec.plugins, spec.worker_config, spec.config)
    return read_group(spec.connector, spec.worker_config, config)


async def alter_offsets(
    worker: Worker,
    spec: ConnectorSpec,
    offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]],
    write: WriteOffsets,
) -> str:
    """Let the connector check the change, then make it; the sentence that tells of it."""
    if spec.kind is Kind.SINK:
        external = await _call(worker, spec, _alter_sink, parse_sink_offsets(offsets))
    else:
        pairs = [(dict(p or {}), None if o is None else dict(o)) for p, o in offsets]
        external = await _call(worker, spec, _check_source, pairs)
        await write(spec.connector, pairs)
    return _sentence("altered", external=external)


async def reset_offsets(
    worker: Worker,
    spec: ConnectorSpec,
    known: Sequence[tuple[Mapping[str, Any], None]],
    write: WriteOffsets,
) -> str:
    """The same for all offsets at once. A second time does no harm."""
    if spec.kind is Kind.SINK:
        external = await _call(worker, spec, _alter_sink, None)
    else:
        pairs = [(dict(p), None) for p, _ in known]
        external = await _call(worker, spec, _check_source, pairs)
        await write(spec.connector, pairs)
    return _sentence("reset", external=external)


async def _call(
    worker: Worker, spec: ConnectorSpec, function: Callable[..., bool], changes: Any
) -> bool:
    try:
        done: bool = await worker.call(
            function,
            spec,
            changes,
            what=f"Changing the offsets of {spec.connector}",
        )
    except UnsupportedError as error:
        raise ConnectError(
            f"Failed to modify offsets for connector {spec.connector} because it doesn't support "
            "external modification of offsets"
        ) from error
    return done


def _alter_sink(spec: ConnectorSpec, changes: Mapping[TopicPartition, int | None] | None) -> bool:
    instance, config = _instance(spec)
    assert isinstance(instance, SinkConnector)
    name, worker = spec.connector, spec.worker_config
    if changes is None:
        known = {
            TopicPartition(p["kafka_topic"], p["kafka_partition"]): None
            for p, _ in read_group(name, worker, config)
        }
        external = instance.alter_offsets(known)
        reset_group(name, worker, config)
    else:
        external = instance.alter_offsets(changes)
        alter_group(name, worker, config, changes)
    return external


def _check_source(spec: ConnectorSpec, offsets: Offsets) -> bool:
    instance, _ = _instance(spec)
    assert isinstance(instance, SourceConnector)
    return instance.alter_offsets(offsets)


def _instance(spec: ConnectorSpec) -> tuple[Connector, dict[str, str]]:
    [config] = resolve(spec.plugins, spec.worker_config, spec.config)
    cls: type[Connector] = load_plugin(find_connector(spec.plugins, spec.kind, config))
    instance = cls()
    instance.config = cls.config_def.parse(config)
    return instance, config


def _sentence(verb: str, *, external: bool) -> str:
    if external:
        return f"The offsets for this connector have been {verb} successfully"
    return (
        f"The Connect framework-managed offsets for this connector have been {verb} successfully. "
        "However, if this connector manages offsets externally, they will need to be manually "
        f"{verb} in the system that the connector uses."
    )
