"""Rows of a CSV file to a topic."""

import csv
import itertools
import time

from connect import ConfigDef, SourceConnector, SourceRecord, SourceTask


class CsvTask(SourceTask):
    def start(self, config):
        self.topic, self.file = config["topic"], open(config["file"], newline="")
        stored = self.context.offset({"file": config["file"]}) or {"row": 0}
        numbered = enumerate(csv.DictReader(self.file), start=1)
        self.rows = itertools.islice(numbered, stored["row"], None)

    def poll(self):
        batch = list(itertools.islice(self.rows, 1000))
        if not batch:
            time.sleep(0.5)
        return [self.record(number, row) for number, row in batch]

    def record(self, number, row):
        at = {"source_partition": {"file": self.file.name}, "source_offset": {"row": number}}
        return SourceRecord.of(self.topic, row, **at)


class CsvSourceConnector(SourceConnector):
    task_class = CsvTask
    version = "1.0"
    config_def = (
        ConfigDef()
        .define("file", doc="The CSV file to read. Its first line names the columns.")
        .define("topic", doc="The topic that the rows go to.")
    )
