"""What the worker measures, for Prometheus. `measured.py` has the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from connect.cluster.herder import ConnectorStatus, State
from connect.cluster.measured import (
    CLASS_KEYS,
    CONNECTOR,
    COORDINATOR,
    PER_TASK,
    REBALANCE,
    SHARED_KEYS,
    STAGES,
    STATES,
    STEPS,
    TASK_CLASSES,
    TASK_STATUS,
    WORKER,
    Measured,
)
from connect.cluster.rounds import Rounds
from connect.runtime.measures import Starts

_STAGE = "stage_seconds:"
_TASK_STATES = [s for s in State if s is not State.STOPPED]

Reports = Mapping[tuple[str, int], Mapping[str, float]]


Configs = Mapping[str, Mapping[str, str]]


def render_metrics(
    statuses: Iterable[ConnectorStatus],
    tasks: Reports,
    starts: Starts | None = None,
    *,
    configs: Configs | None = None,
    rounds: Rounds | None = None,
) -> str:
    """The Prometheus text of this worker's connectors and tasks.

    `tasks` are the last reports of the tasks that run here, `starts` what the worker counted,
    `configs` what its tasks run by, `rounds` its part in a cluster.
    """
    registry = CollectorRegistry()
    registry.register(_Snapshot(list(statuses), tasks, starts or Starts(), configs or {}, rounds))
    return generate_latest(registry).decode()


def running_config(
    worker: Mapping[str, str], connector: Mapping[str, str], tasks: Sequence[Mapping[str, str]]
) -> dict[str, str]:
    """What a connector's tasks run by, as far as it names classes."""
    converters = ("key.converter", "value.converter", "header.converter")
    general = {key: worker[key] for key in converters if key in worker}
    own = tasks[0].get("task.class") if tasks else None
    return {**general, **connector, **({} if own is None else {"task.class": own})}


class _Snapshot(Collector):
    def __init__(
        self,
        statuses: list[ConnectorStatus],
        tasks: Reports,
        starts: Starts,
        configs: Configs,
        rounds: Rounds | None,
    ) -> None:
        self._statuses = statuses
        self._tasks = {key: _named_alike(values) for key, values in tasks.items()}
        self._starts = starts
        self._configs = configs
        self._rounds = rounds

    def collect(self) -> Iterator[Metric]:
        yield from self._worker()
        if self._rounds is not None:
            yield from _membership(self._rounds)
        yield from self._connectors()
        for measured in PER_TASK:
            metric = self._per_task(measured)
            if metric.samples:
                yield metric
        yield self._stages()

    def _worker(self) -> Iterator[Metric]:
        yield _gauge(WORKER + "connector_count", "Connectors on this worker.", len(self._statuses))
        yield _gauge(
            WORKER + "task_count",
            "Tasks on this worker.",
            sum(len(s.tasks) for s in self._statuses),
        )
        for kind in ("connector", "task"):
            good, bad = self._starts.successes[kind], self._starts.failures[kind]
            counts = {"attempts": self._starts.attempts[kind], "success": good, "failure": bad}
            for what, count in counts.items():
                yield CounterMetricFamily(
                    f"{WORKER}{kind}_startup_{what}_total",
                    f"How often a {kind} was started: {what}.",
                    value=count,
                )
            for what, part in (("success", good), ("failure", bad)):
                yield _gauge(
                    f"{WORKER}{kind}_startup_{what}_percentage",
                    f"Which part of the starts of a {kind} is a {what}, 0 to 1.",
                    part / (good + bad) if good + bad else 0.0,
                )

    def _connectors(self) -> Iterator[Metric]:
        found = {s.name: Counter(t.state for t in s.tasks.values()) for s in self._statuses}
        total = GaugeMetricFamily(
            WORKER + "connector_total_task_count",
            "Tasks of a connector on this worker.",
            labels=["connector"],
        )
        for name, states in found.items():
            total.add_metric([name], states.total())
        yield total
        for state in _TASK_STATES:
            word = state.lower()
            metric = GaugeMetricFamily(
                f"{WORKER}connector_{word}_task_count",
                f"Tasks of a connector on this worker that are {word}.",
                labels=["connector"],
            )
            for name, states in found.items():
                metric.add_metric([name], states[state])
            yield metric
        by_state = GaugeMetricFamily(*STATES, labels=["connector", "state"])
        for name, states in found.items():
            for state in _TASK_STATES:
                if state is not State.DESTROYED:
                    by_state.add_metric([name, state.lower()], states[state])
        yield by_state
        yield self._about_connectors()
        yield self._about_tasks()
        yield self._classes()
        for kind in STEPS:
            yield self._steps(kind)

    def _about_connectors(self) -> Metric:
        metric = Metric(*CONNECTOR, "gauge")
        for status in self._statuses:
            about = {
                "connector_class": self._configs.get(status.name, {}).get("connector.class"),
                "connector_type": status.type.value,
                "connector_version": status.connector.version,
                "status": status.connector.state.lower(),
            }
            for label, value in about.items():
                if value is not None:
                    metric.add_sample(CONNECTOR[0], {"connector": status.name, label: value}, 1)
        return metric

    def _about_tasks(self) -> Metric:
        metric = GaugeMetricFamily(*TASK_STATUS, labels=["connector", "task", "status"])
        for status in self._statuses:
            for task, its in status.tasks.items():
                metric.add_metric([status.name, str(task), its.state.lower()], 1)
        return metric

    def _each_task(self) -> Iterator[tuple[dict[str, str], Mapping[str, str]]]:
        """The labels of every task, and what it runs by."""
        for status in self._statuses:
            for task in status.tasks:
                labels = {"connector": status.name, "task": str(task)}
                yield labels, self._configs.get(status.name, {})

    def _classes(self) -> Metric:
        metric = Metric(*TASK_CLASSES, "gauge")
        for labels, config in self._each_task():
            for label, key in CLASS_KEYS.items():
                if key in config:
                    metric.add_sample(TASK_CLASSES[0], {**labels, label: config[key].strip()}, 1)
        return metric

    def _steps(self, kind: str) -> Metric:
        name, text = STEPS[kind]
        metric = Metric(name, text, "gauge")
        for labels, config in self._each_task():
            for alias in filter(None, map(str.strip, config.get(f"{kind}s", "").split(","))):
                its = {kind: alias, f"{kind}_class": config.get(f"{kind}s.{alias}.type", "")}
                metric.add_sample(name, {**labels, **its}, 1)
        return metric

    def _per_task(self, measured: Measured) -> Metric:
        family = CounterMetricFamily if measured.kind == "counter" else GaugeMetricFamily
        metric = family(measured.name, measured.help, labels=["connector", "task"])
        for (connector, task), values in self._tasks.items():
            if measured.key in values:
                metric.add_metric([connector, str(task)], values[measured.key] * measured.factor)
        return metric

    def _stages(self) -> Metric:
        metric = CounterMetricFamily(*STAGES, labels=["connector", "task", "stage"])
        for (connector, task), values in self._tasks.items():
            for key, seconds in values.items():
                if key.startswith(_STAGE):
                    metric.add_metric([connector, str(task), key[len(_STAGE) :]], seconds)
        return metric


