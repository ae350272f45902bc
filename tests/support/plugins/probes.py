"""Connectors that tests drive: numbered records in, what arrived out, and faults on demand."""

import json
import os
import signal
import time
import uuid
from pathlib import Path

from connect import (
    ConfigDef,
    ConfigType,
    DataError,
    ExactlyOnceSupport,
    RetriableError,
    Schema,
    SinkConnector,
    SinkTask,
    SourceBatch,
    SourceConnector,
    SourceRecord,
    SourceTask,
    Transformation,
)


class NumbersTask(SourceTask):
    """0, 1, 2, … up to `count`, `batch` at a time, going on where the stored offset says."""

    def start(self, config):
        self.config = config
        tell_pid(config)
        fault(config, "task.start")
        self.partition = {"numbers": config["task.number"]}
        found = self.context.offset(self.partition)
        self.next = found["n"] if found else 0
        # A task that was stopped and started again shows as two runs.
        self.run = f"{config.raw['name']}-{config['task.number']}/{uuid.uuid4().hex[:8]}"

    def poll(self):
        fault(self.config, "poll")
        end = min(self.next + self.config["batch"], self.config["count"])
        if self.next >= end:
            fault(self.config, "end")
            return None
        records = [
            SourceRecord.of(
                self.config["topic"],
                {"n": n, "task": self.config["task.number"], "run": self.run},
                key=str(n),
                key_schema=Schema.STRING,
                source_partition=self.partition,
                source_offset={"n": n + 1},
            )
            for n in range(self.next, end)
        ]
        self.next = end
        if self.config["pause.ms"]:
            time.sleep(self.config["pause.ms"] / 1000)
        return records

    def stop(self):
        fault(self.config, "stop")


class NumbersSource(SourceConnector):
    version = "1.2.3"
    task_class = NumbersTask
    config_def = (
        ConfigDef()
        .define("topic", doc="Where to.")
        .define("count", ConfigType.LONG, 100, doc="How many.")
        .define("batch", ConfigType.INT, 10, doc="How many at once.")
        .define("pause.ms", ConfigType.INT, 0, doc="How long a poll takes.")
        .define("task.number", default="0", doc="Set by the connector.")
        .define("fault", default="", doc="method:kind, see fault().")
        .define("fault.once.file", default="", doc="The fault happens only while it is absent.")
        .define("pid.file", default="", doc="Where to write the number of the task's process.")
    )

    def task_configs(self, max_tasks):
        fault(self.config, "task_configs")
        return [{**self.config.raw, "task.number": str(n)} for n in range(max_tasks)]

    def exactly_once_support(self):
        return ExactlyOnceSupport.SUPPORTED


class BareNumbersTask(NumbersTask):
    """The numbers as texts and nothing else, so that they may go the short way."""

    def poll(self):
        records = super().poll()
        return records and SourceBatch(
            self.config["topic"],
            [record.key for record in records],
            schema=Schema.STRING,
            source_partition=self.partition,
            offset_of=lambda i: records[i].source_offset,
        )


class BareNumbersSource(NumbersSource):
    task_class = BareNumbersTask


class TurningTask(NumbersTask):
    """Sends the second half of the numbers elsewhere."""

    def poll(self):
        records = super().poll()
        for record in records or ():
            if record.value["n"] >= self.config["count"] // 2:
                record.topic = self.config["second.topic"]
        return records


class TurningSource(NumbersSource):
    task_class = TurningTask
    config_def = NumbersSource.config_def.including(
        ConfigDef().define("second.topic", doc="Where to, later.")
    )


class GreedySource(NumbersSource):
    """Makes as many tasks as it likes."""

    config_def = NumbersSource.config_def.including(
        ConfigDef().define("tasks", ConfigType.INT, doc="How many.")
    )

    def task_configs(self, max_tasks):
        return super().task_configs(self.config["tasks"])


class HostileTask(NumbersTask):
    """Misbehaves when it hears of what is safe."""

    def commit_record(self, record, topic_partition):
        fault(self.config, "commit_record")

    def commit(self):
        fault(self.config, "commit")


class HostileSource(NumbersSource):
    """Misbehaves wherever a source connector and its task can."""

    task_class = HostileTask

    def start(self):
        fault(self.config, "start")

    def stop(self):
        fault(self.config, "connector.stop")

    def alter_offsets(self, offsets):
        fault(self.config, "alter_offsets")
        return True


class PoisonTask(NumbersTask):
    """One in ten of the numbers fails at each stage: by its last digit, see POISON."""

    def poll(self):
        return [self.poisoned(record) for record in super().poll() or ()]

    def poisoned(self, record):
        match record.value["n"] % 10:
            case 1:
                record.key, record.key_schema = object(), None
            case 2:
                record.value = {**record.value, "thing": object(), "large": 2**70}
            case 3:
                record.headers = record.headers.with_("thing", object())
            case 4:
                record.value = {**record.value, "fail": True}
            case 5:
                record.value = {**record.value, "filling": "x" * 30_000}
        return record


class PoisonSource(NumbersSource):
    task_class = PoisonTask


class BoundariesTask(NumbersTask):
    """Every tenth number ends a transaction; every second one of those is aborted."""

    def poll(self):
        records = super().poll()
        for record in records or ():
            number = record.value["n"]
            if number % 20 == 9:
                self.context.transaction.abort(record)
            elif number % 20 == 19:
                self.context.transaction.commit(record)
        return records


