"""The short way of transactions: whole or not at all, once, and never by who was replaced."""

import struct
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import NewTopic

from connect.errors import ConnectError
from connect.pipeline import Outgoing
from connect.runtime import clients, wire
from connect.runtime.express_transactions import TOPIC_SECONDS, FencedError
from tests.support import topics
from tests.support.broker import own_broker
from tests.support.kafka_proxy import ADD_PARTITIONS, CLAIM, COMMIT, PRODUCE, kafka_proxy
from tests.support.topics import consume_all
from tests.support.waiting import wait_for

COUNT = 1000  # in a batch
NOW = 1_700_000_000_000
INVALID_EPOCH = 47


def ignored(*_what):
    """What the producer could not write, which its commit tells of as well."""


@pytest.fixture(scope="module", params=[None, 1], ids=["newest", "transactions of Kafka 3"])
def kafka(request, kafka, say):
    """As it is set up today, and as one that was upgraded from Kafka 3."""
    if request.param is None:
        yield kafka
    else:
        with own_broker(say, features={"transaction.version": request.param}) as broker:
            yield broker.address


class Way:
    """The two ways of an exactly-once source, without its loop."""

    def __init__(self, bootstrap, offsets, owner, settings):
        self.worker = {"bootstrap.servers": bootstrap, **settings}
        self.owner = owner
        self.producer = self.make_producer()
        self.producers = 0  # how often one took over
        make = clients.express_transactions("c", 0, self.worker, {}, transactional_id=owner)
        self.short = make(offsets, lambda: self.producer)

    def make_producer(self):
        return clients.exactly_once_producer(
            "c", 0, self.worker, {}, ignored, every_delivery=False, transactional_id=self.owner
        )

    def take(self):
        self.producer = self.make_producer()
        self.producer.init_transactions(30)
        self.producers += 1

    def write(self, *batches, offset=b"0"):
        """A transaction. Whether it went the short way."""
        records = [(b"place", offset)]
        parcels = self.short.pack(batches, 1_000_000)
        if parcels is not None and self.short.commit(parcels, records):
            return True
        self.short.hand_over(self.take)
        self.producer.begin_transaction()
        for batch in batches:
            for key, value in zip(batch.keys, batch.values, strict=True):
                self.producer.produce(batch.topic, value, key)
        self.producer.produce(self.short._offsets_topic, offset, b"place")
        self.producer.commit_transaction(30)
        return False

    def claim_once(self, current=None):
        """As a new owner does it first: it is asked to come again if a transaction is open."""
        short = clients.express_transactions("c", 0, self.worker, {}, transactional_id=self.owner)(
            self.short._offsets_topic, lambda: self.producer
        )
        try:
            short._ask_coordinator(wire.claim_transactions(self.owner, 60_000, current), 10)
        finally:
            short.close()

    def stop_resting(self):
        self.short._rests_until = 0

    def lead(self, topic, address):
        """Make it believe that this one leads the topic's only partition."""
        route = wire.Route({0: address}, 1, time.monotonic() + 60)
        self.short._routes._known[topic] = route


@contextmanager
def way_to(bootstrap, offsets, **settings):
    way = Way(bootstrap, offsets, f"owner-of-{offsets}", settings)
    assert way.short.claim()
    try:
        yield way
    finally:
        way.short.close()
        way.producer.purge()


@pytest.fixture
def offsets(make_topic):
    return make_topic("offsets", partitions=7)


@pytest.fixture
def proxy(kafka):
    with kafka_proxy(kafka) as proxy:
        yield proxy


@pytest.fixture
def way(kafka, offsets):
    with way_to(kafka, offsets) as way:
        yield way


@contextmanager
def successor_of(way):
    """A task that has replaced it, without its knowing."""
    successor = Producer(
        {"bootstrap.servers": way.worker["bootstrap.servers"], "transactional.id": way.owner}
    )
    successor.init_transactions(30)
    yield successor
    successor.purge()