def _membership(rounds: Rounds) -> Iterator[Metric]:
    """How the worker stands in its cluster."""
    about = Metric(
        REBALANCE, "The leader's address and the protocol: each a label of a sample that is 1.",
        "gauge",
    )  # fmt: skip
    for label, said in (("leader_name", rounds.leader), ("connect_protocol", rounds.protocol)):
        about.add_sample(REBALANCE, {label: said}, 1)
    yield about
    for name, text, value in (
        ("epoch", "The group's generation.", rounds.generation),
        ("rebalancing", "Whether a rebalance is under way, 0 or 1.", rounds.under_way),
        (
            "rebalance_avg_time_ms",
            "How long a rebalance took on average since the worker started.",
            rounds.average * 1000,
        ),
        (
            "rebalance_max_time_ms",
            "How long a rebalance took at most since the worker started.",
            rounds.longest * 1000,
        ),
        (
            "time_since_last_rebalance_ms",
            "How long ago the last rebalance was completed.",
            rounds.since_last * 1000,
        ),
    ):
        yield _gauge(f"{REBALANCE}_{name}", text, value)
    yield CounterMetricFamily(
        f"{REBALANCE}_completed_rebalances_total",
        "Rebalances completed since the worker started.",
        value=rounds.completed,
    )
    yield _gauge(
        COORDINATOR + "assigned_connectors",
        "Connectors that the group gave to this worker.",
        len(rounds.work.connectors),
    )
    yield _gauge(
        COORDINATOR + "assigned_tasks",
        "Tasks that the group gave to this worker.",
        len(rounds.work.tasks),
    )


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def _named_alike(values: Mapping[str, float]) -> dict[str, float]:
    """A task's report, with what sinks and sources have in common under one name."""
    found = dict(values)
    for kind in ("sink", "source"):
        found |= {k: values[f"{kind}_{k}"] for k in SHARED_KEYS if f"{kind}_{k}" in values}
    if "sink_commits" in values:
        found["sink_commit_number"] = values["sink_commits"] + values.get("sink_commit_failures", 0)
    return found
