"""The options of the data source: a connector's config, and where to read from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from connect import ConfigError
from connect.pipeline import PipelineSpec
from connect.plugins import Plugins

# A whole connector as one option, for SparkSinkConnector: Spark folds the case of options' names,
# and hides the values of those that are called secret.
CONNECTOR_OPTION = "penstock.connector.secret"
# Where a connector's query begins, as Spark keeps offsets. Partitions that it leaves out are new.
START_OPTION = "penstock.start"

_LISTS_OF_NAMES = ("transforms", "predicates")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What to read and how. Plain data: it travels to Spark's executors."""

    spec: PipelineSpec
    topics: tuple[str, ...]
    topics_regex: str | None
    starting: str | None
    kept_start: str | None
    ending: str
    fail_on_data_loss: bool
    max_offsets: int | None
    min_partitions: int | None
    ddl: str | None = field(repr=False)
    sample: int
    read_timeout: float

    @property
    def tolerates(self) -> bool:
        return self.spec.config.get("errors.tolerance", "none").strip().lower() == "all"

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> ReadOptions:
        """From Spark's options, whose names are in lower case. Raises ConfigError."""
        given = {key.lower().removeprefix("kafka."): value for key, value in options.items()}
        spec = _spec(given)
        config = spec.config
        topics = tuple(t.strip() for t in config.get("topics", "").split(",") if t.strip())
        regex = config.get("topics.regex") or None
        if bool(topics) == bool(regex):
            raise ConfigError("topics", ",".join(topics), "set either topics or topics.regex")
        return cls(
            spec=spec,
            topics=topics,
            topics_regex=regex,
            starting=given.get("startingoffsets"),
            kept_start=given.get(START_OPTION),
            ending=given.get("endingoffsets", "latest"),
            fail_on_data_loss=_boolean(given, "failOnDataLoss", default=True),
            max_offsets=_positive(given, "maxOffsetsPerTrigger", None),
            min_partitions=_positive(given, "minPartitions", None),
            ddl=config.get("spark.schema") or given.get("spark.schema") or None,
            sample=_positive(config, "spark.schema.sample", 1000) or 1000,
            read_timeout=(_positive(given, "readTimeoutMs", 120_000) or 0) / 1000,
        )


def connector_options(spec: PipelineSpec) -> dict[str, str]:
    """The option that holds a whole connector."""
    whole = {
        "connector": spec.connector,
        "task": spec.task,
        "config": dict(spec.config),
        "worker": dict(spec.worker),
    }
    return {CONNECTOR_OPTION: json.dumps(whole)}


def _spec(given: Mapping[str, str]) -> PipelineSpec:
    if CONNECTOR_OPTION in given:
        whole = json.loads(given[CONNECTOR_OPTION])
        worker = whole["worker"]
        return PipelineSpec(
            whole["connector"], whole["task"], whole["config"], worker, Plugins.of_worker(worker)
        )
    # Spark has folded the names of the keys, so the names they are looked up by must follow.
    config = dict(given)
    for key in given:
        named_guard = key.startswith("transforms.") and key.endswith(".predicate")
        if key in _LISTS_OF_NAMES or named_guard:
            config[key] = given[key].lower()
    config.setdefault("key.converter", "org.apache.kafka.connect.converters.ByteArrayConverter")
    return PipelineSpec(given.get("name", "spark"), 0, config, config, Plugins.of_worker(config))


def _boolean(given: Mapping[str, str], key: str, *, default: bool) -> bool:
    value = given.get(key.lower())
    if value is None:
        return default
    if value.strip().lower() not in ("true", "false"):
        raise ConfigError(key, value, "Expected value to be either true or false")
    return value.strip().lower() == "true"


def _positive(given: Mapping[str, str], key: str, default: int | None) -> int | None:
    value = given.get(key.lower())
    if value is None:
        return default
    if not value.strip().isdigit() or int(value) == 0:
        raise ConfigError(key, value, "Expected a whole number above 0")
    return int(value)
