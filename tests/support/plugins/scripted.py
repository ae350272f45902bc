"""Connectors whose records, or settings, say what they are to do with the framework's contexts."""

import json
from pathlib import Path

from connect import ConfigDef, DataError, RetriableError, SinkConnector, SinkTask, TopicPartition


class ScriptedTask(SinkTask):
    """Writes what happens to a file, a JSON line an event, and obeys `do` in values."""

    def start(self, config):
        self.path = Path(config["file"])
        self.done = set()
        self.kept = []  # to be reported
        self.closed = set()  # topics
        self.hold = config["hold"]

    def tell(self, **event):
        with self.path.open("a") as file:
            file.write(json.dumps(event) + "\n")

    def open(self, partitions):
        self.tell(open=sorted(p.partition for p in partitions))

    def close(self, partitions):
        self.tell(close=sorted(p.partition for p in partitions))
        self.closed |= {p.topic for p in partitions}

    def put(self, records):
        for record in self.kept:
            self.context.errant_record_reporter.report(record, DataError("seen too late"))
        self.kept = []
        if not records and self.hold == "idle" and "idle" not in self.done:
            self.done.add("idle")
            self.tell(idle=True)
            raise RetriableError("not now")
        for record in records:
            do = record.value.get("do")
            first = (do, record.offset) not in self.done
            self.done.add((do, record.offset))
            place = TopicPartition(record.original_topic, record.original_partition)
            if do == "retry" and first:
                self.context.timeout(100)
                raise RetriableError("not yet")
            if do == "wait for close" and place.topic not in self.closed:
                self.tell(waits=record.value["n"])
                self.context.timeout(100)
                raise RetriableError("not yet")
            if do == "rewind" and first:
                self.context.offset({place: 0})
            if do == "commit":
                self.context.request_commit()
            if do == "pause" and first:
                self.context.pause(place)
            if do == "report later":
                self.kept.append(record)
            self.tell(put=record.value["n"])
        if not records and self.hold == "resume":
            self.context.resume(*self.context.assignment)

    def pre_commit(self, offsets):
        if self.hold == "one":
            return {p: offset - 1 for p, offset in offsets.items() if offset > 1}
        return offsets


class ColumnsTask(ScriptedTask):
    """Takes batches by columns, but the first one not before it has come a second time."""

    def put_batch(self, batch):
        self.tell(columns=[*batch.columns.fields], n=len(batch))
        if not self.done:
            self.done.add("first")
            self.context.timeout(100)
            raise RetriableError("not yet")


class ColumnsSink(SinkConnector):
    task_class = ColumnsTask
    config_def = (
        ConfigDef().define("file", doc="Where events go.").define("hold", default="", doc="-")
    )


class ScriptedSink(SinkConnector):
    task_class = ScriptedTask
    config_def = (
        ConfigDef()
        .define("file", doc="Where events go.")
        .define("hold", default="", doc="one: the last record is never safe. Else see put().")
    )