class BoundariesSource(NumbersSource):
    task_class = BoundariesTask

    def can_define_transaction_boundaries(self):
        return True


class CollectTask(SinkTask):
    """Appends every record as a JSON line, safe on disk after flush."""

    def start(self, config):
        self.config = config
        tell_pid(config)
        fault(config, "start")
        # By lines: whoever reads meanwhile sees whole ones, and one that is killed leaves no half.
        self.file = Path(config["file"]).open("a", buffering=1)  # noqa: SIM115 - closed in stop

    def open(self, partitions):
        fault(self.config, "open")

    def close(self, partitions):
        fault(self.config, "close")

    def put(self, records):
        if not records:
            return
        fault(self.config, "put")
        time.sleep(self.config["put.ms"] / 1000)
        for record in records:
            value = record.value
            if isinstance(value, dict) and value.get("refuse"):
                raise DataError("refused by the sink")
            if isinstance(value, dict) and value.get("report"):
                self.context.errant_record_reporter.report(record, DataError("reported"))
                continue
            line = {"t": record.topic, "p": record.original_partition, "o": record.offset}
            self.file.write(json.dumps({**line, "v": value}) + "\n")

    def flush(self, offsets):
        fault(self.config, "flush")
        self.file.flush()
        os.fsync(self.file.fileno())

    def stop(self):
        fault(self.config, "stop")
        self.file.close()


class CollectSink(SinkConnector):
    task_class = CollectTask
    config_def = (
        ConfigDef()
        .define("file", doc="Where to.")
        .define("put.ms", ConfigType.INT, 0, doc="How long a put takes.")
        .define("fault", default="", doc="method:kind, see fault().")
        .define("fault.once.file", default="", doc="The fault happens only while it is absent.")
        .define("pid.file", default="", doc="Where to write the number of the task's process.")
    )


class WatchingSource(NumbersSource):
    """A connector that overrides start(), so that it gets a process of its own."""

    def start(self):
        fault(self.config, "start")


class StrictSource(NumbersSource):
    """Misbehaves while it is validated."""

    @classmethod
    def validate(cls, values):
        fault({"fault": values["fault"].value or "", "fault.once.file": ""}, "validate")


class AckTask(NumbersTask):
    """Writes which records it hears are safe."""

    def commit_record(self, record, topic_partition):
        with Path(self.config["file"]).open("a") as file:
            place = topic_partition and [*topic_partition]
            file.write(json.dumps({"n": record.value["n"], "at": place}) + "\n")

    def commit(self):
        with Path(self.config["file"]).open("a") as file:
            file.write(json.dumps({"commit": True}) + "\n")


class AckSource(NumbersSource):
    task_class = AckTask
    config_def = NumbersSource.config_def.including(ConfigDef().define("file", doc="Where to."))


class DatedTask(NumbersTask):
    """Each number wants a partition, has a header and is ten minutes old; one in ten is a day."""

    def poll(self):
        return [self.dated(record) for record in super().poll() or ()]

    def dated(self, record):
        number = record.value["n"]
        minutes = 24 * 60 if number % 10 == 5 else 10
        record.timestamp = int(time.time() - minutes * 60) * 1000
        record.partition = number % 2
        record.headers = record.headers.with_("n", str(number))
        record.value = {**record.value, "at": record.timestamp}
        return record


class DatedSource(NumbersSource):
    task_class = DatedTask


class DatedAckTask(DatedTask, AckTask):
    """Those, and writes which of them it hears are safe."""


class DatedAckSource(AckSource):
    task_class = DatedAckTask


class FailOn(Transformation):
    """Refuses records whose value says so."""

    config_def = (
        ConfigDef()
        .define("field", doc="Fails where this field is true.")
        .define("fault", default="", doc="method:kind, see fault().")
        .define("fault.once.file", default="", doc="The fault happens only while it is absent.")
    )

    def configure(self, config):
        self.config = config
        fault(config, "configure")
        self.field = config["field"]

    def apply(self, record):
        fault(self.config, "apply")
        if record.value.get(self.field):
            raise DataError(f"{self.field} is set")
        return record


def tell_pid(config):
    if config["pid.file"]:
        Path(config["pid.file"]).write_text(str(os.getpid()))


def fault(config, method):
    """Do what `fault=method:kind` says, unless this is another method."""
    wanted, _, kind = config["fault"].partition(":")
    if wanted != method:
        return
    if once := config["fault.once.file"]:
        try:
            Path(once).touch(exist_ok=False)
        except FileExistsError:
            return
    match kind:
        case "block":
            while True:
                time.sleep(3600)
        case "spin":
            while True:
                pass
        case "leak":
            hoard = []
            while True:
                hoard.append(bytearray(16 * 1024 * 1024))
        case "exit":
            os._exit(42)
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "base":
            raise BaseException("not even an Exception")  # noqa: TRY002 - the worst there is
        case "retry":
            raise RetriableError("not now")
        case "print":
            print("hello from the plugin", flush=True)  # noqa: T201
        case "fork":
            child = os.fork()
            if child == 0:
                while True:
                    time.sleep(3600)
            with Path(config["file"]).open("a") as file:
                file.write(json.dumps({"forked": child}) + "\n")
        case _:
            raise ValueError(f"{method} fails as told")
