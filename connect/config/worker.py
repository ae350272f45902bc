"""The worker's own settings: the keys of `worker.properties`, standalone and distributed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from connect.config.clients import client_settings
from connect.config.configdef import Config, ConfigDef, ConfigKey, ConfigType, Importance, Validator
from connect.config.connector import TASK_ISOLATION, settings_below
from connect.config.listeners import check_header_rules, check_listeners
from connect.config.providers import Providers
from connect.config.validators import (
    at_least,
    between,
    list_of_values,
    non_empty,
    one_of,
    one_of_ignoring_case,
    partition_count,
    replication_factor,
    satisfies,
)
from connect.errors import ConfigError

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
INT, LONG, SHORT = ConfigType.INT, ConfigType.LONG, ConfigType.SHORT
DOUBLE = ConfigType.DOUBLE
BOOLEAN, LIST, CLASS = ConfigType.BOOLEAN, ConfigType.LIST, ConfigType.CLASS

_INT_MAX: Final = 2**31 - 1
SIMPLE_HEADER_CONVERTER: Final = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
SIGNATURE_ALGORITHMS: Final = (
    "HmacMD5", "HmacSHA1", "HmacSHA224", "HmacSHA256", "HmacSHA384", "HmacSHA512",
)  # fmt: skip

# The keys that the JVM's Kafka Connect does not have.
OWN_WORKER_KEYS: Final = frozenset(
    (
        "plugin.call.timeout.ms",
        "dlq.alert.webhook",
        "dlq.index.folder",
        "dlq.mask.fields",
        "dlq.scan.interval.ms",
        "dlq.state.replication.factor",
        "dlq.state.topic",
        "python.transform.enable",
        "rest.audit.file",
        "rest.auth.file",
        "rest.rate.burst",
        "rest.rate.limit",
        "rest.request.max.bytes",
        "rest.request.timeout.ms",
        "task.isolation",
        "task.memory.max",
    )
)

# What is said of the settings that only matter to Kafka's clients.
AS_IN_CLIENTS: Final = "As in Kafka's clients."

_signature_algorithm = satisfies(
    SIGNATURE_ALGORITHMS.__contains__,
    "the algorithm is not supported by this worker; the supported algorithms are: "
    f"[{', '.join(SIGNATURE_ALGORITHMS)}]",
)


def _signature_algorithms(name: str, value: Any) -> None:
    if not value:
        raise ConfigError(
            name, value, "At least one signature verification algorithm must be provided"
        )
    for algorithm in value:
        _signature_algorithm(name, algorithm)


_PROTOCOL = satisfies(
    lambda value: value.lower() in ("eager", "compatible", "sessioned"),
    "Invalid Connect protocol compatibility",
)


def _base() -> ConfigDef:
    d = ConfigDef()
    d.define(
        "bootstrap.servers", LIST, doc="Kafka brokers to start from, `host:port,host:port`.",
        validator=list_of_values(empty=False, duplicates=True),
    )  # fmt: skip
    _take(d, ["client.dns.lookup"], "admin")
    for key in ("key", "value"):
        d.define(
            f"{key}.converter", CLASS,
            doc=f"The converter of record {key}s for connectors that do not name their own. Its "
            f"settings go below `{key}.converter.`.",
        ).define(
            f"{key}.converter.plugin.version", default=None, importance=LOW,
            doc=f"The version of the {key} converter; not set: what is installed.",
        )  # fmt: skip
    d.define(
        "task.shutdown.graceful.timeout.ms", LONG, 5000, importance=LOW,
        doc="How long tasks get to finish when they are stopped, all together. Who is not done by "
        "then is ended.",
    ).define(
        "offset.flush.interval.ms", LONG, 60000, importance=LOW,
        doc="How often source offsets are stored and sink offsets are committed.",
    ).define(
        "offset.flush.timeout.ms", LONG, 5000, importance=LOW,
        doc="How long a flush may take before it is given up and tried again at the next interval.",
    ).define(
        "plugin.path", LIST, None, importance=LOW,
        validator=list_of_values(empty=False, null=True, duplicates=True),
        doc="Folders with plugins, separated by commas: Python files, packages, and folders made "
        "by `pip install --target`. Plugins installed beside Penstock are found without it.",
    ).define(
        "plugin.discovery", default="hybrid_warn", importance=LOW,
        validator=one_of_ignoring_case("ONLY_SCAN", "SERVICE_LOAD", "HYBRID_WARN", "HYBRID_FAIL"),
        doc="Accepted so that existing files work, and without effect: plugins are found the "
        "same quick way in every mode.",
    )  # fmt: skip
    _take(d, ["metrics.sample.window.ms", "metrics.num.samples"], "admin", at_least(0), at_least(1))
    _take(d, ["metrics.recording.level", "metric.reporters"], "admin", one_of("INFO", "DEBUG"))
    d.define(
        "header.converter", CLASS, SIMPLE_HEADER_CONVERTER, importance=LOW,
        doc="The converter of record headers for connectors that do not name their own.",
    ).define(
        "header.converter.plugin.version", default=None, importance=LOW,
        doc="The version of the header converter; not set: what is installed.",
    ).define(
        "config.providers", LIST, "", importance=LOW,
        doc="Names of your choice for config providers, to which settings refer by "
        "`${name:path:key}`. `config.providers.<name>.class` is the class, "
        "`config.providers.<name>.param.*` are its settings.",
    ).define(
        "connector.client.config.override.policy", default="All", importance=MEDIUM,
        doc="Which Kafka client settings a connector may set by `producer.override.*`, "
        "`consumer.override.*` and `admin.override.*`: `All`, `None`, `Principal` (only who it "
        "is: `sasl.jaas.config`, `sasl.mechanism`, `security.protocol`) or `Allowlist`.",
    ).define(
        "connector.client.config.override.allowlist", LIST, "", importance=MEDIUM,
        doc="The settings that connectors may override under the policy `Allowlist`.",
    ).define(
        "topic.creation.enable", BOOLEAN, True, importance=LOW,
        doc="Whether source connectors with `topic.creation.*` keys create their topics.",
    )  # fmt: skip
    _take(d, [n for n in client_settings("admin").keys if n.startswith("ssl.")], "admin")
    d.define(
        "topic.tracking.enable", BOOLEAN, True, importance=LOW,
        doc="Whether it is recorded which topics a connector uses.",
    ).define(
        "topic.tracking.allow.reset", BOOLEAN, True, importance=LOW,
        doc="Whether that record may be cleared over REST.",
    ).define(
        "listeners", LIST, "http://:8083", importance=LOW, validator=check_listeners,
        doc="Where the REST API listens: `http://host:port,https://host:port`. No host: all "
        "interfaces.",
    ).define(
        "rest.advertised.host.name", default=None, importance=LOW,
        doc="The host name under which other workers reach this one.",
    ).define(
        "rest.advertised.port", INT, None, importance=LOW,
        doc="The port under which other workers reach this one.",
    ).define(
        "rest.advertised.listener", default=None, importance=LOW,
        doc="The listener that other workers use, `http` or `https`.",
    ).define(
        "access.control.allow.origin", default="", importance=LOW,
        doc="The web origin that may use the REST API from a browser; `*` for every one.",
    ).define(
        "access.control.allow.methods", default="", importance=LOW,
        doc="The methods that this origin may use; GET, POST and HEAD if empty.",
    ).define(
        "response.http.headers.config", default="", importance=LOW, validator=check_header_rules,
        doc="Headers to add to REST answers: `[action] [name]:[value]`, separated by commas, with "
        "the actions `set`, `add`, `setDate` and `addDate`.",
    ).define(
        "ssl.client.auth", default="none", importance=LOW,
        validator=one_of("required", "requested", "none"),
        doc="Whether clients of the REST API must show a certificate.",
    ).define(
        "rest.extension.classes", LIST, "", importance=LOW,
        doc="Classes that add to the REST API, see [Plugins](plugins.md#rest-extensions). Of those "
        "written for the JVM one is known, `BasicAuthSecurityRestExtension`.",
    ).define(
        "admin.listeners", LIST, None, importance=LOW, validator=_admin_listeners,
        doc="Where `/admin` listens. Not set: with everything else; empty: nowhere.",
    ).define(
        "rest.request.timeout.ms", LONG, 90_000, importance=LOW, validator=at_least(1),
        doc="How long a REST request may take before it is answered with an error.",
    ).define(
        "rest.request.max.bytes", LONG, 16 * 1024 * 1024, importance=LOW, validator=at_least(1),
        doc="The largest body of a REST request that is read.",
    ).define(
        "rest.auth.file", default=None, importance=MEDIUM,
        doc="The file with the users of the REST API and their roles, see "
        "[Security](security.md). Not set: everybody may do everything.",
    ).define(
        "rest.audit.file", default=None, importance=LOW,
        doc="The file to which changes over the REST API are noted, a line of JSON each. Not set: "
        "the logger `audit` has them.",
    ).define(
        "rest.rate.limit", DOUBLE, 0.0, importance=LOW, validator=at_least(0),
        doc="How many REST requests a second one client, a user or an address, may send in the "
        "long run; 0: any number.",
    ).define(
        "rest.rate.burst", INT, 100, importance=LOW, validator=at_least(1),
        doc="How many it may send at once.",
    ).define(
        "python.transform.enable", BOOLEAN, True, importance=MEDIUM,
        doc="Whether connectors may use `PythonTransform`, which runs code out of their configs.",
    ).define(
        "task.isolation", default="process", importance=MEDIUM, validator=TASK_ISOLATION,
        doc="`process`: each task runs in a process of its own, and what it does to itself it "
        "does to no other. `thread`: tasks share one process beside the worker.",
    ).define(
        "task.memory.max", LONG, None, importance=LOW, validator=at_least(1),
        doc="The most memory, in bytes, that the process of a task may use. Not set: no limit.",
    ).define(
        "plugin.call.timeout.ms", LONG, 60_000, importance=LOW, validator=at_least(1),
        doc="How long a connector may take to validate a config, to start and name its tasks, or "
        "to change offsets. One that takes longer is stopped, and its status or the answer says "
        "so.",
    ).define(
        "dlq.state.topic", default="__penstock_dlq_state", importance=LOW, validator=non_empty,
        doc="The topic that keeps which dead letters were replayed or dismissed, by whom and when.",
    ).define(
        "dlq.state.replication.factor", SHORT, -1, importance=LOW, validator=replication_factor,
        doc="Its copies, if it has to be created; -1 for the broker's default.",
    ).define(
        "dlq.index.folder", default=None, importance=LOW,
        doc="The folder for the indexes of dead-letter topics, which may be deleted at any time. "
        "Not set: `penstock` below the user's cache folder.",
    ).define(
        "dlq.mask.fields", LIST, "", importance=LOW,
        doc="Fields to hide in dead letters that the REST API shows, by name or path; `*` for all.",
    ).define(
        "dlq.scan.interval.ms", LONG, 0, importance=LOW, validator=at_least(0),
        doc="How often dead-letter topics are looked at for metrics and alerts; 0: never.",
    ).define(
        "dlq.alert.webhook", default=None, importance=LOW,
        doc="A URL that gets a POST when dead letters have a cause that was not there before. "
        "Needs `dlq.scan.interval.ms`.",
    )  # fmt: skip
    return d


def _admin_listeners(name: str, value: Any) -> None:
    if value:
        check_listeners(name, value)


def _take(definition: ConfigDef, names: Iterable[str], client: str, *validators: Validator) -> None:
    """Add settings as Kafka's clients know them, the first ones with validators."""
    checks = iter(validators)
    for name in names:
        key: ConfigKey = client_settings(client).keys[name]
        definition.define(
            name, key.type, key.default, importance=key.importance,
            validator=next(checks, None), doc=AS_IN_CLIENTS,
        )  # fmt: skip


