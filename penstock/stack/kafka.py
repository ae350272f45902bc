"""One Kafka broker that is its own controller, sized for a developer's machine."""

import base64
import subprocess
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from penstock.errors import UserError
from penstock.stack import jvm
from penstock.stack.docker import Image
from penstock.stack.jars import Artefact, Bundle
from penstock.stack.java import Java
from penstock.stack.process import Launch, Service, free_port, listens

VERSION = "4.3.1"
TITLE = f"Kafka {VERSION}"
USUAL_PORT = 9092

BUNDLE = Bundle(
    "kafka",
    f"{TITLE} (44 MB)",
    (
        Artefact("org.apache.kafka", "kafka_2.13", VERSION),
        # Kafka logs through slf4j and names no implementation; its distribution has this one.
        Artefact("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"),
    ),
)


@dataclass(frozen=True)
class KafkaOptions:
    """What a test or a benchmark may want to be different. `settings` are server.properties.

    `features` have levels, as after an upgrade that raised none; a container has the newest ones.
    """

    heap: str = "512m"
    jvm_flags: tuple[str, ...] = jvm.QUICK_START
    settings: Mapping[str, str] = field(default_factory=dict)
    features: Mapping[str, int] = field(default_factory=dict)


def broker_settings(
    listen: str, port: int, controller_port: int, advertised: str, options: KafkaOptions
) -> dict[str, str]:
    """server.properties, but for where the data lies."""
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "listeners": f"CLIENT://{listen}:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"CLIENT://{advertised}",
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "CLIENT",
        "controller.listener.names": "CONTROLLER",
        # One broker can hold one replica, and each partition costs files and start-up time.
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "1",
        # A group of one starts at once instead of waiting three seconds for company.
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "true",
        "delete.topic.enable": "true",
        **options.settings,
    }


def prepare(directory: Path, java: Java, jars: Path, options: KafkaOptions, port: int) -> Launch:
    """Write the broker's files, format its storage, and say how to start it."""
    cluster_id = _new_cluster_id()
    address = f"127.0.0.1:{port}"
    controller_port = port
    while controller_port == port:
        controller_port = free_port()
    settings = broker_settings("127.0.0.1", port, controller_port, address, options)
    settings["log.dirs"] = str(directory / "data")
    java_command = jvm.command(java, directory, [jars], options.heap, options.jvm_flags)
    properties = directory / "server.properties"
    properties.write_text(jvm.properties(settings))
    features = [f"--feature={name}={level}" for name, level in options.features.items()]
    tool = [*java_command, "kafka.tools.StorageTool", "format", *features]
    _format_storage(tool, cluster_id, properties)
    return Launch(
        Service(TITLE, address, lambda: cluster_at(address) == cluster_id),
        command=[*java_command, "kafka.Kafka", str(properties)],
        log=directory / "kafka.log",
    )


def _new_cluster_id() -> str:
    """A random id as Kafka makes them: one that starts with a dash would be taken for an option."""
    while True:
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not cluster_id.startswith("-"):
            return cluster_id


def _format_storage(tool: list[str], cluster_id: str, properties: Path) -> None:
    done = subprocess.run(
        [*tool, "--cluster-id", cluster_id, "--config", str(properties)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise UserError(
            f"Kafka could not format its storage in {properties.parent}:\n"
            f"{done.stdout}{done.stderr}"
        )


def image(port: int, options: KafkaOptions) -> Image:
    """The same broker as a container; it is its clients who connect to `port` of our loopback."""
    settings = broker_settings("0.0.0.0", USUAL_PORT, 9093, f"127.0.0.1:{port}", options)  # noqa: S104
    variables = {"KAFKA_" + k.upper().replace(".", "_"): v for k, v in settings.items()}
    return Image(f"apache/kafka:{VERSION}", USUAL_PORT, variables)


def cluster_at(address: str) -> str | None:
    """The id of the Kafka cluster that answers a metadata request there; None if nobody does."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    if not listens(address):
        return None
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    try:
        metadata = admin.list_topics(timeout=5)
    except KafkaException:
        return None
    return str(metadata.cluster_id) if metadata.brokers else None
