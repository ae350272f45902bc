"""The stack as a user drives it: by the command, with real servers."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from penstock.stack.process import Process, listens
from tests.support import processes, topics
from tests.support.fake_java import python_command
from tests.support.waiting import wait_for

pytestmark = pytest.mark.stack


class Commands:
    """`penstock stack …` in a directory of the test's own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("KAFKA_", "SCHEMA_"))},
            "PENSTOCK_STACK": "local",
            "PENSTOCK_STACK_DIR": str(directory),
            "PYTHONPATH": os.pathsep.join(sys.path),
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return processes.start(
            python_command("stack", *arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )

    def __call__(self, *arguments: str) -> str:
        with self.start(*arguments) as command:
            out, err = command.communicate(timeout=120)
        # What it started stays, as it should; yet not longer than the tests.
        for process in self.recorded():
            processes.guard().watch(process)
        assert command.returncode == 0, err
        return out

    def parts(self, *arguments: str) -> dict[str, dict[str, str]]:
        document = json.loads(self(*arguments, "-o", "json"))
        return {part["name"]: part for part in document["parts"]}

    def recorded(self) -> list[Process]:
        record = self.directory / "stack.json"
        entries = json.loads(record.read_text()).values() if record.exists() else []
        return [Process(entry["process"]["pid"], entry["process"]["started"]) for entry in entries]


@pytest.fixture
def stack(tmp_path):
    commands = Commands(tmp_path / "stack")
    yield commands
    commands("down")


def test_a_stack_serves_until_it_is_taken_down(stack):
    """Up gives a broker and a registry that work; down leaves no process, no port and no file."""
    parts = stack.parts("up", "--registry")
    bootstrap = parts["kafka"]["address"]
    assert stack.parts("status") == parts
    assert {part["state"] for part in parts.values()} == {"running"}

    topics.produce(bootstrap, "greetings", [topics.Out("hello", key="k")])
    (message,) = topics.consume_all(bootstrap, "greetings", 1)
    assert (message.key(), message.value()) == (b"k", b"hello")

    client = SchemaRegistryClient({"url": parts["registry"]["address"]})
    identity = client.register_schema("greetings-value", Schema('"string"', "AVRO"))
    assert client.get_schema(identity).schema_str == '"string"'

    processes = stack.recorded()
    assert all(process.is_alive() for process in processes)
    assert len(processes) == 2
    stack("down")
    assert not any(process.is_alive() for process in processes)
    assert not listens(bootstrap)
    assert not stack.directory.exists()


def test_a_second_up_keeps_what_runs(stack):
    """Up of a running stack changes nothing, even when two come at the same time."""
    first, second = stack.start("up", "-o", "json"), stack.start("up", "-o", "json")
    outputs = [command.communicate(timeout=120)[0] for command in (first, second)]
    pids = {json.loads(output)["parts"][0]["pid"] for output in outputs}
    assert len(pids) == 1
    assert {stack.parts("up")["kafka"]["pid"]} == pids


def test_a_busy_port_gives_another(stack):
    """When somebody has 9092 the broker takes a free port and says which."""
    with socket.socket() as busy:
        try:
            busy.bind(("127.0.0.1", 9092))
            busy.listen()
        except OSError:
            pass  # somebody else has it, which is as good
        address = stack.parts("up")["kafka"]["address"]
    assert not address.endswith(":9092")
    topics.produce(address, "greetings", ["hello"])


def test_a_stack_whose_processes_died_is_started_anew(stack):
    """Status tells of the dead broker; up replaces it without being asked to clean up first."""
    old = stack.parts("up")["kafka"]
    stack.recorded()[0].stop()
    with stack.start("status") as status:
        out, _ = status.communicate(timeout=30)
    assert status.returncode == 1
    assert "dead" in out
    new = stack.parts("up")["kafka"]
    assert new["state"] == "running"
    assert new["pid"] != old["pid"]


def test_ctrl_c_while_starting_leaves_nothing(stack):
    """An interrupted up exits with 130, no traceback, and takes its half-started broker along."""
    with stack.start("up") as command:
        (process,) = wait_for(stack.recorded, "the broker to be recorded")
        command.send_signal(signal.SIGINT)
        _, err = command.communicate(timeout=30)
    assert command.returncode == 130
    assert "Traceback" not in err
    assert not process.is_alive()
    assert not stack.directory.exists()


def test_a_broker_that_dies_early_shows_its_log(stack, tmp_path):
    """A Kafka that can't start shows why, and leaves nothing behind."""
    home = tmp_path / "java"
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text(
        f"""#!/bin/sh
for argument; do [ "$argument" = kafka.Kafka ] && set -- "$@" --override node.id=2; done
exec {shutil.which("java")} "$@"
"""
    )
    java.chmod(0o755)
    stack.environment["JAVA_HOME"] = str(home)
    with stack.start("up") as command:
        _, err = command.communicate(timeout=60)
    assert command.returncode == 1, err
    assert "penstock: Kafka 4.3.1 ended before it was ready. Its last words:" in err
    assert "the node id 2 must be included in the set of voters" in err
    assert not stack.directory.exists()


def test_no_network_is_said_in_one_sentence(stack, tmp_path):
    """With nothing in the cache and the repository out of reach, up says what to do."""
    stack.environment["PENSTOCK_CACHE"] = str(tmp_path / "cache")
    stack.environment["PENSTOCK_MAVEN_URL"] = "http://127.0.0.1:1/"
    with stack.start("up") as command:
        _, err = command.communicate(timeout=60)
    assert command.returncode == 1, err
    (last,) = [line for line in err.splitlines() if line.startswith("penstock: ")]
    assert (
        "could not be downloaded (ConnectException: Connection refused): check the network" in last
    )
    assert not stack.directory.exists()
