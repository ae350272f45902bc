"""The sink's loop over a consumer in memory: what it reads, commits, and where it goes back to."""

import time
from multiprocessing import Pipe
from threading import Event

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from connect import ConnectError, DataError, RetriableError, SinkTask, TopicPartition
from connect.config.connector import framework_settings
from connect.pipeline import ErrorCounts, PipelineSpec, RawMessage, SinkPipeline
from connect.plugins import Plugins
from connect.runtime.control import Control
from connect.runtime.sink import SinkLoop
from connect.runtime.sink_context import SinkContext
from connect.runtime.spec import Stop
from connect.runtime.tolerance import Tolerance
from tests.support.waiting import wait_for

STRING = "org.apache.kafka.connect.storage.StringConverter"
TOPIC = "orders"
TOLERANT = {"errors.tolerance": "all", "errors.log.enable": "true"}
ZERO, ONE = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)


class Message(RawMessage):
    def error(self):
        return None


class MemoryConsumer:
    """What the loop uses of a consumer of Kafka, over partitions in memory.

    As librdkafka's: a partition has a position once something was read from it, and none after a
    seek. When there is nothing to read, poll() does the next step of the script.
    """

    def __init__(self, *partitions):
        self.logs = [list(values) for values in partitions]
        self.next = {}
        self.positions = {}
        self.held = set()
        self.committed = {}
        self.refusals = 0  # how many commits are to fail
        self.script = iter(())
        self.between = None  # happens after the next message, before others are looked for

    def subscribe(self, topics, on_assign, on_revoke, on_lost):
        self.on_assign, self.on_revoke = on_assign, on_revoke

    def poll(self, timeout):
        if not self.next:
            self.on_assign(self, [KafkaPartition(TOPIC, p) for p in range(len(self.logs))])
        for message in self._read(1):
            return message
        next(self.script)()
        return None

    def consume(self, count, timeout):
        if self.between is not None:
            step, self.between = self.between, None
            step()
        return self._read(count)

    def _read(self, count):
        found = []
        for p, offset in self.next.items():
            values = self.logs[p][offset:][: count - len(found)] if p not in self.held else []
            found += [
                Message(TOPIC, v, partition=p, offset=offset + i) for i, v in enumerate(values)
            ]
            if values:
                self.next[p] = self.positions[p] = offset + len(values)
        return found

    def incremental_assign(self, partitions):
        self.next |= {p.partition: max(p.offset, 0) for p in partitions}

    def incremental_unassign(self, partitions):
        for p in partitions:
            del self.next[p.partition]
            self.positions.pop(p.partition, None)

    def seek(self, partition):
        self.next[partition.partition] = partition.offset
        self.positions.pop(partition.partition, None)

    def position(self, partitions):
        return [
            KafkaPartition(TOPIC, p.partition, self.positions.get(p.partition, -1001))
            for p in partitions
        ]

    def pause(self, partitions):
        self.held |= {p.partition for p in partitions}

    def resume(self, partitions):
        self.held -= {p.partition for p in partitions}

    def commit(self, offsets, asynchronous):
        if self.refusals:
            self.refusals -= 1
            raise KafkaException(KafkaError(KafkaError.REQUEST_TIMED_OUT))
        self.committed |= {p.partition: p.offset for p in offsets}

    def get_watermark_offsets(self, partition, cached):
        return 0, len(self.logs[partition.partition])

    def memberid(self):
        return "member"

    def get(self, partition):
        self.on_assign(self, [KafkaPartition(TOPIC, partition)])

    def lose(self, partition):
        self.on_revoke(self, [KafkaPartition(TOPIC, partition)])


class Task(SinkTask):
    """Keeps what it was given; does in its methods what a test says."""

    def __init__(self):
        self.put_values = []

    def start(self, config): ...

    def stop(self): ...

    def put(self, records):
        self.put_values += [record.value for record in records]

    def ask_for_commit(self):
        self.context.request_commit()


