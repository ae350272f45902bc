"""The internal topics as logs, on a real broker."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from connect.cluster.kafka_log import KafkaLog, LogTopic
from connect.runtime import clients
from connect.runtime.topics import SourceTopics


@pytest.fixture
def admins(monkeypatch):
    """The admin clients that are made meanwhile."""
    made = []
    make = clients.admin_client

    def noted(*args):
        made.append(make(*args))
        return made[-1]

    monkeypatch.setattr(clients, "admin_client", noted)
    return made


def test_a_log_asks_one_client_for_its_end(kafka, admins):
    """A client is three threads and a connection: none is made for each time a log is read."""
    topic = LogTopic(f"read-{uuid.uuid4().hex[:8]}", "config.storage.topic", 1, 1)
    log = KafkaLog(topic, {"bootstrap.servers": kafka}, lambda record: None)
    log.start()
    try:
        log.write([(b"k", b"v")])
        log.read_to_end()
        before = len(admins)
        for _ in range(5):
            log.read_to_end()
    finally:
        log.stop()
    assert len(admins) == before


def test_a_source_creates_its_topics_with_one_client(kafka, admins):
    """However many topics it writes to."""
    config = {
        "topic.creation.default.replication.factor": "1",
        "topic.creation.default.partitions": "1",
    }
    topics = SourceTopics(
        config, lambda: clients.admin_client("c", {"bootstrap.servers": kafka}, {})
    )
    names = [f"created-{uuid.uuid4().hex[:8]}" for _ in range(3)]
    for name in names:
        topics.ensure(name)
    assert len(admins) == 1
    assert set(names) <= admins[0].list_topics(timeout=10).topics.keys()


@pytest.fixture
def claimed(kafka):
    """A log for one writer, and the keys that were read from it."""
    name = f"claimed-{uuid.uuid4().hex[:8]}"
    topic = LogTopic(name, "config.storage.topic", 1, 1, {"cleanup.policy": "compact"}, True)
    seen = []
    log = KafkaLog(topic, {"bootstrap.servers": kafka}, lambda record: seen.append(record.key))
    log.start()
    yield log, seen
    log.stop()


def test_claims_of_one_worker_do_not_fence_each_other(claimed):
    """A request and a duty that claim the topic at once can both write."""
    log, seen = claimed

    def claim_and_write(n: int) -> None:
        log.claim(f"{log.topic.name}-leader")
        log.write([(f"{n}".encode(), b"{}")])

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(claim_and_write, range(8)))
    log.read_to_end()
    assert sorted(seen) == [f"{n}".encode() for n in range(8)]


def test_what_was_written_alone_is_read_at_once(claimed):
    """The end of a transaction is noted a moment after its commit, and is waited for."""
    log, seen = claimed
    log.claim(f"{log.topic.name}-leader")
    for n in range(100):
        log.write([(f"{n}".encode(), b"{}")])
        log.read_to_end()
        assert len(seen) == n + 1
