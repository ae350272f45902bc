"""The short way of a source's batches: they arrive, in order, or go by the producer."""

import select
import socket
import struct
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from connect.pipeline import Outgoing
from connect.runtime import clients, express, wire
from connect.runtime.control import StoppedError
from tests.support import topics
from tests.support.broker import own_broker
from tests.support.topics import consume_all
from tests.support.waiting import wait_for
from tests.support.worker import standalone

PLUGINS = Path(__file__).parents[2] / "support" / "plugins"
COUNT = 1000  # in a batch
NOW = 1_700_000_000_000
TEXT = "org.apache.kafka.connect.storage.StringConverter"
FIRST = 1  # the first batch of a topic goes by the producer


class Lane:
    """The two ways of a source, without its loop."""

    def __init__(self, bootstrap, settings):
        worker = {"bootstrap.servers": bootstrap, **settings}
        self.undelivered = []
        self.back = []  # came back
        self.queued = 0  # batches that went by the producer
        self.stopping = False
        self.producer = clients.source_producer(
            "c", 0, worker, {}, lambda *what: self.undelivered.append(what), every_delivery=False
        )
        terms = clients.express_terms("c", 0, worker, {})
        self.express = express.Express(terms, self.producer, self.give_back, lambda: self.stopping)

    def give_back(self, batch):
        self.back.append(batch)
        self.queue(batch)

    def queue(self, batch):
        self.queued += 1
        for value, timestamp in zip(batch.values, batch.timestamps, strict=True):
            self.producer.produce(batch.topic, value, timestamp=timestamp)

    def send(self, batch):
        if not self.express.send(batch):
            self.queue(batch)

    def send_all(self, topic, numbers):
        for n in numbers:
            self.send(batch(topic, n * COUNT))

    def finish(self):
        assert self.express.settle() == 0
        assert self.producer.flush(30) == 0
        assert self.undelivered == []


@contextmanager
def lane_to(bootstrap, **settings):
    lane = Lane(bootstrap, settings)
    try:
        yield lane
    finally:
        lane.express.close()
        lane.producer.purge()


@pytest.fixture
def lane(kafka):
    with lane_to(kafka) as lane:
        yield lane


def batch(topic, first, count=COUNT, *, bare=True):
    nothing = [None] * count
    values = [b"%d" % n for n in range(first, first + count)]
    times = [NOW + first] * count
    return Outgoing(topic, nothing, nothing, times, nothing, values, nothing, bare)


def lead(lane, topic, server):
    """Make it believe that this one leads the topic's only partition."""
    route = wire.Route({0: server.getsockname()}, 1, time.monotonic() + 60)
    lane.express._routes._known[topic] = route


def numbers(messages):
    return [int(m.value()) for m in messages]


# ---- what arrives ----------------------------------------------------------------------------


@pytest.mark.parametrize("acks", ["all", "1"])
def test_batches_arrive_as_from_a_producer(kafka, topic, acks):
    """All values, in order, with their times, and without keys and headers."""
    with lane_to(kafka, **{"producer.acks": acks}) as lane:
        lane.send_all(topic, range(40))
        lane.finish()
        assert lane.queued == FIRST
    found = consume_all(kafka, topic, 40 * COUNT)
    assert numbers(found) == [*range(40 * COUNT)]
    assert {m.key() for m in found} == {None}
    assert {m.headers() for m in found} == {None}
    assert [m.timestamp()[1] for m in found[::COUNT]] == [NOW + n * COUNT for n in range(40)]


def test_all_partitions_get_some_and_order_holds_in_each(lane, kafka, make_topic):
    topic = make_topic(partitions=3)
    for n in range(100):
        lane.send(batch(topic, n * COUNT))
        lane.express.settle()  # so that each is a request of its own
    lane.finish()
    assert lane.queued == FIRST
    found = consume_all(kafka, topic, 100 * COUNT)
    assert sorted(numbers(found)) == [*range(100 * COUNT)]
    for partition in range(3):
        there = numbers(m for m in found if m.partition() == partition)
        assert there
        assert there == sorted(there)


