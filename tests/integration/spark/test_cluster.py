"""Spark elsewhere: a standalone cluster that has no Penstock, and a Spark Connect server."""

import os
import shutil
import signal
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.support.spark_cluster import ROOT, connect_server, standalone_cluster
from tests.support.spark_output import committed, numbers_in, spark_config
from tests.support.topics import Out
from tests.support.waiting import wait_for
from tests.support.worker import standalone

# Only imports show what a packed environment has to hold; typer loads pydantic with a command.
IMPORTED = """
import sys
import penstock.commands.spark, spark_sink.source, spark_sink.query, spark_sink.task
import converters.json, pydantic.types
print(*{name.partition(".")[0] for name in sys.modules})
"""
pytestmark = pytest.mark.slow

SHOP = """
from pyspark.sql import functions as f

def greeting(n):
    return f"hello {n}"

def greet(rows):
    return rows.select("n", f.udf(greeting, "string")("n").alias("name"))
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def worker(kafka, tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark-worker")
    (folder / "shop.py").write_text(SHOP)
    with standalone(kafka, folder, task__shutdown__graceful__timeout__ms=20_000) as running:
        yield running


@pytest.fixture
def create(worker):
    """create(name, config) creates a connector that is gone after the test."""
    created = []

    def create(name, config):
        created.append(name)
        worker.create(name, {k: str(v) for k, v in config.items()})

    yield create
    for name in created:
        worker.rest.delete(f"/connectors/{name}")


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """The archive that `penstock spark pack` makes of an environment with a linked Penstock."""
    folder = tmp_path_factory.mktemp("packed")
    venv.create(folder / "env", symlinks=True)
    [inside] = (folder / "env/lib").glob("python*/site-packages")
    [outside] = [Path(p) for p in sys.path if p.endswith("site-packages")]
    told = subprocess.run(
        [sys.executable, "-c", IMPORTED], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in told.stdout.split():
        for found in (*outside.glob(name), *outside.glob(f"{name}.*")):
            if found.is_dir():
                jars = shutil.ignore_patterns("jars", "__pycache__")
                shutil.copytree(found, inside / found.name, ignore=jars, copy_function=os.link)
            else:
                os.link(found, inside / found.name)
    (inside / "penstock.pth").write_text(f"{ROOT}\n")
    archive = folder / "env.tar.gz"
    python = folder / "env/bin/python"
    told = penstock("spark", "pack", archive, python=python, cwd=folder)
    assert told.returncode == 0, told.stderr
    assert '"./environment/bin/python"' in told.stdout
    return archive


def penstock(*arguments, python=sys.executable, cwd=ROOT):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PY")}
    return subprocess.run(
        [python, "-m", "penstock", *arguments],
        cwd=cwd,
        env={**environment, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=270,
        check=False,
    )


def on_cluster(cluster, archive):
    return {
        "spark.master": cluster.url,
        "spark.conf.spark.archives": f"{archive}#environment",
        "spark.conf.spark.pyspark.python": "./environment/bin/python",
        "spark.conf.spark.driver.host": "127.0.0.1",
        "spark.conf.spark.executor.memory": "600m",
    }


def test_check_says_what_executors_lack(cluster):
    """Executors with a bare Python are told apart by what they can't import."""
    told = penstock(
        "spark", "check", "--master", cluster.url,
        "--conf", f"spark.pyspark.python={sys._base_executable}",
    )  # fmt: skip
    assert told.returncode == 1, told.stderr
    assert "missing: confluent_kafka (No module named" in told.stdout


@pytest.mark.timeout(900)
def test_a_packed_environment_and_a_killed_executor(
    cluster, packed, worker, create, make_topic, produce, consume_all, tmp_path
):
    """On a cluster without Penstock a packed one reads every record once, executors killed."""
    topic, letters = make_topic("numbers", 2), make_topic("dlq")
    total = 3000
    poison = {n for n in range(total) if n % 100 == 7}
    produce(
        topic,
        [Out(b"poison %d" % n if n in poison else b'{"n": %d}' % n) for n in range(total)],
    )
    config = spark_config(topic, tmp_path) | on_cluster(cluster, packed)
    config |= {
        "spark.max.offsets.per.trigger": 300,
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": letters,
    }
    create("packed", config)
    out = tmp_path / "out"
    wait_for(
        lambda: list(out.glob("batch=*")),
        lambda: f"a batch to be written; {worker.status('packed')}",
        240,
    )
    os.kill(cluster.executors()[0], signal.SIGKILL)
    assert len(numbers_in(out)) < total, "the kill came too late"
    wait_for(
        lambda: len(numbers_in(out)) >= total - len(poison),
        lambda: f"all rows, there are {len(numbers_in(out))}; {worker.status('packed')}",
        240,
    )
    assert sorted(numbers_in(out)) == sorted(set(range(total)) - poison)
    found = consume_all(letters, len(poison))
    assert sorted(int(m.value().split()[-1]) for m in found) == sorted(poison)


def test_a_function_that_executors_cannot_import(
    cluster, packed, worker, create, topic, produce, tmp_path
):
    """The task's trace names the module, and how to bring it to the executors."""
    produce(topic, ['{"n": 1}'])
    config = spark_config(topic, tmp_path) | on_cluster(cluster, packed)
    create("shop", config | {"spark.pipeline.function": "shop:greet"})
    status = worker.wait_states("shop", ["FAILED"], 240)
    trace = status["tasks"][0]["trace"]
    assert "No module named 'shop'" in trace
    assert "spark.submit.pyFiles" in trace


@pytest.fixture
def connect_session(tmp_path):
    """A Spark Connect server's address, and a session of a client of it."""
    from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415

    with connect_server(tmp_path) as url:
        session = SparkSession.builder.remote(url).getOrCreate()
        yield url, session
        session.stop()


def test_spark_connect(
    worker, create, kafka, connect_session, make_topic, produce, consume_all, tmp_path
):
    """Over sc:// the data source reads, and the connector writes rows and dead letters."""
    import spark_sink  # noqa: PLC0415

    url, spark = connect_session
    topic, letters = make_topic("numbers", 2), make_topic("dlq")
    produce(topic, [*(b'{"n": %d}' % n for n in range(100)), b"poison"])
    config = spark_config(topic, tmp_path) | {
        "spark.remote": url,
        "spark.outputs": "files,memory",
        "spark.output.files.format": "parquet",
        "spark.output.files.path": tmp_path / "out",
        "spark.output.memory.format": "memory",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": letters,
    }
    create("remote", config)
    spark_sink.register(spark)
    rows = (
        spark.read.format("penstock")
        .option("bootstrap.servers", kafka)
        .option("topics", topic)
        .option("value.converter", "org.apache.kafka.connect.json.JsonConverter")
        .option("value.converter.schemas.enable", "false")
        .option("errors.tolerance", "all")
        .option("spark.schema", "n BIGINT")
        .load()
    )
    [counted] = rows.selectExpr("sum(n)", "count(*)", "count(_error)").collect()
    assert tuple(counted) == (4950, 101, 1)
    wait_for(
        lambda: committed(worker, "remote") == 101,
        lambda: f"all records to be read; {worker.status('remote')}",
        150,
    )
    assert sorted(numbers_in(tmp_path / "out")) == [*range(100)]
    assert spark.sql("SELECT n, _kafka FROM global_temp.remote_memory").count() == 100
    assert [m.value() for m in consume_all(letters, 1)] == [b"poison"]
    worker.wait_running("remote")
    worker.rest.put("/connectors/remote/stop")
    worker.wait_states("remote", [])
