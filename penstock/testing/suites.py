"""The conformance suites of `connect.testing`, and the same connector in a real worker.

    class TestMySink(SinkOnKafkaSuite):
        connector = MySinkConnector
        …                               # as for a SinkTaskSuite

Where no Kafka can be had, for want of Java, only the tests in a worker are skipped.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any, ClassVar

import pytest

from connect.testing import SinkTaskSuite, SourceTaskSuite
from connect.testing.running import wait_until
from converters.json import JsonConverter
from penstock.testing.worker import RealWorker

_SECONDS = 60.0
_KILLED = pytest.mark.parametrize("killed", ["task", "worker"])


def _crash(worker: RealWorker, name: str, killed: str) -> None:
    if killed == "task":
        worker.kill_task(name)
        worker.restart(name)
    else:
        worker.kill()
        worker.start()


class SourceOnKafkaSuite(SourceTaskSuite):
    """A SourceTaskSuite, and more: in a real worker all records arrive, whatever is killed."""

    def test_records_and_offsets_are_in_kafka(
        self, penstock_worker: RealWorker, tmp_path: Path
    ) -> None:
        """Everything at the source is in the topic, and the worker stores the last offsets."""
        self.fill(tmp_path, self.count)
        name, topic = self._create(penstock_worker, tmp_path)
        records = penstock_worker.read(topic, self.count)
        if not self.endless:
            assert len(records) == self.count, f"{len(records)} records of {self.count}"
            self._await_last_offsets(penstock_worker, name, tmp_path)
        penstock_worker.delete(name)

    @_KILLED
    def test_no_loss_in_kafka_when_killed(
        self, penstock_worker: RealWorker, tmp_path: Path, killed: str
    ) -> None:
        """Killed when it has just begun to give records, a source gives all of them."""
        self.fill(tmp_path, self.count)
        calm, expected = self._create(penstock_worker, tmp_path)
        values = penstock_worker.read(expected, self.count)[: self.count]
        penstock_worker.delete(calm)
        name, topic = self._create(penstock_worker, tmp_path)
        penstock_worker.read(topic, 1)
        _crash(penstock_worker, name, killed)

        def lost() -> list[Any]:
            got = penstock_worker.read(topic, 0)
            return [value for value in values if value not in got]

        wait_until(
            lambda: not lost(),
            lambda: f"what was lost when the {killed} was killed: {lost()!r}",
            _SECONDS,
        )
        if not self.endless:
            self._await_last_offsets(penstock_worker, name, tmp_path)
        penstock_worker.delete(name)

    def _create(self, worker: RealWorker, place: Path) -> tuple[str, str]:
        """A connector whose records all go to a topic of its own, whatever its config says."""
        name, topic = _name(), worker.topic()
        config = self.config(place)
        router = {
            "transforms": ",".join(filter(None, [config.get("transforms"), "into"])),
            "transforms.into.type": "org.apache.kafka.connect.transforms.RegexRouter",
            "transforms.into.regex": ".*",
            "transforms.into.replacement": topic,
        }
        worker.create(name, {"connector.class": self.connector, **config, **router})
        return name, topic

    def _await_last_offsets(self, worker: RealWorker, name: str, place: Path) -> None:
        with self._source(place) as source:
            source.poll(self.count)
            source.commit()
        last = [{"partition": key, "offset": offset} for key, offset in source.offsets.all()]
        wait_until(
            lambda: sorted(worker.offsets(name), key=str) == sorted(last, key=str),
            lambda: f"the offsets {last!r}; they are {worker.offsets(name)!r}",
            _SECONDS,
        )


class SinkOnKafkaSuite(SinkTaskSuite):
    """A SinkTaskSuite, and more: in a real worker all records arrive, whatever is killed."""

    # How many records the tests in a worker write.
    count: ClassVar[int] = 100

    def test_records_of_kafka_are_written(
        self, penstock_worker: RealWorker, tmp_path: Path
    ) -> None:
        """Everything in the topic is in the other system, and its offsets are committed."""
        values, topic = self.values(self.count), penstock_worker.topic()
        name = self._create(penstock_worker, tmp_path, topic)
        self._feed(penstock_worker, topic, values)
        penstock_worker.wait_committed(name)
        self._check(tmp_path, values, "undisturbed")
        penstock_worker.delete(name)

    @_KILLED
    def test_no_loss_from_kafka_when_killed(
        self, penstock_worker: RealWorker, tmp_path: Path, killed: str
    ) -> None:
        """Killed when it has just got records, a sink has everything in the end."""
        values, topic = self.values(self.count), penstock_worker.topic()
        half = self.count // 2
        name = self._create(penstock_worker, tmp_path, topic)
        self._feed(penstock_worker, topic, values[:half])
        _crash(penstock_worker, name, killed)
        self._feed(penstock_worker, topic, values[half:])
        penstock_worker.wait_committed(name)
        self._check(tmp_path, values, f"the {killed} was killed")
        penstock_worker.delete(name)

    def test_no_loss_when_a_task_is_added(
        self, penstock_worker: RealWorker, tmp_path: Path
    ) -> None:
        """Two partitions that one task has are shared with a second one, and nothing is lost."""
        values, topic = self.values(self.count), penstock_worker.topic(partitions=2)
        quarter = self.count // 4
        parts = [values[at : at + quarter] for at in range(0, self.count, quarter)]
        name = self._create(penstock_worker, tmp_path, topic)
        for number, part in enumerate(parts):
            if number == 2:
                self._create(penstock_worker, tmp_path, topic, tasks=2, name=name)
            self._feed(penstock_worker, topic, part, partition=number % 2)
        penstock_worker.wait_committed(name)
        got = self.written(tmp_path)
        lost = [value for value in values if value not in got]
        assert not lost, f"a task was added: lost {lost!r}, found {got!r}"
        penstock_worker.delete(name)

    def _create(
        self, worker: RealWorker, place: Path, topic: str, tasks: int = 1, name: str = ""
    ) -> str:
        name = name or _name()
        config = {
            "connector.class": self.connector,
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "true",
            "tasks.max": str(tasks),
            **self.config(place),
            "topics": topic,
        }
        worker.create(name, config, tasks=tasks)
        return name

    def _feed(self, worker: RealWorker, topic: str, values: list[Any], partition: int = 0) -> None:
        converter = JsonConverter()
        converter.configure({"schemas.enable": "true"}, is_key=False)
        data = [converter.from_connect(topic, self.schema, value) for value in values]
        worker.feed(topic, data, partition=partition)


def _name() -> str:
    return f"penstock-test-{uuid.uuid4().hex[:8]}"
