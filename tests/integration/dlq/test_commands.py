"""What the dlq commands print for people, and how they explain mistakes."""

import os
import signal
import sys

import pytest

from penstock.cli import main
from tests.integration.dlq.conftest import LETTERS
from tests.support.topics import Out
from tests.support.waiting import wait_for


@pytest.fixture
def penstock(worker, monkeypatch, capsys):
    """penstock(*words, exit_code=0) runs the command and gives what it printed."""

    def run(*words, exit_code=0):
        access = ["--url", worker.url, "--worker-config", str(worker.properties)]
        monkeypatch.setattr(sys, "argv", ["penstock", "dlq", *words, *access])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert (ended.value.code or 0) == exit_code, printed.out + printed.err
        return printed.out + printed.err

    return run


@pytest.fixture
def letters(connect, make_topic, produce, wait_for_letters, tmp_path):
    """The dead-letter topic of a sink with three broken values and a refused one."""
    topic, letters = make_topic("told"), make_topic("told-dlq")
    connect(
        "told",
        {"connector.class": "CollectSink", "topics": topic, "file": tmp_path / "out",
         "errors.deadletterqueue.topic.name": letters, **LETTERS},
    )  # fmt: skip
    produce(topic, [b"{broken %d" % n for n in range(3)])
    produce(topic, [Out(b'{"refuse": true, "pin": 1234}', b'"k"', [("trace", b"7")])])
    wait_for_letters(letters, 4)
    return letters


def test_the_way_from_topics_to_a_letter(penstock, letters):
    """ls, stats, ls TOPIC, show: each leads to the next."""
    assert letters in penstock("ls")
    stats = penstock("stats", letters)
    assert "VALUE_CONVERTER" in stats
    assert "4  letters in 2 groups" in stats
    assert "█" in stats
    [line] = [x for x in penstock("ls", letters, "--stage", "TASK_PUT").splitlines() if "told" in x]
    name = line.split()[0]
    assert name == f"{letters}/0/3"
    page = penstock("show", name)
    assert "org.apache.kafka.connect.errors.DataException: refused by the sink" in page
    assert '"pin": 1234' in page
    assert "trace: 7" in page
    assert "1234" not in penstock("show", name, "--mask", "pin")


def test_test_replay_dismiss_and_reopen_say_what_they_did(penstock, letters):
    """Each tells its numbers in words."""
    assert "1  passes" in penstock("test", letters)
    dry = penstock("replay", letters, "--passing", "--dry-run")
    assert "1 of 4 letters would be replayed" in dry
    assert "left open: still fails in VALUE_CONVERTER" in dry
    assert f"3 letters of {letters} are dismissed" in penstock(
        "dismiss", letters, "--stage", "VALUE_CONVERTER", "--note", "junk"
    )
    assert "1  letters in 1 groups" in penstock("stats", letters)
    assert "dismissed by" in penstock("show", f"{letters}/0/0")
    assert f"1 letters of {letters} are open" in penstock("reopen", f"{letters}/0/0")


def test_following_shows_what_comes(letters, start, produce):
    """`--follow` prints the groups again when their counts change, until it is ended."""
    running = start("stats", letters, "--follow")
    os.set_blocking(running.stdout.fileno(), False)
    printed = bytearray()

    def seen(count):
        printed.extend(running.stdout.read() or b"")
        assert running.poll() is None, running.stderr.read()
        return b'"count": %d' % count in printed

    wait_for(lambda: seen(3), lambda: f"three letters; {printed.decode()}", 60)
    produce(letters, [Out(b"x"), Out(b"y"), Out(b"z"), Out(b"no headers")])
    wait_for(lambda: seen(4), lambda: f"four letters without headers; {printed.decode()}", 60)
    running.send_signal(signal.SIGINT)
    assert running.wait(30) == 130


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["stats", "no-such-topic"], "There is no topic 'no-such-topic'"),
        (["stats", "a", "b"], "Letters of one topic at a time"),
        (["stats", "a/0"], "names no letters"),
        (["show", "a"], "is a topic"),
        (["ls", "a", "--since", "soon"], "'soon' is no time"),
        (["replay", "a", "--to", "moon"], "'moon' is no target"),
        (["replay", "a", "--patch", "/no/such/file"], "can't be read"),
        (["replay", "no-such-topic", "--to", "sink"], "Name the connector by --connector"),
    ],
)
def test_mistakes_are_explained(penstock, words, said):
    """One sentence, exit code 1, no traceback."""
    printed = penstock(*words, exit_code=1)
    assert said in printed
    assert "Traceback" not in printed
