import pytest

from connect import (
    ConfigDef,
    ConfigError,
    ConnectError,
    DataError,
    RetriableError,
    Schema,
    SourceConnector,
    SourceRecord,
    SourceTask,
)
from connect.testing import OffsetStore, SourceHarness, SourceTaskSuite


class CountTask(SourceTask):
    """Counts up, two numbers a poll."""

    def start(self, config):
        self.events = ["start"]
        stored = self.context.offset({"counter": "a"})
        self.number = 0 if stored is None else stored["n"]

    def poll(self):
        return [self.one(), self.one()]

    def one(self):
        self.number += 1
        return SourceRecord.of(
            "numbers",
            self.number,
            schema=Schema.INT64,
            source_partition={"counter": "a"},
            source_offset={"n": self.number},
        )

    def commit_record(self, record, topic_partition):
        self.events.append(("safe", record.value))

    def commit(self):
        self.events.append("commit")

    def stop(self):
        if hasattr(self, "events"):
            self.events.append("stop")


def connector(task, **attributes):
    body = {
        "task_class": task,
        "config_def": ConfigDef().define("topic", default="t", doc="Where to."),
        **attributes,
    }
    return type("TestConnector", (SourceConnector,), body)


def values(records):
    return [record.value for record in records]


def test_polls_until_there_are_enough():
    """poll(n) calls the task until n records are there and gives all of them."""
    with SourceHarness(connector(CountTask), {}) as source:
        assert values(source.poll(3)) == [1, 2, 3, 4]


def test_commit_tells_the_task_and_stores_offsets_of_the_oldest():
    """Each record is confirmed, then the commit; the offset is that of the last safe record."""
    with SourceHarness(connector(CountTask), {}) as source:
        source.poll(4)
        source.commit(3)
        assert source.task.events == ["start", ("safe", 1), ("safe", 2), ("safe", 3), "commit"]
        assert source.offsets.all() == [({"counter": "a"}, {"n": 3})]
        assert values(source.uncommitted) == [4]


def test_crash_forgets_what_was_not_committed():
    """After a crash a new task starts from the stored offset; stop was not called."""
    source = SourceHarness(connector(CountTask), {})
    source.start()
    first = source.task
    source.poll(4)
    source.commit(2)
    source.crash()
    with source:
        source.poll(2)
        source.commit()
        assert values(source.committed) == [1, 2, 3, 4]
    assert "stop" not in first.events


def test_offsets_can_be_shared_between_harnesses():
    """A store given to two harnesses is one offsets topic."""
    store = OffsetStore()
    with SourceHarness(connector(CountTask), {}, offsets=store) as one:
        one.poll(2)
        one.commit()
    with SourceHarness(connector(CountTask), {}, offsets=store) as two:
        assert values(two.poll(1)) == [3, 4]


def test_a_retriable_error_is_tried_again():
    """RetriableError in poll means: call again; the harness counts them."""

    class Moody(CountTask):
        failures = 2

        def poll(self):
            if self.failures:
                self.failures -= 1
                raise RetriableError("not now")
            return super().poll()

    with SourceHarness(connector(Moody), {}) as source:
        assert values(source.poll(1)) == [1, 2]
        assert source.retries == 2


def test_waiting_in_vain_says_for_what():
    """A task that gives too little fails the test with what was missing."""

    class Idle(CountTask):
        def poll(self):
            return None

    with (
        SourceHarness(connector(Idle), {}) as source,
        pytest.raises(AssertionError, match=r"waited 0.01 s for 1 records, got 0"),
    ):
        source.poll(1, timeout=0.01)


@pytest.mark.parametrize(
    ("record", "error", "words"),
    [
        ("no record", AssertionError, "poll gave a str"),
        (SourceRecord.of("", 1), AssertionError, "topic must be a name"),
        (SourceRecord.of("t", "x", schema=Schema.INT64), DataError, "INT64"),
        (
            SourceRecord.of("t", 1, source_partition={"a": [1]}, source_offset={}),
            AssertionError,
            "source_partition must be a flat map",
        ),
        (
            SourceRecord.of("t", 1, source_partition={}, source_offset={"a": b""}),
            AssertionError,
            "source_offset must be a flat map",
        ),
    ],
)
def test_records_a_worker_could_not_send_are_refused(record, error, words):
    """Wrong types, values that don't fit their schema and offsets that can't be stored fail."""

    class Bad(CountTask):
        def poll(self):
            return [record]

    with SourceHarness(connector(Bad), {}) as source, pytest.raises(error, match=words):
        source.poll(1)


def test_a_wrong_config_is_refused_before_anything_starts():
    """Validation runs as in a worker, the connector's own checks included."""

    def validate(values):
        values["topic"].error("too plain")

    built = connector(CountTask, validate=staticmethod(validate))
    with pytest.raises(ConfigError, match="Invalid value t for configuration topic: too plain"):
        SourceHarness(built, {}).start()


def test_more_task_configs_than_allowed_are_refused():
    """A connector that ignores tasks.max is caught."""
    built = connector(CountTask, task_configs=lambda self, max_tasks: [{}, {}])
    with pytest.raises(AssertionError, match=r"2 task configs, but tasks.max is 1"):
        SourceHarness(built, {}).start()


def test_a_task_that_fails_to_start_is_stopped():
    """After a failed start the task's stop is called, as a worker does."""
    stopped = []

    class Broken(CountTask):
        def start(self, config):
            raise ConnectError("no")

        def stop(self):
            stopped.append(True)

    with pytest.raises(ConnectError, match="no"):
        SourceHarness(connector(Broken), {}).start()
    assert stopped == [True]


class Forgetful(CountTask):
    """Starts over after each restart: the bug that the suite is there to find."""

    def start(self, config):
        super().start(config)
        self.number = 0


class Eager(CountTask):
    """Stores the offset before instead of after the record."""

    def one(self):
        record = super().one()
        record.source_offset = {"n": self.number - 1}
        return record


@pytest.mark.parametrize("task", [Forgetful, Eager])
def test_the_suite_finds_lost_and_repeated_records(task, tmp_path):
    """A source that repeats records after a crash does not pass."""

    class Suite(SourceTaskSuite):
        endless = True

        def config(self, place):
            return {}

    suite = Suite()
    suite.connector = connector(task)
    with pytest.raises(AssertionError, match="other records than an undisturbed run"):
        suite.test_no_loss_and_no_repeat_after_crash(tmp_path)


class TestGoodSourcePasses(SourceTaskSuite):
    connector = connector(CountTask)
    endless = True

    def config(self, place):
        return {}
