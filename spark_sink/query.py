"""The Structured Streaming queries of a connector, and what each of their batches does."""

from __future__ import annotations

import json
import logging
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import functions as f

import spark_sink
from connect import Config
from connect.pipeline import PipelineSpec
from spark_sink import outputs
from spark_sink.letters import LetterBox
from spark_sink.options import START_OPTION, connector_options
from spark_sink.settings import Output, Trigger
from spark_sink.starts import kept_start
from spark_sink.watch import Watch

log = logging.getLogger(__name__)

VIEW = "records"
KAFKA_TIMESTAMP = "kafka_timestamp"

# What keeps state from batch to batch, by the names of Spark's logical plan.
_STATEFUL = re.compile(
    r"\b(Aggregate|Deduplicate\w*|Distinct|Join|FlatMapGroups\w*|TransformWithState\w*) "
)


@dataclass(frozen=True)
class Settings:
    """A connector's settings, as its queries use them."""

    spec: PipelineSpec
    config: Config
    outputs: tuple[Output, ...]
    letters: LetterBox | None
    watch: Watch
    checkpoint: str
    starting: str

    @property
    def reports(self) -> bool:
        """Whether anybody asks for the records that failed."""
        watch = self.watch
        return self.letters is not None or watch.log_errors or watch.limit is not None

    @property
    def mode(self) -> str:
        """Spark's output mode is the query's, so all outputs share it."""
        return self.outputs[0].mode


@dataclass
class Pipeline:
    """The user's part: a function, then SQL."""

    function: str | None
    sql: str | None

    def __call__(self, rows: Any) -> Any:
        if self.function:
            rows = outputs.load_function("spark.pipeline.function", self.function)(rows)
        if self.sql:
            rows.createOrReplaceTempView(VIEW)
            rows = rows.sparkSession.sql(self.sql)
        return rows


def start_queries(spark: Any, settings: Settings) -> list[Any]:
    """Start what the settings say: one query, or one for records and one for dead letters."""
    spark_sink.register(spark)
    config = settings.config
    records = _source(spark, settings, "records")
    pipeline = Pipeline(config["spark.pipeline.function"], config["spark.pipeline.sql"])
    good = records.where("_error IS NULL").drop("_error")
    watermark = config["spark.watermark.column"]
    if watermark:
        good = _watermarked(good, watermark, config["spark.watermark.delay"])
    if not _sees_stream(config, pipeline, good):
        writer = BatchWriter(settings, pipeline)
        return [_start(records, settings, "records", writer, "append")]
    # Both have settled where they begin before the first of them moves the group.
    told = _source(spark, settings, "letters") if settings.reports else None
    queries = [_start(pipeline(good), settings, "records", ResultWriter(settings), settings.mode)]
    if told is not None:
        bad = told.select("_kafka", "_error")
        queries.append(_start(bad, settings, "letters", LetterWriter(settings), "append"))
    return queries


def _source(spark: Any, settings: Settings, query: str) -> Any:
    config, spec = settings.config, settings.spec
    start = kept_start(spark, spec, settings.starting, settings.checkpoint, query)
    return (
        spark.readStream.format("penstock")
        .options(**connector_options(spec))
        .option(START_OPTION, start)
        .option("failOnDataLoss", str(config["spark.fail.on.data.loss"]).lower())
        .option("maxOffsetsPerTrigger", str(config["spark.max.offsets.per.trigger"]))
        .load()
    )


def _watermarked(rows: Any, column: str, delay: str) -> Any:
    if column == KAFKA_TIMESTAMP:
        rows = rows.withColumn(KAFKA_TIMESTAMP, f.col("_kafka.timestamp"))
    return rows.withWatermark(column, delay)


def _sees_stream(config: Mapping[str, Any], pipeline: Pipeline, good: Any) -> bool:
    """Whether the pipeline runs over the stream: it has to when it keeps state."""
    scope = config["spark.pipeline.scope"]
    if scope != "auto":
        return bool(scope == "stream")
    if not (pipeline.sql or pipeline.function):
        return False
    return bool(_STATEFUL.search(_plan(pipeline(good))))


def _plan(rows: Any) -> str:
    jdf = getattr(rows, "_jdf", None)
    if jdf is not None:
        return str(jdf.queryExecution().analyzed().toString())
    return str(rows._explain_string(extended=True)).partition("== Optimized")[0]


def _start(rows: Any, settings: Settings, name: str, writer: Any, mode: str) -> Any:
    return (
        rows.writeStream.queryName(f"{settings.spec.connector}-{name}")
        .outputMode(mode)
        .option("checkpointLocation", f"{settings.checkpoint}/{name}")
        .trigger(**Trigger.parse("spark.trigger", settings.config["spark.trigger"]).options)
        .foreachBatch(writer)
        .start()
    )


@dataclass
class _Writer:
    """What a query does with a batch. Plain data: over Spark Connect it travels to the server."""

    settings: Settings
    _query: str | None = field(default=None, init=False, repr=False)

    name = "records"

    def query_id(self, spark: Any) -> str:
        """The query's own id, which its checkpoint keeps: another checkpoint, another id.

        Together with the batch's number it names a batch for good.
        """
        if self._query is None:
            lines = spark.read.text(f"{self.settings.checkpoint}/{self.name}/metadata").collect()
            self._query = str(json.loads(lines[0][0])["id"])
        return self._query

    def report(self, batch: Any, query: str, number: int) -> None:
        """Tell of the batch's failures: in the log, and in dead letters."""
        if not self.settings.reports:
            return
        bad = batch.where("_error IS NOT NULL").select("_kafka", "_error").toLocalIterator()
        told = self.settings.watch.logged(bad)
        if self.settings.letters is not None:
            self.settings.letters.write(told, query, number)
        else:
            deque(told, maxlen=0)

    def write_outputs(self, rows: Any, query: str, batch: int) -> None:
        for output in self.settings.outputs:
            outputs.write(output, rows, query, batch, self.settings.spec)


@dataclass
class BatchWriter(_Writer):
    """Splits a batch into rows for the outputs and dead letters."""

    pipeline: Pipeline

    def __call__(self, batch: Any, number: int) -> None:
        query = self.query_id(batch.sparkSession)
        # Whoever reads a batch twice reads Kafka twice, and a record must not change sides between.
        twice = self.settings.reports or len(self.settings.outputs) > 1
        if twice:
            batch = batch.persist()
        try:
            self.settings.watch.guard(batch)
            good = self.pipeline(batch.where("_error IS NULL").drop("_error"))
            self.write_outputs(good, query, number)
            self.report(batch, query, number)
        finally:
            if twice:
                batch.unpersist()


@dataclass
class ResultWriter(_Writer):
    """Writes what a pipeline over the stream gives."""

    def __call__(self, batch: Any, number: int) -> None:
        query = self.query_id(batch.sparkSession)
        several = len(self.settings.outputs) > 1
        rows = batch.persist() if several else batch
        try:
            self.write_outputs(rows, query, number)
        finally:
            if several:
                rows.unpersist()


@dataclass
class LetterWriter(_Writer):
    """Tells of the failures of a stream whose records go through a pipeline of their own."""

    name = "letters"

    def __call__(self, batch: Any, number: int) -> None:
        query = self.query_id(batch.sparkSession)
        self.settings.watch.guard(batch)
        self.report(batch, query, number)
