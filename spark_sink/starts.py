"""Where a connector's queries begin: settled once, and kept in their checkpoints."""

from __future__ import annotations

import logging
from typing import Any

import orjson
from pyspark.errors import AnalysisException
from pyspark.sql import functions as f

from connect.pipeline import PipelineSpec
from spark_sink.offsets import Log, to_json
from spark_sink.options import ReadOptions, connector_options

log = logging.getLogger(__name__)


def kept_start(spark: Any, spec: PipelineSpec, wanted: str, checkpoint: str, name: str) -> str:
    """The offsets that a query begins at, as JSON; settled if it has not been.

    Spark's checkpoint says where batches end. Where the first one begins is asked of the source
    again when it comes again, and by then `latest`, or the group, has moved. Queries that begin
    together begin at the same offsets: the group moves with the first of them.

    Spark writes and reads them, as only it may reach the checkpoint.
    """
    place = f"{checkpoint}/{name}/start"
    kept = _text(spark, place)
    if kept is not None:
        return kept
    has_begun = _text(spark, f"{checkpoint}/records/metadata") is not None
    start = None if has_begun else _text(spark, f"{checkpoint}/records/start")
    if start is None:
        start = _settled(spec, wanted)
    line = spark.range(0, 1, 1, 1).select(f.lit(start).alias("value"))
    line.write.mode("overwrite").text(place)
    log.info("The query of %s begins at %s", name, start)
    return start


def _settled(spec: PipelineSpec, wanted: str) -> str:
    kafka = Log(ReadOptions.parse(connector_options(spec)))
    places = kafka.partitions(all_topics=False)
    offsets = kafka.resolve("spark.starting.offsets", wanted, places)
    return orjson.dumps(to_json(offsets)).decode()


def _text(spark: Any, path: str) -> str | None:
    """A file's first line; None if it is not there, or a kill has left it empty."""
    try:
        lines = spark.read.text(path).collect()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return None
    return str(lines[0][0]) if lines else None