@pytest.fixture
def drive():
    """drive(task, consumer, *script, **settings) runs the loop by a script and stops it."""

    def run(task, consumer, *script, paused=False, **settings):
        ours, theirs = Pipe()
        left = Event()
        control = Control(theirs, paused=paused, on_lost=left.set)

        def stop():
            ours.send(Stop())
            wait_for(lambda: control.stopping, "the loop to be told to stop")

        config = {
            "name": "sink",
            "connector.class": "Sink",
            "topics": TOPIC,
            "key.converter": STRING,
            "value.converter": STRING,
            **settings,
        }
        tolerance = Tolerance("sink-0", framework_settings(config, is_sink=True), ErrorCounts())
        spec = PipelineSpec("sink", 0, config, {}, Plugins())
        task.context, task.stop_loop = SinkContext(config), stop
        consumer.script = iter([*script, stop])
        loop = SinkLoop(
            name="sink-0",
            task=task,
            context=task.context,
            consumer=consumer,
            pipeline=SinkPipeline(spec, spec.retry(control.wait)),
            tolerance=tolerance,
            control=control,
            config=config,
            commit_before_put=settings.get("delivery.guarantee") == "at_most_once",
            commit_interval=3600,
            batch=100,
            cooperative=True,
            on_state=lambda paused: None,
            on_topics=lambda topics: None,
            on_member=lambda member: None,
        )
        try:
            loop.run()
        finally:
            ours.close()
            assert left.wait(30)  # before nobody listens, what it listens to stays open
            theirs.close()

    return run


def test_partition_that_is_paused_when_it_is_opened_brings_nothing(drive):
    """open() may hold a partition back from its first record on."""

    class Holds(Task):
        def open(self, partitions):
            self.context.pause(ZERO)

    task = Holds()
    drive(task, MemoryConsumer([b"held"], [b"flows"]), lambda: None)
    assert task.put_values == ["flows"]


def test_partition_that_comes_while_the_connector_is_paused_waits(drive):
    """Nothing is read before the connector is resumed."""
    task = Task()
    drive(task, MemoryConsumer([b"a"]), lambda: None, paused=True)
    assert task.put_values == []


def test_partition_that_comes_while_others_are_to_be_put_again_waits(drive):
    """No record overtakes one that is to come again."""

    class Refuses(Task):
        def put(self, records):
            super().put(records)
            self.context.timeout(3_600_000)
            raise RetriableError("not now")

    task, consumer = Refuses(), MemoryConsumer([b"refused"])

    def another():
        consumer.logs.append([b"later"])
        consumer.get(1)

    drive(task, consumer, another, lambda: None)
    assert task.put_values == ["refused"]


def test_nothing_is_committed_that_the_task_has_not_taken(drive, caplog):
    """An offset that pre_commit counts in a put that is to come again is not believed."""

    class Eager(Task):
        def put(self, records):
            if "refused" in [record.value for record in records]:
                self.context.request_commit()
                self.context.timeout(3_600_000)
                raise RetriableError("not now")

        def pre_commit(self, offsets):
            return {ZERO: 2, ONE: 1, TopicPartition(TOPIC, 7): 3}

    consumer = MemoryConsumer([b"taken"], [b"taken"])
    drive(Eager(), consumer, lambda: consumer.logs[0].append(b"refused"), lambda: None)
    assert consumer.committed == {1: 1}
    assert f"{TOPIC}-0 at 2" in caplog.text


def test_batch_whose_commit_fails_is_not_put_but_read_again(drive):
    """At most once: what is not known to be committed does not reach the task."""
    consumer = MemoryConsumer([b"a", b"b"])
    consumer.refusals = 1
    puts = []

    class Notes(Task):
        def put(self, records):
            if records:
                puts.append((len(records), dict(consumer.committed)))

    drive(Notes(), consumer, **{"delivery.guarantee": "at_most_once"})
    assert puts == [(2, {0: 2})]


def test_records_of_a_partition_that_is_gone_are_not_put_at_most_once(drive):
    """At most once: who has the partition now gets them, as their offsets are not committed."""
    consumer = MemoryConsumer([b"gone"], [b"kept"])
    consumer.between = lambda: consumer.lose(0)
    task = Task()
    drive(task, consumer, lambda: None, **{"delivery.guarantee": "at_most_once"})
    assert task.put_values == ["kept"]
    assert consumer.committed == {1: 1}


def test_commit_that_fails_while_a_partition_goes_seeks_only_what_is_there(drive):
    """At most once: a partition that was taken away is not read again."""
    consumer = MemoryConsumer([b"gone"], [b"kept"])
    consumer.between = lambda: consumer.lose(0)
    consumer.refusals = 1
    task = Task()
    drive(task, consumer, lambda: None, **{"delivery.guarantee": "at_most_once"})
    assert task.put_values == ["kept"]
    assert consumer.next == {1: 1}


