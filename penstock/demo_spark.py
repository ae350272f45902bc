"""The demo's Spark part: the same topic, summed up by item in a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

NAME = "order-totals"
LETTERS = "order-totals-dlq"

SQL = """
SELECT itemid AS item, count(*) AS orders, round(sum(orderunits), 1) AS units
FROM records GROUP BY itemid
"""


def connector(topic: str, folder: Path) -> dict[str, str]:
    """The config of the Spark connector: transforms, an aggregate, a table of Parquet files."""
    return {
        "connector.class": "SparkSink",
        "topics": topic,
        "transforms": "drop",
        "transforms.drop.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
        "transforms.drop.exclude": "address",
        "spark.schema": "ordertime BIGINT, orderid INT, itemid STRING, orderunits DOUBLE",
        "spark.pipeline.sql": " ".join(SQL.split()),
        "spark.output.format": "parquet",
        "spark.output.path": str(folder / "totals"),
        "spark.output.mode": "complete",
        "spark.checkpoint.location": str(folder / "checkpoint"),
        "spark.master": "local[2]",
        "spark.conf.spark.driver.memory": "1g",
        # A short life: a quick compiler and few partitions are worth more than a good one and many.
        "spark.conf.spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.conf.spark.sql.shuffle.partitions": "2",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": LETTERS,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }


def totals(folder: Path) -> list[dict[str, Any]]:
    """The table's rows, largest first; none while Spark is about to replace its files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(folder / "totals").to_pylist()
    except (OSError, pa.ArrowException):
        return []
    return sorted(rows, key=lambda row: -row["units"])
