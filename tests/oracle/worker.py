"""Runs a worker of Apache Kafka Connect against the test broker."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from penstock.stack import jars, jvm, kafka, throwaway
from penstock.stack.java import find_java
from penstock.stack.process import Launch, Process, Service, free_port
from tests.support.topics import admin_client

BUNDLE = jars.Bundle(
    "oracle",
    f"Kafka Connect {kafka.VERSION} (36 MB)",
    (
        *(
            jars.Artefact("org.apache.kafka", f"connect-{part}", kafka.VERSION)
            for part in ("runtime", "file", "json", "transforms", "mirror")
        ),
        jars.Artefact("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"),
    ),
)

# Its Avro converter; the only one on Maven Central that writes what Confluent's does.
REGISTRY_CONVERTERS = jars.Bundle(
    "registry-converters",
    "Apicurio's converters for Kafka Connect (39 MB)",
    (
        jars.Artefact("io.apicurio", "apicurio-registry-utils-converter", "2.6.13.Final"),
        jars.Artefact("org.apache.kafka", "connect-runtime", kafka.VERSION),
        jars.Artefact("org.apache.kafka", "connect-json", kafka.VERSION),
    ),
)

_STORES = ("config", "offset", "status")
_JSON = "org.apache.kafka.connect.json.JsonConverter"


@dataclass(frozen=True)
class Options:
    """What a test may want to be different. `settings` are worker properties.

    Each folder in `plugins` is one of plugin.path; `class_path` holds jars, or folders of jars,
    beside the worker's own.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    plugins: Sequence[Path] = ()
    class_path: Sequence[Path] = ()
    heap: str = "1g"
    jvm_flags: tuple[str, ...] = jvm.QUICK_START
    start_seconds: float = 90


@dataclass(frozen=True)
class Oracle:
    """A worker that runs. `group` is the group id of a distributed one."""

    url: str
    group: str | None
    log: Path
    pid: int


def libraries(say: Callable[[str], None]) -> Path:
    """The folder with the worker's jars; connect-api among them."""
    return jars.retrieve(BUNDLE, say)


def add_registry_converters(plugins: Path, say: Callable[[str], None]) -> None:
    """Give a plugin.path folder Apicurio's Avro converter."""
    target = plugins / "registry-converters"
    target.mkdir()
    for jar in jars.retrieve(REGISTRY_CONVERTERS, say).glob("*.jar"):
        # What the worker has itself must come from the worker.
        if not jar.name.startswith(("connect-", "kafka-", "jersey-", "jetty-", "slf4j-")):
            (target / jar.name).symlink_to(jar)


@contextmanager
def distributed(
    bootstrap: str, say: Callable[[str], None], options: Options | None = None
) -> Iterator[Oracle]:
    """A cluster of one worker. Its internal topics are removed afterwards."""
    group = f"oracle-{uuid.uuid4().hex[:8]}"
    settings = {
        "group.id": group,
        **{f"{kind}.storage.topic": f"{group}-{kind}" for kind in _STORES},
        **{f"{kind}.storage.replication.factor": "1" for kind in _STORES},
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
        # The leader would keep the tasks of a worker that left for five minutes.
        "scheduled.rebalance.max.delay.ms": "0",
        **(options.settings if options else {}),
    }
    try:
        with _worker("ConnectDistributed", bootstrap, settings, say, options) as (launch, process):
            yield Oracle(launch.service.address, settings["group.id"], launch.log, process.pid)
    finally:
        admin = admin_client(bootstrap)
        topics = [settings[f"{kind}.storage.topic"] for kind in _STORES]
        for done in admin.delete_topics(topics).values():
            done.exception()  # one that a failed start did not create is no loss


@contextmanager
def standalone(
    bootstrap: str, say: Callable[[str], None], options: Options | None = None
) -> Iterator[Oracle]:
    """A worker that keeps its source offsets in a file and its connectors in memory."""
    settings = dict(options.settings) if options else {}
    with _worker("ConnectStandalone", bootstrap, settings, say, options) as (launch, process):
        yield Oracle(launch.service.address, None, launch.log, process.pid)


@contextmanager
def _worker(
    main: str,
    bootstrap: str,
    settings: Mapping[str, str],
    say: Callable[[str], None],
    options: Options | None,
) -> Iterator[tuple[Launch, Process]]:
    chosen = options or Options()
    files = libraries(say)

    def prepare(home: Path) -> Launch:
        url = f"http://127.0.0.1:{free_port()}"
        no_plugins = home / "no-plugins"
        no_plugins.mkdir()
        common = {
            "bootstrap.servers": bootstrap,
            "listeners": url,
            "rest.advertised.host.name": "127.0.0.1",
            "key.converter": _JSON,
            "value.converter": _JSON,
            "offset.flush.interval.ms": "1000",
            "plugin.path": ",".join(str(place) for place in chosen.plugins or [no_plugins]),
        }
        if main == "ConnectStandalone":
            common["offset.storage.file.filename"] = str(home / "offsets")
        properties = home / "worker.properties"
        properties.write_text(jvm.properties({**common, **settings}))
        class_path = [*chosen.class_path, files]
        command = jvm.command(find_java(), home, class_path, chosen.heap, chosen.jvm_flags)
        return Launch(
            Service(f"Kafka Connect {kafka.VERSION}", url, lambda: _is_healthy(url)),
            command=[*command, f"org.apache.kafka.connect.cli.{main}", str(properties)],
            log=home / "connect.log",
        )

    with throwaway.server(prepare, seconds=chosen.start_seconds) as running:
        yield running


def _is_healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=5, trust_env=False).is_success
    except httpx.HTTPError:
        return False