def test_failed_flush_goes_no_further_than_the_task_went_back(drive):
    """What lies between an offset the task went back to and the last commit comes again."""

    class GoesBack(Task):
        fails = False

        def flush(self, offsets):
            if self.fails:
                self.fails = False
                raise RetriableError("not now")

    task, consumer = GoesBack(), MemoryConsumer([b"a", b"b", b"c"])

    def go_back():
        task.context.offset({ZERO: 1})
        task.put_values.clear()

    def fail_to_flush():
        task.fails = True
        task.context.request_commit()

    drive(task, consumer, task.ask_for_commit, go_back, fail_to_flush)
    assert task.put_values == ["b", "c", "b", "c"]


def test_what_the_task_went_back_to_stays_its_offset_until_more_is_read(drive):
    """A partition that brings nothing after context.offset() is committed where the task is."""
    task, consumer = Task(), MemoryConsumer([b"a", b"b"])

    def go_back():
        task.context.pause(ZERO)
        task.context.offset({ZERO: 1})

    drive(
        task,
        consumer,
        task.ask_for_commit,
        go_back,
        lambda: None,
        task.ask_for_commit,
    )
    assert consumer.committed == {0: 1}


def test_failed_flush_leaves_a_partition_without_messages_where_it_is(drive):
    """A position without a message, as behind markers of transactions, is nothing to go back to."""

    class Fails(Task):
        def flush(self, offsets):
            raise RetriableError("not now")

    task, consumer = Fails(), MemoryConsumer([b"a"], [])

    def read_markers():
        consumer.next[1] = consumer.positions[1] = 0

    consumer.between = read_markers
    drive(task, consumer, task.ask_for_commit)
    assert consumer.next == {0: 1, 1: 0}
    assert task.put_values == ["a", "a"]


def test_stop_while_a_refused_batch_is_halved_is_no_failure(drive):
    """A half that is to be put again is left when the task is stopped: all of it comes again."""

    class Refuses(Task):
        def put(self, records):
            if len(records) > 1:
                raise DataError("refused")
            if records:
                self.stop_loop()
                raise RetriableError("not now")

    consumer = MemoryConsumer([b"a", b"b"])
    drive(Refuses(), consumer, **{"errors.tolerance": "all"})
    assert consumer.committed == {}


def test_outage_fails_the_task_and_blames_no_record(drive, caplog):
    """A ConnectError of put() is not tolerated: nothing is put again, reported or committed."""

    class Away(Task):
        def put(self, records):
            super().put(records)
            if records:
                raise ConnectError("the database is away")

    task, consumer = Away(), MemoryConsumer([b"a", b"b"])
    with pytest.raises(ConnectError, match="unrecoverable") as failed:
        drive(task, consumer, task.ask_for_commit, **TOLERANT)
    assert str(failed.value.__cause__) == "the database is away"
    assert task.put_values == ["a", "b"]
    assert "TASK_PUT" not in caplog.text
    assert consumer.committed == {}


def test_outage_while_a_refused_batch_is_halved_fails_the_task(drive, caplog):
    """The record that was refused is reported, none behind it is, and nothing is committed."""

    class GoesAway(Task):
        def put(self, records):
            if len(records) > 1 or "bad" in [record.value for record in records]:
                raise DataError("refused")
            if records:
                raise ConnectError("the database is away")

    task, consumer = GoesAway(), MemoryConsumer([b"bad", b"a", b"b", b"c"])
    with pytest.raises(ConnectError, match="unrecoverable"):
        drive(task, consumer, task.ask_for_commit, **TOLERANT)
    assert caplog.text.count("Executing stage 'TASK_PUT'") == 1
    assert consumer.committed == {}


@pytest.mark.parametrize("error", [DataError("refused"), ValueError("no number")])
def test_record_that_put_can_not_take_is_skipped(drive, error):
    """What may be a record's fault is narrowed to the record: DataErrors, and Python's own."""

    class Picky(Task):
        def put(self, records):
            if "bad" in [record.value for record in records]:
                raise error
            super().put(records)

    task, consumer = Picky(), MemoryConsumer([b"a", b"bad", b"b", b"c"])
    drive(task, consumer, task.ask_for_commit, **TOLERANT)
    assert task.put_values == ["a", "b", "c"]
    assert consumer.committed == {0: 4}


def test_task_that_asks_for_time_while_a_batch_is_halved_gets_it(drive):
    """context.timeout() counts there, too: a sink that counts its retries gives up too soon."""
    asked = []

    class Slow(Task):
        def put(self, records):
            if len(records) > 1:
                raise DataError("refused")
            if records and not asked:
                asked.append(time.monotonic())
                self.context.timeout(400)
                raise RetriableError("not now")
            if records:
                asked.append(time.monotonic())

    drive(Slow(), MemoryConsumer([b"a", b"b"]), **TOLERANT)
    assert asked[1] - asked[0] >= 0.4
