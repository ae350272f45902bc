"""What a worker has in memory for its life."""

import subprocess
import sys

import pytest

_START = """
import sys
from penstock import start
start._worker()
import connect.cluster.distributed, connect.cluster.standalone
from uvicorn.config import Config
Config(lambda: None, http="h11", lifespan="off").load()
"""


def run(then):
    done = subprocess.run(
        [sys.executable, "-c", _START + then], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    "module",
    [
        "typer", "click", "rich", "httpx", "prometheus_client", "fastapi", "pydantic",
        "kafka.consumer", "kafka.producer", "uvicorn.main", "cryptography", "fastavro", "pyspark",
    ],
)  # fmt: skip
def test_a_worker_loads_nothing_that_only_others_need(module, loaded):
    """What is rarely needed is loaded when it is needed."""
    assert module not in loaded


@pytest.fixture(scope="module")
def loaded():
    return run("print(*sys.modules)")


def test_a_package_of_which_parts_are_loaded_still_has_everything():
    """Code of others, such as a REST extension, finds what it asks the package for."""
    then = """
import kafka, uvicorn
from kafka import KafkaConsumer
print(KafkaConsumer.__module__, uvicorn.run.__name__, kafka.coordinator.base.__name__)
"""
    assert run(then) == ["kafka.consumer.group", "run", "kafka.coordinator.base"]