def writes(successor, topic):
    """Whether it still can."""
    successor.begin_transaction()
    successor.produce(topic, b"-1")
    successor.commit_transaction(30)


def batch(topic, first, count=COUNT, *, bare=True):
    nothing = [None] * count
    values = [b"%d" % n for n in range(first, first + count)]
    keys = nothing if bare else [b"k"] * count
    return Outgoing(topic, nothing, nothing, [NOW + first] * count, keys, values, nothing, bare)


def numbers(messages):
    return [int(m.value()) for m in messages]


# ---- what arrives ----------------------------------------------------------------------------


def test_transactions_arrive_with_their_offsets(way, kafka, topic, offsets):
    """All values in order, with their times; offsets where Java's producer would put their key."""
    for n in range(20):
        assert way.write(
            batch(topic, 3 * n * COUNT, 2 * COUNT),
            batch(topic, (3 * n + 2) * COUNT),
            offset=b"%d" % n,
        )
    found = consume_all(kafka, topic, 60 * COUNT)
    assert numbers(found) == [*range(60 * COUNT)]
    assert {(m.key(), m.headers()) for m in found} == {(None, None)}
    assert found[-1].timestamp()[1] == NOW + 59 * COUNT
    stored = consume_all(kafka, offsets, 20)
    assert [(m.key(), m.value()) for m in stored] == [(b"place", b"%d" % n) for n in range(20)]
    producer = clients.dlq_producer("c", 0, way.worker, {}, ignored, every_delivery=False)
    producer.produce(offsets, b"20", b"place")
    assert producer.flush(30) == 0
    assert len({m.partition() for m in consume_all(kafka, offsets, 21)}) == 1