def test_order_holds_when_batches_take_one_way_and_the_other(lane, kafka, topic):
    """Those with something unusual go by the producer, and nothing overtakes anything."""
    for n in range(60):
        lane.send(batch(topic, n * COUNT, bare=n % 20 != 10))
    lane.finish()
    assert 3 + FIRST <= lane.queued < 30
    assert numbers(consume_all(kafka, topic, 60 * COUNT)) == [*range(60 * COUNT)]


def test_source_that_would_have_to_change_often_stays_with_the_producer(lane, kafka, topic):
    for n in range(60):
        lane.send(batch(topic, n * COUNT, bare=n % 2 == 0))
    lane.finish()
    assert lane.queued > 50
    assert numbers(consume_all(kafka, topic, 60 * COUNT)) == [*range(60 * COUNT)]


def test_two_topics_are_served_by_turns(lane, kafka, make_topic):
    places = [make_topic(), make_topic()]
    for n in range(20):
        lane.send(batch(places[n % 2], n * COUNT))
    lane.finish()
    assert lane.queued == 2 * FIRST
    for i, place in enumerate(places):
        expected = [n * COUNT + k for n in range(i, 20, 2) for k in range(COUNT)]
        assert numbers(consume_all(kafka, place, 10 * COUNT)) == expected


def test_the_last_batches_arrive_while_the_task_waits_for_more(lane, kafka, topic):
    """Nobody calls anything, and what waited behind a request is sent, and acknowledged."""
    lane.send_all(topic, range(5))
    wait_for(lambda: lane.express.pending == 0, "acknowledgements")
    assert lane.queued == FIRST
    assert numbers(consume_all(kafka, topic, 5 * COUNT)) == [*range(5 * COUNT)]


def test_small_batches_go_by_the_producer(lane, kafka, topic):
    """Unless large ones come with them: a source often has a rest to hand out."""
    for n in range(20):
        lane.send(batch(topic, n * 10, 10))
    assert lane.queued == 20
    for n in range(40):
        lane.send(batch(topic, 200 + n * COUNT, COUNT))
    assert lane.queued < 30
    before = lane.queued
    lane.send(batch(topic, 200 + 40 * COUNT, 10))
    assert lane.queued == before
    lane.finish()
    expected = 200 + 40 * COUNT + 10
    assert numbers(consume_all(kafka, topic, expected)) == [*range(expected)]


def test_a_batch_larger_than_a_request_goes_by_the_producer(kafka, topic):
    """batch.size is what one request has at most, however much waits."""
    with lane_to(kafka, **{"producer.batch.size": "20000"}) as lane:
        lane.send_all(topic, range(30))  # a batch takes about 12 kB: two don't fit together
        assert lane.queued == FIRST
        lane.send(batch(topic, 30 * COUNT, 2 * COUNT))
        assert lane.queued == FIRST + 1
        lane.finish()
    assert numbers(consume_all(kafka, topic, 32 * COUNT)) == [*range(32 * COUNT)]


def test_numbers_of_records_begin_again_when_they_are_used_up(lane, kafka, topic):
    """Kafka counts a partition's records from zero to 2147483647, and then from zero."""
    lane.express._sequences[topic, 0] = (1 << 31) - COUNT - COUNT // 2
    for n in range(5):
        lane.send(batch(topic, n * COUNT))
        lane.express.settle()
    lane.finish()
    assert lane.queued == FIRST
    assert lane.express._sequences[topic, 0] == 4 * COUNT - COUNT - COUNT // 2
    assert numbers(consume_all(kafka, topic, 5 * COUNT)) == [*range(5 * COUNT)]


# ---- what goes wrong -------------------------------------------------------------------------


def test_what_the_broker_refuses_comes_back(lane, make_topic):
    """The producer gets it, and everything that follows for a while."""
    topic = make_topic(config={"max.message.bytes": "5000"})
    lane.send(batch(topic, 0))
    assert lane.producer.flush(30) == 0
    refused = batch(topic, COUNT)
    lane.send(refused)
    lane.express.settle()
    assert lane.back == [refused]
    lane.send(batch(topic, 2 * COUNT))
    assert lane.queued == FIRST + 2


