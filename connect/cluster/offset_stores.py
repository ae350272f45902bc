"""Where source connectors keep their offsets: the cluster's topic, or one of their own.

A connector with `offsets.storage.topic` is looked up in its own topic, and in the cluster's where
that knows nothing: so it may be given a topic at any time and goes on where it was. What it stores
goes to its own topic and, as a copy, to the cluster's: so the topic may be taken away again. What
it forgets is forgotten in the cluster's first, from where it would come back otherwise.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from connect.cluster.kafka_log import LogTopic
from connect.cluster.offset_log import Offset, OffsetLog, Partition, canonical
from connect.plugins import Plugins
from connect.runtime.host import resolve
from connect.runtime.offset_topics import OwnTopic, own_offsets_topic

SETTING = "offsets.storage.topic"
OPEN_SECONDS = 30.0

Config = Mapping[str, str]
Offsets = Sequence[tuple[Partition, Offset | None]]


@dataclass(slots=True)
class _Open:
    """A connector's own topic, open while it is used or wanted."""

    topic: OwnTopic
    log: OffsetLog
    starting: threading.Lock = field(default_factory=threading.Lock)
    started: bool = False
    users: int = 0
    dropped: bool = False


class OffsetStores:
    """The offsets of all source connectors. Methods block and may be called from any thread.

    `config` is always the connector's, as it is written.
    """

    def __init__(self, topic: LogTopic, worker: Mapping[str, str], plugins: Plugins) -> None:
        self._topic = topic
        self._worker = worker
        self._plugins = plugins
        self._cluster = OffsetLog(topic, worker)
        self._own: dict[str, _Open] = {}
        # What configs came to; looking references up at every commit would be slow.
        self._found: dict[str, tuple[Config, OwnTopic | None]] = {}
        self._lock = threading.Lock()

    def start(self) -> None:
        self._cluster.start()

    def stop(self) -> None:
        self.keep(())
        self._cluster.stop()

    def keep(self, connectors: Iterable[str]) -> None:
        """Close the own topics of all other connectors."""
        wanted = set(connectors)
        with self._lock:
            gone = [self._own.pop(name) for name in list(self._own) if name not in wanted]
            self._found = {name: it for name, it in self._found.items() if name in wanted}
        for each in gone:
            self._drop(each)

    # -- reading ----------------------------------------------------------------------------

    def read(
        self, connector: str, config: Config, partitions: Sequence[Partition]
    ) -> list[dict[str, Any] | None]:
        """The offsets as they are stored now, whoever stored them."""
        with self._own_log(connector, config) as own:
            if own is None:
                return self._cluster.read(connector, partitions)
            found = own.read(connector, partitions)
        if None not in found:
            return found
        copies = self._cluster.read(connector, partitions)
        return [copy if it is None else it for it, copy in zip(found, copies, strict=True)]

    def all(self, connector: str, config: Config) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        known = self._cluster.all(connector)
        with self._own_log(connector, config) as own:
            if own is None:
                return known
            first = own.all(connector)
        partitions = {canonical(partition) for partition, _ in first}
        return first + [(p, o) for p, o in known if canonical(p) not in partitions]

    # -- writing ----------------------------------------------------------------------------

    def write(self, connector: str, config: Config, offsets: Offsets) -> None:
        """Store offsets; they are safe when this returns. None forgets one."""
        with self._own_log(connector, config) as own:
            if own is None:
                self._cluster.write(connector, offsets)
                return
            self._forget_copies(connector, offsets)
            own.write(connector, offsets)
        self.copy(connector, offsets)

    def records_of(
        self, connector: str, config: Config, offsets: Offsets
    ) -> list[tuple[bytes, bytes | None]]:
        """The records that store offsets, for a task that writes them in its own transaction.

        When that is committed, and the topic is the connector's own, `copy` is called for.
        """
        with self._own_log(connector, config) as own:
            if own is None:
                return self._cluster.records_of(connector, offsets)
            self._forget_copies(connector, offsets)
            return own.records_of(connector, offsets)

    def copy(self, connector: str, offsets: Offsets) -> None:
        """Keep copies of stored offsets in the cluster's topic, if it can be."""
        self._cluster.write_soon(connector, [(p, o) for p, o in offsets if o is not None])

    def _forget_copies(self, connector: str, offsets: Offsets) -> None:
        gone = [(p, o) for p, o in offsets if o is None]
        if gone:
            self._cluster.write(connector, gone)

    # -- own topics -------------------------------------------------------------------------

    @contextmanager
    def _own_log(self, connector: str, config: Config) -> Iterator[OffsetLog | None]:
        """The log of the connector's own topic, open as long as it is used."""
        topic = self._topic_of(connector, config)
        if topic is None:
            yield None
            return
        used = self._use(connector, topic)
        try:
            with used.starting:
                if not used.started:
                    used.log.start(OPEN_SECONDS)
                    used.started = True
            yield used.log
        finally:
            with self._lock:
                used.users -= 1
                if not used.started and self._own.get(connector) is used:
                    del self._own[connector]  # tried anew the next time
                    used.dropped = True
                over = used.dropped and not used.users
            if over:
                used.log.stop()

    def _topic_of(self, connector: str, config: Config) -> OwnTopic | None:
        known, topic = self._found.get(connector, (None, None))
        if known != config:
            [resolved] = resolve(self._plugins, self._worker, config)
            topic = own_offsets_topic(self._worker, resolved)
            self._found[connector] = (config, topic)
        return topic

    def _use(self, connector: str, topic: OwnTopic) -> _Open:
        with self._lock:
            known = self._own.get(connector)
            if known is None or known.topic != topic:
                made = replace(self._topic, name=topic.name, setting=SETTING)
                self._own[connector] = _Open(topic, OffsetLog(made, topic.settings))
            self._own[connector].users += 1
            used = self._own[connector]
        if known is not None and known is not used:
            self._drop(known)
        return used

    def _drop(self, entry: _Open) -> None:
        with self._lock:
            entry.dropped = True
            unused = not entry.users
        if unused:
            entry.log.stop()
