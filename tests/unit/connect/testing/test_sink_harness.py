import pytest

from connect import (
    ConfigDef,
    DataError,
    RetriableError,
    Schema,
    SinkConnector,
    SinkTask,
    TopicPartition,
)
from connect.testing import SinkHarness, SinkTaskSuite

P0 = TopicPartition("test", 0)
P1 = TopicPartition("test", 1)


class ListTask(SinkTask):
    """Remembers all calls."""

    def start(self, config):
        self.calls = []

    def open(self, partitions):
        self.calls.append(("open", *partitions))

    def put(self, records):
        self.calls.append([record.value for record in records])

    def flush(self, offsets):
        self.calls.append(("flush", dict(offsets)))

    def close(self, partitions):
        self.calls.append(("close", *sorted(partitions)))

    def stop(self):
        if hasattr(self, "calls"):
            self.calls.append("stop")


def connector(task):
    return type("TestConnector", (SinkConnector,), {"task_class": task, "config_def": ConfigDef()})


def test_calls_come_in_the_workers_order():
    """start, open, put, flush, close, stop; offsets are those after the last record."""
    sink = SinkHarness(connector(ListTask), {})
    with sink:
        task = sink.task
        sink.put("a", "b")
        assert sink.flush() == {P0: 2}
    assert task.calls == [
        ("open", P0),
        [],
        ["a", "b"],
        ("flush", {P0: 2}),
        ("flush", {P0: 2}),
        ("close", P0),
        "stop",
    ]


def test_records_have_their_place_in_kafka():
    """Offsets rise by partition, and the original place is filled in."""
    with SinkHarness(connector(ListTask), {}) as sink:
        first = sink.record("a", key="k", schema=Schema.STRING, timestamp=5)
        second = sink.record("b")
    assert (first.topic, first.partition, first.offset, first.key) == ("test", 0, 0, "k")
    assert (first.original_topic, first.original_partition, first.timestamp) == ("test", 0, 5)
    assert second.offset == 1


def test_a_retriable_error_brings_the_same_batch_again():
    """After RetriableError the batch is put again, unchanged."""

    class Moody(ListTask):
        failures = 2

        def put(self, records):
            super().put(records)
            if records and self.failures:
                self.failures -= 1
                self.context.timeout(1)
                raise RetriableError("not now")

    with SinkHarness(connector(Moody), {}) as sink:
        sink.put("a", "b")
        assert [call for call in sink.task.calls if "a" in call] == [["a", "b"]] * 3
        assert sink.retries == 2
        assert sink.positions == {P0: 2}


def test_a_crash_brings_uncommitted_records_again():
    """A new task gets what was put and not flushed by the old one."""
    sink = SinkHarness(connector(ListTask), {})
    sink.start()
    sink.put("a")
    sink.flush()
    sink.put("b", "c")
    sink.crash()
    with sink:
        assert sink.task.calls == [("open", P0), ["b", "c"]]


def test_a_rebalance_commits_closes_and_opens():
    """Offsets are committed before partitions go; those that come are read from there."""
    with SinkHarness(connector(ListTask), {}) as sink:
        sink.record("z", partition=1)
        sink.put("a")
        sink.task.calls.clear()
        sink.rebalance(P0, P1)
        assert sink.task.calls == [("flush", {P0: 1}), ("close", P0), ("open", P0, P1), ["z"]]


def test_paused_partitions_wait():
    """What is paused is not delivered until it is resumed."""
    with SinkHarness(connector(ListTask), {}) as sink:
        sink.context.pause(P0)
        sink.put("a")
        assert sink.task.calls[-1] == []
        sink.context.resume(P0)
        sink.deliver()
        assert sink.task.calls[-1] == ["a"]


def test_a_task_can_rewind():
    """context.offset makes the next delivery start there."""
    with SinkHarness(connector(ListTask), {}) as sink:
        sink.put("a", "b", "c")
        sink.context.offset({P0: 1})
        sink.deliver()
        assert sink.task.calls[-1] == ["b", "c"]


def test_reported_records_are_kept():
    """What a task gives to the errant record reporter can be looked at."""

    class Picky(ListTask):
        def put(self, records):
            for record in records:
                self.context.errant_record_reporter.report(record, DataError("bad")).result()

    with SinkHarness(connector(Picky), {}) as sink:
        sink.put("a")
        ((record, error),) = sink.reported
        assert (record.value, str(error)) == ("a", "bad")
    assert SinkHarness(connector(Picky), {}, with_reporter=False).reported == []


@pytest.mark.parametrize(
    ("offsets", "words"),
    [({P1: 1}, "not assigned"), ({P0: 5}, "records up to 1")],
)
def test_offsets_that_were_never_given_are_refused(offsets, words):
    """A pre_commit that claims more than was put is caught."""

    class Boaster(ListTask):
        def pre_commit(self, given):
            return offsets

    sink = SinkHarness(connector(Boaster), {})
    sink.start()
    sink.put("a")
    with pytest.raises(AssertionError, match=words):
        sink.flush()


STORE = []


class Buffering(ListTask):
    """Keeps records in memory until flush."""

    def start(self, config):
        super().start(config)
        self.buffer = []

    def put(self, records):
        self.buffer += [record.value for record in records]

    def flush(self, offsets):
        STORE.extend(self.buffer)
        self.buffer.clear()


class NeverFlushing(Buffering):
    def flush(self, offsets):
        pass


class ListSuite(SinkTaskSuite):
    def config(self, place):
        STORE.clear()
        return {}

    def written(self, place):
        return list(STORE)


def test_the_suite_finds_a_sink_that_does_not_flush(tmp_path):
    """Records that are not there after flush fail the suite."""
    suite = ListSuite()
    suite.connector = connector(NeverFlushing)
    with pytest.raises(AssertionError, match="killed after flush: lost"):
        suite.test_flushed_records_survive_a_crash(tmp_path)


class TestGoodSinkPasses(ListSuite):
    connector = connector(Buffering)
    exactly_once = True
