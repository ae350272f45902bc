"""A task that is stopped while something is away: no record is to blame, and all come again."""

import json

import pytest

from tests.integration.converters.test_worker import retries
from tests.support.waiting import wait_for
from tests.support.worker import json_lines

AWAY = {"transforms": "away", "transforms.away.type": "FailOn", "transforms.away.field": "-"}


@pytest.fixture
def stop_in_the_middle(worker, connect, make_topic):
    """Stop a connector while its transform waits to be tried again, and start it without that.

    Gives the topic of its dead letters.
    """

    def run(name, config, tolerance):
        letters = make_topic("dlq")
        config = {
            **AWAY,
            **config,
            "errors.tolerance": tolerance,
            "errors.retry.timeout": -1,
            "errors.deadletterqueue.topic.name": letters,
            "errors.deadletterqueue.topic.replication.factor": 1,
        }
        connect(name, {**config, "transforms.away.fault": "apply:retry"})
        wait_for(lambda: retries(worker, name) > 0, lambda: f"a retry; {worker.status(name)}", 60)
        assert worker.rest.put(f"/connectors/{name}/stop").status_code == 204
        wait_for(
            lambda: worker.status(name)["connector"]["state"] == "STOPPED", worker.log_text, 60
        )
        better = {k: str(v) for k, v in config.items()}
        assert worker.rest.put(f"/connectors/{name}/config", json=better).status_code == 200
        assert worker.rest.put(f"/connectors/{name}/resume").status_code == 202
        return letters

    return run


@pytest.mark.parametrize("tolerance", ["all", "none"])
def test_sink_that_is_stopped_while_a_transform_waits_loses_nothing(
    worker, stop_in_the_middle, topic, produce, consume_all, tmp_path, tolerance
):
    """Nothing is dead-lettered, the task does not fail, and after the start every record comes."""
    name, out = f"stopped-sink-{tolerance}", tmp_path / "out.jsonl"
    produce(topic, [json.dumps({"n": n}).encode() for n in range(5)])
    config = {"connector.class": "CollectSink", "topics": topic, "file": out}
    letters = stop_in_the_middle(name, config, tolerance)
    wait_for(
        lambda: [line["v"]["n"] for line in json_lines(out)] == [*range(5)],
        lambda: f"all records; {worker.status(name)}, {json_lines(out)}",
        60,
    )
    assert consume_all(letters) == []
    assert f"[{name}|task-0] Task failed" not in worker.log_text()


@pytest.mark.parametrize("tolerance", ["all", "none"])
def test_source_that_is_stopped_while_a_transform_waits_loses_nothing(
    worker, stop_in_the_middle, topic, consume_all, tolerance
):
    """Nothing is dead-lettered, the task does not fail, and after the start every record comes."""
    name = f"stopped-source-{tolerance}"
    config = {"connector.class": "NumbersSource", "topic": topic, "count": 25}
    letters = stop_in_the_middle(name, config, tolerance)
    found = consume_all(topic, 25, timeout=60)
    assert [json.loads(m.value())["n"] for m in found] == [*range(25)]
    assert consume_all(letters) == []
    assert f"[{name}|task-0] Task failed" not in worker.log_text()
