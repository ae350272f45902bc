"""The JDBC source: tables into topics."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from connect import (
    Config,
    ConfigDef,
    ConfigValue,
    ConnectError,
    ExactlyOnceSupport,
    SourceConnector,
)
from connectors.jdbc.catalogue import list_tables
from connectors.jdbc.criteria import check_offset
from connectors.jdbc.database import Database, reason, url_of
from connectors.jdbc.shapes import TableName
from connectors.jdbc.source_config import BOTH, INCREMENTING, SOURCE_CONFIG, check_source
from connectors.jdbc.source_task import TABLES, JdbcSourceTask
from connectors.jdbc.urls import KEY, check_url

log = logging.getLogger(__name__)


class JdbcSourceConnector(SourceConnector):
    """Reads tables of a database, or a query, and follows what is added and changed."""

    task_class = JdbcSourceTask
    config_def: ClassVar[ConfigDef] = SOURCE_CONFIG

    def start(self) -> None:
        self._watch: _TableWatch | None = None
        if not self.config["query"]:
            self._watch = _TableWatch(self.config, self.context.request_task_reconfiguration)
            self._watch.start()

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        if self._watch is None:
            return [dict(self.config.raw)]
        tables = self._watch.tables
        if not tables:
            log.warning("No table matches, so there are no tasks until one does")
        count = min(max_tasks, len(tables))
        return [{**self.config.raw, TABLES: json.dumps(share)} for share in _shares(tables, count)]

    def stop(self) -> None:
        watch = getattr(self, "_watch", None)
        if watch is not None:
            watch.stop()

    @classmethod
    def validate(cls, values: dict[str, ConfigValue]) -> None:
        check_source(values)
        check_url(values[KEY])

    def exactly_once_support(self) -> ExactlyOnceSupport:
        """Only a number tells rows apart for certain."""
        if self.config["mode"].lower() in (INCREMENTING, BOTH):
            return ExactlyOnceSupport.SUPPORTED
        return ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(
        self, offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]
    ) -> bool:
        for partition, offset in offsets:
            if offset is None:
                continue
            if partition is None or not ("table" in partition or "query" in partition):
                raise ConnectError(
                    "Partition objects should contain the key 'table' or 'query', found "
                    f"{partition!r}"
                )
            check_offset(dict(offset))
        return True


def _shares(tables: Sequence[TableName], count: int) -> list[list[TableName]]:
    """The tables in `count` neighbouring parts of nearly the same size."""
    if not count:
        return []
    size, more = divmod(len(tables), count)
    ends = [(part + 1) * size + min(part + 1, more) for part in range(count)]
    return [list(tables[begin:end]) for begin, end in zip([0, *ends], ends, strict=False)]


class _TableWatch:
    """Looks for tables now and then, and calls `on_change` when others are there than before."""

    def __init__(self, config: Config, on_change: Any) -> None:
        self._config = config
        self._on_change = on_change
        self._database = Database(url_of(config))
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="jdbc-tables", daemon=True)
        self.tables: list[TableName] = []

    def start(self) -> None:
        connection = self._database.connect(
            self._config["connection.attempts"], self._config["connection.backoff.ms"]
        )
        self.tables = list_tables(connection, self._config)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=10)
        self._database.close()

    def _run(self) -> None:
        while not self._stopped.wait(self._config["table.poll.interval.ms"] / 1000):
            try:
                found = list_tables(self._database.connection(), self._config)
            except Exception as error:  # noqa: BLE001 - whatever it is, looking goes on
                self._database.drop()
                log.warning("Can't look for tables now: %s", reason(error))
                continue
            if found != self.tables:
                log.info("Tables are now: %s", ", ".join(map(str, found)) or "none")
                self.tables = found
                self._on_change()
