"""The task: it starts the queries, watches them, and tells where they stand."""

from __future__ import annotations

import ast
import json
import logging
from collections import Counter
from collections.abc import Mapping
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition

from connect import Config, ConfigError, ConnectError, ExternalSinkTask
from connect.config.connector import framework_settings
from connect.runtime import clients
from spark_sink.checkpoint import Checkpoint
from spark_sink.settings import Output

log = logging.getLogger(__name__)


# How often a query is started again before a batch was completed.
SLOW_STARTS = 5


class SparkSinkTask(ExternalSinkTask):
    """Runs one connector's queries. Spark's checkpoint is the truth about offsets.

    They are mirrored to the consumer group connect-<name>, so that REST, lag monitors and a later
    query without a checkpoint find them where those of every sink are.
    """

    def start(self, config: Config) -> None:
        self._config = config
        self._spark: Any = None
        self._queries: list[Any] = []
        self._mirrored: dict[tuple[str, int], int] = {}
        self._seen: dict[str, tuple[int, str]] = {}
        self._slow_starts = 0
        self._counts: Counter[str] = Counter(sink_read=0, sink_sent=0, sink_commits=0)
        self._gauges: dict[str, float] = {}
        names = config["spark.outputs"] or [""]
        self._outputs = tuple(Output.parse(config.raw, name) for name in names)
        if len({output.mode for output in self._outputs}) > 1:
            raise ConfigError("spark.outputs", ",".join(names), "all must have the same mode")

    def resume(self) -> None:
        from spark_sink.check import require_executors  # noqa: PLC0415 - needs the extra
        from spark_sink.letters import LetterBox  # noqa: PLC0415
        from spark_sink.query import Settings, start_queries  # noqa: PLC0415
        from spark_sink.session import sparks_words, start_session  # noqa: PLC0415
        from spark_sink.watch import Watch  # noqa: PLC0415

        spec = self.context.pipeline
        checkpoint = Checkpoint(self._config["spark.checkpoint.location"])
        checkpoint.claim(spec.connector)
        framework = framework_settings(spec.config, is_sink=True)
        self._settings = Settings(
            spec,
            self._config,
            self._outputs,
            LetterBox.of(spec, framework),
            Watch.of(spec, framework),
            checkpoint.path,
            checkpoint.starting(self._config["spark.starting.offsets"]),
        )
        with sparks_words():
            self._spark = start_session(self._config.raw, spec.connector)
            if self._config["spark.remote"] or not self._config["spark.master"].startswith("local"):
                require_executors(self._spark)
            self._queries = start_queries(self._spark, self._settings)

    def pause(self) -> None:
        self._end()

    def stop(self) -> None:
        self._end()

    def check(self) -> None:
        from spark_sink.session import in_sparks_words, started_too_slowly  # noqa: PLC0415

        for query in self._queries:
            error = query.exception()
            if error is None:
                continue
            told = f"The query failed: {in_sparks_words(error)}"
            if not started_too_slowly(error):
                raise ConnectError(told)
            if self._slow_starts == SLOW_STARTS:
                raise ConnectError(
                    f"{told}\nSpark started its Python {1 + SLOW_STARTS} times, and each time it "
                    "took more than ten seconds: look at spark.conf.spark.pyspark.python, and at "
                    "what else the machine is doing."
                )
            self._slow_starts += 1
            log.warning("Spark's Python did not start in time. Starting the query again")
            self._start_again()
            return
        self._observe()

    def _start_again(self) -> None:
        from spark_sink.query import start_queries  # noqa: PLC0415 - needs the extra
        from spark_sink.session import sparks_words  # noqa: PLC0415

        with sparks_words():
            for query in self._queries:
                query.stop()
            self._observe()
            self._seen = {}
            self._queries = start_queries(self._spark, self._settings)

    def metrics(self) -> Mapping[str, float]:
        longest = self._gauges.pop("sink_put_seconds_max", 0.0)
        return {**self._counts, **self._gauges, "sink_put_seconds_max": longest}

    def _observe(self) -> None:
        """Take note of what the queries told since the last look."""
        for query in self._queries:
            for told in query.recentProgress:
                # An idle query tells the number of the batch that is to come, so that is no key.
                when = told["batchId"], told["timestamp"]
                if when <= self._seen.get(query.name, (-1, "")):
                    continue
                self._seen[query.name] = when
                if query is self._queries[0]:
                    self._take(told)

    def _take(self, progress: Mapping[str, Any]) -> None:
        self._slow_starts = 0
        source = progress["sources"][0]
        end, latest = _offsets(source["endOffset"]), _offsets(source["latestOffset"])
        behind = [offset - end[place] for place, offset in latest.items() if place in end]
        self._gauges |= {"sink_partitions": len(end), "sink_lag": max(behind, default=0)}
        rows = max(0, source["numInputRows"])  # that of the whole is not told over Spark Connect
        if rows:
            took = progress.get("durationMs", {}).get("triggerExecution", 0) / 1000
            longest = max(took, self._gauges.get("sink_put_seconds_max", 0))
            self._gauges["sink_put_seconds_max"] = longest
            self._counts.update(
                sink_read=rows, sink_sent=rows, sink_batches=1, sink_put_seconds=took
            )
        self._mirror(end)

    def _mirror(self, end: Mapping[tuple[str, int], int]) -> None:
        """Commit where the query stands to the consumer group. It fails without harm."""
        changed = {p: o for p, o in end.items() if self._mirrored.get(p) != o}
        if not changed:
            return
        spec = self.context.pipeline
        group = clients.sink_group(spec.connector, spec.worker, spec.config)
        places = [TopicPartition(topic, number, o) for (topic, number), o in changed.items()]
        admin = clients.admin_client(f"spark-offsets-{spec.connector}", spec.worker, spec.config)
        try:
            request = [ConsumerGroupTopicPartitions(group, places)]
            admin.alter_consumer_group_offsets(request)[group].result(30)
        except KafkaException as error:
            log.warning("Offsets could not be mirrored to %s: %s", group, error.args[0].str())
            return
        self._mirrored |= changed
        self._counts["sink_commits"] += 1

    def _end(self) -> None:
        for query in self._queries:
            _stop(query)
        if self._queries:
            self._observe()
        self._queries = []
        self._seen = {}
        if self._spark is not None:
            self._spark.stop()
            self._spark = None


def _stop(query: Any) -> None:
    from spark_sink.session import in_sparks_words  # noqa: PLC0415 - needs the extra

    try:
        query.stop()
    except Exception as error:
        # Its batch takes longer than Spark waits. It ends with Spark, and comes again.
        told = in_sparks_words(error)
        if told is None:
            raise
        log.warning("The batch of %s under way is cut off: %s", query.name, told.splitlines()[0])


def _offsets(told: str) -> dict[tuple[str, int], int]:
    """Offsets as Spark tells them: JSON, or in Spark 4.1 as Python prints them; null for none."""
    try:
        found = json.loads(told) or {}
    except json.JSONDecodeError:
        found = ast.literal_eval(told) or {}
    return {(topic, int(p)): o for topic, parts in found.items() for p, o in parts.items()}
