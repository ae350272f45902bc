"""How a work is done: in turn on each side, warm, several times, with everything measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import comb
from pathlib import Path
from statistics import median

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from bench import jvm_plugins, processes
from bench.sides import JVM, PENSTOCK, Side, both
from dlq.reader import ask_again
from penstock.errors import UserError

LOOK_SECONDS = 0.01  # between two looks at how far a side is
# So many times as many rounds, at most, for a row that has rounds on both sides of its goal.
MORE_ROUNDS = 3
# What is rarer than that by chance, is no chance.
_BY_CHANCE = 0.05
RUN_SECONDS = 300.0  # when a run counts as stuck


class CouldNotRunError(Exception):
    """Why a work can't be done on this machine."""


@dataclass(frozen=True)
class Goal:
    """What ours divided by theirs should be."""

    limit: float
    at_least: bool = True

    def met(self, ratio: float) -> bool:
        return ratio >= self.limit if self.at_least else ratio <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.limit:.2g}"


@dataclass(frozen=True)
class Sample:
    """One run on one side."""

    value: float
    cpu: float | None = None  # seconds a million records
    memory: float | None = None  # MB at most, of all processes
    busy: Mapping[str, float] = field(default_factory=dict)  # cores used, by who used them


@dataclass
class Row:
    """A work and what came of it. Ratios are taken round by round, between neighbours in time."""

    work: str
    title: str
    goal: Goal
    unit: str = "records/s"
    against: str = JVM
    theirs: list[Sample] = field(default_factory=list)
    ours: list[Sample] = field(default_factory=list)
    settings: Mapping[str, str] = field(default_factory=dict)
    bottleneck: str = ""
    reason: str = ""  # why it could not run

    @property
    def ratios(self) -> list[float]:
        return [o.value / t.value for o, t in zip(self.ours, self.theirs, strict=True)]

    @property
    def ratio(self) -> float:
        return median(self.ratios)

    @property
    def met(self) -> bool:
        return bool(self.ours) and self.goal.met(self.ratio)

    @property
    def verdict(self) -> str:
        """Whether the goal is met; or that both sides are even, where ours was to be no worse.

        Where neither is better, half of the rounds lie beyond 1 by chance. So that many must be
        worse as chance alone has it in one case of twenty.
        """
        if self.met:
            return "met"
        rounds, worse = len(self.ours), sum(not self.goal.met(ratio) for ratio in self.ratios)
        chance = sum(comb(rounds, more) for more in range(worse, rounds + 1)) / 2**rounds
        if self.goal.limit == 1 and worse < rounds and chance > _BY_CHANCE:
            return "even"
        return "MISSED"

    def wants_more(self, rounds: int) -> bool:
        """Whether there are too few rounds: of so many that are wanted, or to tell if it is met."""
        done = len(self.ours)
        told = {self.goal.met(ratio) for ratio in self.ratios}
        return done < rounds or (len(told) > 1 and done < MORE_ROUNDS * rounds)


