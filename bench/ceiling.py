"""How much a broker beside it takes from a Python program that does nothing but send.

    python -m bench.ceiling [records]

The values are ready before it begins, and are those of the work source-file. They go by the
producer, and then the short way. No source of ours can be quicker than this.
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from bench import processes
from bench.sides import JVM_FLAGS, SETTINGS
from bench.works import sources
from connect.pipeline import Outgoing
from connect.runtime import clients
from connect.runtime.express import Express
from penstock.stack import throwaway
from penstock.stack.kafka import KafkaOptions

ROUNDS = 5
BATCH = 2000


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    values = [
        b'{"line":"%b","origin":"bench"}' % sources.line(n)[:-1].encode() for n in range(BATCH)
    ]
    with throwaway.kafka(
        lambda text: print(text, file=sys.stderr), KafkaOptions("1g", JVM_FLAGS)
    ) as bootstrap:
        broker = processes.below_us("kafka.Kafka")
        assert broker is not None
        admin = AdminClient({"bootstrap.servers": bootstrap})
        for number in range(ROUNDS):
            for way, send in (("by the producer", _send), ("the short way", _send_short)):
                topic = f"ceiling-{number}-{send.__name__}"
                for made in admin.create_topics([NewTopic(topic, 1, 1)]).values():
                    made.result(30)
                used = processes.cpu_seconds(broker)
                seconds, own = send(bootstrap, topic, values, count)
                used = processes.cpu_seconds(broker) - used
                print(
                    f"{way:<16}{count / seconds / 1000:6.0f} k records/s, CPU µs a record: "
                    f"{own / count * 1e6:.2f} here, {used / count * 1e6:.2f} in the broker"
                )


def _send(bootstrap: str, topic: str, values: list[bytes], count: int) -> tuple[float, float]:
    """Seconds by the clock and of CPU time until everything is acknowledged."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": "all",
            "linger.ms": int(SETTINGS["producer.linger.ms"]),
            "batch.size": int(SETTINGS["producer.batch.size"]),
            "max.in.flight.requests.per.connection": 1,
            "delivery.report.only.error": True,
        }
    )
    produce = producer.produce
    producer.list_topics(topic)
    began, used = time.perf_counter(), time.process_time()
    for _ in range(count // len(values)):
        for value in values:
            while True:
                try:
                    produce(topic, value)
                    break
                except BufferError:
                    producer.poll(0.05)
        producer.poll(0)
    producer.flush(60)
    return time.perf_counter() - began, time.process_time() - used


def _send_short(bootstrap: str, topic: str, values: list[bytes], count: int) -> tuple[float, float]:
    worker = {"bootstrap.servers": bootstrap, **SETTINGS}
    producer = clients.source_producer("c", 0, worker, {}, _refused, every_delivery=False)
    terms = clients.express_terms("c", 0, worker, {})
    assert terms is not None
    express = Express(terms, producer, _refused, lambda: False)
    nothing = [None] * len(values)
    batch = Outgoing(topic, (), nothing, [1] * len(values), nothing, values, nothing, bare=True)
    producer.list_topics(topic)
    express.send(batch)  # the first of a topic is left to the producer
    began, used = time.perf_counter(), time.process_time()
    for _ in range(count // len(values)):
        if not express.send(batch):
            raise SystemExit("The short way is closed: see the log")
    express.settle()
    took = time.perf_counter() - began, time.process_time() - used
    express.close()
    return took


def _refused(*what: object) -> None:
    raise SystemExit(f"Kafka takes it not: {what}")


if __name__ == "__main__":
    main()
