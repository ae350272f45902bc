"""From a connector's config to the parts of its pipeline."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from connect.config.connector import predicate_specs, settings_below, transform_specs
from connect.config.worker import SIMPLE_HEADER_CONVERTER
from connect.errors import ConfigError
from connect.pipeline.chain import Chain, Step
from connect.pipeline.failures import ErrorCounts, Failure, Retry, Stage
from connect.plugin import Converter, HeaderConverter
from connect.plugins import PluginInfo, Plugins, PluginType
from connect.plugins.registry import load_plugin


@dataclass(frozen=True, slots=True)
class PipelineSpec:
    """Everything a pipeline is made from. Plain data: it pickles, logs nothing, holds secrets.

    `config` is the connector's, with secrets resolved; `worker` gives the converters that a
    connector leaves out; `plugins` knows where the classes are that they name.
    """

    connector: str
    task: int
    config: Mapping[str, str] = field(repr=False)
    worker: Mapping[str, str] = field(default_factory=dict, repr=False)
    plugins: Plugins = field(default_factory=Plugins, repr=False)

    def retry(
        self,
        wait: Callable[[float], bool] | None = None,
        counts: ErrorCounts | None = None,
    ) -> Retry:
        """The retries this connector asks for, by default with plain sleeps between them."""
        return Retry(
            int(self.config.get("errors.retry.timeout", 0)),
            int(self.config.get("errors.retry.delay.max.ms", 60_000)),
            wait or _sleep,
            counts or ErrorCounts(),
        )


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


C = TypeVar("C", Converter, HeaderConverter)


@dataclass(slots=True)
class ConverterPart(Generic[C]):
    """A configured converter, the step it does, the name errors report, the time it took."""

    stage: Stage
    converter: C
    class_name: str
    seconds: float = 0.0

    def fail(
        self, records: Sequence[Any], i: int, error: Exception, failed: dict[int, Failure]
    ) -> bool:
        """Note that a record failed. True if the others need not be tried: what they need is away.

        They are noted with it. Each would wait as long for the same answer.
        """
        failure = failed[i] = Failure(records[i], self.stage, self.class_name, error)
        if failure.is_outage:
            for j in range(i + 1, len(records)):
                failed.setdefault(j, Failure(records[j], self.stage, self.class_name, error))
        return failure.is_outage


@dataclass(slots=True)
class Parts:
    """The converters and the transform chain of one connector."""

    key: ConverterPart[Converter]
    value: ConverterPart[Converter]
    header: ConverterPart[HeaderConverter]
    chain: Chain


def assemble(spec: PipelineSpec, retry: Retry) -> Parts:
    """Load and configure what the spec names. Raises ConfigError or what a plugin raises."""
    return Parts(
        key=_converter(spec, "key.converter", Stage.KEY_CONVERTER),
        value=_converter(spec, "value.converter", Stage.VALUE_CONVERTER),
        header=_header_converter(spec),
        chain=Chain(_steps(spec), retry),
    )


class _Converter(NamedTuple):
    info: PluginInfo
    settings: dict[str, str]


def _find(spec: PipelineSpec, kind: PluginType, key: str, default: str | None) -> _Converter:
    # A converter named on the connector takes its settings from there and nowhere else.
    source = spec.config if spec.config.get(key) else spec.worker
    name = source.get(key) or default
    if not name:
        raise ConfigError(f'Missing required configuration "{key}" which has no default value.')
    settings = settings_below(source, key + ".")
    version = settings.pop("plugin.version", None)
    return _Converter(spec.plugins.find(kind, name.strip(), version), settings)


def _converter(spec: PipelineSpec, key: str, stage: Stage) -> ConverterPart[Converter]:
    info, settings = _find(spec, PluginType.CONVERTER, key, None)
    converter: Converter = load_plugin(info)()
    converter.configure(settings, is_key=stage is Stage.KEY_CONVERTER)
    return ConverterPart(stage, converter, info.name)


def _header_converter(spec: PipelineSpec) -> ConverterPart[HeaderConverter]:
    info, settings = _find(
        spec, PluginType.HEADER_CONVERTER, "header.converter", SIMPLE_HEADER_CONVERTER
    )
    converter = load_plugin(info)()
    if isinstance(converter, Converter):
        # One class serves as both; converter.type tells it which it is.
        converter.configure({**settings, "converter.type": "header"}, is_key=False)
    else:
        converter.configure(settings)
    return ConverterPart(Stage.HEADER_CONVERTER, converter, info.name)


def _steps(spec: PipelineSpec) -> list[Step]:
    guards = {guard.alias: guard for guard in predicate_specs(spec.config)}
    steps = []
    for wanted in transform_specs(spec.config):
        info = spec.plugins.find(PluginType.TRANSFORMATION, wanted.type, wanted.version)
        step = Step(wanted.alias, _configured(info, wanted.settings), info.name)
        if wanted.predicate:
            guard = guards.get(wanted.predicate)
            if guard is None:
                raise ConfigError(
                    f"transforms.{wanted.alias}.predicate",
                    wanted.predicate,
                    "is not among the predicates",
                )
            info = spec.plugins.find(PluginType.PREDICATE, guard.type, guard.version)
            step.predicate = _configured(info, guard.settings)
            step.negate = wanted.negate
        steps.append(step)
    return steps


def _configured(info: PluginInfo, settings: dict[str, str]) -> Any:
    cls = load_plugin(info)
    plugin = cls()
    plugin.configure(cls.config_def.parse(settings))
    return plugin
