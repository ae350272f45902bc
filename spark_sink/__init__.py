"""Spark: the data source `penstock`, and the connector that runs it as a query.

    spark_sink.register(spark)
    spark.read.format("penstock").option("topics", "orders")…

docs/spark.md is the way in.
"""

from __future__ import annotations

from typing import Any

__all__ = ["register"]


def register(spark: Any) -> None:
    """Make the data source `penstock` known to a session."""
    from spark_sink.source import PenstockDataSource  # noqa: PLC0415 - needs the extra

    spark.dataSource.register(PenstockDataSource)
