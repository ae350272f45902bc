"""Kafka to Parquet on Spark, beside Spark's own Kafka source."""

from __future__ import annotations

from bench import spark_parquet
from bench.runs import Bench, CouldNotRunError, Row, Sample


def to_parquet(bench: Bench, row: Row) -> None:
    bench.stop_workers()  # Spark has the machine for itself
    records = bench.records(1_000_000)
    measured = spark_parquet.measure(bench.bootstrap, records, bench.rounds)
    if "sparks" not in measured:
        raise CouldNotRunError("the jars of Spark's Kafka source can't be had here")
    for samples, side in ((row.theirs, measured["sparks"]), (row.ours, measured["ours"])):
        samples += [Sample(records / took, memory=side.megabytes) for took in side.seconds]
    row.settings = {"spark.master": "local[2]", "spark.driver.memory": "2g", **spark_parquet.OURS}