class Bench:
    """What works share: the broker, the workers under way, topics filled once, a folder."""

    def __init__(
        self,
        bootstrap: str,
        broker: int | None,
        folder: Path,
        say: Callable[[str], None],
        *,
        rounds: int = 3,
        scale: float = 1.0,
    ) -> None:
        self.bootstrap = bootstrap
        self.broker = broker
        self.folder = folder
        self.say = say
        self.rounds = rounds
        self.scale = scale
        self.admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 3})
        self.watched: dict[str, int] = {"broker": broker} if broker else {}
        self._looker = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "bench", "log_level": 3}
        )
        self._running = ExitStack()
        self._workers: tuple[dict[str, str], tuple[Side, Side]] | None = None
        self._names = 0
        self._filled: set[str] = set()
        self._missing: dict[str, str] = {}

    def records(self, full: int) -> int:
        """How many records a work has; a multiple of a thousand."""
        return max(1000, int(full * self.scale) // 1000 * 1000)

    def name(self, hint: str) -> str:
        self._names += 1
        return f"{hint}-{self._names}"

    # -- workers ----------------------------------------------------------------------------

    def sides(self, settings: Mapping[str, str] | None = None) -> tuple[Side, Side]:
        """Both workers with these settings; those of the work before, if they had the same."""
        wanted = dict(settings or {})
        if self._workers is None or self._workers[0] != wanted:
            self.stop_workers()
            plugins = self._jvm_plugins()
            self.say("starting both workers")
            pair = both(self.bootstrap, wanted, self.say, plugins)
            self._workers = (wanted, self._running.enter_context(pair))
        return self._workers[1]

    def need(self, plugin: str) -> None:
        """Raise if the JVM's worker has to do without this plugin."""
        self._jvm_plugins()
        if plugin in self._missing:
            raise CouldNotRunError(self._missing[plugin])

    def _jvm_plugins(self) -> Path:
        folder = self.folder / "jvm-plugins"
        if not folder.exists():
            folder.mkdir()
            for make in (jvm_plugins.counting, jvm_plugins.debezium):
                try:
                    make(folder / make.__name__, self.say)
                except UserError as error:
                    self._missing[make.__name__] = str(error)
        return folder

    def stop_workers(self) -> None:
        self._running.close()
        self._workers = None

    # -- topics -----------------------------------------------------------------------------

    def topic(self, name: str, partitions: int = 1) -> str:
        new = NewTopic(name, partitions, replication_factor=1)
        for done in self.admin.create_topics([new]).values():
            done.result(30)
        # Who asks for a partition before the broker knows of it is told half a minute later.
        while not self._has_leaders(name):
            time.sleep(LOOK_SECONDS)
        return name

    def _has_leaders(self, topic: str) -> bool:
        found = self._looker.list_topics(topic, timeout=30).topics[topic]
        return found.error is None and all(p.leader >= 0 for p in found.partitions.values())

    def filled(
        self,
        name: str,
        messages: Callable[[], Iterator[tuple[bytes | None, bytes]]],
        partitions: int = 1,
    ) -> str:
        """A topic with these keys and values, filled when it is first asked for."""
        if name not in self._filled:
            self._filled.add(name)
            fill(self.bootstrap, self.topic(name, partitions), messages(), partitions)
        return name

    def written(self, topic: str, partitions: int = 1) -> int:
        """How many records a topic holds."""
        return sum(self._end(TopicPartition(topic, p)) for p in range(partitions))

    def _end(self, place: TopicPartition) -> int:
        # A new topic's partition may have its leader a moment later than its name.
        ask = partial(self._looker.get_watermark_offsets, place, timeout=10)
        return ask_again(ask, 30, f"The end of {place.topic} can't be found")[1]

    def readers(self, group: str) -> int:
        """How many members of a group have partitions."""
        [described] = self.admin.describe_consumer_groups([group]).values()
        return sum(bool(m.assignment.topic_partitions) for m in described.result(30).members)

    def drop(self, topic: str) -> None:
        self._filled.discard(topic)
        for done in self.admin.delete_topics([topic]).values():
            done.exception(30)

    def close(self) -> None:
        self.stop_workers()
        self._looker.close()


def fill(
    bootstrap: str,
    topic: str,
    messages: Iterator[tuple[bytes | None, bytes]],
    partitions: int = 1,
) -> None:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 20,
            "batch.size": 1_000_000,
            "queue.buffering.max.messages": 200_000,
            "delivery.report.only.error": True,
        }
    )
    for number, (key, value) in enumerate(messages):
        while True:
            try:
                producer.produce(topic, value, key, number % partitions)
                break
            except BufferError:
                producer.poll(0.05)
    assert producer.flush(60) == 0, f"{topic} could not be filled"


# -- runs -----------------------------------------------------------------------------------


