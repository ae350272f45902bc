"""Where a record's time goes, in a sink and in a source, and what no Python program could save.

    python -m bench.floor [records]

One thread, against the broker of librdkafka's own test kit, so that no other process is part of
it. CPU time of this thread, µs a record, the best of several batches. librdkafka's own threads,
which have another core, are not counted.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from confluent_kafka import Consumer, Producer, TopicPartition

from bench.sides import SETTINGS
from bench.works import orders, sinks, sources
from connect import Schema, SourceBatch
from connect.data.java_lines import java_lines_of
from connect.pipeline import PipelineSpec, SinkPipeline, SourcePipeline
from connect.runtime.memory import tune_allocation, tune_garbage_collection
from connect.runtime.record_batch import RecordBatch, Signature
from connectors.file.lines import LineSplitter
from connectors.file.sink import _lines

BATCH = 2000

T = TypeVar("T")


class Stages:
    """The best time of each stage, in CPU µs a record."""

    def __init__(self) -> None:
        self.best: dict[str, float] = {}

    def timed(self, name: str, step: Callable[[], T]) -> T:
        began = time.thread_time()
        result = step()
        took = (time.thread_time() - began) / BATCH * 1e6
        self.best[name] = min(took, self.best.get(name, took))
        return result

    def show(self, floor: Sequence[str], ways: Mapping[str, Sequence[str]]) -> None:
        for name, took in self.best.items():
            print(f"  {name:<24}{took:6.2f} µs")
        lowest = sum(self.best[stage] for stage in floor)
        print(f"  {'floor: ' + ', '.join(floor):<24}{lowest:6.2f} µs")
        for name, stages in ways.items():
            whole = sum(self.best[stage] for stage in stages)
            print(f"  {name:<24}{whole:6.2f} µs, {whole / lowest:.1f} times the floor")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    producer = Producer({"test.mock.num.brokers": 1, "queue.buffering.max.messages": 10_000_000})
    tune_allocation()
    tune_garbage_collection()
    print("sink: JSON, three transforms, to a file")
    _sink(producer, count)
    print("source: lines, two transforms, JSON")
    _source(producer, count)


def _sink(producer: Producer, count: int) -> None:
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
    spec = PipelineSpec("floor", 0, {**SETTINGS, **sinks.TRANSFORMS})
    pipeline = SinkPipeline(spec, spec.retry())
    decode = msgspec.json.Decoder().decode
    stages = Stages()
    timed = stages.timed
    while len(messages := timed("consume", lambda: consumer.consume(BATCH, 5))) == BATCH:
        values = [message.value() or b"" for message in messages]
        timed("parse", lambda: [*map(decode, values)])  # noqa: B023
        records, _ = timed("convert and transform", lambda: pipeline.run(messages))
        timed("print", lambda: _lines(records))  # noqa: B023
        batch, _ = timed("the same by columns", lambda: pipeline.run_batch(messages))
        assert batch.columns is not None
        columns = batch.columns
        timed("print columns", lambda: java_lines_of(columns))  # noqa: B023
    consumer.close()
    stages.show(
        ["consume", "parse"],
        {
            "all of it": ("consume", "convert and transform", "print"),
            "all of it by columns": ("consume", "the same by columns", "print columns"),
        },
    )


def _source(producer: Producer, count: int) -> None:
    spec = PipelineSpec("floor", 0, {**SETTINGS, **sources.TRANSFORMS})
    pipeline = SourcePipeline(spec, spec.retry())
    stages = Stages()
    timed = stages.timed
    for number in range(count // BATCH):
        block = "".join(map(sources.line, range(number * BATCH, (number + 1) * BATCH))).encode()
        lines = timed("split", lambda: LineSplitter("floor").feed(block))  # noqa: B023
        batch = SourceBatch(
            "lines", lines.texts, schema=Schema.STRING, timestamp=1, offset_of=lambda _: None
        )
        records = timed("make records", lambda: batch.records)  # noqa: B023
        timed("transform and convert", lambda: pipeline.run(records))  # noqa: B023
        [out], _, _ = timed("the same by columns", lambda: pipeline.run(batch))  # noqa: B023
        timed("pack", lambda: _packed(out.values))  # noqa: B023
        timed("produce", lambda: _produce(producer, out.values))  # noqa: B023
    producer.flush(60)
    stages.show(
        ["produce"],
        {
            "all of it": ("split", "make records", "transform and convert", "produce"),
            "all of it by columns": ("split", "the same by columns", "produce"),
            "the short way": ("split", "the same by columns", "pack"),
        },
    )


def _packed(values: Sequence[Any]) -> list[bytes]:
    records = RecordBatch(1)
    records.add(values, 1, 1 << 30)
    return records.parts(Signature(1, 0, 0))


def _produce(producer: Producer, values: Sequence[bytes | None]) -> None:
    for value in values:
        producer.produce("lines", value, None, -1, None, None, 1, None)


if __name__ == "__main__":
    main()
