"""Batches into a topic, exactly once for readers with `read_committed`. No jar is needed."""

from __future__ import annotations

import json
from typing import Any

from connect import ConfigError
from connect.pipeline import PipelineSpec
from spark_sink.settings import Output
from spark_sink.transactions import BatchProducer

# Producers stay open from batch to batch: to open one costs more than most batches.
_open: dict[tuple[str, str], BatchProducer] = {}


def write_kafka(output: Output, rows: Any, query: str, batch: int, spec: PipelineSpec) -> None:
    """Write rows to the topic, in the worker's Kafka, from the driver.

    Column `key` is the key if there is one; column `value` the value, or all others as JSON.
    """
    topic = output.options.get("topic")
    if not topic:
        raise ConfigError("spark.output.option.topic", topic, "is not set: which topic?")
    place, wanted = (spec.connector, output.name), (topic, spec.worker, spec.config)
    producer = _open.get(place)
    if producer is None or (producer.topic, producer.spec.worker, producer.spec.config) != wanted:
        if producer is not None:
            producer.close()
        producer = _open[place] = BatchProducer(spec, topic, output.name or "output")
    local = rows.toLocalIterator(prefetchPartitions=True)
    producer.write((_message(row.asDict(recursive=True)) for row in local), query, batch)


def _message(row: dict[str, Any]) -> dict[str, Any]:
    key = row.pop("key", None)
    value = row["value"] if set(row) == {"value"} else row
    return {"key": _data(key), "value": _data(value)}


def _data(value: Any) -> bytes | str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    return json.dumps(value, default=_text, ensure_ascii=False)


def _text(value: Any) -> Any:
    """Times, decimals and bytes, for which JSON has no words."""
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
