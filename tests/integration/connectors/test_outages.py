"""A sink's target is away while errors are tolerated: no record is blamed, and none is lost."""

import json

import psycopg
import pytest

from tests.support.http_service import http_service
from tests.support.topics import consume_all
from tests.support.waiting import wait_for
from tests.support.worker import standalone

NUMBERS = list(range(50))


@pytest.fixture(scope="module")
def worker(kafka, tmp_path_factory):
    with standalone(kafka, tmp_path_factory.mktemp("worker")) as running:
        yield running


@pytest.fixture
def tolerant(worker, topic, make_topic):
    """tolerant(config) runs a sink on the test's topic; gives its dead-letter topic."""
    letters = make_topic("dlq")

    def run(config):
        more = {
            "topics": topic,
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": letters,
            "errors.deadletterqueue.topic.replication.factor": "1",
        }
        worker.create(topic, {**config, **more})
        worker.wait_running(topic)
        return letters

    yield run
    worker.rest.delete(f"/connectors/{topic}")


def failed(worker, name):
    """Wait until the task has failed; its trace. Nothing is committed."""
    trace = worker.wait_states(name, ["FAILED"])["tasks"][0]["trace"]
    assert worker.rest.get(f"/connectors/{name}/offsets").json()["offsets"] == []
    return trace


def restart(worker, name):
    assert worker.rest.post(f"/connectors/{name}/tasks/0/restart").status_code == 204


def test_service_that_refuses_the_credentials_gets_every_record_later(
    worker, kafka, tolerant, topic, produce
):
    """A 401 fails the task; when the service knows us again, all are sent, and none was skipped."""
    with http_service() as service:
        service.decide = lambda _: 401
        letters = tolerant({"connector.class": "HttpSink", "http.api.url": service.url})
        produce(topic, [json.dumps(n) for n in NUMBERS])
        assert "HTTP 401" in failed(worker, topic)
        service.asked.clear()
        service.decide = lambda _: None
        restart(worker, topic)
        wait_for(lambda: len(service.asked) >= len(NUMBERS), "all records to be sent", 60)
        assert [json.loads(each.body) for each in service.asked] == NUMBERS
        assert consume_all(kafka, letters) == []


def test_database_that_is_away_for_too_long_gets_every_record_later(
    worker, kafka, postgres, database, tolerant, topic, produce
):
    """After max.retries the task fails; when the database is back, every row is written."""
    name = database.rpartition("/")[2]
    letters = tolerant(
        {
            "connector.class": "JdbcSink",
            "connection.url": "jdbc:" + database.replace("penstock@", ""),
            "connection.user": "penstock",
            "table.name.format": "numbers",
            "auto.create": "true",
            "max.retries": "2",
            "retry.backoff.ms": "10",
        }
    )
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
        )
        produce(topic, [json.dumps({"n": n}) for n in NUMBERS])
        assert "Gave up after 2 retries (max.retries)" in failed(worker, topic)
        server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    restart(worker, topic)
    with psycopg.connect(database, autocommit=True) as db:

        def rows():
            if db.execute("SELECT to_regclass('numbers')").fetchone() == (None,):
                return []
            return [n for (n,) in db.execute("SELECT n FROM numbers ORDER BY n")]

        wait_for(lambda: rows() == NUMBERS, lambda: f"all rows; {worker.status(topic)}", 60)
    assert consume_all(kafka, letters) == []
