"""Topics: which ones a sink reads, how a source's are created, and what they take."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.cimpl import NewTopic

from connect.config.topic_creation import TopicGroup, topic_groups
from connect.errors import ConnectError
from connect.javalang.regex import compile_java

log = logging.getLogger(__name__)

# How often topics that match topics.regex are looked for.
LOOK_SECONDS = 10.0
TIMEOUT_SECONDS = 30.0
# For a broker to say what a topic takes. A source can do without knowing.
LIMIT_SECONDS = 5.0
HEAR_SECONDS = 0.1  # for it to hear of a new topic


class Subscription:
    """The topics of a sink: a list, or all whose names match a Java regular expression.

    librdkafka could subscribe by pattern itself, but its patterns are not Java's.
    """

    def __init__(
        self, consumer: Consumer, config: Mapping[str, str], **callbacks: Callable[..., None]
    ) -> None:
        self._consumer = consumer
        self._callbacks: dict[str, Any] = callbacks
        pattern = config.get("topics.regex", "").strip()
        self._pattern = compile_java(pattern) if pattern else None
        self._current: list[str] = []
        self._look_at = 0.0
        if self._pattern is None:
            names = config.get("topics", "").split(",")
            self._subscribe([name.strip() for name in names if name.strip()])

    @property
    def empty(self) -> bool:
        return not self._current

    def refresh(self) -> None:
        """Look for new topics if the time has come."""
        if self._pattern is None or time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + (1.0 if self.empty else LOOK_SECONDS)
        try:
            known = self._consumer.list_topics(timeout=TIMEOUT_SECONDS).topics
        except KafkaException as error:
            log.warning("Topics can't be listed now: %s", error.args[0].str())
            return
        # As in the JVM: Kafka's own topics are never meant by a pattern.
        found = sorted(t for t in known if not t.startswith("__") and self._pattern.matches(t))
        if found and found != self._current:
            log.info("Topics that match topics.regex: %s", ", ".join(found))
            self._subscribe(found)

    def _subscribe(self, topics: list[str]) -> None:
        self._current = topics
        self._consumer.subscribe(topics, **self._callbacks)


class SourceTopics:
    """The topics of a source, created as its `topic.creation.*` groups say.

    Without such groups none is, and the broker may create topics by itself.
    """

    def __init__(self, config: Mapping[str, str], make_admin: Callable[[], AdminClient]) -> None:
        self._groups = [(group, *_patterns(group)) for group in topic_groups(config)]
        self._make_admin = make_admin

    @cached_property
    def _admin(self) -> AdminClient:
        return self._make_admin()

    def ensure(self, topic: str) -> None:
        """Create a topic unless it is there. ConnectError says why it can't be."""
        group = self._group_of(topic)
        if group is None:
            return
        admin = self._admin
        if topic in admin.list_topics(timeout=TIMEOUT_SECONDS).topics:
            return
        new = NewTopic(
            topic,
            num_partitions=group.partitions,
            replication_factor=group.replication_factor,
            config=dict(group.settings),
        )
        try:
            admin.create_topics([new])[topic].result(TIMEOUT_SECONDS)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return
            raise ConnectError(
                f"Topic '{topic}' could not be created by group '{group.name}' of "
                f"topic.creation.groups: {error.args[0].str()}"
            ) from error
        log.info("Created topic %s by group %s of topic.creation.groups", topic, group.name)

    def most_bytes(self, topic: str) -> int | None:
        """How large a record batch it takes; None if that can't be told."""
        deadline = time.monotonic() + LIMIT_SECONDS
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        while True:
            asked = self._admin.describe_configs([resource], request_timeout=LIMIT_SECONDS)
            try:
                return int(asked[resource].result(LIMIT_SECONDS)["max.message.bytes"].value)
            except KafkaException as error:  # it is not there yet, or asking is not allowed
                unheard = error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
                reason = error.args[0].str()
            except TimeoutError:
                unheard, reason = False, "no answer came in time"
            # One that `ensure` saw to is there: this broker has just not heard of it yet.
            if unheard and self._group_of(topic) is not None and time.monotonic() < deadline:
                time.sleep(HEAR_SECONDS)
                continue
            log.debug("How large a batch topic %s takes is not known: %s", topic, reason)
            return None

    def _group_of(self, topic: str) -> TopicGroup | None:
        for group, include, exclude in self._groups:
            if any(p.matches(topic) for p in exclude):
                continue
            if any(p.matches(topic) for p in include):
                return group
        return None


def _patterns(group: TopicGroup) -> tuple[list[Any], list[Any]]:
    return [compile_java(p) for p in group.include], [compile_java(p) for p in group.exclude]
