"""Dead letters that Apache Kafka Connect wrote: read, grouped, tested and replayed as ours are."""

import json
from collections import Counter
from pathlib import Path

import httpx
import pytest

from dlq.desk import Desk
from dlq.probe import ProbeSpec, Verdict
from dlq.replay import Plan, Replay
from dlq.retest import Retest
from dlq.selection import Selection
from tests.support.topics import Out
from tests.support.waiting import wait_for

JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"


@pytest.fixture
def rest(oracle):
    with httpx.Client(base_url=oracle.url, timeout=30, trust_env=False) as client:
        yield client
        for name in client.get("/connectors").json():
            client.delete(f"/connectors/{name}")


def lines(path: Path):
    return path.read_text().splitlines() if path.exists() else []


def test_letters_of_the_jvm_are_read_tested_and_replayed(
    rest, kafka, make_topic, produce, tmp_path
):
    """Three causes are told apart; the corrected config passes one; a replay brings it to the
    JVM's sink, each record once.
    """
    topic, letters, out = make_topic("jvm"), make_topic("jvm-dlq"), tmp_path / "out.txt"
    config = {
        "name": "jvm-sink",
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "topics": topic,
        "file": str(out),
        "key.converter": JSON,
        "key.converter.schemas.enable": "false",
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
        "transforms": "time",
        "transforms.time.type": "org.apache.kafka.connect.transforms.TimestampConverter$Value",
        "transforms.time.field": "at",
        "transforms.time.target.type": "unix",
        "transforms.time.format": "yyyy-MM-dd",
        "consumer.override.isolation.level": "read_committed",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    rest.post("/connectors", json={"name": "jvm-sink", "config": config}).raise_for_status()
    good = json.dumps({"at": "2026-01-31"})
    produce(topic, [Out(good, b"{broken %d" % n) for n in range(20)])
    produce(topic, [b"<order id=%d/>" % n for n in range(10)])
    produce(topic, [json.dumps({"at": f"never {n}"}) for n in range(5)])
    desk = Desk({"bootstrap.servers": kafka}, folder=tmp_path, state_topic=make_topic("jvm-state"))
    wait_for(lambda: desk.count(letters, Selection()) >= 35, "35 letters of the JVM", 60)

    groups = desk.stats(letters, Selection())
    assert [(g.stage, g.count, g.connector, g.source_topic) for g in groups] == [
        ("KEY_CONVERTER", 20, "jvm-sink", topic),
        ("VALUE_CONVERTER", 10, "jvm-sink", topic),
        ("TRANSFORMATION", 5, "jvm-sink", topic),
    ]
    assert "JsonParseException" in groups[0].reason
    letter, _ = desk.letter(letters, next(iter(desk.rows(letters, Selection(limit=1)))).place)
    assert letter.cause.topic == topic
    assert letter.cause.trace

    corrected = {**config, "key.converter": STRING}
    with Retest({}, candidate=ProbeSpec("jvm-sink", corrected, {})) as retest:
        outcomes = [
            outcome
            for batch in desk.letters(letters, Selection())
            for outcome in retest.test(batch)
        ]
        assert Counter(o.verdict for o in outcomes) == {Verdict.PASSES: 20, Verdict.FAILS: 15}
        rest.put("/connectors/jvm-sink/config", json=corrected).raise_for_status()
        done = Replay(desk, Plan(letters, Selection(), by="test"), test=retest.test).run()
    assert (done.replayed, sum(done.left_open.values())) == (20, 15)
    wait_for(lambda: len(lines(out)) >= 20, lambda: f"20 lines, there are {len(lines(out))}", 60)
    assert desk.count(letters, Selection()) == 15
    assert len(lines(out)) == 20
