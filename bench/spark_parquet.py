"""Kafka → JSON → three transforms → Parquet on Spark's local[2], ours against Spark's own source.

    python -m bench.spark_parquet [records] [repetitions]

Both sides run in turn in one session, so that neither has a warmer JVM. The other side is Spark's
own Kafka source with from_json and the same three changes as expressions.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import functions as f

import spark_sink
from bench.processes import MemoryWatch
from penstock.errors import UserError
from penstock.stack import throwaway
from penstock.stack.jars import Artefact, Bundle, retrieve
from spark_sink.session import start_session

TOPIC = "bench-spark"
PARTITIONS = 2
DDL = (
    "id BIGINT, customer STRING, email STRING, amount DOUBLE, quantity INT, product STRING, "
    "city STRING, country STRING, created BIGINT, paid BOOLEAN"
)
OURS = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "transforms": "add,drop,mask",
    "transforms.add.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.add.static.field": "site",
    "transforms.add.static.value": "north",
    "transforms.drop.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
    "transforms.drop.exclude": "city",
    "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.mask.fields": "email",
    "spark.schema": DDL.replace("city STRING, ", "") + ", site STRING",
}


def _kafka_jars(token_provider: str) -> Bundle:
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


@dataclass
class Measured:
    """Seconds of each repetition and the highest memory, of one side."""

    seconds: list[float] = field(default_factory=list)
    megabytes: float = 0.0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def measure(bootstrap: str, records: int, repetitions: int) -> dict[str, Measured]:
    """Both sides, `ours` and `sparks`; the latter is left out where its jars can't be had."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    try:
        with _topic(bootstrap, records), _spark() as spark:
            sides: dict[str, Callable[[], Any]] = {"ours": lambda: _ours(spark, bootstrap)}
            if spark.conf.get("spark.jars", ""):
                sides["sparks"] = lambda: _sparks(spark, bootstrap)
            measured = {name: Measured() for name in sides}
            # The first round warms up: it compiles, forks and connects.
            for repetition in range(repetitions + 1):
                for name, rows in sides.items():
                    out = folder / f"{name}-{repetition}"
                    with MemoryWatch(os.getpid()) as watch:
                        began = time.perf_counter()
                        rows().write.parquet(str(out))
                        took = time.perf_counter() - began
                    written = spark.read.parquet(str(out)).count()
                    assert written == records, f"{name}: {written} rows of {records} records"
                    if repetition:
                        measured[name].seconds.append(took)
                        used = max(measured[name].megabytes, watch.peak / 2**20)
                        measured[name].megabytes = used
                    shutil.rmtree(out)
            return measured
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _ours(spark: Any, bootstrap: str) -> Any:
    return (
        spark.read.format("penstock")
        .option("bootstrap.servers", bootstrap)
        .option("topics", TOPIC)
        .options(**OURS)
        .load()
        .drop("_kafka", "_error")
    )


def _sparks(spark: Any, bootstrap: str) -> Any:
    return (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", TOPIC)
        .load()
        .select(f.from_json(f.col("value").cast("string"), DDL).alias("value"))
        .select("value.*")
        .withColumn("site", f.lit("north"))
        .drop("city")
        .withColumn("email", f.lit(""))
    )


@contextmanager
def _spark() -> Iterator[Any]:
    config = {"spark.master": "local[2]", "spark.conf.spark.driver.memory": "2g"}
    jars = _jars()
    if jars is not None:
        config["spark.conf.spark.jars"] = ",".join(str(jar) for jar in jars.glob("*.jar"))
    spark = start_session(config, "bench")
    spark.sparkContext.setLogLevel("ERROR")
    spark_sink.register(spark)
    try:
        yield spark
    finally:
        spark.stop()


def _jars() -> Path | None:
    # The token provider is only asked where Kerberos is; an older one serves where 4.2.0 is not.
    for version in ("4.2.0", "4.0.0"):
        try:
            return retrieve(_kafka_jars(version), print)
        except UserError:
            continue
    return None


@contextmanager
def _topic(bootstrap: str, records: int) -> Iterator[None]:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "batch.size": 1 << 20})
    for n in range(records):
        while True:
            try:
                producer.produce(TOPIC, _record(n), partition=n % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()
    try:
        yield
    finally:
        admin.delete_topics([TOPIC])[TOPIC].result(30)


def _record(n: int) -> bytes:
    return json.dumps(
        {
            "id": n,
            "customer": f"customer-{n % 5000}",
            "email": f"customer{n % 5000}@example.org",
            "amount": n % 1000 / 4,
            "quantity": n % 7,
            "product": f"product-{n % 300}",
            "city": f"city-{n % 90}",
            "country": "NO",
            "created": 1_700_000_000_000 + n,
            "paid": n % 3 == 0,
        }
    ).encode()


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    repetitions = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with throwaway.kafka(print) as bootstrap:
        measured = measure(bootstrap, records, repetitions)
    for name, side in measured.items():
        print(
            f"{name:7} {side.median:6.2f} s  {records / side.median:9,.0f} records/s  "
            f"{side.megabytes:6,.0f} MB (Java and Python together)"
        )
    if "sparks" in measured:
        print(f"ours is {measured['sparks'].median / measured['ours'].median:.2f} times as fast")
    else:
        print("Spark's Kafka source can't be had here: its jars were not found")


if __name__ == "__main__":
    main()
