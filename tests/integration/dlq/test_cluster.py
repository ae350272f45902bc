"""Dead letters on a worker of a cluster."""

from tests.integration.dlq.conftest import LETTERS, PLUGINS
from tests.support.cluster import cluster


def test_a_worker_of_a_cluster_tests_and_shows_letters(
    kafka, make_topic, produce, wait_for_letters, tmp_path
):
    """Any worker of the group answers for the dead letters of all connectors."""
    topic, letters = make_topic("shared"), make_topic("shared-dlq")
    settings = {"plugin__path": PLUGINS, "dlq__index__folder": tmp_path / "index"}
    with cluster(kafka, tmp_path, 1, **settings) as running:
        rest = running.any.rest
        running.any.create(
            "shared",
            {"connector.class": "CollectSink", "topics": topic, "file": str(tmp_path / "out"),
             "errors.deadletterqueue.topic.name": letters, **LETTERS},
        )  # fmt: skip
        produce(topic, [b"{broken %d" % n for n in range(5)])
        wait_for_letters(letters, 5)
        groups = rest.get(f"/dlq/{letters}/stats").raise_for_status().json()
        assert [(group["count"], group["connector"]) for group in groups] == [(5, "shared")]
        told = rest.post(f"/dlq/{letters}/test", json={}).raise_for_status().json()
        assert [(group["verdict"], group["count"]) for group in told] == [("fails", 5)]
