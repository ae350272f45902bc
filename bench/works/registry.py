"""Avro and Protobuf through the registry, beside a loop that one would write by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bench.runs import Bench, Row, Sample, alternate
from bench.sides import SETTINGS
from bench.works import orders, sinks
from connect import Schema
from converters.avro import AvroConverter
from converters.protobuf import ProtobufConverter
from penstock.stack import throwaway

FORMATS: dict[str, Callable[[], Any]] = {"avro": AvroConverter, "protobuf": ProtobufConverter}
_KINDS = {
    "int64": Schema.INT64,
    "string": Schema.STRING,
    "double": Schema.FLOAT64,
    "boolean": Schema.BOOLEAN,
}


def counted(bench: Bench, *rows: Row) -> None:
    count = bench.records(1_000_000)
    with throwaway.registry(bench.say) as url:
        for row, (name, make) in zip(rows, FORMATS.items(), strict=True):
            converter = make()
            converter.configure({"schema.registry.url": url}, is_key=False)
            topic = bench.filled(f"orders-{name}", partial(_messages, converter, name, count))
            row.settings = SETTINGS
            reading = {
                "value.converter": f"io.confluent.connect.{name}.{name.title()}Converter",
                "value.converter.schema.registry.url": url,
            }
            _, ours = bench.sides()
            alternate(
                bench,
                row,
                partial(_plain_loop, bench, name, topic, url, count),
                partial(sinks.count_run, bench, ours, row.work, topic, count, reading),
            )


def _messages(converter: Any, name: str, count: int) -> Iterator[orders.Message]:
    builder = Schema.struct("bench.Order")
    for name_of_field, kind in orders.FIELDS.items():
        builder = builder.field(name_of_field, _KINDS[kind])
    schema = builder.build()
    size = 1000
    for start in range(0, count, size):
        values = [orders.order(number) for number in range(start, start + size)]
        headers: list[Any] = [[] for _ in values]
        data = converter.from_connect_batch(f"orders-{name}", [schema] * size, values, headers)
        for number, value in enumerate(data, start):
            yield orders.key(number), value


def _plain_loop(bench: Bench, name: str, topic: str, url: str, count: int) -> Sample:
    """In a process of its own, as a program by itself would be."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.plain_loop", name, bench.bootstrap, topic, url, str(count)],
        capture_output=True,
        text=True,
        check=True,
    )
    return Sample(**json.loads(done.stdout))
