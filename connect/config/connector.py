"""The keys every connector has, whatever its class, and what they mean together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from connect.config.configdef import Config, ConfigDef, ConfigType, Importance, Width
from connect.config.validators import (
    at_least,
    java_regex,
    list_of_values,
    one_of,
    one_of_ignoring_case,
    printable,
    topic_name,
    unique_aliases,
)
from connect.errors import ConfigError

TASK_ISOLATION = one_of("process", "thread")

COMMON = "Common"
TRANSFORMS = "Transforms"
PREDICATES = "Predicates"
ERRORS = "Error Handling"
TOPIC_CREATION = "Topic Creation"
EXACTLY_ONCE = "Exactly Once Support"
# Kafka's own name of this group, which does not look like the others.
OFFSETS_TOPIC = "offsets.topic"

_CONVERTER_DOC = (
    "The converter between Kafka's bytes and Connect's {what}. Settings of it go below "
    "`{key}.`. Not set: the worker's converter, with the worker's settings."
)
_VERSION_DOC = "The version of the {what}: a version, a range such as `[1.2,2)`, or `latest`."


def _base() -> ConfigDef:
    definition = (
        ConfigDef()
        .define(
            "name", doc="The connector's name, unique in the cluster.",
            validator=printable, group=COMMON, order=1, width=Width.MEDIUM,
            display_name="Connector name",
        )
        .define(
            "connector.class",
            doc="The class of the connector: its full name or a short one, such as "
            "`FileStreamSink` for `org.apache.kafka.connect.file.FileStreamSinkConnector`.",
            group=COMMON, order=2, width=Width.LONG, display_name="Connector class",
        )
        .define(
            "connector.plugin.version", default=None,
            doc=_VERSION_DOC.format(what="connector"),
            importance=Importance.MEDIUM, group=COMMON, order=3, width=Width.MEDIUM,
            display_name="Connector version",
        )
        .define(
            "tasks.max", ConfigType.INT, 1,
            doc="The most tasks that the connector may run at a time.",
            validator=at_least(1), group=COMMON, order=4, width=Width.SHORT,
            display_name="Tasks max",
        )
        .define(
            "tasks.max.enforce", ConfigType.BOOLEAN, True,
            doc="Whether a connector that asks for more tasks than `tasks.max` fails. Deprecated: "
            "a way out for connectors that ignore the limit.",
            importance=Importance.LOW, group=COMMON, order=5, width=Width.SHORT,
            display_name="Enforce tasks max",
        )
    )  # fmt: skip
    order = 6
    for key, what in (("key", "keys"), ("value", "values"), ("header", "header values")):
        name = f"{key}.converter"
        title = f"{key.capitalize()} converter"
        definition.define(
            name, ConfigType.CLASS, None, doc=_CONVERTER_DOC.format(what=what, key=name),
            importance=Importance.LOW, group=COMMON, order=order, width=Width.SHORT,
            display_name=f"{title} class",
        ).define(
            f"{name}.plugin.version", default=None,
            doc=_VERSION_DOC.format(what=title.lower()),
            importance=Importance.LOW, group=COMMON, order=order + 1, width=Width.SHORT,
            display_name=f"{title} version",
        )  # fmt: skip
        order += 2
    return (
        definition.define(
            "transforms", ConfigType.LIST, "",
            doc="Names of your choice for the transforms, in the order in which records pass "
            "them. `transforms.<name>.type` is the class, its settings go beside it.",
            importance=Importance.LOW, validator=unique_aliases, group=TRANSFORMS, order=12,
            width=Width.LONG, display_name="Transforms",
        )
        .define(
            "predicates", ConfigType.LIST, "",
            doc="Names of your choice for the predicates, to which transforms refer by "
            "`transforms.<name>.predicate`. `predicates.<name>.type` is the class.",
            importance=Importance.LOW, validator=unique_aliases, group=PREDICATES, order=13,
            width=Width.LONG, display_name="Predicates",
        )
        .define(
            "config.action.reload", default="restart",
            doc="What happens when a value behind a `${provider:…}` reference expires: `restart` "
            "starts the connector again with the new value, `none` waits for somebody to do so.",
            importance=Importance.LOW, validator=one_of("none", "restart"), group=COMMON, order=14,
            width=Width.MEDIUM, display_name="Reload Action",
        )
        .define(
            "errors.retry.timeout", ConfigType.LONG, 0,
            doc="How long a failed conversion or transform of a record is tried again, in "
            "milliseconds; 0: not at all, -1: for ever. Only errors that may pass are retried.",
            importance=Importance.MEDIUM, group=ERRORS, order=1, width=Width.MEDIUM,
            display_name="Retry Timeout for Errors",
        )
        .define(
            "errors.retry.delay.max.ms", ConfigType.LONG, 60000,
            doc="The longest wait between two attempts. It doubles from 300 ms up to this, then "
            "it is random.",
            importance=Importance.MEDIUM, group=ERRORS, order=2, width=Width.MEDIUM,
            display_name="Maximum Delay Between Retries for Errors",
        )
        .define(
            "errors.tolerance", default="none",
            doc="`none`: the first record that fails stops the task. `all`: records that fail are "
            "left out, and go to the dead-letter queue if there is one.",
            importance=Importance.MEDIUM, validator=one_of("none", "all"), group=ERRORS, order=3,
            width=Width.SHORT, display_name="Error Tolerance",
        )
        .define(
            "errors.log.enable", ConfigType.BOOLEAN, False,
            doc="Write every failure to the log, tolerated ones too.",
            importance=Importance.MEDIUM, group=ERRORS, order=4, width=Width.SHORT,
            display_name="Log Errors",
        )
        .define(
            "errors.log.include.messages", ConfigType.BOOLEAN, False,
            doc="Say in the log which record failed: topic, partition, offset and timestamp, or "
            "the whole record of a source.",
            importance=Importance.MEDIUM, group=ERRORS, order=5, width=Width.SHORT,
            display_name="Log Error Details",
        )
    )  # fmt: skip


def _with_dead_letters(definition: ConfigDef) -> ConfigDef:
    return (
        definition.define(
            "errors.deadletterqueue.topic.name", default="",
            doc="The topic for records that fail. Empty: there is no dead-letter queue.",
            importance=Importance.MEDIUM, group=ERRORS, order=6, width=Width.MEDIUM,
            display_name="Dead Letter Queue Topic Name",
        )
        .define(
            "errors.deadletterqueue.topic.replication.factor", ConfigType.SHORT, 3,
            doc="How many copies Kafka keeps of the dead-letter topic when it has to be created.",
            importance=Importance.MEDIUM, group=ERRORS, order=7, width=Width.MEDIUM,
            display_name="Dead Letter Queue Topic Replication Factor",
        )
        .define(
            "errors.deadletterqueue.context.headers.enable", ConfigType.BOOLEAN, False,
            doc="Add headers to dead letters that say where the record came from, at which stage "
            "it failed and why. Their names begin with `__connect.errors.`.",
            importance=Importance.MEDIUM, group=ERRORS, order=8, width=Width.MEDIUM,
            display_name="Enable Error Context Headers",
        )
    )  # fmt: skip


def _sink() -> ConfigDef:
    return _with_dead_letters(
        _base()
        .define(
            "topics", ConfigType.LIST, "", doc="The topics to read, separated by commas.",
            validator=list_of_values(), group=COMMON, order=4, width=Width.LONG,
            display_name="Topics",
        )
        .define(
            "topics.regex", default="",
            doc="A regular expression in Java's syntax; topics whose whole name matches are read. "
            "Set either this or `topics`.",
            validator=java_regex, group=COMMON, order=4, width=Width.LONG,
            display_name="Topics regex",
        )
    )  # fmt: skip


def _source() -> ConfigDef:
    return (
        _base()
        .define(
            "topic.creation.groups", ConfigType.LIST, "",
            doc="Names of your choice for groups of topics that are created alike. What belongs "
            "to a group and how it is created is set by `topic.creation.<name>.*`; the group "
            "`default` is always there, and last.",
            importance=Importance.LOW, validator=unique_aliases, group=TOPIC_CREATION, order=1,
            width=Width.LONG, display_name="Topic Creation Groups",
        )
        .define(
            "exactly.once.support", default="requested",
            doc="`required`: refuse the connector unless it delivers every record exactly once "
            "with this config on this worker. `requested`: do not ask.",
            importance=Importance.MEDIUM, validator=one_of_ignoring_case("REQUIRED", "REQUESTED"),
            group=EXACTLY_ONCE, order=2, width=Width.SHORT, display_name="Exactly once support",
        )
        .define(
            "transaction.boundary", default="poll",
            doc="What goes into one transaction when exactly-once is on. `poll`: what one poll "
            "brings, and what others bring while the transaction before is being committed. "
            "`interval`: what comes in `transaction.boundary.interval.ms`. `connector`: the "
            "connector decides, if it can.",
            importance=Importance.MEDIUM,
            validator=one_of_ignoring_case("INTERVAL", "POLL", "CONNECTOR"),
            group=EXACTLY_ONCE, order=3, width=Width.SHORT, display_name="Transaction Boundary",
        )
        .define(
            "transaction.boundary.interval.ms", ConfigType.LONG, None,
            doc="The time between commits for `transaction.boundary=interval`. Not set: the "
            "worker's `offset.flush.interval.ms`.",
            importance=Importance.LOW, validator=at_least(0), group=EXACTLY_ONCE, order=4,
            width=Width.SHORT, display_name="Transaction boundary interval",
        )
        .define(
            "offsets.storage.topic", default=None,
            doc="A topic of its own for this connector's source offsets, created if missing; the "
            "cluster's keeps a copy. Not set: the cluster's. A standalone worker keeps them in its "
            "file and ignores this.",
            importance=Importance.LOW, validator=topic_name, group=OFFSETS_TOPIC, order=1,
            width=Width.LONG, display_name="Offsets topic",
        )
    )  # fmt: skip


# The keys that the JVM's Kafka Connect does not have. They take part in validation when they are
# set; forms and answers for configs without them look as clients know them.
OWN_KEYS = (
    ConfigDef()
    .define(
        "task.isolation", default=None,
        doc="`process`: each task runs in a process of its own. `thread`: tasks share one "
        "process beside the worker. Not set: what the worker's `task.isolation` says.",
        importance=Importance.LOW, validator=TASK_ISOLATION, group=COMMON,
        width=Width.SHORT, display_name="Task isolation",
    )
    .define(
        "task.memory.max", ConfigType.LONG, None,
        doc="The most memory, in bytes, that the process of a task may use; a task that needs "
        "more is stopped alone. Not set: what the worker's `task.memory.max` says.",
        importance=Importance.LOW, validator=at_least(1), group=COMMON,
        width=Width.MEDIUM, display_name="Task memory limit",
    )
    .define(
        "task.call.timeout.ms", ConfigType.LONG, None,
        doc="The longest that one call of the task's poll() or put() may take. A task that takes "
        "longer is stopped and fails with the line of code it was in. Not set: no limit.",
        importance=Importance.LOW, validator=at_least(1), group=COMMON,
        width=Width.MEDIUM, display_name="Task call time limit",
    )
    .define(
        "errors.restart.policy", default="off",
        doc="Whether a task or connector that failed is restarted by itself. `off`: never. "
        "`on-failure`: yes, up to errors.restart.max.attempts times in a row. `always`: yes, "
        "however often.",
        importance=Importance.MEDIUM, validator=one_of("off", "on-failure", "always"),
        group=ERRORS, width=Width.SHORT, display_name="Restart policy",
    )
    .define(
        "errors.restart.backoff.ms", ConfigType.LONG, 1000,
        doc="How long the first restart waits; each further one in a row waits twice as long.",
        importance=Importance.LOW, validator=at_least(1), group=ERRORS,
        width=Width.MEDIUM, display_name="Restart backoff",
    )
    .define(
        "errors.restart.backoff.max.ms", ConfigType.LONG, 60_000,
        doc="The longest that a restart waits. A task that has run this long without failing "
        "starts counting anew.",
        importance=Importance.LOW, validator=at_least(1), group=ERRORS,
        width=Width.MEDIUM, display_name="Longest restart backoff",
    )
    .define(
        "errors.restart.max.attempts", ConfigType.INT, 10,
        doc="How many restarts in a row `on-failure` makes before it gives up.",
        importance=Importance.LOW, validator=at_least(1), group=ERRORS,
        width=Width.SHORT, display_name="Restarts in a row",
    )
    .define(
        "errors.guard.max", ConfigType.LONG, None,
        doc="The guard: the task fails when more than this many of the last errors.guard.window "
        "records failed, though errors.tolerance=all. It keeps a wrong converter or a broken sink "
        "from turning a whole topic into dead letters. Not set: no guard.",
        importance=Importance.MEDIUM, validator=at_least(0), group=ERRORS,
        width=Width.MEDIUM, display_name="Tolerated failures in the window",
    )
    .define(
        "errors.guard.window", ConfigType.LONG, 1000,
        doc="Over how many records errors.guard.max counts.",
        importance=Importance.LOW, validator=at_least(1), group=ERRORS,
        width=Width.MEDIUM, display_name="Guard window",
    )
    .define(
        "delivery.guarantee", default="at_least_once",
        doc="`at_least_once`: offsets are committed after the task has flushed, so a crash repeats "
        "records and loses none. `at_most_once`, for sinks: offsets are committed before put(), so "
        "a crash loses records and repeats none.",
        importance=Importance.MEDIUM, validator=one_of("at_least_once", "at_most_once"),
        group=COMMON, width=Width.SHORT, display_name="Delivery guarantee",
    )
)  # fmt: skip

SINK_CONFIG = _sink()
SOURCE_CONFIG = _source()
# Sources may dead-letter too: the records that a transform or converter refuses.
SOURCE_OWN_KEYS = _with_dead_letters(ConfigDef(OWN_KEYS.keys.values()))


def connector_config_def(*, is_sink: bool, props: Mapping[str, Any]) -> ConfigDef:
    """The definition of the framework's keys for a config, before any plugin adds its own."""
    known, own = (SINK_CONFIG, OWN_KEYS) if is_sink else (SOURCE_CONFIG, SOURCE_OWN_KEYS)
    return known.including(ConfigDef(key for name, key in own.keys.items() if name in props))