@pytest.mark.parametrize("name", ["BareNumbersSource", "NumbersSource"])
def test_topic_that_takes_small_batches_alone(connect, kafka, make_topic, name):
    """It gets those, by either way, and so nothing overtakes a batch that was refused."""
    topic = make_topic(config={"max.message.bytes": "5000"})
    source = {"connector.class": name, "topic": topic, "batch": 1000, "count": 20_000}
    connect(f"small-batches-{name}", {**source, "key.converter": TEXT})
    found = consume_all(kafka, topic, 20_000, timeout=60)
    values = [orjson.loads(m.value()) for m in found]
    assert [int(v["n"] if isinstance(v, dict) else v) for v in values] == [*range(20_000)]


def test_topic_that_suddenly_takes_smaller_batches(worker, connect, kafka, topic):
    """What is too large together gets through one by one, and nothing is lost."""
    source = {"connector.class": "BareNumbersSource", "topic": topic, "batch": 1000}
    connect("smaller-batches", {**source, "count": 10_000, "pause.ms": 200})
    consume_all(kafka, topic, 2000, timeout=60)  # the second went the short way
    alter_topic(kafka, topic, "max.message.bytes", "5000")
    found = consume_all(kafka, topic, 10_000, timeout=60)
    assert sorted(int(m.value().strip(b'"')) for m in found) == [*range(10_000)]
    assert "Batches go by the producer" in worker.log_text()


def alter_topic(bootstrap, topic, key, value):
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.incremental_alter_configs([resource])[resource].result(30)


@pytest.fixture(scope="module")
def broker(say):
    with own_broker(say) as broker:
        yield broker


@contextmanager
def frozen(broker):
    broker.freeze()
    try:
        yield
    finally:
        broker.thaw()


def test_broker_that_dies_under_a_batch(broker):
    """What has no answer comes back in order, and is there when the broker is."""
    topic = topics.Topics(broker.address).create()
    with lane_to(broker.address) as lane:
        lane.send_all(topic, range(10))
        lane.express.settle()
        assert lane.queued == FIRST
        broker.kill()
        try:
            lane.send_all(topic, range(10, 15))
            lane.express.settle()
            assert lane.queued == FIRST + 5
        finally:
            broker.start()
        assert lane.producer.flush(60) == 0
    assert numbers(consume_all(broker.address, topic, 15 * COUNT)) == [*range(15 * COUNT)]


def test_broker_that_hangs_under_a_batch(broker):
    """It is waited for; who has to stop need not wait; and when it goes on, all is well."""
    topic = topics.Topics(broker.address).create()
    with lane_to(broker.address) as lane:
        lane.send_all(topic, range(2))
        lane.express.settle()
        with frozen(broker):
            lane.send_all(topic, range(2, 4))
            assert lane.express.settle(0.1) == 2 * COUNT == lane.express.pending
            lane.stopping = True
            with pytest.raises(StoppedError):
                lane.express.settle()
            lane.stopping = False
        lane.finish()
        assert lane.queued == FIRST
    assert numbers(consume_all(broker.address, topic, 4 * COUNT)) == [*range(4 * COUNT)]


def under_way(lane):
    """How many records each request has."""
    return [parcel.records.count for parcel in lane.express._under_way]


def test_requests_wait_at_the_broker_not_for_it(broker):
    """Some are sent before the first has its answer; from then on the task would have to wait."""
    topic = topics.Topics(broker.address).create()
    with lane_to(broker.address, **{"producer.batch.size": "20000"}) as lane:
        lane.send_all(topic, range(2))
        lane.express.settle()
        with frozen(broker):
            most = express.MOST_UNDER_WAY
            count = 2 + most + 1
            lane.send_all(topic, range(2, count))  # a batch takes about 12 kB
            assert under_way(lane) == [COUNT] * most
            assert lane.express.pending == (most + 1) * COUNT
            lane.stopping = True
            with pytest.raises(StoppedError):
                lane.send(batch(topic, count * COUNT))
            lane.stopping = False
            assert lane.express.pending == (most + 1) * COUNT
        lane.finish()
        assert lane.queued == FIRST
    assert numbers(consume_all(broker.address, topic, count * COUNT)) == [*range(count * COUNT)]


