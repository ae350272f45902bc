"""What tests of the Spark connector share: its config, and what it wrote."""

import json
from pathlib import Path

import pyarrow.dataset as ds

from tests.support.processes import descendants
from tests.support.spark_cluster import JAVA

DELTA = "io.delta:delta-spark_2.13:4.4.0"

# Called when the outputs before it have the batch: the whole driver dies, Java first.
KILLER = """
import os, signal

def kill_once(rows, batch):
    if batch == 1 and not os.path.exists("killed"):
        open("killed", "w").close()
        os.kill(rows.sparkSession.sparkContext._gateway.proc.pid, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def spark_config(topic, folder, **more):
    """A connector that writes a topic of numbers to Parquet."""
    return {
        "connector.class": "SparkSink",
        "topics": topic,
        "spark.master": "local[2]",
        "spark.conf.spark.driver.memory": "1g",
        "spark.conf.spark.driver.extraJavaOptions": JAVA,
        "spark.schema": "n BIGINT, name STRING",
        "spark.trigger": "0 seconds",
        "spark.output.format": "parquet",
        "spark.output.path": folder / "out",
        "spark.checkpoint.location": folder / "checkpoint",
        **more,
    }


def numbers_in(folder):
    """The numbers in a folder of Parquet files, as any reader finds them."""
    if not list(Path(folder).glob("batch=*/*.parquet")):
        return []
    return ds.dataset(folder, partitioning="hive").to_table(columns=["n"])["n"].to_pylist()


def delta_files(folder):
    """What a Delta table's log says was added: the files, and how many rows each has."""
    adds = [
        json.loads(line)["add"]
        for file in sorted(Path(folder).glob("_delta_log/*.json"))
        for line in file.read_text().splitlines()
        if '"add"' in line[:10]
    ]
    return {add["path"]: json.loads(add["stats"])["numRecords"] for add in adds}


def delta_numbers(folder):
    """The numbers in a Delta table that only grows."""
    files = [str(Path(folder, path)) for path in delta_files(folder)]
    return ds.dataset(files).to_table(columns=["n"])["n"].to_pylist() if files else []


def committed(worker, name):
    """Up to where a connector has read, in all partitions: the query's place, mirrored."""
    offsets = worker.rest.get(f"/connectors/{name}/offsets").json()["offsets"]
    return sum(o["offset"]["kafka_offset"] for o in offsets)


def spark_processes(worker):
    """The pids of a worker's task processes that have a JVM, and of that JVM: (task, JVM)."""
    found = []
    for pid in descendants(worker.process.pid):
        try:
            name = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if b"java" in name:
            found.append((parent, pid))
    return found
