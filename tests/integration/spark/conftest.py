"""One local Spark for the tests of this folder: starting it costs ten seconds."""

import os
import sys

import pytest

import spark_sink
from connect import ConnectError
from spark_sink.session import start_session
from tests.support.spark_cluster import JAVA, ROOT
from tests.support.spark_output import DELTA


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A session, with Delta where its jars can be had."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    sys.path[:0] = [str(ROOT)]
    folder = tmp_path_factory.mktemp("spark")
    config = {
        "spark.master": "local[2]",
        "spark.packages": DELTA,
        "spark.conf.spark.driver.memory": "1g",
        "spark.conf.spark.driver.extraJavaOptions": JAVA,
        "spark.conf.spark.sql.shuffle.partitions": "2",
        "spark.conf.spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    try:
        session = start_session(config, "tests")
    except ConnectError:
        session = start_session(config | {"spark.packages": ""}, "tests")
    session.sparkContext.setLogLevel("ERROR")
    spark_sink.register(session)
    yield session
    session.stop()


@pytest.fixture
def delta(spark):
    """Asks for Delta; the test is skipped where its jars can't be had."""
    if not spark.conf.get("spark.jars.packages", ""):
        pytest.skip("Delta's jars can't be fetched here")
