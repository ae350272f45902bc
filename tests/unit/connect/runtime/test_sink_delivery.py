"""A sink task run once more over given records: what it refuses is told, the rest is safe."""

import pytest

from connect import ConfigDef, ConnectError, DataError, RetriableError, SinkConnector, SinkTask
from connect.pipeline import RawMessage
from connect.plugins import Plugins
from connect.plugins.info import describe
from connect.runtime.sink_delivery import SinkDelivery
from connect.runtime.spec import ConnectorSpec, Kind

JSON = "org.apache.kafka.connect.json.JsonConverter"
CALLS = []


class RecordingTask(SinkTask):
    def start(self, config):
        CALLS.append(("start", config["color"]))
        self.again = config["color"] == "retry"

    def open(self, partitions):
        CALLS.append(("open", [(p.topic, p.partition) for p in partitions]))

    def put(self, records):
        if self.again:
            self.again = False
            raise RetriableError("not now")
        for record in records:
            if record.value == "refuse":
                raise DataError("refused")
            if record.value == "report":
                self.context.errant_record_reporter.report(record, DataError("reported"))
        CALLS.append(("put", [(r.topic, r.original_partition, r.offset, r.value) for r in records]))

    def flush(self, offsets):
        CALLS.append(("flush", dict(offsets)))

    def close(self, partitions):
        CALLS.append(("close", len(partitions)))

    def stop(self):
        CALLS.append(("stop",))


class RecordingSink(SinkConnector):
    task_class = RecordingTask
    config_def = ConfigDef().define("color", doc="Which.", default="red")


@pytest.fixture
def deliver():
    """deliver(messages, **config) runs a delivery; what failed, and the calls to the task."""

    def run(*messages, **config):
        CALLS.clear()
        plugins = Plugins(extra=describe(RecordingSink, "tests"))
        own = {
            "connector.class": f"{RecordingSink.__module__}.RecordingSink",
            "key.converter": JSON,
            "value.converter": JSON,
            "value.converter.schemas.enable": "false",
            **config,
        }
        with SinkDelivery(ConnectorSpec("sink", Kind.SINK, own, {}, plugins)) as delivery:
            failed = delivery.deliver(messages)
        return failed, list(CALLS)

    return run


def message(value, offset, partition=0):
    return RawMessage("orders", value, partition=partition, offset=offset)


def test_records_have_their_original_places_and_the_task_gets_no_offsets(deliver):
    """Start, open, put, flush without offsets, close, stop."""
    failed, calls = deliver(message(b'"a"', 5), message(b'"b"', 9, 2), color="blue")
    assert failed == {}
    assert calls == [
        ("start", "blue"),
        ("open", [("orders", 0), ("orders", 2)]),
        ("put", [("orders", 0, 5, "a"), ("orders", 2, 9, "b")]),
        ("flush", {}),
        ("close", 2),
        ("stop",),
    ]


def test_what_fails_is_told_by_position_and_the_rest_is_put(deliver):
    """A broken value, a refused record and a reported one; the fourth goes through."""
    failed, calls = deliver(
        message(b"{broken", 0), message(b'"refuse"', 1), message(b'"report"', 2), message(b'"x"', 3)
    )
    assert failed.keys() == {0, 1, 2}
    assert failed[0].startswith("VALUE_CONVERTER: ")
    assert (failed[1], failed[2]) == ("TASK_PUT: refused", "TASK_PUT: reported")
    put = [record for call in calls if call[0] == "put" for record in call[1]]
    assert ("orders", 0, 3, "x") in put
    assert "refuse" not in [record[3] for record in put]


def test_a_record_that_is_there_twice_is_told_apart(deliver):
    """Two letters of one record fail and pass each for itself."""
    failed, _ = deliver(message(b'"refuse"', 1), message(b'"fine"', 1), message(b'"refuse"', 1))
    assert failed.keys() == {0, 2}


def test_a_put_that_asks_for_patience_gets_it(deliver):
    """RetriableError is no failure while there is time."""
    failed, calls = deliver(message(b'"a"', 0), color="retry")
    assert failed == {}
    assert [call for call in calls if call[0] == "put"] == [("put", [("orders", 0, 0, "a")])]


def test_a_source_is_no_sink():
    """The error names the class."""
    config = {"connector.class": "FileStreamSource", "key.converter": JSON, "value.converter": JSON}
    with pytest.raises(ConnectError, match="FileStreamSource"):
        SinkDelivery(ConnectorSpec("x", Kind.SINK, config, {}, Plugins()))
