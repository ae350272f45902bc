"""Fencing of zombies: tasks of an earlier generation that still run somewhere, cut off by Kafka."""

from __future__ import annotations

from confluent_kafka import KafkaException

from connect.cluster.config_log import ClusterConfig
from connect.errors import ConnectError
from connect.runtime import clients
from connect.runtime.host import resolve
from connect.runtime.spec import ConnectorSpec

FENCE_SECONDS = 30.0


def tasks_to_fence(config: ClusterConfig, name: str) -> int:
    """How many tasks of the generation before may still write.

    None before the first generation. A single task that stays the only one fences its predecessor
    by itself, since both have the same transactional id.
    """
    before = config.fenced_tasks.get(name, 0)
    return 0 if before == 1 and len(config.task_configs(name)) == 1 else before


def fence_tasks(spec: ConnectorSpec, group: str, count: int) -> None:
    """Cut off whoever writes under the transactional ids of these tasks.

    Kafka gives a transactional id to the last one that asks for it, and refuses the one before.
    Blocks, and looks up the config's references: call it in a process of its own.
    """
    [config] = resolve(spec.plugins, spec.worker_config, spec.config)
    for task in range(count):
        name = f"{group}-{spec.connector}-{task}"
        try:
            producer = clients.transactional_producer(name, spec.worker_config, config)
            producer.init_transactions(FENCE_SECONDS)
        except KafkaException as error:
            raise ConnectError(
                f"Task {spec.connector}-{task} of the generation before could not be fenced: "
                f"{error.args[0].str()}. The worker must be allowed to write under the "
                f"transactional id {name}."
            ) from error
