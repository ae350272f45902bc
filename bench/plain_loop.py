"""The loop one would write by hand: consume, decode, count. Prints what it reached as JSON.

    python -m bench.plain_loop avro|protobuf bootstrap topic registry-url count

It takes the schema of the first message from the registry and expects no other: no checks, no
records, no offsets, no errors.
"""

from __future__ import annotations

import io
import json
import resource
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer
from confluent_kafka.schema_registry import SchemaRegistryClient


def decoder(name: str, url: str, first: bytes) -> Callable[[Any], Any]:
    text = SchemaRegistryClient({"url": url}).get_schema(int.from_bytes(first[1:5])).schema_str
    assert text is not None
    if name == "avro":
        import fastavro  # noqa: PLC0415

        parsed = fastavro.parse_schema(json.loads(text))
        read = fastavro.schemaless_reader
        return lambda data: read(io.BytesIO(data[5:]), parsed)

    from converters.protobuf.compiling import ProtoFile, message_class  # noqa: PLC0415

    message = message_class(ProtoFile(text, {}).descriptor("bench.Order"))
    fields = [field.name for field in message.DESCRIPTOR.fields]

    def decode(data: bytes) -> dict[str, Any]:
        # Five bytes of frame, one that says "the first message of the file".
        found = message.FromString(data[6:])
        return {field: getattr(found, field) for field in fields}

    return decode


def main() -> None:
    name, bootstrap, topic, url, total = sys.argv[1:]
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"plain-{uuid.uuid4().hex}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.queue.backoff.ms": 2,
            "queued.min.messages": 100_000,
            "fetch.message.max.bytes": 4 * 1024 * 1024,
        }
    )
    consumer.subscribe([topic])
    while not (messages := consumer.consume(5000, 0.1)):
        pass
    decode = decoder(name, url, messages[0].value() or b"")
    began, used = time.perf_counter(), _cpu()
    count = first = len(messages)
    for message in messages:
        decode(message.value())
    while count < int(total):
        for message in consumer.consume(5000, 0.05):
            decode(message.value())
            count += 1
    seconds, cpu = time.perf_counter() - began, _cpu() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    consumer.close()
    count -= first
    print(json.dumps({"value": count / seconds, "cpu": cpu / count * 1e6, "memory": peak}))


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
