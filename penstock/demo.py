"""`make demo`: the product in one minute, to somebody who has never seen it.

A real Kafka and a worker are started, and a source makes up orders, some of them broken. A sink
writes the good ones through a transform chain to a file, Spark sums them up in a table, and the
broken ones become dead letters that tell why. At a terminal it shows records flow until Ctrl-C.
Without one, or with DEMO_SECONDS=n, it runs a fixed number of records, checks that none is missing,
and exits.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from confluent_kafka import Consumer, TopicPartition

from penstock import demo_spark
from penstock.errors import UserError
from penstock.stack import throwaway
from penstock.stack.guard import Guard
from penstock.stack.process import Process

TOPIC = "orders"
LETTERS = "orders-dlq"
# What the checked run sends, and which part of it is broken.
RECORDS = 5000
POISON = 0.02
RATE = 300
CHECK_SECONDS = 240.0


def main() -> None:
    """Run the demo; exits non-zero with a sentence when anything is wrong."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    seconds = os.environ.get("DEMO_SECONDS")
    live = sys.stdout.isatty() and seconds is None
    try:
        if live:
            _run(None)
        else:
            _run(_seconds(seconds))
    except KeyboardInterrupt:
        print("\nStopped; everything that was started is gone.")
        sys.exit(0 if live else 130)
    except UserError as error:
        print(f"demo: {error}", file=sys.stderr)
        sys.exit(1)


def _seconds(text: str | None) -> float:
    try:
        return float(text) if text else CHECK_SECONDS
    except ValueError:
        raise UserError(f"DEMO_SECONDS={text} is not a number of seconds.") from None


def _run(limit: float | None) -> None:
    folder = Path(tempfile.mkdtemp(prefix="penstock-demo-"))
    try:
        with (
            throwaway.kafka(print) as bootstrap,
            Guard(folder) as guard,
            _worker(bootstrap, folder, guard) as url,
        ):
            demo = Demo(bootstrap, url, folder)
            demo.create_connectors(endless=limit is None)
            try:
                if limit is None:
                    _watch(demo)
                else:
                    _check(demo, limit)
            finally:
                demo.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _worker(bootstrap: str, folder: Path, guard: Guard) -> Iterator[str]:
    """A standalone worker for the length of the block; its URL."""
    port = _port()
    settings = {
        "bootstrap.servers": bootstrap,
        "listeners": f"http://127.0.0.1:{port}",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "offset.storage.file.filename": str(folder / "offsets.json"),
        "offset.flush.interval.ms": "1000",
        "dlq.index.folder": str(folder / "dlq"),
    }
    properties = folder / "worker.properties"
    properties.write_text("".join(f"{k}={v}\n" for k, v in settings.items()))
    log = folder / "worker.log"
    print("Starting a Penstock worker")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "penstock", "standalone", properties],
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    guard.watch(Process.of(process.pid))
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_healthy(process, url, log)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _port() -> int:
    """Kafka Connect's usual port, or a free one when it is taken."""
    for wanted in (8083, 0):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", wanted))
            except OSError:
                continue
            port: int = probe.getsockname()[1]
            return port
    raise UserError("No port is free on 127.0.0.1.")


