"""Records through a real worker and a real Kafka: all arrive, in the file or as dead letters."""

import json
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka.admin import ConfigResource, ResourceType

from tests.support.topics import Out, admin_client
from tests.support.waiting import wait_for
from tests.support.worker import json_lines, standalone

PLUGINS = Path(__file__).parents[2] / "support" / "plugins"
DLQ = {
    "errors.tolerance": "all",
    "errors.deadletterqueue.topic.replication.factor": 1,
    "errors.deadletterqueue.context.headers.enable": True,
}


def committed(worker, name, topic):
    """The offset of a sink's group in partition 0 of a topic, None before the first commit."""
    for entry in worker.rest.get(f"/connectors/{name}/offsets").json()["offsets"]:
        if entry["partition"] == {"kafka_topic": topic, "kafka_partition": 0}:
            return entry["offset"]["kafka_offset"]
    return None


def headers_of(message):
    return {name: value.decode() for name, value in message.headers() if value is not None}


def test_numbers_reach_the_sink(worker, connect, topic, tmp_path):
    """Every record of a source is put to a sink, once, in order."""
    out = tmp_path / "out.jsonl"
    connect("flow-source", {"connector.class": "NumbersSource", "topic": topic, "count": 2500})
    connect("flow-sink", {"connector.class": "CollectSink", "topics": topic, "file": out})
    wait_for(
        lambda: len(json_lines(out)) >= 2500,
        lambda: f"2500 lines; {worker.status('flow-sink')}",
        60,
    )
    assert [line["v"]["n"] for line in json_lines(out)] == list(range(2500))
    assert worker.status("flow-source")["tasks"][0]["version"] == "1.2.3"
    wait_for(
        lambda: committed(worker, "flow-sink", topic) == 2500,
        "the sink's offsets to be committed",
    )
    wait_for(
        lambda: (
            worker.rest.get("/connectors/flow-source/offsets").json()["offsets"]
            == [{"partition": {"numbers": "0"}, "offset": {"n": 2500}}]
        ),
        "the source's offset to be stored",
    )


def test_poison_at_every_stage_becomes_dead_letters_and_nothing_else(
    worker, connect, topic, make_topic, produce, consume_all, tmp_path
):
    """Of 10,000 records a tenth fails at each of six stages; file and DLQ hold the whole."""
    letters = make_topic("dlq")
    stages = {
        1: "KEY_CONVERTER",
        2: "VALUE_CONVERTER",
        3: "HEADER_CONVERTER",
        4: "TRANSFORMATION",
        5: "TASK_PUT",
        6: "TASK_PUT",
    }

    def record(n):
        value = {"n": n}
        key, headers = b'"k"', None
        match n % 10:
            case 1:
                key = b"{broken"
            case 2:
                return Out(b"\xff\xfe not json %d" % n, key)
            case 3:
                headers = [("h", b"{broken")]
            case 4:
                value["fail"] = True
            case 5:
                value["refuse"] = True
            case 6:
                value["report"] = True
        return Out(json.dumps(value).encode(), key, headers)

    produce(topic, [record(n) for n in range(10_000)])
    out = tmp_path / "out.jsonl"
    connect(
        "poison-sink",
        {
            "connector.class": "CollectSink",
            "topics": topic,
            "file": out,
            "header.converter": "org.apache.kafka.connect.json.JsonConverter",
            "header.converter.schemas.enable": False,
            "transforms": "fail",
            "transforms.fail.type": "FailOn",
            "transforms.fail.field": "fail",
            "errors.deadletterqueue.topic.name": letters,
            # Small batches: put() is narrowed by halves, and a guilty record repeats its half.
            "consumer.override.max.poll.records": 500,
            **DLQ,
        },
    )
    dead = consume_all(letters, 6000, timeout=120)
    wait_for(
        lambda: committed(worker, "poison-sink", topic) == 10_000,
        lambda: f"all offsets to be committed; {worker.status('poison-sink')}",
        60,
    )
    delivered = {line["o"] for line in json_lines(out)}
    assert delivered == {n for n in range(10_000) if n % 10 not in stages}
    found = {int(headers_of(m)["__connect.errors.offset"]): headers_of(m) for m in dead}
    assert len(dead) == len(found) == 6000
    assert {offset: told["__connect.errors.stage"] for offset, told in found.items()} == {
        n: stages[n % 10] for n in range(10_000) if n % 10 in stages
    }


