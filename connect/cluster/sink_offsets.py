"""Offsets of sink connectors: those of their consumer group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from connect.cluster.herder import BadRequestError
from connect.errors import ConnectError
from connect.plugin import TopicPartition
from connect.runtime import clients

TIMEOUT_SECONDS = 30


def parse_sink_offsets(
    offsets: Iterable[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]],
) -> dict[TopicPartition, int | None]:
    """Partitions and offsets from a request's body; BadRequestError names what is wrong."""
    parsed: dict[TopicPartition, int | None] = {}
    for partition, offset in offsets:
        if partition is None:
            raise BadRequestError(
                "The partition for a sink connector offset cannot be null or missing"
            )
        if "kafka_topic" not in partition or "kafka_partition" not in partition:
            raise BadRequestError(
                "The partition for a sink connector offset must contain the keys 'kafka_topic' "
                "and 'kafka_partition'"
            )
        topic = partition["kafka_topic"]
        if topic is None:
            raise BadRequestError("Kafka topic names must be valid strings and may not be null")
        if partition["kafka_partition"] is None:
            raise BadRequestError("Kafka partitions must be valid numbers and may not be null")
        number = _integer(partition["kafka_partition"], "Partition")
        if offset is None:
            parsed[TopicPartition(str(topic), number)] = None
            continue
        if "kafka_offset" not in offset:
            raise BadRequestError(
                "The offset for a sink connector should either be null or contain the key "
                "'kafka_offset'"
            )
        parsed[TopicPartition(str(topic), number)] = _integer(offset["kafka_offset"], "Offset")
    return parsed


def _integer(value: Any, what: str) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise BadRequestError(
            f"Failed to parse the following Kafka {what.lower()} value in the provided offsets: "
            f"'{value}'. {what} values for sink connectors need to be integers."
        ) from None


def read_group(
    name: str, worker: Mapping[str, str], connector: Mapping[str, str]
) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    """The committed offsets, in the REST API's shape. Blocks."""
    admin = clients.admin_client(f"connector-adminclient-{name}", worker, connector)
    group = clients.sink_group(name, worker, connector)
    try:
        found = clients.committed_offsets(admin, group, None, TIMEOUT_SECONDS)
    except KafkaException as error:
        if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
            return []
        raise ConnectError(
            f"Failed to retrieve consumer group offsets for sink connector {name}: "
            f"{error.args[0].str()}"
        ) from error
    return [
        ({"kafka_topic": p.topic, "kafka_partition": p.partition}, {"kafka_offset": p.offset})
        for p in sorted(found, key=lambda p: (p.topic, p.partition))
        if p.offset >= 0
    ]


def alter_group(
    name: str,
    worker: Mapping[str, str],
    connector: Mapping[str, str],
    offsets: Mapping[TopicPartition, int | None],
) -> None:
    """Set offsets of the group; None removes one. Blocks."""
    admin = clients.admin_client(f"connector-adminclient-{name}", worker, connector)
    group = clients.sink_group(name, worker, connector)
    to_set = [KafkaPartition(p.topic, p.partition, o) for p, o in offsets.items() if o is not None]
    to_drop = [p for p, o in offsets.items() if o is None]
    try:
        if to_set:
            request = [ConsumerGroupTopicPartitions(group, to_set)]
            done = admin.alter_consumer_group_offsets(request)[group].result(TIMEOUT_SECONDS)
            _raise_partition_errors(done.topic_partitions)
    except KafkaException as error:
        raise _explained("alter", name, error.args[0].code(), error.args[0].str()) from error
    if to_drop:
        _drop(name, group, clients.group_settings(worker, connector), to_drop)


def _drop(
    name: str, group: str, settings: Mapping[str, Any], partitions: Sequence[TopicPartition]
) -> None:
    """Remove single offsets from a group, which librdkafka's admin client can't."""
    from kafka.admin import KafkaAdminClient  # noqa: PLC0415
    from kafka.errors import GroupIdNotFoundError, NoError  # noqa: PLC0415
    from kafka.errors import KafkaError as GroupError  # noqa: PLC0415
    from kafka.structs import TopicPartition as GroupPartition  # noqa: PLC0415 - heavy, rarely needed

    admin = KafkaAdminClient(**settings)
    try:
        done = admin.delete_group_offsets(
            group, [GroupPartition(p.topic, p.partition) for p in partitions]
        )
        for partition, error in done.items():
            if error is not NoError:
                reason = f"{partition.topic}-{partition.partition}: {error.__name__}"
                raise _explained("alter", name, error.errno, reason)
    except GroupIdNotFoundError:
        return
    except GroupError as failure:
        code = getattr(failure, "errno", None)
        raise _explained("alter", name, code, str(failure)) from failure
    finally:
        admin.close()


def reset_group(name: str, worker: Mapping[str, str], connector: Mapping[str, str]) -> None:
    """Delete the group. Blocks; no group is no error."""
    admin = clients.admin_client(f"connector-adminclient-{name}", worker, connector)
    group = clients.sink_group(name, worker, connector)
    try:
        admin.delete_consumer_groups([group])[group].result(TIMEOUT_SECONDS)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.GROUP_ID_NOT_FOUND:
            raise _explained("reset", name, error.args[0].code(), error.args[0].str()) from error


def _raise_partition_errors(partitions: Sequence[KafkaPartition]) -> None:
    for partition in partitions:
        if partition.error is not None:
            raise KafkaException(partition.error)


def _explained(verb: str, name: str, code: int | None, reason: str) -> ConnectError:
    if code in {
        KafkaError.NON_EMPTY_GROUP,
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.GROUP_SUBSCRIBED_TO_TOPIC,
    }:
        return ConnectError(
            f"Failed to {verb} consumer group offsets for connector {name} either because its "
            "tasks haven't stopped completely yet or there are zombie sink tasks."
        )
    return ConnectError(f"Failed to {verb} consumer group offsets for connector {name}: {reason}")
