"""SparkSinkConnector: its config, and what can be said about it before Spark runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import ClassVar

from connect import (
    REQUIRED,
    ConfigDef,
    ConfigError,
    ConfigType,
    ConfigValue,
    Importance,
    SinkConnector,
    TopicPartition,
)
from connect.config.validators import at_least, one_of
from spark_sink.checkpoint import Checkpoint
from spark_sink.settings import OUTPUT_KEYS, Output, Trigger
from spark_sink.task import SparkSinkTask

_SPARK = "Spark"
_PIPELINE = "Pipeline"
_OUTPUT = "Output"

_CALLABLE = re.compile(r"[\w.]+:\w+")


def _callable(name: str, value: str | None) -> None:
    if value and not _CALLABLE.fullmatch(value):
        raise ConfigError(name, value, "Expected module:function, such as shop.orders:enrich")


def _trigger(name: str, value: str) -> None:
    Trigger.parse(name, value)


CONFIG = (
    ConfigDef()
    .define(
        "spark.master", default="local[*]", group=_SPARK,
        doc="Where Spark runs: `local[*]` within the task's process, `spark://host:7077`, `yarn`, "
        "`k8s://…`.",
    )
    .define(
        "spark.remote", default=None, group=_SPARK, importance=Importance.MEDIUM,
        doc="A Spark Connect server, `sc://host:15002`, instead of `spark.master`.",
    )
    .define(
        "spark.packages", ConfigType.LIST, "", group=_SPARK, importance=Importance.MEDIUM,
        doc="Maven coordinates of jars that Spark fetches when it starts, such as "
        "`io.delta:delta-spark_2.13:4.4.0`.",
    )
    .define(
        "spark.checkpoint.location", default=REQUIRED, group=_SPARK,
        doc="The folder of Spark's checkpoint: where the query stands. One for each connector, on "
        "storage that the driver and all executors share. Any `spark.conf.*` goes to Spark as it "
        "is.",
    )
    .define(
        "spark.trigger", default="1 second", validator=_trigger, group=_SPARK,
        importance=Importance.MEDIUM,
        doc="When a batch begins: an interval such as `10 seconds`, or `available-now` to read "
        "what is there and end.",
    )
    .define(
        "spark.max.offsets.per.trigger", ConfigType.LONG, 1_000_000, validator=at_least(1),
        group=_SPARK, importance=Importance.MEDIUM,
        doc="The most offsets that go into one batch.",
    )
    .define(
        "spark.starting.offsets", default="group", group=_SPARK, importance=Importance.MEDIUM,
        doc="Where a query without a checkpoint begins: `group` (what the connector's consumer "
        "group has committed, otherwise the beginning), `earliest`, `latest`, "
        "`timestamp:<milliseconds>`, or offsets as JSON.",
    )
    .define(
        "spark.fail.on.data.loss", ConfigType.BOOLEAN, True, group=_SPARK,
        importance=Importance.MEDIUM,
        doc="Whether offsets that are gone fail the task.",
    )
    .define(
        "spark.schema", default=None, group=_PIPELINE,
        doc="The value's columns as DDL, `id BIGINT, at TIMESTAMP`. Not set: of the registry's "
        "schemas, or of a sample.",
    )
    .define(
        "spark.schema.sample", ConfigType.INT, 1000, validator=at_least(1), group=_PIPELINE,
        importance=Importance.LOW, doc="How many records are looked at to find the columns.",
    )
    .define(
        "spark.pipeline.sql", default=None, group=_PIPELINE,
        doc="A query over the view `records`. Its result goes to the output.",
    )
    .define(
        "spark.pipeline.function", default=None, validator=_callable, group=_PIPELINE,
        doc="`module:function` that takes a DataFrame of records and gives the one to write. With "
        "`spark.pipeline.sql`, it comes first.",
    )
    .define(
        "spark.pipeline.scope", default="auto", validator=one_of("auto", "batch", "stream"),
        group=_PIPELINE, importance=Importance.LOW,
        doc="What the pipeline sees: each `batch` for itself, or the `stream`, which windows and "
        "other aggregates need. `auto`: the stream if there is something that keeps state.",
    )
    .define(
        "spark.watermark.column", default=None, group=_PIPELINE, importance=Importance.MEDIUM,
        doc="The timestamp column by which windows are closed; `_kafka.timestamp` by its name "
        "`kafka_timestamp`.",
    )
    .define(
        "spark.watermark.delay", default="1 minute", group=_PIPELINE, importance=Importance.MEDIUM,
        doc="How late a record may come.",
    )
    .define(
        "spark.outputs", ConfigType.LIST, "", group=_OUTPUT, importance=Importance.MEDIUM,
        doc="Names of your choice when there are several outputs. Each is set by "
        "`spark.output.<name>.format` and so on.",
    )
    .including(OUTPUT_KEYS, "spark.output.", _OUTPUT)
)  # fmt: skip


class SparkSinkConnector(SinkConnector):
    """Runs a Spark query over topics and writes its batches: files, tables, Delta, JDBC, any."""

    task_class = SparkSinkTask
    config_def: ClassVar[ConfigDef] = CONFIG

    @classmethod
    def validate(cls, values: dict[str, ConfigValue]) -> None:
        if find_spec("pyspark") is None:
            values["spark.master"].error("needs PySpark: pip install 'penstock[spark]'")
        sql = values["spark.pipeline.sql"]
        if not values["spark.outputs"].value:
            try:
                Output.check({key: value.value for key, value in values.items()}, "spark.output.")
            except ConfigError as error:
                place = values.get(error.key or "") or values["spark.output.format"]
                place.errors.append(str(error))
        if sql.value and not sql.errors and find_spec("pyspark") is not None:
            from spark_sink.sql import mistake_in  # noqa: PLC0415 - starts Java

            mistake = mistake_in(sql.value)
            if mistake:
                sql.error(mistake)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:  # noqa: ARG002
        """One task, whatever is allowed: Spark spreads the work."""
        return [dict(self.config.raw)]

    def alter_offsets(self, offsets: Mapping[TopicPartition, int | None]) -> bool:
        """A new checkpoint begins where the consumer group stands, which is changed next.

        After a reset the group stands nowhere, and spark.starting.offsets says where to begin.
        """
        is_reset = all(offset is None for offset in offsets.values())
        checkpoint = Checkpoint(self.config["spark.checkpoint.location"])
        checkpoint.begin_anew("" if is_reset else "group")
        return True
