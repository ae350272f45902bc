"""Causes are read from whatever headers a letter has."""

import pytest

from connect.pipeline import Failure, RawMessage, Stage
from dlq import letter as names
from dlq.cause import attempts, cause_of, trace_for_people
from dlq.letter import error_headers
from dlq.reader import letter_from


def generation(topic, offset, message, **more):
    headers = [
        (names.TOPIC, topic.encode()),
        (names.PARTITION, b"0"),
        (names.OFFSET, str(offset).encode()),
        (names.CONNECTOR, b"orders"),
        (names.TASK, b"2"),
        (names.STAGE, b"VALUE_CONVERTER"),
        (names.CLASS, b"JsonConverter"),
        (names.EXCEPTION, b"org.apache.kafka.connect.errors.DataException"),
        (names.MESSAGE, message.encode()),
        (names.STACKTRACE, b"trace"),
    ]
    return headers + [(names.PREFIX + k.replace("_", "."), v) for k, v in more.items()]


def test_what_the_writer_writes_is_read():
    """A letter of our own tasks says everything about its cause."""
    record = RawMessage("orders", b"x", partition=3, offset=42)
    failure = Failure(record, Stage.TRANSFORMATION, "some.Transform", ValueError("no 7"))
    cause = cause_of([("own", b"1"), *error_headers(failure, "sink", 1)])

    assert (cause.connector, cause.task, cause.stage) == ("sink", 1, "TRANSFORMATION")
    assert (cause.topic, cause.partition, cause.offset) == ("orders", 3, 42)
    assert (cause.exception, cause.message) == ("ValueError", "no 7")
    assert cause.generations == 1
    assert not cause.of_source


def test_the_last_generation_counts():
    """A letter that failed again tells why it failed last, and how often it did."""
    cause = cause_of([*generation("a", 1, "first"), ("x", b"y"), *generation("b", 9, "second")])
    assert (cause.message, cause.topic, cause.offset, cause.generations) == ("second", "b", 9, 2)


def test_generations_are_not_mixed():
    """What only the first generation told is not taken for the last one's."""
    first = generation("a", 1, "first", source_partition=b'{"f":1}')
    assert cause_of(first).of_source
    assert not cause_of([*first, *generation("b", 9, "second")]).of_source


@pytest.mark.parametrize(
    "headers",
    [[], [("kafka_dlt-exception-fqcn", b"X")], [(names.PARTITION, b"not a number")],
     [(names.OFFSET, None)], [(names.OFFSET, b"9" * 5000)], [(names.MESSAGE, b"\xff\xfe")]],
)  # fmt: skip
def test_missing_foreign_and_malformed_headers_are_forgiven(headers):
    """Whatever the headers are, there is a cause; what can't be read is unknown."""
    cause = cause_of(headers)
    assert (cause.topic, cause.partition, cause.offset, cause.stage) == (None, None, None, None)


@pytest.mark.parametrize(("value", "count"), [(b"2", 2), (b"-5", 0), (b"x", 0), (None, 0)])
def test_attempts_are_read(value, count):
    """The attempts of a letter that was replayed; nonsense is none."""
    assert attempts([(names.ATTEMPT, value)]) == count


def test_a_letter_keeps_its_own_headers_and_its_first_origin():
    """Added headers are told apart from the record's, and the first place from later ones."""
    own = [("a", b"1"), ("a", b"2"), ("b", None)]
    letter = letter_from(
        RawMessage(
            "dlq",
            b"v",
            headers=[*own, *generation("first", 1, "x"), *generation("again", 7, "y")],
            timestamp=(1, 5),
        )
    )
    assert letter.own_headers == own
    assert letter.origin == "first/0/1"
    assert letter_from(RawMessage("dlq", b"v", partition=1, offset=2)).origin == "dlq/1/2"


def test_the_innermost_cause_comes_first():
    """A trace is turned over: the user's part first, the framework's frames folded."""
    shown = trace_for_people(
        "org.apache.kafka.connect.errors.ConnectException: wrapper\n"
        "\tat org.apache.kafka.connect.runtime.A.b(A.java:1)\n"
        "Caused by: my.own.Error: the reason\n"
        "\tat my.own.Thing.fail(Thing.java:7)\n"
        "\tat org.apache.kafka.connect.runtime.A.b(A.java:1)\n"
        "\tat java.lang.Thread.run(Thread.java:1)\n"
    ).splitlines()
    assert shown[:2] == ["my.own.Error: the reason", "\tat my.own.Thing.fail(Thing.java:7)"]
    assert shown[2] == "\t… 2 more of the framework"
    assert shown[3] == "Led to: org.apache.kafka.connect.errors.ConnectException: wrapper"