def test_small_transactions_and_those_of_offsets_alone(way, kafka, topic, offsets):
    for n in range(20):
        assert way.write(*([batch(topic, n // 2, 1)] if n % 2 == 0 else []), offset=b"%d" % n)
    assert numbers(consume_all(kafka, topic, 10)) == [*range(10)]
    assert numbers(consume_all(kafka, offsets, 20)) == [*range(20)]


def test_several_topics_and_partitions_in_one_transaction(way, kafka, make_topic):
    places = [make_topic(partitions=3), make_topic()]
    for n in range(10):
        assert way.write(*(batch(place, n * COUNT) for place in places))
    for place in places:
        found = consume_all(kafka, place, 10 * COUNT)
        assert sorted(numbers(found)) == [*range(10 * COUNT)]
        for partition in range(3):
            there = numbers(m for m in found if m.partition() == partition)
            assert there == sorted(there)


def test_batch_that_is_larger_than_a_request_is_cut(kafka, topic, offsets):
    """batch.size is what one request has at most."""
    with way_to(kafka, offsets, **{"producer.batch.size": "20000"}) as way:
        assert way.write(batch(topic, 0, 5 * COUNT))
        assert way.write(batch(topic, 5 * COUNT, 50 * COUNT))  # more than fit by their number
    assert numbers(consume_all(kafka, topic, 55 * COUNT)) == [*range(55 * COUNT)]


def test_record_that_is_larger_than_a_request_goes_by_the_producer(kafka, topic, offsets):
    with way_to(kafka, offsets, **{"producer.batch.size": "20000"}) as way:
        large = batch(topic, 0, 3)
        large.values[1] = b"1" * 30_000
        assert not way.write(large)
    assert [len(m.value()) for m in consume_all(kafka, topic, 3)] == [1, 30_000, 1]


def test_topic_that_is_new(way, kafka, make_topic, topic):
    """It is waited for; the broker makes it here, as it does for any producer."""
    name = f"{topic}-new"
    assert way.write(batch(name, 0))
    assert numbers(consume_all(kafka, name, COUNT)) == [*range(COUNT)]


def test_topic_that_is_made_anew_with_fewer_partitions(way, kafka, make_topic):
    """What was known of the old one is not insisted on for the minutes that a coordinator has."""
    name = make_topic(partitions=50)
    assert way.write(batch(name, 0))
    admin = topics.admin_client(kafka)
    admin.delete_topics([name])[name].result()
    wait_for(lambda: name not in admin.list_topics(timeout=10).topics, "the topic to be gone")
    admin.create_topics([NewTopic(name, 1, 1)])[name].result()
    began = time.monotonic()
    assert way.write(batch(name, COUNT))
    assert time.monotonic() - began < TOPIC_SECONDS
    assert numbers(consume_all(kafka, name, COUNT)) == [*range(COUNT, 2 * COUNT)]


def test_order_holds_when_it_changes_hands(way, kafka, topic, offsets):
    """Batches with keys are the producer's, and so is what follows for a while."""
    went = []
    for n in range(12):
        if n % 3 == 0:
            way.stop_resting()
        went.append(way.write(batch(topic, n * COUNT, bare=n % 3 != 1), offset=b"%d" % n))
    assert went == [True, False, False] * 4
    assert way.producers == 4
    assert numbers(consume_all(kafka, topic, 12 * COUNT)) == [*range(12 * COUNT)]
    assert numbers(consume_all(kafka, offsets, 12)) == [*range(12)]


# ---- who was replaced ------------------------------------------------------------------------


def test_who_was_replaced_writes_nothing(way, kafka, topic):
    assert way.write(batch(topic, 0))
    with successor_of(way) as successor:
        with pytest.raises(FencedError, match=way.owner):
            way.write(batch(topic, COUNT))
        writes(successor, topic)
    assert numbers(consume_all(kafka, topic, COUNT + 1)) == [*range(COUNT), -1]


def test_who_was_replaced_in_the_middle_of_a_transaction(way, kafka, topic):
    """Neither what it had sent counts, nor what it sends yet."""
    way.short._write_where_it_belongs(way.short.pack([batch(topic, 0)], 1_000_000), [])
    with successor_of(way) as successor:
        successor.begin_transaction()
        successor.produce(topic, b"-2")
        successor.flush(30)
        with pytest.raises(FencedError):
            way.short._end()
        way.short.abandon(10)
        successor.commit_transaction(30)
        writes(successor, topic)
    assert numbers(consume_all(kafka, topic, 2)) == [-2, -1]


@pytest.mark.parametrize("successor_is", ["idle", "in a transaction", "behind what it aborted"])
def test_who_was_replaced_takes_nothing_from_its_successor(way, kafka, topic, successor_is):
    """To hand over means to take it anew, by a producer that asks nobody: that must not be."""
    assert way.write(batch(topic, 0))
    with successor_of(way) as successor:
        if successor_is != "idle":
            successor.begin_transaction()
            successor.produce(topic, b"-2")
            successor.flush(30)
        if successor_is == "behind what it aborted":
            successor.abort_transaction(30)
        with pytest.raises(FencedError):
            way.write(batch(topic, COUNT, bare=False))
        assert way.producers == 0
        if successor_is == "in a transaction":
            successor.commit_transaction(30)
        writes(successor, topic)
    expected = [*range(COUNT), *([-2] if successor_is == "in a transaction" else []), -1]
    assert numbers(consume_all(kafka, topic, len(expected))) == expected


@pytest.mark.parametrize("successor_is", ["idle", "behind what it aborted"])
def test_who_is_replaced_while_its_transaction_is_aborted(way, proxy, kafka, topic, successor_is):
    """Its successor has it, though the abort was its own wish, and is not hindered."""
    way.short._write_where_it_belongs(way.short.pack([batch(topic, 0)], 1_000_000), [])
    way.short._coordinator = proxy.address
    with ExitStack() as later:

        def replace():
            with pytest.raises(ConnectionError, match="concurrent"):
                way.claim_once(way.short._identity)
            successor = later.enter_context(successor_of(way))
            if successor_is == "behind what it aborted":
                successor.begin_transaction()
                successor.produce(topic, b"-2")
                successor.flush(30)
                successor.abort_transaction(30)
            later.callback(writes, successor, topic)

        proxy.before(CLAIM, replace)
        with pytest.raises(FencedError):
            way.write(batch(topic, COUNT, bare=False))
        assert way.producers == 0
    assert numbers(consume_all(kafka, topic, 1)) == [-1]


def test_successor_that_ends_before_it_has_begun(way, kafka, topic):
    """It could only have the open transaction aborted, which is written again."""
    way.short._write_where_it_belongs(way.short.pack([batch(topic, 0)], 1_000_000), [])
    with pytest.raises(ConnectionError, match="concurrent"):
        way.claim_once()
    assert not way.write(batch(topic, COUNT, bare=False))
    assert numbers(consume_all(kafka, topic, COUNT)) == [*range(COUNT, 2 * COUNT)]


def test_who_was_replaced_while_the_producer_wrote(way, kafka, topic):
    assert not way.write(batch(topic, 0, bare=False))
    way.stop_resting()
    with successor_of(way) as successor:
        with pytest.raises(FencedError):
            way.write(batch(topic, COUNT))
        writes(successor, topic)
    assert numbers(consume_all(kafka, topic, COUNT + 1)) == [*range(COUNT), -1]


def test_who_is_replaced_in_the_moment_of_handing_over(way, kafka, topic):
    """The producer has it then, and must not use it: somebody had it in between."""
    take = way.take

    def late():
        with successor_of(way):
            take()

    way.take = late
    with pytest.raises(FencedError):
        way.write(batch(topic, 0, bare=False))
    assert consume_all(kafka, topic) == []


# ---- what goes wrong -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ADD_PARTITIONS, COMMIT])
def test_answer_that_is_lost(way, proxy, kafka, topic, offsets, kind):
    """It is asked for again: what was done is done once."""
    way.write(batch(topic, 0))
    for n in range(1, 4):
        way.short._coordinator = proxy.address
        proxy.lose_answer(kind)
        assert way.write(batch(topic, n * COUNT), offset=b"%d" % n)
        assert proxy.seen[-1] == kind
    assert numbers(consume_all(kafka, topic, 4 * COUNT)) == [*range(4 * COUNT)]
    assert numbers(consume_all(kafka, offsets, 4)) == [0, 1, 2, 3]


def test_commit_that_arrives_late_ends_no_other_transaction(way, proxy, kafka, topic):
    """It hangs on its way, is repeated, and comes when the next transaction is half written."""
    way.write(batch(topic, 0))
    way.short._coordinator = proxy.address
    proxy.hold(COMMIT)
    assert way.write(batch(topic, COUNT))
    late = []
    proxy.before(PRODUCE, lambda: late.append(proxy.release()))
    way.lead(topic, proxy.address)
    # The short way, unless the broker refuses one of two requests by two connections at a time.
    way.write(batch(topic, 2 * COUNT))
    assert struct.unpack(">iiih", late[0])[-1] == INVALID_EPOCH
    assert numbers(consume_all(kafka, topic, 3 * COUNT)) == [*range(3 * COUNT)]


def test_records_that_arrive_late_count_in_no_transaction(way, proxy, kafka, topic):
    """They hang on their way, the producer writes them, and then they come."""
    way.write(batch(topic, 0))
    way.lead(topic, proxy.address)
    proxy.hold(PRODUCE)
    assert not way.write(batch(topic, COUNT))
    proxy.release()
    assert not way.write(batch(topic, 2 * COUNT))
    way.stop_resting()
    assert way.write(batch(topic, 3 * COUNT))
    assert numbers(consume_all(kafka, topic, 4 * COUNT)) == [*range(4 * COUNT)]


def test_answer_to_records_that_is_lost(way, proxy, kafka, topic):
    """The transaction is ended, and the producer does all of it again."""
    way.write(batch(topic, 0))
    way.lead(topic, proxy.address)
    proxy.lose_answer(PRODUCE)
    assert not way.write(batch(topic, COUNT))
    assert numbers(consume_all(kafka, topic, 2 * COUNT)) == [*range(2 * COUNT)]


def test_answer_to_a_claim_that_is_lost(way, proxy, kafka, topic):
    """It is asked for again with the old identity, and is the same."""
    assert not way.write(batch(topic, 0, bare=False))
    way.stop_resting()
    way.short._coordinator = proxy.address
    proxy.lose_answer(CLAIM)
    assert way.write(batch(topic, COUNT))
    assert proxy.seen[-1] == CLAIM
    assert numbers(consume_all(kafka, topic, 2 * COUNT)) == [*range(2 * COUNT)]


def test_what_the_broker_refuses(way, kafka, make_topic, offsets):
    """A transaction is whole or not at all, whoever writes it."""
    topic = make_topic(config={"max.message.bytes": "5000"})
    with pytest.raises(KafkaException):
        way.write(batch(topic, 0))
    assert way.producers == 1
    way.producer.abort_transaction(30)
    for place in (topic, offsets):
        assert consume_all(kafka, place) == []


def test_what_is_given_up_hides_nothing(way, kafka, topic):
    """Readers don't wait for the end of a transaction that has none."""
    way.short._write_where_it_belongs(way.short.pack([batch(topic, 0)], 1_000_000), [])
    way.short.abandon(10)
    topics.produce(kafka, topic, [b"-1"])
    assert numbers(consume_all(kafka, topic, 1)) == [-1]


# Brokers that answer like this can't be had.
RUBBISH = {
    "nothing": b"",
    "another request's answer": struct.pack(">ii", 4, 77),
    "half an answer": struct.pack(">ii", 200, 1),
    "an answer without an outcome": struct.pack(">ii", 4, 1),
    "a refusal": struct.pack(">iibihqhb", 22, 1, 0, 0, 53, -1, -1, 0),
}


@pytest.mark.parametrize("answer", RUBBISH.values(), ids=RUBBISH)
def test_coordinator_that_says_rubbish(kafka, offsets, proxy, answer):
    """The producer is to have everything, from the beginning."""
    way = Way(kafka, offsets, f"owner-of-{offsets}", {"producer.request.timeout.ms": "1000"})
    way.short._coordinator = proxy.address
    proxy._faults[CLAIM] = lambda _request: answer or None
    assert not way.short.claim()


def test_no_broker_at_all(offsets, kafka):
    """The producer waits for it, if anybody does."""
    way = Way("127.0.0.1:1", offsets, "nobody", {})
    assert not way.short.claim()


@pytest.fixture(scope="module")
def broker(say):
    with own_broker(say) as broker:
        yield broker


@pytest.mark.parametrize("fault", ["kill", "freeze"])
def test_broker_goes_away_in_the_middle(broker, fault):
    """It is waited for, and every number is there once."""
    made = topics.Topics(broker.address)
    topic, offsets = made.create(), made.create()
    failures = []
    done = [0]

    def write(way):
        try:
            while done[0] < 200:
                way.write(batch(topic, done[0] * COUNT), offset=b"%d" % done[0])
                done[0] += 1
        except (ConnectError, KafkaException) as error:
            failures.append(error)

    with way_to(broker.address, offsets, **{"producer.request.timeout.ms": "2000"}) as way:
        writer = threading.Thread(target=write, args=(way,))
        writer.start()
        wait_for(lambda: done[0] > 20, "some transactions")
        broker.kill() if fault == "kill" else broker.freeze()
        if fault == "freeze":
            wait_for(lambda: not way.short._connections._open, "the fault to be seen")
        broker.start() if fault == "kill" else broker.thaw()
        writer.join(120)
        assert failures == []
        assert done[0] == 200
    found = numbers(consume_all(broker.address, topic, 200 * COUNT, timeout=60))
    assert found == [*range(200 * COUNT)]
    assert numbers(consume_all(broker.address, offsets, 200)) == [*range(200)]
