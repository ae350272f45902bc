import sqlite3

from connect.testing import SinkTaskSuite
from table_sink import TableSinkConnector


class TestTableSink(SinkTaskSuite):
    connector = TableSinkConnector
    exactly_once = True

    def config(self, place):
        return {"database": str(place / "out.db")}

    def written(self, place):
        with sqlite3.connect(place / "out.db") as db:
            return [value for (value,) in db.execute("SELECT value FROM records ORDER BY rowid")]
