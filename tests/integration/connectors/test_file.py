"""FileStream source and sink in a real worker on a real Kafka."""

import pytest

from tests.support.topics import consume_all
from tests.support.waiting import wait_for
from tests.support.worker import read_lines, standalone

TEXT = "org.apache.kafka.connect.storage.StringConverter"


@pytest.fixture
def worker(kafka, tmp_path):
    with standalone(kafka, tmp_path) as running:
        yield running


def source(path, topic):
    return {
        "connector.class": "FileStreamSource",
        "file": str(path),
        "topic": topic,
        "value.converter": TEXT,
    }


def lines(kafka, topic, count):
    return [message.value().decode() for message in consume_all(kafka, topic, count)]


def append(path, text):
    with path.open("a") as file:
        file.write(text)


def wait_offset(worker, name, expected):
    def stored():
        offsets = worker.rest.get(f"/connectors/{name}/offsets").json()["offsets"]
        return offsets and offsets[0]["offset"] == expected

    wait_for(stored, f"{name} to store {expected}")


def test_lines_go_through_a_topic_into_another_file(worker, kafka, topic, tmp_path):
    """What is appended to one file appears in the other, in order and as it was."""
    into, out = tmp_path / "in.txt", tmp_path / "out.txt"
    append(into, "one\nzwö\r\n\n")
    worker.create("in", source(into, topic))
    worker.create(
        "out",
        {
            "connector.class": "FileStreamSink",
            "file": str(out),
            "topics": topic,
            "value.converter": TEXT,
        },
    )
    wait_for(lambda: read_lines(out) == ["one", "zwö", ""], lambda: f"lines in {read_lines(out)}")
    append(into, "four\nhalf")
    wait_for(lambda: len(read_lines(out)) == 4, "the line that was appended")
    assert read_lines(out)[-1] == "four"
    assert [m.key() for m in consume_all(kafka, topic, 4)] == [None] * 4


def test_a_stopped_source_goes_on_from_its_offset(worker, kafka, topic, tmp_path):
    """Stopped and resumed, the source reads only what is new."""
    into = tmp_path / "in.txt"
    append(into, "a\nb\n")
    worker.create("in", source(into, topic))
    assert lines(kafka, topic, 2) == ["a", "b"]
    wait_offset(worker, "in", {"position": 4})
    assert worker.rest.put("/connectors/in/stop").status_code == 204
    append(into, "c\n")
    assert worker.rest.put("/connectors/in/resume").status_code == 202
    assert lines(kafka, topic, 3) == ["a", "b", "c"]


def test_offsets_can_be_altered_and_reset(worker, kafka, topic, tmp_path):
    """After altering, reading starts at the position; after a reset, at the beginning."""
    into = tmp_path / "in.txt"
    append(into, "a\nb\n")
    worker.create("in", source(into, topic))
    assert lines(kafka, topic, 2) == ["a", "b"]
    wait_offset(worker, "in", {"position": 4})
    worker.rest.put("/connectors/in/stop")
    worker.wait_states("in", [])
    partition = {"filename": str(into)}

    refused = worker.rest.patch(
        "/connectors/in/offsets",
        json={"offsets": [{"partition": partition, "offset": {"position": -2}}]},
    )
    assert refused.status_code == 500
    assert refused.json()["message"].endswith("key in the offset should be a non-negative value")

    altered = worker.rest.patch(
        "/connectors/in/offsets",
        json={"offsets": [{"partition": partition, "offset": {"position": 2}}]},
    )
    assert altered.json() == {
        "message": "The offsets for this connector have been altered successfully"
    }
    worker.rest.put("/connectors/in/resume")
    assert lines(kafka, topic, 3) == ["a", "b", "b"]

    wait_offset(worker, "in", {"position": 4})
    worker.rest.put("/connectors/in/stop")
    worker.wait_states("in", [])
    assert worker.rest.delete("/connectors/in/offsets").status_code == 200
    worker.rest.put("/connectors/in/resume")
    assert lines(kafka, topic, 5) == ["a", "b", "b", "a", "b"]


def test_several_tasks_write_one_file(worker, kafka, make_topic, produce, tmp_path):
    """Two topics and two tasks into one file: every line whole, none missing."""
    topics = [make_topic("left", partitions=2), make_topic("right", partitions=2)]
    out = tmp_path / "out.txt"
    worker.create(
        "out",
        {
            "connector.class": "FileStreamSink",
            "file": str(out),
            "topics": ",".join(topics),
            "tasks.max": "2",
            "value.converter": TEXT,
        },
    )
    worker.wait_running("out", tasks=2)
    sent = []
    for topic in topics:
        values = [f"{topic} {number} " + "x" * 200 for number in range(2000)]
        produce(topic, [value.encode() for value in values])
        sent += values
    wait_for(
        lambda: len(read_lines(out)) >= len(sent), lambda: f"lines, have {len(read_lines(out))}", 60
    )
    assert sorted(read_lines(out)) == sorted(sent)
