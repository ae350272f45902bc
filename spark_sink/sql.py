"""Mistakes in a pipeline's SQL, found before anything runs."""

from __future__ import annotations

from typing import Any

from spark_sink.session import in_sparks_words


def mistake_in(sql: str) -> str | None:
    """What Spark's parser says against a query, with the place; None if nothing.

    Only Java and the parser are started, no Spark: whether columns exist is seen when the task
    starts.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415 - needs the extra
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415

    try:
        gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
    except PySparkException:
        return "Spark could not start Java to parse it: Java 17 or newer must be installed"
    try:
        parser = gateway.jvm.org.apache.spark.sql.catalyst.parser.CatalystSqlParser()
        parser.parsePlan(sql)
    except Py4JError as error:
        told = in_sparks_words(error)
        if told is None:
            raise
        return told
    finally:
        gateway.shutdown()
        gateway.proc.kill()
    return None
