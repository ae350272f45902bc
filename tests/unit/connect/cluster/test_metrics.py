"""What /metrics shows."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from connect.cluster.assignment import Work
from connect.cluster.herder import ConnectorStatus, ConnectorType, State, Status
from connect.cluster.measured import PER_TASK
from connect.cluster.metrics import render_metrics, running_config
from connect.cluster.metrics_docs import metrics_page
from connect.cluster.rounds import Rounds
from connect.runtime.measures import Starts

PAGE = Path(__file__).parents[4] / "docs" / "metrics.md"
WORKER = "kafka_connect_connect_worker_metrics_"


def samples(text):
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def status(name, *states, kind=ConnectorType.SINK):
    tasks = {n: Status(state, "w") for n, state in enumerate(states)}
    return ConnectorStatus(name, Status(State.RUNNING, "w", version="1.2"), tasks, kind)


def test_page_is_up_to_date():
    """docs/metrics.md says what the worker shows."""
    assert PAGE.read_text(encoding="utf-8") == metrics_page(), (
        "make it anew: python -m connect.cluster.metrics_docs docs/metrics.md"
    )


def test_text_is_what_prometheus_reads():
    """Every family has a type and a help text, and names are used once."""
    report = {m.key: 2.0 for m in PER_TASK} | {"stage_seconds:transform:mask": 0.5}
    text = render_metrics([status("a", State.RUNNING)], {("a", 0): report})
    families = list(text_string_to_metric_families(text))
    assert all(f.documentation and f.type in ("counter", "gauge") for f in families)
    names = [f.name for f in families]
    assert len(names) == len(set(names))
    assert {m.name for m in PER_TASK} <= {s.name for f in families for s in f.samples}


def test_classes_are_labels():
    """Connector, task, converters, transforms and predicates are named by their classes."""
    config = running_config(
        {"key.converter": "K", "value.converter": "V"},
        {
            "connector.class": "C",
            "value.converter": "Own",
            "transforms": "mask, route",
            "transforms.mask.type": "M",
            "transforms.route.type": "R",
            "predicates": "is",
            "predicates.is.type": "P",
        },
        [{"task.class": "T"}],
    )
    found = samples(render_metrics([status("a", State.RUNNING)], {}, configs={"a": config}))
    group = "kafka_connect_connector_"
    one = [("connector", "a"), ("task", "0")]
    assert found[group + "metrics", ("connector", "a"), ("connector_class", "C")] == 1
    for label in (
        ("task_class", "T"), ("key_converter_class", "K"), ("value_converter_class", "Own"),
    ):  # fmt: skip
        assert found[group + "task_metrics", *sorted([*one, label])] == 1
    mask = [*one, ("transform", "mask"), ("transform_class", "M")]
    assert found[group + "transform_metrics", *mask] == 1
    predicate = [("connector", "a"), ("predicate", "is"), ("predicate_class", "P"), ("task", "0")]
    assert found[group + "predicate_metrics", *predicate] == 1


def test_rounds_of_a_cluster_are_counted_and_timed():
    """Generation, leader, how often and how long; a round that is under way shows."""
    rounds = Rounds(work=Work(frozenset(["a"]), frozenset()))
    rounds.begin()
    rounds.end(7, "http://w:8083/", "sessioned")
    rounds.begin()
    found = samples(render_metrics([], {}, rounds=rounds))
    group = "kafka_connect_connect_worker_rebalance_metrics"
    assert found[group, ("leader_name", "http://w:8083/")] == 1
    assert found[group, ("connect_protocol", "sessioned")] == 1
    assert found[group + "_epoch",] == 7
    assert found[group + "_completed_rebalances_total",] == 1
    assert found[group + "_rebalancing",] == 1
    assert found[group + "_rebalance_max_time_ms",] >= found[group + "_rebalance_avg_time_ms",] >= 0
    assert found[group + "_time_since_last_rebalance_ms",] >= 0
    assert found["kafka_connect_connect_coordinator_metrics_assigned_connectors",] == 1
    assert found["kafka_connect_connect_coordinator_metrics_assigned_tasks",] == 0


def test_values_carry_connector_and_task():
    """Totals, times in milliseconds and stages of two tasks are told apart."""
    reports = {
        ("a", 0): {"sink_read": 10, "sink_put_seconds_max": 0.25, "stage_seconds:x": 1.5},
        ("a", 1): {"sink_read": 20},
    }
    found = samples(render_metrics([status("a", State.RUNNING, State.RUNNING)], reports))
    one = (("connector", "a"), ("task", "0"))
    read = "kafka_connect_sink_task_metrics_sink_record_read_total"
    assert found[read, *one] == 10
    assert found[read, ("connector", "a"), ("task", "1")] == 20
    assert found["kafka_connect_sink_task_metrics_put_batch_max_time_ms", *one] == 250
    assert found["penstock_task_stage_seconds_total", one[0], ("stage", "x"), one[1]] == 1.5


@pytest.mark.parametrize("kind", ["sink", "source"])
def test_common_metrics_come_from_sinks_and_sources(kind):
    """Batches and commits have one name for both."""
    values = {f"{kind}_batch_avg": 7, f"{kind}_commit_success": 1, f"{kind}_commit_failures": 3}
    found = samples(render_metrics([], {("a", 0): values}))
    labels = (("connector", "a"), ("task", "0"))
    task = "kafka_connect_connector_task_metrics_"
    assert found[task + "batch_size_avg", *labels] == 7
    assert found[task + "offset_commit_success_percentage", *labels] == 1
    assert found["penstock_task_offset_commit_failures_total", *labels] == 3


def test_states_are_counted_by_connector():
    """The counts of tasks by state, and status, type and version as labels."""
    statuses = [status("a", State.RUNNING, State.FAILED, State.FAILED), status("b")]
    found = samples(render_metrics(statuses, {}))
    a = ("connector", "a")
    assert found[(WORKER + "connector_count",)] == 2
    assert found[(WORKER + "task_count",)] == 3
    assert found[WORKER + "connector_failed_task_count", a] == 2
    assert found[WORKER + "connector_running_task_count", a] == 1
    assert found[WORKER + "connector_total_task_count", ("connector", "b")] == 0
    assert found["penstock_connector_tasks", a, ("state", "failed")] == 2
    about = "kafka_connect_connector_metrics"
    assert found[about, a, ("status", "running")] == 1
    assert found[about, a, ("connector_type", "sink")] == 1
    assert found[about, a, ("connector_version", "1.2")] == 1
    task = "kafka_connect_connector_task_metrics_status"
    assert found[task, a, ("status", "failed"), ("task", "1")] == 1


def test_starts_are_counted():
    """A start ends well or badly, once; what fails later is no failed start."""

    class Task:
        pass

    starts, good, bad, gone = Starts(), Task(), Task(), Task()
    for which in (good, bad, gone):
        starts.begin("task", which)
    starts.succeeded("task", good)
    starts.failed("task", good)
    starts.failed("task", bad)
    found = samples(render_metrics([], {}, starts))
    assert found[(WORKER + "task_startup_attempts_total",)] == 3
    assert found[(WORKER + "task_startup_success_total",)] == 1
    assert found[(WORKER + "task_startup_failure_total",)] == 1
    assert found[(WORKER + "task_startup_success_percentage",)] == 0.5
    assert found[(WORKER + "connector_startup_attempts_total",)] == 0


def test_names_that_break_the_format_are_escaped():
    """A connector may be called anything."""
    found = samples(render_metrics([status('we"ird\\\n', State.RUNNING)], {}))
    assert found[WORKER + "connector_running_task_count", ("connector", 'we"ird\\\n')] == 1
