"""Spark's processes killed with SIGKILL at random moments: every record is somewhere, once.

SPARK_CHAOS_RECORDS and SPARK_CHAOS_KILLS say how many; `make chaos` runs a million and three.
"""

import os
import random
import signal

import pytest

from tests.support.processes import command, descendants
from tests.support.spark_output import (
    DELTA,
    KILLER,
    committed,
    delta_files,
    delta_numbers,
    numbers_in,
    spark_config,
    spark_processes,
)
from tests.support.topics import Out
from tests.support.waiting import wait_for
from tests.support.worker import standalone

pytestmark = pytest.mark.slow

RECORDS = int(os.environ.get("SPARK_CHAOS_RECORDS", "5000"))
KILLS = int(os.environ.get("SPARK_CHAOS_KILLS", "1"))
# How long a killed query may take to be back. The full form shares two cores with its own broker.
PATIENCE = 180


@pytest.fixture
def worker(kafka, tmp_path):
    with standalone(kafka, tmp_path, task__shutdown__graceful__timeout__ms=20_000) as running:
        running.rest.timeout = 120  # SQL is checked by a Java of its own
        yield running


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("output", ["parquet", "delta"])
def test_rows_and_dead_letters_are_all_records(
    output, worker, make_topic, produce, consume_all, tmp_path
):
    """Of the records 1 % is poison; after the kills rows and letters hold each of them once."""
    topic, letters = make_topic("numbers", 2), make_topic("dlq")
    poison = set(range(7, RECORDS, 100))
    produce(
        topic,
        (
            Out(b"\xff poison %d" % n if n in poison else b'{"n": %d}' % n, partition=n % 2)
            for n in range(RECORDS)
        ),
    )
    out = tmp_path / "out"
    name = f"chaos-{topic}"
    config = spark_config(topic, tmp_path) | {
        "spark.output.format": output,
        "spark.max.offsets.per.trigger": RECORDS // (5 * KILLS + 5),
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.context.headers.enable": "true",
        "errors.restart.policy": "always",
        "errors.restart.backoff.ms": 100,
    }
    if output == "delta":
        config |= {"spark.packages": DELTA, "spark.pipeline.sql": "SELECT n FROM records"}
    worker.create(name, {k: str(v) for k, v in config.items()})
    batches = (lambda: len(delta_files(out))) if output == "delta" else lambda: batch_folders(out)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 - shown when it fails
    chance = random.Random(seed)
    for _ in range(KILLS):
        wanted = batches() + chance.randrange(1, 4)
        wait_for(
            lambda wanted=wanted: progressed(worker, name, lambda: batches() >= wanted),
            lambda: f"more batches; {worker.status(name)}",
            PATIENCE,
        )
        assert committed(worker, name) < RECORDS, "the kill came too late"
        kill_one(worker, chance)
    wait_for(
        lambda: progressed(worker, name, lambda: committed(worker, name) == RECORDS),
        lambda: f"all batches; {worker.status(name)}",
        2 * PATIENCE,
    )
    found = consume_all(letters, len(poison), timeout=60)
    rows = delta_numbers(out) if output == "delta" else numbers_in(out)
    assert len(rows) + len(found) == RECORDS
    assert sorted(rows) == sorted(set(range(RECORDS)) - poison)
    assert sorted(int(m.value().split()[-1]) for m in found) == sorted(poison)
    headers = dict(found[0].headers())
    assert headers["__connect.errors.topic"].decode() == topic
    assert headers["__connect.errors.stage"] == b"VALUE_CONVERTER"
    assert headers["__connect.errors.connector.name"].decode() == name


@pytest.mark.timeout(600)
def test_a_driver_killed_between_output_and_commit(
    worker, make_topic, produce, consume_all, tmp_path
):
    """The batch comes again and changes nothing: in files, in Delta, in dead letters."""
    topic, letters = make_topic("numbers"), make_topic("dlq")
    produce(topic, [b"poison %d" % n if n % 100 == 7 else b'{"n": %d}' % n for n in range(RECORDS)])
    (tmp_path / "killer.py").write_text(KILLER)
    config = spark_config(topic, tmp_path) | {
        "spark.packages": DELTA,
        "spark.max.offsets.per.trigger": RECORDS // 4,
        "spark.pipeline.sql": "SELECT n FROM records",
        "spark.outputs": "files,lake,killer",
        "spark.output.files.format": "parquet",
        "spark.output.files.path": tmp_path / "files",
        "spark.output.lake.format": "delta",
        "spark.output.lake.path": tmp_path / "lake",
        "spark.output.killer.format": "foreach",
        "spark.output.killer.function": "killer:kill_once",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": letters,
        "errors.restart.policy": "always",
        "errors.restart.backoff.ms": 100,
    }
    worker.create("killed", {k: str(v) for k, v in config.items()})
    wait_for(
        lambda: progressed(worker, "killed", lambda: committed(worker, "killed") == RECORDS),
        lambda: f"all batches; {worker.status('killed')}",
        2 * PATIENCE,
    )
    assert (tmp_path / "killed").exists()
    poison = {*range(7, RECORDS, 100)}
    rows = sorted({*range(RECORDS)} - poison)
    assert sorted(numbers_in(tmp_path / "files")) == rows
    assert sorted(delta_numbers(tmp_path / "lake")) == rows
    found = consume_all(letters, len(poison))
    assert sorted(int(m.value().split()[-1]) for m in found) == sorted(poison)


def batch_folders(out):
    return len(list(out.glob("batch=*")))


def progressed(worker, name, condition):
    """The condition; skips where Delta's jars can't be had."""
    trace = "".join(task.get("trace", "") for task in worker.status(name).get("tasks", []))
    if "unresolved dependency" in trace.lower():
        pytest.skip("Delta's jars can't be fetched here")
    return condition()


def kill_one(worker, chance):
    """Kill the task, its driver in Java, or a Python process that reads for an executor."""
    [(task, driver)] = wait_for(lambda: spark_processes(worker), "Spark to run", PATIENCE)
    readers = [pid for pid in descendants(driver) if b"pyspark.daemon" in command(pid)]
    target = chance.choice([task, driver, *readers[-1:]])
    print(f"killed {command(target)[:60]}")  # noqa: T201
    os.kill(target, signal.SIGKILL)