def test_dead_letter_tells_everything(connect, topic, make_topic, produce, consume_all, tmp_path):
    """Key, value, headers and timestamp are the original's; ten headers tell what happened."""
    letters = make_topic("dlq")
    produce(topic, [Out(b"nonsense", b'"key"', [("mine", b"1")], timestamp=1_700_000_000_000)])
    connect(
        "letter-sink",
        {
            "connector.class": "CollectSink",
            "topics": topic,
            "file": tmp_path / "out.jsonl",
            "errors.deadletterqueue.topic.name": letters,
            **DLQ,
        },
    )
    [letter] = consume_all(letters, 1, timeout=60)
    assert (letter.key(), letter.value()) == (b'"key"', b"nonsense")
    assert letter.timestamp()[1] == 1_700_000_000_000
    told = headers_of(letter)
    assert told.pop("mine") == "1"
    stacktrace = told.pop("__connect.errors.exception.stacktrace")
    message = told.pop("__connect.errors.exception.message")
    assert told == {
        "__connect.errors.topic": topic,
        "__connect.errors.partition": "0",
        "__connect.errors.offset": "0",
        "__connect.errors.connector.name": "letter-sink",
        "__connect.errors.task.id": "0",
        "__connect.errors.stage": "VALUE_CONVERTER",
        "__connect.errors.class.name": "org.apache.kafka.connect.json.JsonConverter",
        "__connect.errors.exception.class.name": "org.apache.kafka.connect.errors.DataException",
    }
    assert message.startswith("Converting byte[] to Kafka Connect data failed")
    assert stacktrace.startswith("org.apache.kafka.connect.errors.DataException: " + message)


def test_without_tolerance_the_first_bad_record_fails_the_task(
    worker, connect, topic, make_topic, produce, consume_all, tmp_path
):
    """The status names stage, class, record and way out; the record is dead-lettered as well."""
    letters = make_topic("dlq")
    produce(topic, [b'{"n": 1}', b"nonsense", b'{"n": 2}'])
    connect(
        "strict-sink",
        {
            "connector.class": "CollectSink",
            "topics": topic,
            "file": tmp_path / "out.jsonl",
            "errors.deadletterqueue.topic.name": letters,
            "errors.deadletterqueue.topic.replication.factor": 1,
        },
    )
    status = worker.wait_states("strict-sink", ["FAILED"])
    trace = status["tasks"][0]["trace"]
    assert "Tolerance exceeded in error handler" in trace
    assert "VALUE_CONVERTER" in trace
    assert f"topic='{topic}', partition=0, offset=1" in trace
    assert "errors.tolerance=all" in trace
    assert status["connector"]["state"] == "RUNNING"
    assert [m.value() for m in consume_all(letters, 1)] == [b"nonsense"]


def test_guard_stops_a_task_that_dead_letters_everything(
    worker, connect, topic, make_topic, produce, tmp_path
):
    """More than errors.guard.max failures in the window fail the task, tolerance or not."""
    produce(topic, [b"nonsense"] * 50)
    connect(
        "guarded-sink",
        {
            "connector.class": "CollectSink",
            "topics": topic,
            "file": tmp_path / "out.jsonl",
            "errors.guard.max": 10,
            "errors.guard.window": 100,
            "errors.deadletterqueue.topic.name": make_topic("dlq"),
            **DLQ,
        },
    )
    status = worker.wait_states("guarded-sink", ["FAILED"])
    assert "More than 10 of the last 100 records failed" in status["tasks"][0]["trace"]


def test_source_dead_letters_what_no_converter_can_write(
    worker, connect, topic, make_topic, consume_all
):
    """A source has a DLQ too: the record is kept as JSON, with where it came from."""
    letters = make_topic("dlq")
    connect(
        "bad-source",
        {
            "connector.class": "NumbersSource",
            "topic": topic,
            "count": 3,
            "value.converter": "org.apache.kafka.connect.converters.LongConverter",
            "errors.deadletterqueue.topic.name": letters,
            **DLQ,
        },
    )
    dead = consume_all(letters, 3, timeout=60)
    assert [json.loads(m.value())["n"] for m in dead] == [0, 1, 2]
    told = headers_of(dead[2])
    assert told["__connect.errors.stage"] == "VALUE_CONVERTER"
    assert json.loads(told["__connect.errors.source.offset"]) == {"n": 3}
    assert consume_all(topic) == []


def test_poison_at_every_stage_of_a_source_becomes_dead_letters_and_nothing_else(
    worker, connect, make_topic, consume_all
):
    """Of 10,000 records a tenth fails at each of five stages; topic and DLQ hold the whole."""
    stages = {
        1: "KEY_CONVERTER",
        2: "VALUE_CONVERTER",
        3: "HEADER_CONVERTER",
        4: "TRANSFORMATION",
        5: "KAFKA_PRODUCE",
    }
    topic, letters = make_topic(config={"max.message.bytes": "20000"}), make_topic("dlq")
    connect(
        "poison-source",
        {
            "connector.class": "PoisonSource",
            "topic": topic,
            "count": 10_000,
            "batch": 100,
            "header.converter": "org.apache.kafka.connect.json.JsonConverter",
            "header.converter.schemas.enable": False,
            "transforms": "fail",
            "transforms.fail.type": "FailOn",
            "transforms.fail.field": "fail",
            "errors.deadletterqueue.topic.name": letters,
            **DLQ,
        },
    )
    dead = [headers_of(m) for m in consume_all(letters, 5000, timeout=120)]
    wait_for(
        lambda: (
            worker.rest.get("/connectors/poison-source/offsets").json()["offsets"]
            == [{"partition": {"numbers": "0"}, "offset": {"n": 10_000}}]
        ),
        lambda: f"the offset to be stored; {worker.status('poison-source')}",
        60,
    )
    good = [n for n in range(10_000) if n % 10 not in stages]
    assert sorted(json.loads(m.value())["n"] for m in consume_all(topic, len(good))) == good
    assert len(dead) == 5000
    assert Counter(told["__connect.errors.stage"] for told in dead) == dict.fromkeys(
        stages.values(), 1000
    )