def _storage(d: ConfigDef, kind: str, what: str, partitions: int | None) -> None:
    d.define(
        f"{kind}.storage.topic", validator=non_empty,
        doc=f"The topic in which the cluster keeps {what}. Settings of the topic go below "
        f"`{kind}.storage.`.",
    )  # fmt: skip
    if partitions is not None:
        d.define(
            f"{kind}.storage.partitions", INT, partitions, importance=LOW,
            validator=partition_count,
            doc="Its partitions, if it has to be created; -1 for the broker's default.",
        )  # fmt: skip
    d.define(
        f"{kind}.storage.replication.factor", SHORT, 3, importance=LOW,
        validator=replication_factor,
        doc="Its copies, if it has to be created; -1 for the broker's default.",
    )  # fmt: skip


def _distributed() -> ConfigDef:
    d = _base()
    d.define(
        "group.id", validator=non_empty,
        doc="The name of the cluster; workers with the same name share the work.",
    ).define(
        "session.timeout.ms", INT, 10000,
        doc="A worker that is not heard of for so long is taken for dead.",
    ).define(
        "rebalance.timeout.ms", INT, 60000,
        doc="How long workers get to join when work is divided anew.",
    ).define(
        "heartbeat.interval.ms", INT, 3000,
        doc="How often a worker says that it is alive; at most a third of the session timeout.",
    ).define(
        "exactly.once.source.support", default="disabled",
        validator=one_of_ignoring_case("DISABLED", "ENABLED", "PREPARING"),
        doc="Whether sources write records and offsets in transactions. To turn it on in a "
        "running cluster, set `preparing` on every worker, then `enabled` on every worker.",
    )  # fmt: skip
    own = (
        "metadata.max.age.ms", "client.id", "send.buffer.bytes", "receive.buffer.bytes",
        "reconnect.backoff.ms", "reconnect.backoff.max.ms", "socket.connection.setup.timeout.ms",
        "socket.connection.setup.timeout.max.ms", "retry.backoff.ms", "retry.backoff.max.ms",
    )  # fmt: skip
    low = {"send.buffer.bytes": -1, "receive.buffer.bytes": -1}
    for name in own:
        check = [] if name == "client.id" else [at_least(low.get(name, 0))]
        # The worker's buffers have the defaults of the producer, not of the admin client.
        _take(d, [name], "producer", *check)
    d.define(
        "request.timeout.ms", INT, 40000, importance=MEDIUM, validator=at_least(0),
        doc="How long the worker waits for an answer of a broker.",
    ).define(
        "connections.max.idle.ms", LONG, 540000, importance=MEDIUM,
        doc="Connections that are not used for so long are closed.",
    )  # fmt: skip
    _take(
        d, ["security.protocol"], "admin",
        one_of_ignoring_case("SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT"),
    )  # fmt: skip
    _take(d, [n for n in client_settings("admin").keys if n.startswith("sasl.")], "admin")
    d.define(
        "worker.sync.timeout.ms", INT, 3000, importance=MEDIUM,
        doc="How long a worker that lags behind the config topic tries to catch up before it "
        "leaves the group.",
    ).define(
        "worker.unsync.backoff.ms", INT, 300000, importance=MEDIUM,
        doc="How long it then stays away.",
    )  # fmt: skip
    _storage(d, "offset", "source offsets", 25)
    _storage(d, "config", "the configs of connectors and tasks", None)
    _storage(d, "status", "the state of connectors and tasks", 5)
    d.define(
        "connect.protocol", default="sessioned", importance=LOW, validator=_PROTOCOL,
        doc="How workers divide work: `eager`, `compatible` or `sessioned`. `sessioned` also "
        "signs the requests that workers send each other.",
    ).define(
        "scheduled.rebalance.max.delay.ms", INT, 300000, importance=LOW,
        validator=between(0, _INT_MAX),
        doc="How long the work of a worker that vanished is kept for its return.",
    ).define(
        "inter.worker.key.ttl.ms", INT, 3600000, importance=LOW, validator=between(0, _INT_MAX),
        doc="How long a key that signs requests between workers is used.",
    ).define(
        "inter.worker.key.generation.algorithm", default="HmacSHA256", importance=LOW,
        validator=_signature_algorithm, doc="The algorithm for which these keys are made.",
    ).define(
        "inter.worker.key.size", INT, None, importance=LOW, validator=at_least(40),
        doc="Their length in bits; not set: what suits the algorithm.",
    ).define(
        "inter.worker.signature.algorithm", default="HmacSHA256", importance=LOW,
        validator=_signature_algorithm, doc="The algorithm by which requests are signed.",
    ).define(
        "inter.worker.verification.algorithms", LIST, "HmacSHA256", importance=LOW,
        validator=_signature_algorithms,
        doc="The algorithms that are accepted; it must hold the one by which this worker signs.",
    )  # fmt: skip
    _take(
        d, ["metadata.recovery.strategy", "metadata.recovery.rebootstrap.trigger.ms"], "admin",
        one_of_ignoring_case("REBOOTSTRAP", "NONE"), at_least(0),
    )  # fmt: skip
    return d


