"""Iceberg, with the newest Spark that it has a jar for: 4.1, in a worker of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from tests.support.spark_cluster import ROOT
from tests.support.spark_output import KILLER, committed, spark_config
from tests.support.topics import Out
from tests.support.waiting import wait_for
from tests.support.worker import standalone

pytestmark = pytest.mark.slow

ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
CATALOG = "spark.conf.spark.sql.catalog.lake"
RECORDS = 3000


@pytest.fixture(scope="module")
def spark_41(tmp_path_factory):
    """A folder with PySpark 4.1 in it."""
    folder = tmp_path_factory.mktemp("pyspark")
    uv = Path(sys.executable).with_name("uv")
    command = [uv, "pip", "install", "--quiet", "--no-deps", "--target", folder, "pyspark==4.1.1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"PySpark 4.1 can't be fetched here: {done.stderr[-300:]}")
    return folder


@pytest.fixture
def worker(kafka, spark_41, tmp_path):
    path = os.pathsep.join([str(spark_41), str(ROOT)])
    settings = {"task.shutdown.graceful.timeout.ms": 20_000}
    with standalone(kafka, tmp_path, environment={"PYTHONPATH": path}, **settings) as running:
        running.rest.timeout = 120
        yield running


@pytest.mark.timeout(600)
def test_a_driver_killed_between_output_and_commit(
    worker, make_topic, produce, consume_all, tmp_path
):
    """The batch comes again and makes no second snapshot: each number is in the table once."""
    topic, letters = make_topic("numbers", 2), make_topic("dlq")
    records = [
        Out(b"poison" if n % 100 == 7 else b'{"n": %d}' % n, partition=n % 2)
        for n in range(RECORDS)
    ]
    produce(topic, records[: RECORDS // 2])  # Spark 4.1 takes all that is there at first
    (tmp_path / "killer.py").write_text(KILLER)
    config = spark_config(topic, tmp_path) | {
        "spark.packages": ICEBERG,
        CATALOG: "org.apache.iceberg.spark.SparkCatalog",
        f"{CATALOG}.type": "hadoop",
        f"{CATALOG}.warehouse": tmp_path / "lake",
        "spark.max.offsets.per.trigger": RECORDS // 5,
        "spark.pipeline.sql": "SELECT n FROM records",
        "spark.outputs": "table,killer",
        "spark.output.table.format": "iceberg",
        "spark.output.table.table": "lake.db.numbers",
        "spark.output.killer.format": "foreach",
        "spark.output.killer.function": "killer:kill_once",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": letters,
        "errors.restart.policy": "always",
        "errors.restart.backoff.ms": 100,
    }
    worker.create("ice", {k: str(v) for k, v in config.items()})

    def reached(count):
        trace = "".join(task.get("trace", "") for task in worker.status("ice").get("tasks", []))
        if "unresolved dependency" in trace.lower():
            pytest.skip("Iceberg's jar can't be fetched here")
        return committed(worker, "ice") == count

    wait_for(lambda: reached(RECORDS // 2), lambda: f"the first batch; {worker.status('ice')}", 150)
    produce(topic, records[RECORDS // 2 :])
    wait_for(lambda: reached(RECORDS), lambda: f"all batches; {worker.status('ice')}", 300)
    assert (tmp_path / "killed").exists()
    poison = {*range(7, RECORDS, 100)}
    table = tmp_path / "lake/db/numbers"
    snapshots = snapshots_of(table)
    batches = [(s["penstock.query"], int(s["penstock.batch"])) for s in snapshots]
    assert len({*batches}) == len(batches) >= 4
    assert batches[:2] == [(batches[0][0], 0), (batches[0][0], 1)]
    assert snapshots[-1]["total-records"] == str(RECORDS - len(poison))
    found = ds.dataset([str(f) for f in table.glob("data/*.parquet")]).to_table()["n"].to_pylist()
    assert sorted(found) == sorted({*range(RECORDS)} - poison)
    assert len(consume_all(letters, len(poison))) == len(poison)


def snapshots_of(table):
    """What the newest metadata of a table says of its snapshots, oldest first."""
    newest = max(
        table.glob("metadata/v*.metadata.json"), key=lambda f: int(f.name.split(".")[0][1:])
    )
    return [snapshot["summary"] for snapshot in json.loads(newest.read_text())["snapshots"]]
