"""The page docs/metrics.md, made from what a worker really shows.

python -m connect.cluster.metrics_docs docs/metrics.md
"""

from __future__ import annotations

import sys
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from connect.cluster.herder import ConnectorStatus, ConnectorType, State, Status
from connect.cluster.measured import PER_TASK
from connect.cluster.metrics import render_metrics
from connect.cluster.rounds import Rounds

_TEXT = """\
# Metrics

Every worker answers `GET /metrics` in the Prometheus text format, with what runs on it. Names are
those that the usual rules of the JMX exporter give Kafka Connect's own metrics
(`kafka_connect_<group>_<metric>`), so dashboards and alerts made for it go on working. Rules that
drop `_metrics` from the group, as Strimzi's do, can be had by relabelling:

```yaml
metric_relabel_configs:
  - source_labels: [__name__]
    regex: kafka_connect_(?:connect_)?(.+?)_metrics_(.+)
    target_label: __name__
    replacement: kafka_connect_${{1}}_${{2}}
```

Names that begin with `penstock_` are what Kafka Connect does not measure: time per converter and
transform, memory and processor time of each task, transactions.

Rates, averages and maxima are over the last 30 seconds, sampled once a second. Times ending in
`_ms` are milliseconds. A task reports its values about once a second, and nothing while nothing
changes.

| metric | type | labels | |
|---|---|---|---|
{rows}

## Not there

What has no meaning here is left out: `offset-commit-skip-*` (commits are never late: the next one
begins after the last), the network metrics of Java's clients, and the versions of single converters
and transforms. `app-info` is what `GET /` says. A standalone worker has no rebalances.

## Worth an alert

| when | says |
|---|---|
| `kafka_connect_connect_worker_metrics_connector_failed_task_count > 0` | a task has failed; its status says why |
| `kafka_connect_sink_task_metrics_sink_record_lag_max` grows | a sink does not keep up |
| `rate(kafka_connect_task_error_metrics_deadletterqueue_produce_requests[5m]) > 0` | records become dead letters |
| `kafka_connect_connect_worker_rebalance_metrics_rebalancing == 1` for minutes | a worker can't get its share of the work |
| `kafka_connect_connector_task_metrics_offset_commit_failure_percentage > 0` | offsets can't be committed: after a crash more would come again |
| `penstock_task_memory_bytes` near `task.memory.max` | a task is about to be ended |
"""  # noqa: E501 - rows of a table


def metrics_page() -> str:
    """The page: every metric that can be shown, as it is shown."""
    keys = [m.key for m in PER_TASK] + ["stage_seconds:value_converter", "sink_commits"]
    task = Status(State.RUNNING, "worker", version="1")
    sample = ConnectorStatus("c", task, {0: task}, ConnectorType.SINK)
    config = {"connector.class": "X", "transforms": "t", "predicates": "p", "key.converter": "X",
              "value.converter": "X", "header.converter": "X", "task.class": "X"}  # fmt: skip
    reports = {("c", 0): dict.fromkeys(keys, 1.0)}
    text = render_metrics([sample], reports, configs={"c": config}, rounds=Rounds())
    rows = []
    for family in text_string_to_metric_families(text):
        labels = sorted({label for s in family.samples for label in s.labels})
        name = family.samples[0].name
        rows.append(f"| `{name}` | {family.type} | {', '.join(labels)} | {family.documentation} |")
    return _TEXT.format(rows="\n".join(rows))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(metrics_page(), encoding="utf-8")