def test_topics_regex_is_javas_and_finds_topics_that_come_later(
    worker, connect, make_topic, produce, tmp_path
):
    """A possessive quantifier works, and a new topic that matches is read without a restart."""
    first = make_topic("regex")
    prefix = first[: len("regex-") + 2]
    produce(first, [b"1"])
    out = tmp_path / "out.jsonl"
    connect(
        "regex-sink",
        {"connector.class": "CollectSink", "topics.regex": "regex-[0-9a-f]++", "file": out},
    )
    wait_for(
        lambda: len(json_lines(out)) >= 1, lambda: f"{prefix}: {worker.status('regex-sink')}", 60
    )
    produce(make_topic("regex"), [b"2"])
    wait_for(lambda: sorted(x["v"] for x in json_lines(out)) == [1, 2], "the second topic", 60)


def test_topic_creation_groups_shape_the_topic(worker, connect, kafka, topic):
    """topic.creation.* decides partitions and settings of a topic that is not there yet."""
    name = topic + "-created"
    connect(
        "creating-source",
        {
            "connector.class": "NumbersSource",
            "topic": name,
            "topic.creation.groups": "wide",
            "topic.creation.default.partitions": 1,
            "topic.creation.default.replication.factor": 1,
            "topic.creation.wide.include": ".*-created",
            "topic.creation.wide.partitions": 3,
            "topic.creation.wide.min.insync.replicas": 1,
            "topic.creation.wide.retention.ms": 60000,
        },
    )
    admin = admin_client(kafka)
    made = wait_for(lambda: admin.list_topics(timeout=10).topics.get(name), "the topic", 60)
    assert len(made.partitions) == 3
    resource = ConfigResource(ResourceType.TOPIC, name)
    settings = admin.describe_configs([resource])[resource].result()
    assert settings["retention.ms"].value == "60000"
    admin.delete_topics([name])[name].result()


def test_at_most_once_commits_before_put(worker, connect, topic, produce, tmp_path):
    """A sink that fails in put has its offsets committed already: nothing is repeated."""
    produce(topic, [b"1", b"2"])
    connect(
        "once-sink",
        {
            "connector.class": "CollectSink",
            "topics": topic,
            "file": tmp_path / "out.jsonl",
            "fault": "put:raise",
            "delivery.guarantee": "at_most_once",
        },
    )
    worker.wait_states("once-sink", ["FAILED"])
    assert committed(worker, "once-sink", topic) == 2


def test_pause_holds_and_resume_goes_on(worker, connect, topic, produce, tmp_path):
    """A paused sink takes nothing; resumed it goes on where it was."""
    out = tmp_path / "out.jsonl"
    connect("paused-sink", {"connector.class": "CollectSink", "topics": topic, "file": out})
    produce(topic, [b"1"])
    wait_for(lambda: len(json_lines(out)) == 1, "the first record", 60)
    assert worker.rest.put("/connectors/paused-sink/pause").status_code == 202
    worker.wait_states("paused-sink", ["PAUSED"])
    produce(topic, [b"2"])
    assert worker.rest.put("/connectors/paused-sink/resume").status_code == 202
    worker.wait_states("paused-sink", ["RUNNING"])
    wait_for(lambda: [x["v"] for x in json_lines(out)] == [1, 2], "the second record", 60)


def test_offsets_survive_a_restart_of_the_worker(kafka, topic, consume_all, tmp_path):
    """A source goes on from its stored offset; what was stored is not sent again."""
    config = {"connector.class": "NumbersSource", "topic": topic, "batch": "10"}
    with standalone(kafka, tmp_path, plugin__path=PLUGINS) as first:
        first.create("again", {**config, "count": "30"})
        consume_all(topic, 30, timeout=60)
        assert first.stop() == 0
    with standalone(kafka, tmp_path, plugin__path=PLUGINS) as second:
        second.create("again", {**config, "count": "50"})
        found = consume_all(topic, 50, timeout=60)
        assert [json.loads(m.value())["n"] for m in found] == list(range(50))


@pytest.mark.parametrize("fault", ["raise", "retry"])
def test_flush_that_fails_is_tried_again_and_loses_nothing(
    worker, connect, topic, produce, tmp_path, fault
):
    """Offsets stay where they are while flush fails; the records come again."""
    out = tmp_path / "out.jsonl"
    produce(topic, [b"1", b"2"])
    connect(
        f"flush-{fault}",
        {
            "connector.class": "CollectSink",
            "topics": topic,
            "file": out,
            "fault": f"flush:{fault}",
            "fault.once.file": tmp_path / "failed-once",
        },
    )
    wait_for(
        lambda: committed(worker, f"flush-{fault}", topic) == 2,
        lambda: f"offsets to be committed; {worker.status(f'flush-{fault}')}",
        60,
    )
    assert {x["v"] for x in json_lines(out)} == {1, 2}
