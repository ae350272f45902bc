"""The internal topics as logs, on a real broker."""

import uuid
from concurrent.futures import ThreadPoolExecutor

from connect.cluster.kafka_log import KafkaLog, LogTopic


def test_claims_of_one_worker_do_not_fence_each_other(kafka):
    """A request and a duty that claim the topic at once can both write."""
    name = f"claimed-{uuid.uuid4().hex[:8]}"
    topic = LogTopic(name, "config.storage.topic", 1, 1, {"cleanup.policy": "compact"}, True)
    seen = []
    log = KafkaLog(topic, {"bootstrap.servers": kafka}, lambda record: seen.append(record.key))
    log.start()

    def claim_and_write(n: int) -> None:
        log.claim(f"{name}-leader")
        log.write([(f"{n}".encode(), b"{}")])

    try:
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(claim_and_write, range(8)))
        log.read_to_end()
    finally:
        log.stop()
    assert sorted(seen) == [f"{n}".encode() for n in range(8)]
