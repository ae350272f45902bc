"""Which source connectors keep their offsets in a topic of their own, and where that is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from connect.runtime import clients


class OwnTopic(NamedTuple):
    """A topic, and a worker's settings with which its cluster is reached."""

    name: str
    settings: dict[str, str]


def own_offsets_topic(worker: Mapping[str, str], connector: Mapping[str, str]) -> OwnTopic | None:
    """The connector's own offsets topic; None if the cluster's is used. Wants resolved configs.

    It lies where the connector's producer writes. So an exactly-once connector that writes to
    another Kafka has one in any case: a transaction can't reach both.
    """
    settings = clients.as_producer_connects(worker, connector)
    ours = worker.get("offset.storage.topic", "")
    elsewhere = settings.get("bootstrap.servers") != worker.get("bootstrap.servers")
    name = connector.get("offsets.storage.topic", "").strip()
    transactional = worker.get("exactly.once.source.support", "").strip().lower() == "enabled"
    if not name and elsewhere and transactional:
        name = ours
    if not name or (name == ours and not elsewhere):
        return None
    return OwnTopic(name, settings)
