r"""Conformance suites: what a worker and its users may expect of any connector.

    class TestMySource(SourceTaskSuite):
        connector = MySourceConnector

        def config(self, place):
            return {"file": str(place / "in.txt"), "topic": "t"}

        def fill(self, place, count):
            (place / "in.txt").write_text("".join(f"line {n}\n" for n in range(count)))

They are plain classes of pytest tests; `place` is a fresh directory for each test.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, ClassVar

from connect.data.schema import Schema
from connect.errors import ConfigError
from connect.plugin import Connector, SinkConnector, SourceConnector, TopicPartition
from connect.testing.offsets import OffsetStore
from connect.testing.running import RunningConnector, checked_config
from connect.testing.sink import SinkHarness
from connect.testing.source import SourceHarness

# A task that is asked to pause or stop can do so only between two polls.
_LONGEST_POLL_SECONDS = 3.0


class _ConnectorSuite:
    connector: ClassVar[type[Connector]]

    def config(self, place: Path) -> dict[str, str]:
        """A complete config of the connector, over what is at `place`."""
        raise NotImplementedError

    def _props(self, place: Path) -> dict[str, str]:
        return self.config(place)

    def test_config_is_valid(self, tmp_path: Path) -> None:
        """The suite's own config passes validation."""
        checked_config(self.connector, self._props(tmp_path))

    def test_missing_keys_are_named(self, tmp_path: Path) -> None:
        """Each required key, left out, is reported by name."""
        props = self._props(tmp_path)
        for name, key in self.connector.config_def.keys.items():
            if not key.required:
                continue
            try:
                checked_config(self.connector, {k: v for k, v in props.items() if k != name})
            except ConfigError as error:
                assert name in str(error), f"leaving out {name!r} is reported as: {error}"  # noqa: PT017
            else:
                raise AssertionError(f"required key {name!r} was left out and nobody said so")

    def test_keys_are_documented(self) -> None:
        """Each key says what it is for."""
        for name, key in self.connector.config_def.keys.items():
            assert key.doc.strip(), f"key {name!r} has no doc"

    def test_task_configs_keep_to_tasks_max(self, tmp_path: Path) -> None:
        """There are never more task configs than allowed, and they are strings."""
        for tasks_max in (1, 2, 5):
            running: RunningConnector[Any] = RunningConnector(
                self.connector, self._props(tmp_path), tasks_max=tasks_max
            )
            running.task_configs()
            running.stop()

    def test_stop_before_start_does_no_harm(self) -> None:
        """Stopping a task whose start failed early raises nothing."""
        self.connector.task_class().stop()