def _wait_healthy(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            if httpx.get(f"{url}/health").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    tail = log.read_text(errors="replace")[-2000:]
    raise UserError(f"The worker did not become healthy. The end of its log:\n{tail}")


class Demo:
    """The connectors and what has become of their records."""

    def __init__(self, bootstrap: str, url: str, folder: Path) -> None:
        self.bootstrap = bootstrap
        self.url = url
        self.file = folder / "orders.txt"
        self._folder = folder
        self._rest = httpx.Client(base_url=url, timeout=60)
        self._consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "demo", "enable.auto.commit": False}
        )
        self._lines = 0
        self._read = 0

    def close(self) -> None:
        self._rest.close()
        self._consumer.close()

    def create_connectors(self, *, endless: bool) -> None:
        self._create(
            "order-source",
            {
                "connector.class": "io.confluent.kafka.connect.datagen.DatagenConnector",
                "kafka.topic": TOPIC,
                "quickstart": "orders",
                "max.interval": "0",
                "iterations": "-1" if endless else str(RECORDS),
                "poison.ratio": str(POISON),
                "format": "json",
                "value.converter": "org.apache.kafka.connect.storage.StringConverter",
                "random.seed": "7",
                **({"rate": str(RATE)} if endless else {}),
            },
        )
        self._create(
            "order-sink",
            {
                "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
                "topics": TOPIC,
                "file": str(self.file),
                "transforms": "stamp,drop,mask",
                "transforms.stamp.type": "org.apache.kafka.connect.transforms.InsertField$Value",
                "transforms.stamp.offset.field": "kafka_offset",
                "transforms.drop.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
                "transforms.drop.exclude": "ordertime",
                "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
                "transforms.mask.fields": "address",
                "errors.tolerance": "all",
                "errors.deadletterqueue.topic.name": LETTERS,
                "errors.deadletterqueue.topic.replication.factor": "1",
                "errors.deadletterqueue.context.headers.enable": "true",
            },
        )
        self._create(demo_spark.NAME, demo_spark.connector(TOPIC, self._folder))

    def _create(self, name: str, config: dict[str, str]) -> None:
        answer = self._rest.post("/connectors", json={"name": name, "config": config})
        if answer.status_code != httpx.codes.CREATED:
            raise UserError(f"The connector {name} was refused: {answer.json()['message']}")
        print(f"Created connector {name}: {config['connector.class'].rpartition('.')[2]}")

    def failed_task(self) -> str | None:
        """The trace of a task that failed, if there is one."""
        statuses: dict[str, Any] = self._rest.get("/connectors?expand=status").json()
        for name, found in statuses.items():
            for part in (found["status"]["connector"], *found["status"]["tasks"]):
                if part["state"] == "FAILED":
                    return f"{name} failed:\n{part.get('trace', '')}"
        return None

    def states(self) -> dict[str, str]:
        statuses: dict[str, Any] = self._rest.get("/connectors?expand=status").json()
        return {
            name: ", ".join(task["state"] for task in found["status"]["tasks"]) or "starting"
            for name, found in statuses.items()
        }

    def produced(self) -> int:
        """How many records the topic has."""
        if TOPIC not in self._consumer.list_topics(timeout=10).topics:
            return 0
        low, high = self._consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=10)
        return int(high - low)

    def delivered(self) -> int:
        """How many lines the sink's file has."""
        if self.file.exists():
            with self.file.open("rb") as file:
                file.seek(self._read)
                added = file.read()
            self._read += len(added)
            self._lines += added.count(b"\n")
        return self._lines

    def last_lines(self, count: int) -> list[str]:
        if not self.file.exists():
            return []
        with self.file.open("rb") as file:
            file.seek(max(0, self._read - 4000))
            return file.read().decode(errors="replace").splitlines()[1:][-count:]

    def totals(self) -> list[dict[str, Any]]:
        """The rows of Spark's table."""
        return demo_spark.totals(self._folder)

    def causes(self, topic: str) -> list[dict[str, Any]]:
        """A topic's dead letters by cause, most first, as `penstock dlq stats` has them."""
        answer = self._rest.get(f"/dlq/{topic}/stats")
        # The topic comes with the first of them.
        return [] if answer.status_code == httpx.codes.NOT_FOUND else answer.json()


def _count(causes: list[dict[str, Any]]) -> int:
    return sum(cause["count"] for cause in causes)


def _check(demo: Demo, limit: float) -> None:
    """Wait until every record is in the file or a dead letter, and say so."""
    deadline = time.monotonic() + limit
    while True:
        causes = demo.causes(LETTERS)
        counts = demo.produced(), demo.delivered(), _count(causes)
        totals = demo.totals()
        summed = sum(row["orders"] for row in totals)
        if counts[0] == RECORDS and counts[1] + counts[2] >= RECORDS and summed >= counts[1]:
            break
        if trace := demo.failed_task():
            raise UserError(trace)
        if time.monotonic() > deadline:
            raise UserError(
                f"After {limit:.0f} s the topic has {counts[0]} of {RECORDS} records, the file "
                f"{counts[1]}, the dead-letter topic {counts[2]} and Spark's table {summed}."
            )
        time.sleep(0.2)
    produced, delivered, letters = counts
    if delivered + letters != produced or not letters:
        raise UserError(
            f"{produced} records became {delivered} lines and {letters} dead letters: "
            "these must add up, and some must be dead letters."
        )
    print(f"\n{produced} records = {delivered} lines in the sink's file + {letters} dead letters")
    for cause in causes:
        print(f"  {cause['count']:4} of {cause['stage']}: {cause['reason']}")
    print("\nA line of the sink, after three transforms:")
    print(f"  {demo.last_lines(1)[0]}")
    _check_spark(demo, totals, produced, deadline)
    print("Everything adds up.")


