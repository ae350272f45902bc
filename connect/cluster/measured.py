"""The table of what is measured: names, help texts, and where each value comes from.

Names are those that the usual rules of the JMX exporter give Kafka Connect's metrics, so that
dashboards and alerts made for it go on working. What only we measure begins with `penstock_`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge"]


@dataclass(frozen=True, slots=True)
class Measured:
    """One metric. `factor` turns what a task reports into what is shown."""

    key: str  # in a task's report
    name: str
    help: str
    kind: Kind = "gauge"
    factor: float = 1.0


_SINK = "kafka_connect_sink_task_metrics_"
_SOURCE = "kafka_connect_source_task_metrics_"
_TASK = "kafka_connect_connector_task_metrics_"
_ERROR = "kafka_connect_task_error_metrics_"

WORKER = "kafka_connect_connect_worker_metrics_"

# Labels: connector, task.
PER_TASK: tuple[Measured, ...] = (
    # sink-task-metrics
    Measured("sink_read", _SINK + "sink_record_read_total", "Records read from Kafka.", "counter"),
    Measured("sink_read_rate", _SINK + "sink_record_read_rate", "Records read a second."),
    Measured(
        "sink_sent", _SINK + "sink_record_send_total",
        "Records that went through the transforms and were put to the task.", "counter",
    ),
    Measured("sink_sent_rate", _SINK + "sink_record_send_rate", "Records put a second."),
    Measured(
        "sink_put_ms_avg", _SINK + "put_batch_avg_time_ms", "How long put() takes on average.",
    ),
    Measured(
        "sink_put_seconds_max", _SINK + "put_batch_max_time_ms", "How long put() took at most.",
        factor=1000.0,
    ),
    Measured("sink_partitions", _SINK + "partition_count", "Partitions assigned to the task."),
    Measured(
        "sink_active", _SINK + "sink_record_active_count",
        "Records read whose offsets are not committed yet.",
    ),
    Measured("sink_active_avg", _SINK + "sink_record_active_count_avg", "The same on average."),
    Measured("sink_active_max", _SINK + "sink_record_active_count_max", "The same at most."),
    Measured(
        "sink_lag", _SINK + "sink_record_lag_max",
        "How many records the task is behind the end of the partition it is furthest behind in.",
    ),
    Measured(
        "sink_commits", _SINK + "offset_commit_completion_total",
        "Offset commits that succeeded.", "counter",
    ),
    Measured(
        "sink_commits_rate", _SINK + "offset_commit_completion_rate", "Offset commits a second.",
    ),
    Measured(
        "sink_commit_number", _SINK + "offset_commit_seq_no",
        "The number of the last attempt to commit offsets.",
    ),
    # source-task-metrics
    Measured(
        "source_polled", _SOURCE + "source_record_poll_total",
        "Records returned by poll().", "counter",
    ),
    Measured(
        "source_polled_rate", _SOURCE + "source_record_poll_rate", "Records polled a second.",
    ),
    Measured(
        "source_written", _SOURCE + "source_record_write_total",
        "Records that went through the transforms and were given to the producer.", "counter",
    ),
    Measured(
        "source_written_rate", _SOURCE + "source_record_write_rate", "Records written a second.",
    ),
    Measured(
        "source_poll_ms_avg", _SOURCE + "poll_batch_avg_time_ms",
        "How long a poll() that returns records takes on average.",
    ),
    Measured(
        "source_poll_seconds_max", _SOURCE + "poll_batch_max_time_ms",
        "How long such a poll() took at most.", factor=1000.0,
    ),
    Measured(
        "source_active", _SOURCE + "source_record_active_count",
        "Records produced and not yet acknowledged.",
    ),
    Measured("source_active_avg", _SOURCE + "source_record_active_count_avg",
             "The same on average."),
    Measured("source_active_max", _SOURCE + "source_record_active_count_max", "The same at most."),
    Measured(
        "source_transaction_avg", _SOURCE + "transaction_size_avg",
        "Records of a transaction on average, with exactly-once.",
    ),
    Measured(
        "source_transaction_min", _SOURCE + "transaction_size_min",
        "Records of a transaction at least, with exactly-once.",
    ),
    Measured(
        "source_transaction_max", _SOURCE + "transaction_size_max",
        "Records of a transaction at most, with exactly-once.",
    ),
    # connector-task-metrics
    Measured("batch_avg", _TASK + "batch_size_avg", "Records of a batch on average."),
    Measured("batch_max", _TASK + "batch_size_max", "Records of a batch at most."),
    Measured(
        "commit_ms_avg", _TASK + "offset_commit_avg_time_ms",
        "How long committing offsets takes on average.",
    ),
    Measured(
        "commit_seconds_max", _TASK + "offset_commit_max_time_ms",
        "How long committing offsets took at most.", factor=1000.0,
    ),
    Measured(
        "commit_success", _TASK + "offset_commit_success_percentage",
        "Which part of the attempts to commit offsets succeeded, 0 to 1.",
    ),
    Measured(
        "commit_failure", _TASK + "offset_commit_failure_percentage",
        "Which part of the attempts to commit offsets failed, 0 to 1.",
    ),
    Measured("running_ratio", _TASK + "running_ratio",
             "Which part of its life the task was running, 0 to 1."),
    Measured("pause_ratio", _TASK + "pause_ratio",
             "Which part of its life the task was paused, 0 to 1."),
    # task-error-metrics
    Measured("error_failures", _ERROR + "total_record_failures", "Attempts that failed."),
    Measured("error_errors", _ERROR + "total_record_errors", "Records that failed in the end."),
    Measured(
        "error_skipped", _ERROR + "total_records_skipped",
        "Records skipped because errors are tolerated.",
    ),
    Measured("error_retries", _ERROR + "total_retries", "Attempts made again."),
    Measured("error_logged", _ERROR + "total_errors_logged", "Errors written to the log."),
    Measured(
        "error_last_ms", _ERROR + "last_error_timestamp",
        "When a record last failed, milliseconds since the epoch.",
    ),
    Measured(
        "dlq_requests", _ERROR + "deadletterqueue_produce_requests",
        "Dead letters handed to the producer.",
    ),
    Measured(
        "dlq_failures", _ERROR + "deadletterqueue_produce_failures",
        "Dead letters that could not be written.",
    ),
    # ours
    Measured("sink_put_seconds", "penstock_sink_task_put_seconds_total",
             "Time spent in put().", "counter"),
    Measured("source_poll_seconds", "penstock_source_task_poll_seconds_total",
             "Time spent in poll() that returned records.", "counter"),
    Measured("commit_failures", "penstock_task_offset_commit_failures_total",
             "Offset commits that failed.", "counter"),
    Measured("source_transactions", "penstock_source_task_transactions_total",
             "Transactions committed, with exactly-once.", "counter"),
    Measured("source_aborted", "penstock_source_task_transactions_aborted_total",
             "Transactions aborted, with exactly-once.", "counter"),
    Measured("memory_bytes", "penstock_task_memory_bytes",
             "Resident memory of the task's process."),
    Measured("cpu_seconds", "penstock_task_cpu_seconds_total",
             "Processor time of the task's process.", "counter"),
)  # fmt: skip

# Keys that a sink and a source report each under their own name, and that are shown as one.
SHARED_KEYS = (
    "batch_avg", "batch_max", "commit_ms_avg", "commit_seconds_max", "commit_success",
    "commit_failure", "commit_failures",
)  # fmt: skip

# name: help. Labels: connector, task, stage.
STAGES = ("penstock_task_stage_seconds_total", "Time spent in a converter or transform.")

# name: help. Labels: connector, state.
STATES = ("penstock_connector_tasks", "Tasks of a connector by their state.")

# Labels: connector, and one of connector_class, connector_type, connector_version, status.
CONNECTOR = (
    "kafka_connect_connector_metrics",
    "A connector's class, type, version and status: each a label of a sample that is 1.",
)

# Labels: connector, task, and one of these keys of its config with underscores.
TASK_CLASSES = (
    _TASK.rstrip("_"),
    "A task's class and the classes of its converters: each a label of a sample that is 1.",
)
CLASS_KEYS = {
    "task_class": "task.class",
    "key_converter_class": "key.converter",
    "value_converter_class": "value.converter",
    "header_converter_class": "header.converter",
}

# Labels: connector, task, the alias and its class.
STEPS = {
    "transform": (
        "kafka_connect_connector_transform_metrics",
        "A transform's class, a label of a sample that is 1.",
    ),
    "predicate": (
        "kafka_connect_connector_predicate_metrics",
        "A predicate's class, a label of a sample that is 1.",
    ),
}

REBALANCE = "kafka_connect_connect_worker_rebalance_metrics"
COORDINATOR = "kafka_connect_connect_coordinator_metrics_"

# Labels: connector, task, status.
TASK_STATUS = (_TASK + "status", "A task's status: a label of a sample that is 1.")