class SourceTaskSuite(_ConnectorSuite):
    """What is expected of a source: every record once, whenever it is stopped or killed."""

    connector: ClassVar[type[SourceConnector]]
    # How many records the tests read; `fill` makes that many.
    count: ClassVar[int] = 20
    # True for a source that never runs dry, such as a generator.
    endless: ClassVar[bool] = False

    def fill(self, place: Path, count: int) -> None:
        """Have `count` records ready at the source. Not needed when it makes its own."""

    def _source(self, place: Path, offsets: OffsetStore | None = None) -> SourceHarness:
        return SourceHarness(self.connector, self._props(place), offsets=offsets)

    def _all(self, place: Path) -> list[Any]:
        """The values of an undisturbed run: what every other run has to give, too."""
        with self._source(place) as source:
            return [record.value for record in source.poll(self.count)][: self.count]

    def test_gives_all_records(self, tmp_path: Path) -> None:
        """Everything at the source is read, and nothing more."""
        self.fill(tmp_path, self.count)
        with self._source(tmp_path) as source:
            records = source.poll(self.count)
        if not self.endless:
            assert len(records) == self.count, f"{len(records)} records of {self.count}"

    def test_goes_on_after_stop(self, tmp_path: Path) -> None:
        """A task stopped in good order goes on where it was."""
        self.fill(tmp_path, self.count)
        expected = self._all(tmp_path)
        source = self._source(tmp_path)
        for part in (self.count // 3, self.count):
            with source:
                self._commit_up_to(source, part)
        self._compare(expected, source, "stopped and started")

    def test_no_loss_and_no_repeat_after_crash(self, tmp_path: Path) -> None:
        """Killed after any number of committed records, the next task gives the rest, once."""
        self.fill(tmp_path, self.count)
        expected = self._all(tmp_path)
        for safe in (0, 1, self.count // 2, self.count - 1, self.count):
            source = self._source(tmp_path)
            source.start()
            source.poll(self.count)
            source.commit(safe)
            source.crash()
            with source:
                self._commit_up_to(source, self.count)
            self._compare(expected, source, f"killed after {safe} records")

    def test_poll_returns_when_there_is_nothing(self, tmp_path: Path) -> None:
        """A task with nothing to read lets go of poll soon, so that it can be stopped."""
        if self.endless:
            return
        self.fill(tmp_path, self.count)
        with self._source(tmp_path) as source:
            source.poll(self.count)
            begin = time.monotonic()
            source.poll_once()
            took = time.monotonic() - begin
        assert took < _LONGEST_POLL_SECONDS, f"poll held on for {took:.1f} s"

    def test_own_offsets_can_be_set_and_reset(self, tmp_path: Path) -> None:
        """The offsets a task stored are taken back by alter_offsets, and so is their reset."""
        self.fill(tmp_path, self.count)
        with self._source(tmp_path) as source:
            source.poll(self.count)
            source.commit()
            connector = source.connector
            assert isinstance(connector, SourceConnector)
            stored = source.offsets.all()
            assert isinstance(connector.alter_offsets(stored), bool)
            assert isinstance(connector.alter_offsets([(key, None) for key, _ in stored]), bool)

    def _commit_up_to(self, source: SourceHarness, count: int) -> None:
        missing = count - len(source.committed)
        if missing > 0:
            source.poll(missing)
            source.commit(missing)

    def _compare(self, expected: list[Any], source: SourceHarness, what: str) -> None:
        got = [record.value for record in source.committed]
        assert got == expected, (
            f"{what}, the source gave other records than an undisturbed run:\n"
            f"expected {expected!r}\ngot      {got!r}"
        )


class SinkTaskSuite(_ConnectorSuite):
    """What is expected of a sink: what was flushed is there, whatever happens next."""

    connector: ClassVar[type[SinkConnector]]
    # True for a sink that shows each record once even if it was delivered twice.
    exactly_once: ClassVar[bool] = False
    schema: ClassVar[Schema | None] = Schema.STRING

    def values(self, count: int) -> list[Any]:
        """`count` different values that the sink can take, under `schema`."""
        return [f"value {number}" for number in range(count)]

    def written(self, place: Path) -> list[Any]:
        """What is in the other system now, as values equal to those of `values`."""
        raise NotImplementedError

    def _props(self, place: Path) -> dict[str, str]:
        return {"topics": "test", **self.config(place)}

    def _sink(self, place: Path) -> SinkHarness:
        return SinkHarness(self.connector, self.config(place))

    def _put(self, sink: SinkHarness, values: list[Any], partition: int = 0) -> None:
        for value in values:
            sink.record(value, schema=self.schema, partition=partition)
        sink.deliver()

    def _check(self, place: Path, expected: list[Any], what: str) -> None:
        got = self.written(place)
        if self.exactly_once:
            assert got == expected, f"{what}: expected {expected!r}, found {got!r}"
        else:
            lost = [value for value in expected if value not in got]
            assert not lost, f"{what}: lost {lost!r}, found {got!r}"

    def test_writes_what_is_put(self, tmp_path: Path) -> None:
        """Everything put is in the other system after flush, once and in order."""
        values = self.values(10)
        with self._sink(tmp_path) as sink:
            self._put(sink, values[:3])
            self._put(sink, values[3:])
            agreed = sink.flush()
            got = self.written(tmp_path)
        assert got == values, f"expected {values!r}, found {got!r}"
        assert agreed == {TopicPartition("test", 0): 10}, f"agreed to {agreed!r} after 10 records"

    def test_empty_put_does_no_harm(self, tmp_path: Path) -> None:
        """An empty batch, which a worker sends as a sign of life, changes nothing."""
        with self._sink(tmp_path) as sink:
            sink.deliver()
            self._put(sink, self.values(1))
            sink.deliver()
        assert self.written(tmp_path) == self.values(1)

    def test_flushed_records_survive_a_crash(self, tmp_path: Path) -> None:
        """What was there at flush is there after the process is killed."""
        values = self.values(5)
        sink = self._sink(tmp_path)
        sink.start()
        self._put(sink, values)
        sink.flush()
        sink.crash()
        self._check(tmp_path, values, "killed after flush")

    def test_unflushed_records_come_again(self, tmp_path: Path) -> None:
        """Killed before flush, a new task that gets the records again loses none."""
        values = self.values(6)
        sink = self._sink(tmp_path)
        sink.start()
        self._put(sink, values[:2])
        sink.flush()
        self._put(sink, values[2:])
        sink.crash()
        with sink:
            sink.flush()
        self._check(tmp_path, values, "killed before flush")

    def test_rebalance_loses_nothing(self, tmp_path: Path) -> None:
        """Partitions that go away and come back are gone on with where they were."""
        values = self.values(6)
        first, second = TopicPartition("test", 0), TopicPartition("test", 1)
        with self._sink(tmp_path) as sink:
            self._put(sink, values[:2])
            sink.rebalance(first, second)
            self._put(sink, values[2:4], partition=1)
            sink.rebalance(second)
            self._put(sink, values[4:], partition=1)
            sink.flush()
        self._check(tmp_path, values, "after two rebalances")

    def test_stop_without_records(self, tmp_path: Path) -> None:
        """A task that never got a record starts and stops cleanly, twice."""
        for _ in range(2):
            with self._sink(tmp_path):
                pass