def alternate(
    bench: Bench,
    row: Row,
    theirs: Callable[[], Sample],
    ours: Callable[[], Sample],
    *,
    warm: int = 1,
) -> Row:
    """Do it once or more on each side for warmth, then in turn for as long as the row wants."""
    number = -warm
    while number < 0 or row.wants_more(bench.rounds):
        for name, once, samples in (
            (row.against, theirs, row.theirs),
            (PENSTOCK, ours, row.ours),
        ):
            sample = once()
            word = "warming up" if number < 0 else f"round {number + 1}"
            bench.say(f"{row.work}, {word}, {name}: {sample.value:,.4g} {row.unit}")
            if number >= 0:
                samples.append(sample)
        number += 1
    row.bottleneck = row.bottleneck or named_bottleneck(row)
    return row


@contextmanager
def connector(side: Side, name: str, config: Mapping[str, str]) -> Iterator[Future[None]]:
    """Created beside what is done with it: a quick task would be through before the answer."""
    with ThreadPoolExecutor(1) as beside:
        created = beside.submit(side.create, name, config)
        try:
            yield created
            created.result()
        finally:
            wait([created])
            side.delete(name)


def throughput(
    bench: Bench,
    side: Side,
    name: str,
    config: Mapping[str, str],
    progress: Callable[[], int],
    total: int,
    ready: Callable[[], bool] = lambda: True,
) -> Sample:
    """Records a second from the first one that is seen to come out to the last.

    What happens before, such as joining the group, is no part of it, nor what comes out before
    `ready`. `progress` tells how many have come out.
    """
    watched = {side.name: side.pid, **bench.watched}
    processes.take_memory()
    with connector(side, name, config) as created, processes.MemoryWatch(side.pid) as memory:
        first, began = _reach(side, name, created, lambda: progress() if ready() else 0, 1)
        before = {who: processes.cpu_seconds(pid) for who, pid in watched.items()}
        last, ended = _reach(side, name, created, progress, total)
        after = {who: processes.cpu_seconds(pid) for who, pid in watched.items()}
    seconds = ended - began
    used = {who: after[who] - before[who] for who in watched}
    count = max(1, last - first)  # all at once, if there were few
    return Sample(
        count / seconds,
        used[side.name] / count * 1e6,
        memory.peak / 1e6,
        {who: cpu / seconds for who, cpu in used.items()},
    )


def _reach(
    side: Side, name: str, created: Future[None], progress: Callable[[], int], goal: int
) -> tuple[int, float]:
    started = checked = time.perf_counter()
    while (count := progress()) < goal:
        now = time.perf_counter()
        if now - checked > 2 and created.done():
            created.result()
            side.check(name)
            checked = now
        if now - started > RUN_SECONDS:
            raise CouldNotRunError(
                f"{side.name} had {count} of {goal} records after {RUN_SECONDS:.0f} s"
            )
        time.sleep(LOOK_SECONDS)
    return count, time.perf_counter()


def named_bottleneck(row: Row) -> str:
    """Who had no core to spare, side by side."""
    return "; ".join(
        f"{name}: {_busiest(samples)}"
        for name, samples in ((row.against, row.theirs), (PENSTOCK, row.ours))
        if samples and samples[0].busy
    )


def _busiest(samples: Sequence[Sample]) -> str:
    cores = {who: median(s.busy[who] for s in samples) for who in samples[0].busy}
    who, most = max(cores.items(), key=lambda item: item[1])
    named = "the worker" if who in {JVM, PENSTOCK} else f"the {who}"
    if most < 0.7:
        return f"waiting ({named} uses {most:.1f} cores)"
    return f"CPU of {named} ({most:.1f} cores)"


def file_lines(path: Path) -> Callable[[], int]:
    """How many lines a file has, where all are as long as its first."""
    length = 0

    def count() -> int:
        nonlocal length
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            return 0
        if not length and size:
            with path.open("rb") as file:
                line = file.readline()
            length = len(line) if line.endswith(b"\n") else 0
        return size // length if length else 0

    return count


def file_number(path: Path) -> Callable[[], int]:
    """The number in a file, as the counting sink writes it."""

    def count() -> int:
        try:
            return int(path.read_text() or 0)
        except FileNotFoundError:
            return 0

    return count
