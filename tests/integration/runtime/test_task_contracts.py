"""What the docstrings of SinkTask, SourceTask and their contexts promise, on a real worker."""

import json

import pytest

from tests.integration.runtime.test_flow import committed
from tests.support.topics import Out
from tests.support.waiting import wait_for
from tests.support.worker import json_lines, standalone


def values(*commands):
    return [json.dumps({"n": n, "do": do}).encode() for n, do in enumerate(commands)]


def puts(path):
    return [event["put"] for event in json_lines(path) if "put" in event]


@pytest.fixture
def scripted(connect, topic, tmp_path):
    """scripted(**more) runs a ScriptedSink on the test's topic; gives its name and its file."""

    def run(**more):
        path = tmp_path / "events.jsonl"
        name = f"scripted-{topic}"
        connect(name, {"connector.class": "ScriptedSink", "topics": topic, "file": path, **more})
        return name, path

    return run


def test_retriable_error_brings_the_same_batch_again(scripted, topic, produce):
    """Records of a refused batch come again, in order, before any later one."""
    produce(topic, values(None, "retry", None))
    _, path = scripted()
    wait_for(lambda: puts(path)[-1:] == [2], "the last record", 60)
    assert puts(path) == [0, 0, 1, 2]


def test_batch_by_columns_comes_again_as_records(worker, connect, topic, produce, tmp_path):
    """A task that takes columns gets what it refused as records, once; then columns again."""
    path, name = tmp_path / "events.jsonl", f"columns-{topic}"
    produce(topic, values(*[None] * 1000))
    connect(name, {"connector.class": "ColumnsSink", "topics": topic, "file": path})
    wait_for(lambda: committed(worker, name, topic) == 1000, "all to be committed", 60)
    refused, *taken = [event for event in json_lines(path) if "columns" in event]
    assert refused["columns"] == ["n", "do"]
    assert puts(path)[: refused["n"]] == [*range(refused["n"])]
    # What comes in small numbers comes as records too.
    assert sum(event["n"] for event in taken) + len(puts(path)) == 1000


def test_retriable_error_without_records_holds_nothing_up(scripted, topic, produce):
    """put() may ask to be called again when it was given nothing; what comes then is delivered."""
    produce(topic, values(None, None))
    _, path = scripted(hold="idle")
    wait_for(lambda: {"idle": True} in json_lines(path), "a put without records", 60)
    produce(topic, values(None, None))
    wait_for(lambda: puts(path) == [0, 1, 0, 1], lambda: f"what came later; {puts(path)}", 60)


def test_record_of_the_batch_before_may_be_reported(
    scripted, topic, make_topic, produce, consume_all
):
    """A task that writes in the background learns late whom to blame: the letter is the same."""
    letters = make_topic("dlq")
    sent = values(None, "report later", None)
    produce(topic, sent)
    _, path = scripted(
        **{
            "consumer.override.max.poll.records": 1,
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": letters,
            "errors.deadletterqueue.topic.replication.factor": 1,
            "errors.deadletterqueue.context.headers.enable": "true",
        }
    )
    wait_for(lambda: puts(path) == [0, 1, 2], lambda: f"all records; {puts(path)}", 60)
    (letter,) = consume_all(letters, 1)
    assert letter.value() == sent[1]
    assert dict(letter.headers())["__connect.errors.offset"] == b"1"
    assert dict(letter.headers())["__connect.errors.exception.message"] == b"seen too late"


def test_task_may_go_back(scripted, topic, produce):
    """After context.offset() the records from there come again."""
    produce(topic, values(None, None, "rewind"))
    _, path = scripted()
    wait_for(lambda: puts(path) == [0, 1, 2, 0, 1, 2], lambda: f"a second round; {puts(path)}", 60)


def test_paused_partition_brings_nothing_until_resumed(worker, scripted, topic, produce):
    """A task that pauses its only partition gets what comes later once it resumes it."""
    _, path = scripted(hold="resume")
    produce(topic, values("pause"))
    wait_for(lambda: puts(path) == [0], "the first record", 60)
    produce(topic, values(None))
    wait_for(lambda: puts(path) == [0, 0], "the record after resume", 60)