def framework_settings(props: Mapping[str, str], *, is_sink: bool) -> Config:
    """The framework's own keys of a valid connector config, typed, every default filled in."""
    known, own = (SINK_CONFIG, OWN_KEYS) if is_sink else (SOURCE_CONFIG, SOURCE_OWN_KEYS)
    return known.including(own).parse(props)


# The keys below `transforms.<alias>.` and `predicates.<alias>.` that are not the plugin's own.
_FRAMEWORK_KEYS = ("type", "plugin.version", "predicate", "negate")


@dataclass(frozen=True, slots=True)
class PredicateSpec:
    """One of a connector's predicates, as configured."""

    alias: str
    type: str
    version: str | None
    settings: dict[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class TransformSpec:
    """One of a connector's transforms, as configured."""

    alias: str
    type: str
    version: str | None
    predicate: str | None
    negate: bool
    settings: dict[str, str] = field(repr=False)


def transform_specs(props: Mapping[str, str]) -> list[TransformSpec]:
    """The transforms of a valid connector config, in order."""
    specs = []
    for alias in aliases(props, "transforms"):
        own = settings_below(props, f"transforms.{alias}.")
        specs.append(
            TransformSpec(
                alias,
                _type_of(own, f"transforms.{alias}.type"),
                own.get("plugin.version"),
                own.get("predicate"),
                own.get("negate", "false").strip().lower() == "true",
                {k: v for k, v in own.items() if k not in _FRAMEWORK_KEYS},
            )
        )
    return specs


def predicate_specs(props: Mapping[str, str]) -> list[PredicateSpec]:
    """The predicates of a valid connector config."""
    specs = []
    for alias in aliases(props, "predicates"):
        own = settings_below(props, f"predicates.{alias}.")
        type_name = _type_of(own, f"predicates.{alias}.type")
        settings = {k: v for k, v in own.items() if k not in ("type", "plugin.version")}
        specs.append(PredicateSpec(alias, type_name, own.get("plugin.version"), settings))
    return specs


def _type_of(settings: Mapping[str, str], key: str) -> str:
    if "type" not in settings:
        raise ConfigError(f'Missing required configuration "{key}" which has no default value.')
    return settings["type"].strip()


def aliases(props: Mapping[str, str | None], key: str) -> list[str]:
    """The names listed under a key, each once."""
    text = (props.get(key) or "").strip()
    return list(dict.fromkeys(item.strip() for item in text.split(","))) if text else []


def settings_below(props: Mapping[str, str], prefix: str) -> dict[str, str]:
    """The settings under a prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in props.items() if k.startswith(prefix)}
