"""A sink task run once more over given records: what it refuses is told, the rest is safe."""

import json

import pytest

from connect import (
    ConfigDef,
    ConnectError,
    DataError,
    RetriableError,
    SinkConnector,
    SinkTask,
    TopicPartition,
)
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
        self.holds = config["color"]

    def open(self, partitions):
        CALLS.append(("open", [(p.topic, p.partition) for p in partitions]))

    def put(self, records):
        if self.again:
            self.again = False
            raise RetriableError("not now")
        for record in records:
            if record.value == "away":
                raise ConnectError("the database is away")
            if record.value == "refuse":
                raise DataError("refused")
            if record.value == "report":
                self.context.errant_record_reporter.report(record, DataError("reported"))
        CALLS.append(("put", [(r.topic, r.original_partition, r.offset, r.value) for r in records]))
        if not records and self.holds == "until put":
            self.holds = ""

    def flush(self, offsets):
        CALLS.append(("flush", dict(offsets)))

    def pre_commit(self, offsets):
        self.flush(offsets)
        match self.holds:
            case "one" | "until put":
                return {p: offset - 1 for p, offset in offsets.items()}
            case "all":
                return {}
        return offsets

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


def test_records_have_their_original_places_and_are_committed_as_in_the_worker(deliver):
    """Start, open, put, pre_commit with the offsets behind them, close, stop."""
    failed, calls = deliver(message(b'"a"', 5), message(b'"b"', 9, 2), color="blue")
    assert failed == {}
    assert calls == [
        ("start", "blue"),
        ("open", [("orders", 0), ("orders", 2)]),
        ("put", [("orders", 0, 5, "a"), ("orders", 2, 9, "b")]),
        ("flush", {TopicPartition("orders", 0): 6, TopicPartition("orders", 2): 10}),
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


@pytest.mark.parametrize(
    ("holds", "failed"), [("one", {2}), ("all", {0, 1, 2}), ("until put", set())]
)
def test_what_the_task_holds_back_has_failed(deliver, holds, failed):
    """Only what pre_commit calls safe is; a task that then sees to it in a put has another go."""
    told, _ = deliver(*[message(b'"a"', n) for n in (3, 4, 5)], color=holds)
    assert told == dict.fromkeys(failed, "it has not written the record yet")


def test_what_a_transform_drops_is_not_waited_for(deliver):
    """The task never sees it, so it has nothing to call safe."""
    told, _ = deliver(
        message(b'"a"', 0),
        message(None, 1),
        color="one",
        **{
            "transforms": "drop",
            "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter",
            "transforms.drop.predicate": "null",
            "predicates": "null",
            "predicates.null.type": (
                "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone"
            ),
        },
    )
    assert told == {}


def test_each_part_begins_anew(deliver):
    """Where a record comes again its partition is closed and opened, in order of the offsets."""
    _, calls = deliver(message(b'"b"', 2), message(b'"a"', 1), message(b'"c"', 1))
    opened = [call[0] for call in calls if call[0] in {"open", "close"}]
    assert opened == ["open", "close"] * 2
    put = [[record[2] for record in call[1]] for call in calls if call[0] == "put"]
    assert put == [[1, 2], [1]]


@pytest.fixture
def into_files(tmp_path):
    """into_files(*batches, size) replays into the files sink; what failed, and all rows."""

    def run(*batches, size):
        config = {
            "connector.class": "io.confluent.connect.s3.S3SinkConnector",
            "files.url": str(tmp_path / "lake"),
            "flush.size": str(size),
            "key.converter": JSON,
            "value.converter": JSON,
            "value.converter.schemas.enable": "false",
        }
        with SinkDelivery(ConnectorSpec("lake", Kind.SINK, config, {}, Plugins())) as delivery:
            failed = [delivery.deliver(batch) for batch in batches]
        files = (tmp_path / "lake").rglob("*.json")
        rows = [json.loads(row) for file in files for row in file.read_text().splitlines()]
        return failed, sorted(rows)

    return run


def test_fewer_letters_than_make_a_file_are_written(into_files):
    """Nothing comes behind them, so a sink that gathers does not wait for more."""
    failed, rows = into_files([message(b"%d" % n, n) for n in range(5)], size=10)
    assert (failed, rows) == ([{}], [0, 1, 2, 3, 4])


@pytest.mark.parametrize("size", [1, 2, 10])
def test_offsets_may_go_back(into_files, size):
    """Letters come partition by partition of their topic: none of an earlier offset is skipped."""
    failed, rows = into_files(
        [message(b"50", 5), message(b"90", 9), message(b"30", 3), message(b"70", 7)],
        [message(b"20", 2), message(b"80", 8)],
        size=size,
    )
    assert (failed, rows) == ([{}, {}], [20, 30, 50, 70, 80, 90])


@pytest.mark.parametrize("size", [1, 2, 10])
def test_a_file_takes_the_place_of_no_other(into_files, size):
    """Letters of one record that begin several files are all kept, with their neighbours."""
    failed, rows = into_files(
        [message(b"50", 5), message(b"90", 9), message(b"51", 5)],
        [message(b"52", 5), message(b"60", 6)],
        size=size,
    )
    assert (failed, rows) == ([{}, {}], [50, 51, 52, 60, 90])


def test_a_target_that_is_away_ends_the_delivery(deliver):
    """No record is told to be refused for that, and the task is stopped."""
    with pytest.raises(ConnectError, match="the database is away"):
        deliver(message(b'"away"', 0), message(b'"fine"', 1))
    assert CALLS[-1] == ("stop",)
    assert "put" not in [call[0] for call in CALLS]


def test_a_source_is_no_sink():
    """The error names the class."""
    config = {"connector.class": "FileStreamSource", "key.converter": JSON, "value.converter": JSON}
    with pytest.raises(ConnectError, match="FileStreamSource"):
        SinkDelivery(ConnectorSpec("x", Kind.SINK, config, {}, Plugins()))
