import sqlite3

from table_sink import TableSinkConnector


def test_nothing_is_lost_when_the_task_is_killed(penstock_worker, tmp_path):
    """What comes while it is dead, and what it had not committed, is in the table once."""
    database, topic = tmp_path / "out.db", penstock_worker.topic()
    penstock_worker.create(
        "table",
        {"connector.class": TableSinkConnector, "topics": topic, "database": database},
    )
    penstock_worker.feed(topic, ["a", "b"])
    penstock_worker.kill_task("table")
    penstock_worker.feed(topic, ["c"])
    penstock_worker.restart("table")
    penstock_worker.wait_committed("table")
    with sqlite3.connect(database) as db:
        rows = db.execute("SELECT value FROM records ORDER BY place").fetchall()
    assert rows == [("a",), ("b",), ("c",)]
