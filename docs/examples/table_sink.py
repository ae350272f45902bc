"""Records to a table of an SQLite file, each exactly once."""

import sqlite3

from connect import ConfigDef, SinkConnector, SinkTask


class TableTask(SinkTask):
    def start(self, config):
        self.db = sqlite3.connect(config["database"])
        self.db.execute("CREATE TABLE IF NOT EXISTS records (place PRIMARY KEY, value)")

    def put(self, records):
        rows = [(f"{r.topic}+{r.partition}+{r.offset}", str(r.value)) for r in records]
        self.db.executemany("INSERT OR REPLACE INTO records VALUES (?, ?)", rows)

    def flush(self, offsets):
        self.db.commit()

    def stop(self):
        if hasattr(self, "db"):
            self.db.close()


class TableSinkConnector(SinkConnector):
    task_class = TableTask
    version = "1.0"
    config_def = ConfigDef().define("database", doc="The SQLite file.")