@pytest.mark.parametrize("earlier", [FIRST, FIRST + 1])
def test_nothing_is_taken_behind_what_was_refused(broker, earlier):
    """Requests that are on their way behind it come back with it, and are not there twice.

    They are not even sent behind the first one to a partition, which has nothing before it by which
    a broker could tell that one is missing.
    """
    other = topics.Topics(broker.address).create()
    topic = topics.Topics(broker.address).create(config={"max.message.bytes": "20000"})
    with lane_to(broker.address, **{"producer.batch.size": "40000"}) as lane:
        lane.send_all(other, range(2))  # the connection is there
        lane.send_all(topic, range(earlier))
        lane.finish()
        lane.express._routes.of(topic)
        lane.queue = lambda _batch: None
        large, small = batch(topic, earlier * COUNT, 2 * COUNT), batch(topic, 5 * COUNT)
        with frozen(broker):
            lane.send(large)
            lane.send(small)
            lane.express.settle(0)  # sends it, if that may be
            assert under_way(lane) == ([2 * COUNT, COUNT] if earlier > FIRST else [2 * COUNT])
        lane.express.settle()
        assert lane.back == [large, small]
    found = [int(value) for value in topics.read_up_to_now(broker.address, topic)]
    assert found == [*range(earlier * COUNT)]


def test_broker_that_hangs_for_too_long(broker):
    """After request.timeout.ms the producer gets it. It may be there twice then, never not."""
    topic = topics.Topics(broker.address).create()
    with lane_to(broker.address, **{"producer.request.timeout.ms": "2000"}) as lane:
        lane.send_all(topic, range(2))
        lane.express.settle()
        with frozen(broker):
            lane.send(batch(topic, 2 * COUNT))
            assert lane.express.pending == COUNT
            wait_for(lambda: lane.back, "the batch to come back by itself")
            assert lane.express.pending == 0
        assert lane.producer.flush(60) == 0
    found = numbers(consume_all(broker.address, topic, 3 * COUNT))
    assert set(found) == {*range(3 * COUNT)}


def test_what_fails_while_the_task_waits_is_told_to_the_task(broker):
    """A batch that can't even be given back is not forgotten: nothing counts as acknowledged."""
    topic = topics.Topics(broker.address).create()
    with lane_to(broker.address, **{"producer.request.timeout.ms": "2000"}) as lane:
        lane.send_all(topic, range(2))
        lane.express.settle()

        def no_room(_batch):
            raise BufferError("no room")

        lane.express._give_back = no_room
        with frozen(broker):
            lane.send(batch(topic, 2 * COUNT))
            wait_for(lambda: not lane.express._tending.is_alive(), "the thread to have failed")
        for use in (lane.express.settle, lambda: lane.send(batch(topic, 3 * COUNT))):
            with pytest.raises(BufferError, match="no room"):
                use()


def test_task_is_stopped_in_the_middle_of_a_request(kafka, topic):
    """The broker takes no more, the task has to go: what is under way is not acknowledged."""
    large = {"producer.batch.size": "100000000", "producer.max.request.size": "100000000"}
    with lane_to(kafka, **large) as lane, socket.create_server(("127.0.0.1", 0)) as deaf:
        lane.send_all(topic, range(2))
        lane.express.settle()
        lead(lane, topic, deaf)
        big = batch(topic, 2 * COUNT)
        big.values = [b"x" * 50_000] * COUNT
        lane.stopping = True
        for use in (lambda: lane.send(big), lane.express.settle, lambda: lane.express.settle(0.1)):
            with pytest.raises(StoppedError):
                use()
            assert lane.express.pending == COUNT
        assert lane.queued == FIRST


# A broker that answers like this can't be had.
RUBBISH = {
    "nothing": b"",
    "less than nothing": struct.pack(">ii", -400, 1),
    "another request's answer": struct.pack(">ii", 4, 77),
    "half an answer": struct.pack(">ii", 400, 1),
    "an answer without an outcome": struct.pack(">ii", 4, 1),
}
IDENTITY = struct.pack(">iiihqh", 20, 1, 0, 0, 7, 0)
REFUSAL = struct.pack(">iiihqh", 20, 1, 0, 31, -1, -1)  # cluster authorization failed


