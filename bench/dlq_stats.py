"""How long the statistics of a million dead letters take, cold and from the index.

    KAFKA_BOOTSTRAP=localhost:9092 python -m bench.dlq_stats [letters]

Writes letters of five causes with real error headers into a topic of its own, then runs
`dlq.desk` in fresh processes. Without KAFKA_BOOTSTRAP it starts a broker of its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
import uuid

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from dlq import letter as names
from penstock.stack import throwaway

CAUSES = [
    ("KEY_CONVERTER", "org.apache.kafka.connect.errors.DataException", "Bad key {n}"),
    ("VALUE_CONVERTER", "org.apache.kafka.connect.errors.DataException",
     "Converting byte[] to Kafka Connect data failed: token 'x{n}' at offset {n}"),
    ("TRANSFORMATION", "org.apache.kafka.connect.errors.DataException", "Field does not exist: id"),
    ("TASK_PUT", "org.apache.kafka.connect.errors.ConnectException", "duplicate key value {n}"),
    ("HEADER_CONVERTER", "builtins.ValueError", "invalid literal for int(): 'abc{n}'"),
]  # fmt: skip
TRACE = "".join(f"\tat some.module.function_{i} (module.py:{i})\n" for i in range(25))


def fill(bootstrap: str, topic: str, count: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for done in admin.create_topics([NewTopic(topic, 1, 1)]).values():
        done.result()
    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 50, "compression.type": "lz4",
         "queue.buffering.max.messages": 500_000}
    )  # fmt: skip
    begin = int(time.time() * 1000) - 6 * 3_600_000
    for n in range(count):
        stage, exception, message = CAUSES[n % 5]
        said = message.format(n=n).encode()
        headers: list[tuple[str, str | bytes | None]] = [
            (names.TOPIC, b"orders"), (names.PARTITION, b"%d" % (n % 3)), (names.OFFSET, b"%d" % n),
            (names.CONNECTOR, b"orders-sink"), (names.TASK, b"0"), (names.STAGE, stage.encode()),
            (names.CLASS, b"org.apache.kafka.connect.json.JsonConverter"),
            (names.EXCEPTION, exception.encode()), (names.MESSAGE, said),
            (names.STACKTRACE, b"%s: %s\n%sCaused by: ValueError: line 1 column %d\n%s"
             % (exception.encode(), said, TRACE.encode(), n % 97, TRACE.encode())),
        ]  # fmt: skip
        while True:
            try:
                producer.produce(
                    topic, b'{"order": %d, "city": "somewhere"}' % n, headers=headers,
                    timestamp=begin + n * 6 * 3_600_000 // count,
                )  # fmt: skip
            except BufferError:
                producer.poll(0.1)
            else:
                break
        if n % 10_000 == 0:
            producer.poll(0)
    producer.flush()


def measure(bootstrap: str, topic: str, folder: str) -> None:
    """In a process of its own: stats as the command does them."""
    import gc  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    from dlq.desk import Desk  # noqa: PLC0415
    from dlq.selection import Selection  # noqa: PLC0415

    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    begin = time.perf_counter()
    groups = Desk({"bootstrap.servers": bootstrap}, folder=Path(folder)).stats(topic, Selection())
    print(
        json.dumps(
            {
                "seconds": round(time.perf_counter() - begin, 2),
                "cpu": round(time.process_time(), 2),
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                "groups": [(g.stage, g.reason, g.count) for g in groups],
            }
        )
    )


def main() -> None:
    if sys.argv[1:2] == ["--measure"]:
        measure(*sys.argv[2:])
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    topic = f"bench-dlq-{uuid.uuid4().hex[:8]}"
    with throwaway.kafka(print) as bootstrap, tempfile.TemporaryDirectory() as folder:
        try:
            begin = time.perf_counter()
            fill(bootstrap, topic, count)
            print(f"{count} letters written in {time.perf_counter() - begin:.1f} s")
            for what in ("cold", "warm"):
                command = [sys.executable, "-m", "bench.dlq_stats", "--measure", bootstrap, topic]
                begin = time.perf_counter()
                done = subprocess.run([*command, folder], check=True, capture_output=True)
                found = json.loads(done.stdout)
                print(
                    f"{what}: {found['seconds']} s ({time.perf_counter() - begin:.2f} s with the "
                    f"start of Python), {found['cpu']} s of CPU, peak {found['peak_mb']} MB, "
                    f"{len(found['groups'])} groups"
                )
            for stage, reason, n in found["groups"]:
                print(f"  {n:9} {stage}: {reason}")
        finally:
            admin = AdminClient({"bootstrap.servers": bootstrap})
            admin.delete_topics([topic])[topic].result()


if __name__ == "__main__":
    main()
