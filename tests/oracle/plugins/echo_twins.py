"""The echo sink and the replay source once more, on Penstock's public API. See echo.py."""

import json
import time
from pathlib import Path

from connect import (
    ConfigDef,
    SinkConnector,
    SinkTask,
    SourceConnector,
    SourceTask,
)
from tests.oracle.rendering import rendered, source_record


class EchoSinkTask(SinkTask):
    def start(self, config):
        self.file = Path(config["file"]).open("a", encoding="utf-8")  # noqa: SIM115 - until stop

    def put(self, records):
        for record in records:
            self.file.write(json.dumps(rendered(record)) + "\n")
        self.file.flush()

    def stop(self):
        self.file.close()


class EchoSinkConnector(SinkConnector):
    version = "1"
    task_class = EchoSinkTask
    config_def = ConfigDef().define("file", doc="The file to append to.")


class ReplaySourceTask(SourceTask):
    def start(self, config):
        self.config = config
        self.polls = 0

    def poll(self):
        file = Path(self.config["file"])
        self.polls += 1
        if self.polls == 1:
            lines = file.read_text(encoding="utf-8").split("\n")
            return [
                source_record(json.loads(line), self.config["topic"], number)
                for number, line in enumerate(lines)
                if line
            ]
        if self.polls == 2:
            # The worker asks again when it has done with what it was given.
            file.with_name(file.name + ".done").touch()
        time.sleep(0.1)
        return None


class ReplaySourceConnector(SourceConnector):
    version = "1"
    task_class = ReplaySourceTask
    config_def = (
        ConfigDef().define("file", doc="The file to read.").define("topic", doc="Where to.")
    )
