"""Kafka to Parquet on Spark, beside Spark's own Kafka source and a worker's file sink."""

from __future__ import annotations

from typing import Any

from bench import spark_parquet
from bench.runs import Bench, CouldNotRunError, Row, alternate
from bench.works import orders, sinks
from penstock.errors import UserError


def to_parquet(bench: Bench, beside_spark: Row, beside_worker: Row) -> None:
    bench.stop_workers()  # Spark has the machine for itself
    count = bench.records(1_000_000)
    topic = bench.filled("orders-2", lambda: orders.plain(range(count)), partitions=2)
    try:
        jars = spark_parquet.kafka_jars(bench.say)
    except UserError as error:
        raise CouldNotRunError("the jars of Spark's Kafka source can't be had here") from error

    with spark_parquet.session(jars) as spark:

        def run(source: Any) -> Any:
            return lambda: spark_parquet.written(
                source(spark, bench.bootstrap, topic), bench.folder / "parquet", count
            )

        alternate(bench, beside_spark, run(spark_parquet.sparks), run(spark_parquet.ours))
    beside_spark.settings = {**spark_parquet.SETTINGS, **sinks.TRANSFORMS}

    jvm, _ = bench.sides()
    two = {"tasks.max": "2"}
    beside_worker.ours = beside_spark.ours
    beside_worker.theirs = [
        sinks.file_run(bench, jvm, beside_worker.work, topic, count, two)
        for _ in range(len(beside_spark.ours) + 1)
    ][1:]  # the first warms up
