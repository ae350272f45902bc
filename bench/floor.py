"""Where a sink record's time goes, and what no Python program could save.

    python -m bench.floor [records]

One thread, against the broker of librdkafka's own test kit, so that no other process is part of
it. CPU time of this thread, µs a record, the best of several batches.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec
from confluent_kafka import Consumer, Producer, TopicPartition

from bench.sides import SETTINGS
from bench.works import orders, sinks
from connect.data.java_lines import java_lines_of
from connect.pipeline import PipelineSpec, SinkPipeline
from connect.runtime.memory import tune_garbage_collection
from connectors.file.sink import _lines

BATCH = 2000


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    producer = Producer({"test.mock.num.brokers": 1, "queue.buffering.max.messages": 10_000_000})
    for key, value in orders.plain(range(count)):
        producer.produce("orders", value, key)
    producer.flush(60)
    broker = next(iter(producer.list_topics().brokers.values()))
    consumer = Consumer(
        {
            "bootstrap.servers": f"{broker.host}:{broker.port}",
            "group.id": "floor",
            "auto.offset.reset": "earliest",
            "fetch.queue.backoff.ms": 2,
            "queued.min.messages": 1_000_000,
        }
    )
    partitions = producer.list_topics("orders").topics["orders"].partitions
    consumer.assign([TopicPartition("orders", number, 0) for number in partitions])
    tune_garbage_collection()
    spec = PipelineSpec("floor", 0, {**SETTINGS, **sinks.TRANSFORMS})
    pipeline = SinkPipeline(spec, spec.retry())
    decode = msgspec.json.Decoder().decode
    best: dict[str, float] = {}

    def timed(name: str, step: Callable[[], Any]) -> Any:
        began = time.thread_time()
        result = step()
        took = (time.thread_time() - began) / BATCH * 1e6
        best[name] = min(took, best.get(name, took))
        return result

    seen = 0
    while seen < count:
        messages = timed("consume", lambda: consumer.consume(BATCH, 10))
        if len(messages) < BATCH:
            break
        seen += len(messages)
        values = [message.value() for message in messages]
        timed("parse", lambda: [*map(decode, values)])  # noqa: B023
        records, _ = timed("convert and transform", lambda: pipeline.run(messages))  # noqa: B023
        timed("print", lambda: _lines(records))  # noqa: B023
        batch, _ = timed("the same by columns", lambda: pipeline.run_batch(messages))  # noqa: B023
        timed("print columns", lambda: java_lines_of(batch.columns))  # noqa: B023
    consumer.close()
    for name, took in best.items():
        print(f"{name:<24}{took:6.2f} µs")
    floor = best["consume"] + best["parse"]
    print(f"{'floor: consume, parse':<24}{floor:6.2f} µs")
    for name, stages in (
        ("all of it", ("consume", "convert and transform", "print")),
        ("all of it by columns", ("consume", "the same by columns", "print columns")),
    ):
        whole = sum(best[stage] for stage in stages)
        print(f"{name:<24}{whole:6.2f} µs, {whole / floor:.1f} times the floor")


if __name__ == "__main__":
    main()