def _check_spark(demo: Demo, totals: list[dict[str, Any]], produced: int, deadline: float) -> None:
    """Spark's table and its dead letters must be all records too."""
    summed = sum(row["orders"] for row in totals)
    # They are written by a query of their own beside the aggregate's.
    while (letters := _count(demo.causes(demo_spark.LETTERS))) + summed < produced:
        if time.monotonic() > deadline:
            break
        time.sleep(0.2)
    if summed + letters != produced:
        raise UserError(
            f"{produced} records became {summed} orders in Spark's table and {letters} dead "
            "letters: these must add up."
        )
    print(f"\nSpark's table has {len(totals)} items of {summed} orders + {letters} dead letters:")
    for row in totals[:3]:
        print(f"  {row['item']:10} {row['orders']:4} orders {row['units']:8.1f} units")


def _watch(demo: Demo) -> None:
    """A live view until Ctrl-C."""
    from rich.console import Console
    from rich.live import Live

    console = Console()
    with Live(console=console, refresh_per_second=4, screen=False) as live:
        before, when = 0, time.monotonic()
        rate = 0.0
        while True:
            produced, delivered, causes = demo.produced(), demo.delivered(), demo.causes(LETTERS)
            now = time.monotonic()
            if now - when >= 1:
                rate, before, when = (delivered - before) / (now - when), delivered, now
            live.update(_view(demo, produced, delivered, causes, rate))
            if trace := demo.failed_task():
                raise UserError(trace)
            time.sleep(0.25)


def _view(
    demo: Demo, produced: int, delivered: int, causes: list[dict[str, Any]], rate: float
) -> Any:
    from rich.console import Group
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    flow = Table.grid(padding=(0, 2))
    states = demo.states()
    flow.add_row("order-source", f"[green]{states.get('order-source', '')}", "makes up orders")
    flow.add_row(f"topic {TOPIC}", f"[bold]{produced}", "records in Kafka")
    flow.add_row(
        "order-sink",
        f"[green]{states.get('order-sink', '')}",
        "InsertField → ReplaceField → MaskField → file",
    )
    flow.add_row(
        demo_spark.NAME,
        f"[green]{states.get(demo_spark.NAME, '')}",
        "ReplaceField → Spark: GROUP BY item → Parquet table",
    )
    flow.add_row("delivered", f"[bold green]{delivered}", f"lines, {rate:.0f}/s")
    flow.add_row("dead letters", f"[bold red]{_count(causes)}", f"in topic {LETTERS}")

    reasons = Table("count", "stage", "why", box=None, header_style="dim")
    for cause in causes[:5]:
        # As Text: what stands in brackets in a message is no colour.
        reasons.add_row(f"[red]{cause['count']}", cause["stage"], Text(cause["reason"][:160]))

    summed = demo.totals()
    items = Table("item", "orders", "units", box=None, header_style="dim")
    for row in summed[:3]:
        items.add_row(row["item"], str(row["orders"]), f"{row['units']:.1f}")
    if not summed:
        items.add_row("Spark is starting", "", "")

    urls = "\n".join(
        [
            f"curl {demo.url}/connectors?expand=status",
            f"curl {demo.url}/connectors/order-sink/config",
            f"curl -X PUT {demo.url}/connectors/order-sink/pause",
            f"curl {demo.url}/dlq/{LETTERS}/stats",
            f"curl {demo.url}/metrics        # and in a browser: {demo.url}/docs",
        ]
    )
    return Group(
        Panel(flow, title="Records flow", border_style="blue"),
        Panel(Text("\n".join(demo.last_lines(4))), title=str(demo.file), border_style="green"),
        Panel(items, title=f"Spark's table: {len(summed)} items", border_style="yellow"),
        Panel(reasons, title="Dead letters, and why", border_style="red"),
        Panel(urls, title="Try it in another terminal · Ctrl-C ends everything"),
    )


if __name__ == "__main__":
    main()
