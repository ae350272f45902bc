"""The counting sink on Penstock's public API; its twin is CountingSinkConnector.java.

It takes batches by columns where they come so, as sinks to files and databases do.
"""

from pathlib import Path

from connect import Config, ConfigDef, SinkBatch, SinkConnector, SinkRecord, SinkTask


class CountingSinkTask(SinkTask):
    def start(self, config: Config) -> None:
        self._file = Path(config["file"])
        self._count = 0

    def put(self, records: list[SinkRecord]) -> None:
        self.put_batch(SinkBatch.of(records))

    def put_batch(self, batch: SinkBatch) -> None:
        if batch:
            self._count += len(batch)
            self._file.write_text(str(self._count))


class CountingSinkConnector(SinkConnector):
    """Counts the records it is given, and keeps the count in a file."""

    version = "1"
    task_class = CountingSinkTask
    config_def = ConfigDef().define("file", doc="Where the count is kept.")
