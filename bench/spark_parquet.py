"""Kafka → JSON → three transforms → Parquet in one Spark session: with ours, with Spark's source.

The other side is Spark's own Kafka source with from_json and the same changes as expressions.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import functions as f

import spark_sink
from bench import processes
from bench.runs import Sample
from bench.works import orders, sinks
from penstock.errors import UserError
from penstock.stack.jars import Artefact, Bundle, retrieve
from spark_sink.session import start_session

_TYPES = {"int64": "BIGINT", "string": "STRING", "double": "DOUBLE", "boolean": "BOOLEAN"}
READ = ", ".join(f"{name} {_TYPES[kind]}" for name, kind in orders.FIELDS.items())
WRITTEN = READ.replace("customer ", "client ").replace(", note STRING", "") + ", origin STRING"
SETTINGS = {"spark.master": "local[2]", "spark.conf.spark.driver.memory": "2g"}
CONVERTER = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


@contextmanager
def session(jars: Path) -> Iterator[Any]:
    """One session for both, so that neither has a warmer JVM."""
    names = ",".join(str(jar) for jar in jars.glob("*.jar"))
    spark = start_session({**SETTINGS, "spark.conf.spark.jars": names}, "bench")
    spark.sparkContext.setLogLevel("ERROR")
    spark_sink.register(spark)
    try:
        yield spark
    finally:
        spark.stop()


def kafka_jars(say: Callable[[str], None]) -> Path:
    """The jars of Spark's Kafka source; UserError where they can't be had."""
    # The token provider is only asked where Kerberos is; an older one serves where 4.2.0 is not.
    try:
        return retrieve(_bundle("4.2.0"), say)
    except UserError:
        return retrieve(_bundle("4.0.0"), say)


def _bundle(token_provider: str) -> Bundle:
    spark = "org.apache.spark"
    return Bundle(
        "spark-kafka",
        "Spark's Kafka source",
        (
            Artefact(spark, "spark-sql-kafka-0-10_2.13", "4.2.0", alone=True),
            Artefact(spark, "spark-token-provider-kafka-0-10_2.13", token_provider, alone=True),
            Artefact("org.apache.kafka", "kafka-clients", "3.9.2", alone=True),
            Artefact("org.apache.commons", "commons-pool2", "2.13.1", alone=True),
        ),
    )


def ours(spark: Any, bootstrap: str, topic: str) -> Any:
    return (
        spark.read.format("penstock")
        .option("bootstrap.servers", bootstrap)
        .option("topics", topic)
        .options(**CONVERTER, **sinks.TRANSFORMS)
        .option("spark.schema", WRITTEN)
        .load()
        .drop("_kafka", "_error")
    )


def sparks(spark: Any, bootstrap: str, topic: str) -> Any:
    return (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .load()
        .select(f.from_json(f.col("value").cast("string"), READ).alias("value"))
        .select("value.*")
        .withColumn("origin", f.lit("bench"))
        .withColumnRenamed("customer", "client")
        .drop("note")
        .withColumn("email", f.lit(""))
    )


def written(rows: Any, out: Path, count: int) -> Sample:
    """Write all of it, and look whether it was all. Java and its Python are measured together."""
    driver = rows.sparkSession.sparkContext._gateway.proc.pid
    cpu, began = processes.cpu_seconds(driver), time.perf_counter()
    try:
        with processes.MemoryWatch(driver) as memory:
            rows.write.parquet(str(out))
        took, cpu = time.perf_counter() - began, processes.cpu_seconds(driver) - cpu
        found = rows.sparkSession.read.parquet(str(out)).count()
        assert found == count, f"{found} rows of {count} records"
    finally:
        shutil.rmtree(out, ignore_errors=True)
    return Sample(count / took, cpu / count * 1e6, memory.peak / 1e6, {"driver": cpu / took})
