"""Servers that live as long as a `with` block, or as long as the process that has it."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from penstock.stack import throwaway
from penstock.stack.postgres import PostgresMissingError
from penstock.stack.process import listens
from tests.support.waiting import wait_for

pytestmark = pytest.mark.stack

OWNER = """
import sys
from penstock.stack import throwaway
with throwaway.{server} as address:
    print(address, flush=True)
    sys.stdin.read()
"""


def owner_of(server: str, home: Path) -> "subprocess.Popen[str]":
    environment = {**os.environ, "TMPDIR": str(home), "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("KAFKA_BOOTSTRAP", None)
    return subprocess.Popen(
        [sys.executable, "-c", OWNER.format(server=server)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**environment, "PENSTOCK_STACK": "local"},
    )


@pytest.mark.parametrize("ending", ["leaves", "is killed"])
def test_a_broker_does_not_outlive_its_owner(tmp_path, ending):
    """Whether its owner leaves the block or is killed, the broker and its files go with him."""
    with owner_of("kafka(lambda line: None)", tmp_path) as owner:
        assert owner.stdout is not None
        address = owner.stdout.readline().strip()
        assert listens(address)
        assert len(list(tmp_path.iterdir())) == 1
        if ending == "is killed":
            owner.kill()
            owner.wait()
        else:
            owner.communicate(timeout=30)
            assert owner.returncode == 0
            assert not listens(address)
    wait_for(lambda: not listens(address), "the broker to be gone")
    wait_for(lambda: not list(tmp_path.iterdir()), "its directory to be gone")


def test_the_broker_does_transactions(kafka, make_topic):
    """Offsets and records committed together are there; what was aborted is not read."""
    topic = make_topic(partitions=2)
    producer = Producer({"bootstrap.servers": kafka, "transactional.id": topic})
    producer.init_transactions(30)
    for value, end in (
        (b"kept", producer.commit_transaction),
        (b"not", producer.abort_transaction),
    ):
        producer.begin_transaction()
        producer.produce(topic, value, partition=0)
        end()
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": topic})
    consumer.assign([TopicPartition(topic, 0, 0)])
    message = wait_for(lambda: consumer.poll(1), "the committed record")
    assert message.value() == b"kept"
    assert consumer.poll(1) is None
    consumer.close()


def test_a_test_reads_what_it_wrote(topic, produce, consume_all):
    """The fixtures give a topic of the test's own in which everything written is read back."""
    places = produce(topic, ["a", b"b", None])
    assert [place.offset for place in places] == [0, 1, 2]
    assert [message.value() for message in consume_all(topic, 3)] == [b"a", b"b", None]


def test_waiting_for_too_much_says_what_there_is(topic, produce, consume_all):
    """A reader that waits in vain tells how many there are."""
    produce(topic, ["only"])
    with pytest.raises(AssertionError, match=r"for 2 messages in .*; there are 1: \[b'only'\]"):
        consume_all(topic, 2, timeout=1)


def test_a_test_has_a_database_of_its_own(database):
    """PostgreSQL answers, and the database is empty."""
    with psycopg.connect(database) as connection:
        tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        assert connection.execute(tables).fetchone() == (0,)


def test_postgres_leaves_no_process_and_no_file(tmp_path, monkeypatch):
    """After the block PostgreSQL and its directory are gone."""
    try:
        with throwaway.postgres() as url:
            port = url.rpartition(":")[2].partition("/")[0]
            with psycopg.connect(url) as connection:
                data = Path(connection.execute("SHOW data_directory").fetchone()[0])
            assert data.exists()
    except PostgresMissingError as missing:
        pytest.skip(str(missing))
    assert not listens(f"127.0.0.1:{port}")
    assert not data.parent.exists()