def serving(server, answers):
    """Answer one request after the other with these."""

    def serve():
        connection, _ = server.accept()
        with connection:
            for answer in answers:
                size = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))[0]
                connection.recv(size, socket.MSG_WAITALL)
                connection.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()


@pytest.mark.parametrize(
    "answers",
    [
        *([rubbish] for rubbish in RUBBISH.values()),
        *([IDENTITY, rubbish.replace(b"\0\0\0\1", b"\0\0\0\2")] for rubbish in RUBBISH.values()),
        [REFUSAL],
    ],
    ids=[*(f"at once: {name}" for name in RUBBISH), *RUBBISH, "no producer id"],
)
def test_rubbish_in_place_of_an_answer(lane, kafka, topic, answers):
    """Who does not speak Kafka, or an other version of it, costs a moment and no record."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        serving(server, answers)
        lane.send(batch(topic, 0))
        lead(lane, topic, server)
        lane.send(batch(topic, COUNT))
        lane.express.settle()
        assert lane.queued == FIRST + 1
        lane.finish()
    assert numbers(consume_all(kafka, topic, 2 * COUNT)) == [*range(2 * COUNT)]


def test_batch_stays_behind_one_that_came_back_just_now(lane, kafka, topic):
    """To give that back has taken longer than the rest, which is over at once here."""
    name = topic.encode()
    refusal = struct.pack(f">iih{len(name)}siih", 2, 1, len(name), name, 1, 0, 6)  # not the leader
    with socket.create_server(("127.0.0.1", 0)) as server:
        serving(server, [IDENTITY, struct.pack(">i", len(refusal)) + refusal])
        lane.send(batch(topic, 0))
        lead(lane, topic, server)
        lane.express._rest = 0
        with lane.express._lock:  # so that nobody but who sends sees the answer
            lane.send(batch(topic, COUNT))
            [refused] = lane.express._under_way
            assert select.select([refused.connection._socket], [], [], 30)[0]
            assert not lane.express.send(batch(topic, 2 * COUNT))
        lane.queue(batch(topic, 2 * COUNT))
        assert lane.queued == FIRST + 2
        lane.finish()
    assert numbers(consume_all(kafka, topic, 3 * COUNT)) == [*range(3 * COUNT)]


@pytest.mark.parametrize("fault", ["kill", "freeze"])
def test_source_goes_on_when_the_broker_is_back(broker, tmp_path, fault):
    """A worker's source: no number is missing, and none comes for the first time out of order."""
    topic = topics.Topics(broker.address).create()
    settings = {"plugin.path": PLUGINS, "offset.flush.timeout.ms": "1000"}
    with standalone(broker.address, tmp_path, **settings) as worker:
        count = {"count": "1000000", "batch": "1000", "pause.ms": "1"}
        timeout = {"producer.override.request.timeout.ms": "3000"}
        worker.create(
            "source",
            {"connector.class": "BareNumbersSource", "topic": topic, **count, **timeout},
        )

        def stored():
            offsets = worker.rest.get("/connectors/source/offsets").json()["offsets"]
            return offsets[0]["offset"]["n"] if offsets else 0

        wait_for(lambda: stored() > 10_000, lambda: worker.status("source"), 60)
        broker.kill() if fault == "kill" else broker.freeze()
        try:
            wait_for(
                lambda: "Batches go by the producer" in worker.log_text(), "the fault to be seen"
            )
            assert stored() < 1_000_000, "the broker must be missed in mid-stream"
        finally:
            broker.start() if fault == "kill" else broker.thaw()
        wait_for(lambda: stored() == 1_000_000, lambda: worker.status("source"), 120)
        assert [t["state"] for t in worker.status("source")["tasks"]] == ["RUNNING"]
    found = [int(value.strip(b'"')) for value in topics.read_up_to_now(broker.address, topic)]
    assert [*dict.fromkeys(found)] == [*range(1_000_000)]
