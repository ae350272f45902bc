"""Replays that meet trouble: nothing is sent twice, nothing is lost, and the reason is told."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from confluent_kafka import Producer
from rich.console import Console

from connect.plugins import Plugins
from connect.runtime.sink_delivery import SinkDelivery
from connect.runtime.spec import ConnectorSpec, Kind
from dlq import letter as names
from dlq import reader
from dlq.desk import Desk
from dlq.edit import EditError, PatchEdit
from dlq.json_patch import JsonPatch
from dlq.masking import Mask
from dlq.model import Mark
from dlq.probe import Decoded
from dlq.reader import Place
from dlq.replay import SINK, Plan, Replay, ReplayError
from dlq.selection import Selection, State
from dlq.showing import letter_document
from dlq.state import encode
from penstock.dlq_show import letter_page
from tests.integration.dlq.conftest import LETTERS
from tests.support.topics import Out, admin_client
from tests.support.waiting import wait_for


def dead(topic, n, value=None, **headers):
    """A letter as a sink writes it."""
    told = {
        names.TOPIC: topic,
        names.PARTITION: "0",
        names.OFFSET: str(n),
        names.CONNECTOR: "orders",
        names.STAGE: "TASK_PUT",
        names.MESSAGE: f"no {n}",
        **headers,
    }
    return Out(value or b"%d" % n, b"k%d" % n, [(k, v.encode()) for k, v in told.items()])


@pytest.fixture
def desk(kafka, make_topic, tmp_path):
    state = make_topic("state", config={"cleanup.policy": "compact"})
    return Desk({"bootstrap.servers": kafka}, folder=tmp_path, state_topic=state)


@pytest.fixture
def topic(make_topic):
    return make_topic("target")


@pytest.fixture
def letters(make_topic):
    return make_topic("dlq")


def values(messages):
    return [message.value() for message in messages]


def test_a_replay_can_be_stopped_and_goes_on_later(desk, topic, letters, produce, consume_all):
    """A stop after the first batch leaves the rest open; the next run sends exactly that."""
    produce(letters, [dead(topic, n) for n in range(1200)])
    first = Replay(desk, Plan(letters, Selection(), by="ann"), on_progress=lambda _: first.stop())
    done = first.run()
    assert (done.total, done.replayed) == (1200, 500)
    assert "go on when you like" in done.stopped
    assert desk.count(letters, Selection()) == 700
    assert Replay(desk, Plan(letters, Selection())).run().replayed == 700
    assert values(consume_all(topic)) == [b"%d" % n for n in range(1200)]
    _, mark = desk.letter(
        letters, next(iter(desk.rows(letters, Selection(states=(), limit=1)))).place
    )
    assert (mark.state, mark.target) == (State.REPLAYED, topic)


@pytest.fixture
def open_transaction(kafka, desk, topic, letters, produce):
    """A producer that has marked the first of two letters as replayed, but not committed it yet."""
    produce(letters, [dead(topic, n) for n in range(2)])
    producer = Producer({"bootstrap.servers": kafka, "transactional.id": f"marks-{letters}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    mark = Mark(0, 0, State.REPLAYED, "ann", 1)
    key, value = encode(desk.reader.topic(letters), mark)
    producer.produce(desk.states.name, value, key)
    producer.flush(30)
    return producer


def test_what_is_being_committed_is_waited_for(desk, letters, open_transaction, monkeypatch):
    """A look right after a replay sees all of it, though Kafka shows it a moment later."""
    monkeypatch.setattr(reader, "UNDER_WAY_SECONDS", 60.0)
    with ThreadPoolExecutor(1) as thread:
        looking = thread.submit(desk.count, letters, Selection())
        with pytest.raises(TimeoutError):
            looking.result(0.5)
        open_transaction.commit_transaction(30)
        assert looking.result(60) == 1


def test_what_was_left_open_is_not_waited_for(desk, letters, open_transaction, monkeypatch):
    """A replay that was killed holds nobody up."""
    monkeypatch.setattr(reader, "UNDER_WAY_SECONDS", 0.1)
    assert desk.count(letters, Selection()) == 2
    open_transaction.abort_transaction(30)


def test_a_second_replay_takes_over_and_nothing_is_sent_twice(
    desk, topic, letters, produce, consume_all
):
    """The older one is fenced in the middle; together they send each letter once."""
    produce(letters, [dead(topic, n) for n in range(1500)])
    others = []

    def take_over(_progress):
        if not others:
            others.append(Replay(desk, Plan(letters, Selection())).run())

    with pytest.raises(ReplayError, match="Another replay"):
        Replay(desk, Plan(letters, Selection()), on_progress=take_over).run()
    assert others[0].replayed == 1000
    assert sorted(map(int, values(consume_all(topic)))) == list(range(1500))


def test_a_topic_deleted_in_the_middle_ends_the_replay(desk, kafka, topic, letters, produce):
    """It is not created anew; the error names it, and what was not sent is open."""
    produce(letters, [dead(topic, n) for n in range(1500)])
    admin = admin_client(kafka)

    def delete(_progress):
        admin.delete_topics([topic])[topic].result()
        wait_for(lambda: topic not in admin.list_topics(timeout=10).topics, "the topic to go")

    with pytest.raises(ReplayError, match=f"no topic '{topic}'.*500 letters"):
        Replay(desk, Plan(letters, Selection()), on_progress=delete).run()
    assert desk.count(letters, Selection()) == 1000
    assert topic not in admin.list_topics(timeout=10).topics


def test_what_kafka_refuses_holds_up_nothing_else(desk, make_topic, letters, produce, consume_all):
    """A value too large for the target stays open with the reason; its neighbours are sent."""
    small = make_topic("small", config={"max.message.bytes": "2000"})
    produce(letters, [dead(small, n, b"x" * 5000 if n == 7 else None) for n in range(20)])
    done = Replay(desk, Plan(letters, Selection())).run()
    assert done.replayed == 19
    [(reason, count)] = done.left_open.items()
    assert ("Kafka refuses the record" in reason, count) == (True, 1)
    assert len(consume_all(small)) == 19
    assert desk.rows(letters, Selection())[0].offset == 7


def test_gigantic_values_are_replayed_whole_and_shown_in_part(
    desk, topic, letters, produce, consume_all
):
    """A value of nearly a megabyte goes back byte by byte; a terminal gets its beginning."""
    value = b'{"text": "' + b"x" * 950_000 + b'"}'
    produce(letters, [dead(topic, n, value) for n in range(3)])
    assert Replay(desk, Plan(letters, Selection())).run().replayed == 3
    assert values(consume_all(topic)) == [value] * 3
    letter, mark = desk.letter(letters, Place(0, 1))
    document = letter_document(letter, mark, Decoded(None, None, None, None), Mask([]))
    console = Console(width=200)
    with console.capture() as shown:
        console.print(letter_page(document))
    assert "… (950012" in shown.get()
    assert len(shown.get()) < 20_000


def test_letters_that_can_not_go_back_say_why(desk, topic, letters, produce, consume_all):
    """Worn out, without headers, from a source: left open, each by its reason; another topic
    takes the latter two.
    """
    produce(
        letters,
        [
            dead(topic, 0, **{names.ATTEMPT: "3"}),
            Out(b"bare"),
            Out(b"foreign", headers=[("kafka_dlt-exception-message", b"x")]),
            dead(topic, 3, **{names.SOURCE_PARTITION: '{"f":1}'}),
            dead(topic, 4),
        ],
    )
    dry = Replay(desk, Plan(letters, Selection(), dry_run=True)).run()
    assert (dry.replayed, dry.targets) == (1, {topic: 1})
    assert len(consume_all(topic)) == 0
    done = Replay(desk, Plan(letters, Selection())).run()
    assert done.left_open == {
        "replayed 3 times already (--max-attempts)": 1,
        "original topic unknown: needs --to topic:NAME": 2,
        "from a source: needs --to topic:NAME": 1,
    }
    assert Replay(desk, Plan(letters, Selection(), to=topic)).run().replayed == 3
    assert values(consume_all(topic)) == [b"4", b"bare", b"foreign", b"3"]
    [worn] = desk.rows(letters, Selection())
    assert worn.attempts == 3


def test_a_patch_that_does_not_fit_holds_up_nothing_else(
    desk, topic, letters, produce, consume_all
):
    """The letter stays open with the reason; those before and behind it are sent."""
    produce(letters, [dead(topic, n, v) for n, v in enumerate([b'{"a":1}', b"{}", b'{"a":2}'])])
    patch = PatchEdit(JsonPatch([{"op": "replace", "path": "/a", "value": 9}]))
    done = Replay(desk, Plan(letters, Selection()), edit=patch).run()
    [(reason, count)] = done.left_open.items()
    assert (done.replayed, "The patch does not fit" in reason, count) == (2, True, 1)
    assert values(consume_all(topic)) == [b'{"a":9}'] * 2


def test_reasons_do_not_grow_with_the_letters(desk, topic, letters, produce):
    """Each letter has a reason of its own: a hundred are told, the rest counted together."""

    def refuse(letter):
        raise EditError(f"{letter.offset} " + "x" * 10_000)

    produce(letters, [dead(topic, n) for n in range(600)])
    done = Replay(desk, Plan(letters, Selection(), dry_run=True), edit=refuse).run()
    assert sum(done.left_open.values()) == 600
    assert (len(done.left_open), done.left_open["other reasons"]) == (101, 500)
    assert max(map(len, done.left_open)) <= 500


@pytest.mark.parametrize("size", [3, 100])
def test_a_sink_that_gathers_gets_all_letters_of_several_partitions(
    desk, make_topic, produce, tmp_path, size
):
    """Offsets go back with each partition of the letters; all is in files, and marked."""
    letters = make_topic("dlq", 2)
    produce(letters, [replace(dead("orders", n), partition=n % 2) for n in range(41)])
    config = {
        "connector.class": "io.confluent.connect.s3.S3SinkConnector",
        "files.url": str(tmp_path / "lake"),
        "flush.size": str(size),
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    with SinkDelivery(ConnectorSpec("orders", Kind.SINK, config, {}, Plugins())) as delivery:
        replay = Replay(desk, Plan(letters, Selection(), to=SINK), delivery=delivery)
        done = replay.run()
    assert (done.replayed, done.left_open) == (41, {})
    files = (tmp_path / "lake").rglob("*.json")
    assert sorted(int(row) for f in files for row in f.read_text().splitlines()) == [*range(41)]


def test_a_rate_is_kept(desk, topic, letters, produce):
    """Two hundred at a hundred a second take a second at least: the first second is free."""
    produce(letters, [dead(topic, n) for n in range(200)])
    begin = time.monotonic()
    assert Replay(desk, Plan(letters, Selection(), rate=100)).run().replayed == 200
    assert time.monotonic() - begin >= 0.9


def test_records_that_come_back_stop_the_replay(
    connect, dlq, make_topic, produce, wait_for_letters, tmp_path
):
    """A connector that still fails is noticed while the replay runs."""
    topic, letters = make_topic("loop"), make_topic("loop-dlq")
    connect(
        "loop",
        {"connector.class": "CollectSink", "topics": topic, "file": tmp_path / "out",
         "transforms": "no", "transforms.no.type": "FailOn", "transforms.no.field": "no",
         "errors.deadletterqueue.topic.name": letters, **LETTERS},
    )  # fmt: skip
    produce(topic, [json.dumps({"no": True, "n": n}) for n in range(2000)])
    wait_for_letters(letters, 2000)
    done = dlq("replay", letters, "--rate", "200", fails=True)
    assert "still fails" in done["stopped"]
    assert 20 <= done["replayed"] < 2000
    wait_for_letters(letters, 2000 + done["replayed"])
    returned = [r for r in dlq("ls", letters) if r["attempts"] == 1]
    assert len(returned) == done["replayed"]
    shown = dlq("show", f"{letters}/0/{returned[0]['offset']}")
    assert shown["attempts"] == 1
    assert shown["origin"].startswith(f"{topic}/0/")
    assert shown["cause"]["generations"] == 1