def _standalone() -> ConfigDef:
    return _base().define(
        "offset.storage.file.filename", validator=non_empty,
        doc="The file in which source offsets are kept.",
    )  # fmt: skip


STANDALONE_CONFIG = _standalone()
DISTRIBUTED_CONFIG = _distributed()


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """A worker's settings: `worker["listeners"]` typed, `worker.raw` as strings, resolved."""

    distributed: bool
    values: Config
    # The file as it was written, references unresolved: what may be shown.
    written: Mapping[str, str]

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    @property
    def raw(self) -> Mapping[str, str]:
        return self.values.raw

    @property
    def group_id(self) -> str | None:
        return self.values["group.id"] if self.distributed else None

    @property
    def exactly_once_sources(self) -> bool:
        """Whether source tasks write in transactions."""
        return self.distributed and self["exactly.once.source.support"].lower() == "enabled"

    def settings_below(self, prefix: str) -> dict[str, str]:
        """The settings under a prefix such as `producer.`, without it."""
        return settings_below(self.raw, prefix)

    def __repr__(self) -> str:
        return f"WorkerConfig({'distributed' if self.distributed else 'standalone'})"


def load_worker_config(
    props: Mapping[str, str],
    *,
    distributed: bool,
    providers: Callable[[Mapping[str, str]], Providers] | None = None,
) -> WorkerConfig:
    """Typed worker settings, references looked up; ConfigError for the first that is wrong.

    `providers` makes the config providers that the settings name. `plugin.path` is taken as
    written, because it is needed to find them.
    """
    definition = DISTRIBUTED_CONFIG if distributed else STANDALONE_CONFIG
    resolved: dict[str, str] = dict(props)
    if providers is not None and props.get("config.providers"):
        opened = providers(props)
        try:
            found = opened.resolve(props).values
        finally:
            opened.close()
        resolved = {k: v for k, v in found.items() if v is not None}
        if "plugin.path" in props:
            resolved["plugin.path"] = props["plugin.path"]
    values = definition.parse(resolved)
    if distributed:
        signed_by = values["inter.worker.signature.algorithm"]
        if signed_by not in values["inter.worker.verification.algorithms"]:
            raise ConfigError(
                "inter.worker.signature.algorithm",
                signed_by,
                "Signature algorithm must be present in inter.worker.verification.algorithms list",
            )
    return WorkerConfig(distributed, values, dict(props))
