"""A real worker's /metrics while records flow."""

from prometheus_client.parser import text_string_to_metric_families

from tests.support.waiting import wait_for


def scrape(worker, connector):
    """The samples of one connector by name, and those of the worker."""
    text = worker.rest.get("/metrics").text
    return {
        s.name: s.value
        for family in text_string_to_metric_families(text)
        for s in family.samples
        if s.labels.get("connector", connector) == connector and "status" not in s.labels
    }


def test_metrics_tell_what_flowed(worker, connect, topic, tmp_path):
    """Totals, rates, batches, lag, partitions, commits and stages of a source and a sink."""
    connect("m-source", {"connector.class": "NumbersSource", "topic": topic, "count": 2500})
    connect(
        "m-sink",
        {"connector.class": "CollectSink", "topics": topic, "file": tmp_path / "out.jsonl"},
    )
    sink = "kafka_connect_sink_task_metrics_"
    source = "kafka_connect_source_task_metrics_"
    task = "kafka_connect_connector_task_metrics_"

    def reached():
        found = scrape(worker, "m-sink")
        return (
            found
            if (
                found.get(sink + "sink_record_read_total") == 2500
                and found.get(sink + "offset_commit_completion_total", 0) > 0
                and found.get(sink + "sink_record_active_count") == 0
                and found.get(sink + "sink_record_lag_max") == 0  # looked at once a second
            )
            else None
        )

    found = wait_for(reached, lambda: f"all to be counted: {scrape(worker, 'm-sink')}", 60)
    assert found[sink + "sink_record_send_total"] == 2500
    assert found[sink + "sink_record_read_rate"] > 0
    assert found[sink + "put_batch_avg_time_ms"] > 0
    assert found[sink + "put_batch_max_time_ms"] >= found[sink + "put_batch_avg_time_ms"]
    assert found[sink + "partition_count"] == 1
    assert found[task + "batch_size_max"] >= found[task + "batch_size_avg"] > 0
    assert found[task + "offset_commit_success_percentage"] == 1
    assert found[task + "running_ratio"] == 1
    assert found["penstock_task_memory_bytes"] > 0
    assert found["kafka_connect_connect_worker_metrics_connector_running_task_count"] == 1
    started = found["kafka_connect_connect_worker_metrics_task_startup_success_total"]
    assert started >= 2
    written = scrape(worker, "m-source")
    assert written[source + "source_record_poll_total"] == 2500
    assert written[source + "source_record_write_total"] == 2500
    assert written[source + "poll_batch_max_time_ms"] >= 0


def test_lag_shows_what_a_slow_sink_has_not_read(worker, connect, topic, produce, tmp_path):
    """Twenty records, one by one: the lag is there while they wait, and gone when they are put."""
    produce(topic, [b"%d" % n for n in range(20)])
    connect(
        "m-lag",
        {
            "connector.class": "CollectSink",
            "topics": topic,
            "file": tmp_path / "out.jsonl",
            "put.ms": 200,
            "consumer.override.max.poll.records": 1,
        },
    )
    lag = "kafka_connect_sink_task_metrics_sink_record_lag_max"
    behind = wait_for(lambda: scrape(worker, "m-lag").get(lag, 0), "the sink to be behind", 60)
    assert 0 < behind < 20
    wait_for(lambda: scrape(worker, "m-lag").get(lag) == 0, "the sink to be at the end", 60)


def test_pause_has_its_share_of_the_tasks_life(worker, connect, topic, tmp_path):
    """A paused task's ratios change while it is paused."""
    config = {"connector.class": "CollectSink", "topics": topic, "file": tmp_path / "out.jsonl"}
    connect("m-pause", config)
    worker.wait_running("m-pause")
    worker.rest.put("/connectors/m-pause/pause")
    ratio = "kafka_connect_connector_task_metrics_pause_ratio"
    wait_for(lambda: scrape(worker, "m-pause").get(ratio, 0) > 0, "the pause to be counted")
