"""The suites on a real Kafka, passed by connectors of our own, and what they do with bad ones."""

from pathlib import Path

import pytest

from connect import SinkTask
from connectors.file.sink import FileStreamSinkConnector
from connectors.file.source import FileStreamSourceConnector
from penstock.errors import UserError
from penstock.testing import SinkOnKafkaSuite, SourceOnKafkaSuite

pytest_plugins = ["penstock.pytest_plugin"]


class TestFileSinkOnKafka(SinkOnKafkaSuite):
    connector = FileStreamSinkConnector

    def config(self, place):
        return {"file": str(place / "out.txt")}

    def written(self, place):
        return (place / "out.txt").read_text().splitlines()


class TestFileSourceOnKafka(SourceOnKafkaSuite):
    connector = FileStreamSourceConnector

    def config(self, place):
        return {"file": str(place / "in.txt"), "topic": "lines"}

    def fill(self, place, count):
        (place / "in.txt").write_text("".join(f"line {n}\n" for n in range(count)))


class HastySinkConnector(FileStreamSinkConnector):
    """Agrees to offsets of records that it has not written."""

    class Task(SinkTask):
        def start(self, config):
            Path(config["file"]).touch()

        def put(self, records):
            pass

    task_class = Task


class TestBadManners:
    def test_a_sink_that_loses_records_fails(self, penstock_worker, tmp_path):
        """Committed offsets are no proof: the suite looks at the other system."""

        class Suite(TestFileSinkOnKafka):
            connector = HastySinkConnector

        with pytest.raises(AssertionError, match="the task was killed: lost"):
            Suite().test_no_loss_from_kafka_when_killed(penstock_worker, tmp_path, "task")


class TestWorker:
    def test_a_connector_that_fails_is_told_at_once(self, penstock_worker, tmp_path):
        """Whoever waits for it to run gets the task's own words."""
        config = {
            "connector.class": FileStreamSinkConnector,
            "topics": penstock_worker.topic(),
            "file": tmp_path / "no folder" / "out.txt",
        }
        with pytest.raises(AssertionError, match=r"bad failed:(.|\n)*Couldn't find or create file"):
            penstock_worker.create("bad", config)

    def test_a_class_that_only_this_process_has_is_refused(self, penstock_worker):
        """The worker says that it does not know it, and which connectors it has."""

        class Mine(FileStreamSinkConnector):
            pass

        with pytest.raises(UserError, match=r"name matches .*Mine, available connectors are"):
            penstock_worker.create("mine", {"connector.class": Mine, "topics": "t"})