def test_only_what_pre_commit_names_is_committed(worker, scripted, topic, produce):
    """A task that holds back its last record keeps that offset uncommitted."""
    produce(topic, values(None, None, None))
    name, path = scripted(hold="one")
    wait_for(lambda: committed(worker, name, topic) == 2, "two of three to be committed", 60)
    assert puts(path) == [0, 1, 2]


def test_task_may_ask_for_a_commit(kafka, topic, produce, tmp_path):
    """context.request_commit() commits long before the interval."""
    from tests.integration.runtime.conftest import PLUGINS  # noqa: PLC0415

    produce(topic, values(None, "commit"))
    settings = {"plugin__path": PLUGINS, "offset__flush__interval__ms": 600_000}
    with standalone(kafka, tmp_path, **settings) as worker:
        config = {
            "connector.class": "ScriptedSink",
            "topics": topic,
            "file": str(tmp_path / "events.jsonl"),
        }
        worker.create("asks", config)
        wait_for(lambda: committed(worker, "asks", topic) == 2, "the commit", 60)


def test_partitions_are_opened_and_closed_as_tasks_come_and_go(
    worker, connect, make_topic, produce, tmp_path
):
    """With a second task each has one partition; what one closes the other opens."""
    topic = make_topic("shared", partitions=2)
    path = tmp_path / "events.jsonl"
    config = {"connector.class": "ScriptedSink", "topics": topic, "file": str(path)}
    connect("shares", config)
    wait_for(lambda: {"open": [0, 1]} in json_lines(path), lambda: str(json_lines(path)), 60)
    answer = worker.rest.put("/connectors/shares/config", json={**config, "tasks.max": "2"})
    assert answer.status_code == 200, answer.text
    worker.wait_running("shares", tasks=2)

    def owned():
        """How many tasks hold each partition, by the order of events."""
        held = {0: 0, 1: 0}
        for event in json_lines(path):
            for partition in event.get("open", []):
                held[partition] += 1
            for partition in event.get("close", []):
                held[partition] -= 1
        return held

    wait_for(
        lambda: {"open": [0]} in json_lines(path) or {"open": [1]} in json_lines(path),
        lambda: f"a task with one partition; {json_lines(path)}",
        60,
    )
    produce(topic, [Out(json.dumps({"n": n}).encode(), partition=n % 2) for n in range(10)])
    wait_for(lambda: sorted(puts(path)) == list(range(10)), "all records, once", 60)
    wait_for(
        lambda: owned() == {0: 1, 1: 1}, lambda: f"each partition to have one owner: {owned()}"
    )


def test_source_hears_of_every_record_that_is_safe(connect, topic, tmp_path):
    """commit_record for each record with its partition, then commit."""
    path = tmp_path / "acks.jsonl"
    config = {"connector.class": "AckSource", "topic": topic, "count": 25, "file": path}
    connect("acks", config)
    wait_for(
        lambda: {"commit": True} in json_lines(path) and len(json_lines(path)) > 25,
        lambda: f"25 records and a commit; {json_lines(path)}",
        60,
    )
    heard = [line for line in json_lines(path) if "n" in line]
    assert [line["n"] for line in heard] == list(range(25))
    assert {tuple(line["at"]) for line in heard} == {(topic, 0)}


def test_source_hears_of_dropped_records_without_a_place(connect, topic, tmp_path):
    """A record that a transform drops is named with None, so that it can be forgotten."""
    path = tmp_path / "acks.jsonl"
    connect(
        "drops",
        {
            "connector.class": "AckSource",
            "topic": topic,
            "count": 5,
            "file": path,
            "transforms": "drop",
            "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter",
        },
    )
    wait_for(lambda: len([x for x in json_lines(path) if "n" in x]) == 5, "five records", 60)
    assert {line["at"] for line in json_lines(path) if "n" in line} == {None}
