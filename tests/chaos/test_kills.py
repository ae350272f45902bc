"""Tasks and workers killed with SIGKILL at random moments: nothing is lost, or even repeated.

CHAOS_KILLS says how often; `make chaos` runs it in full.
"""

import json
import os
import random
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import OffsetSpec

from tests.support.cluster import cluster
from tests.support.processes import descendants, is_task
from tests.support.topics import admin_client
from tests.support.waiting import wait_for
from tests.support.worker import read_lines, standalone

PLUGINS = Path(__file__).parents[1] / "support" / "plugins"
KILLS = int(os.environ.get("CHAOS_KILLS", "6"))
TASKS = 2
RESTART = {"errors.restart.policy": "always", "errors.restart.backoff.ms": "50"}


def test_at_least_once_survives_kills(kafka, topic, tmp_path):
    """Every number reaches the sink though tasks and worker are killed again and again."""
    out = tmp_path / "out.jsonl"
    count = 2000 * KILLS
    files = []
    for name, config in {
        "source": {
            "connector.class": "NumbersSource",
            "topic": topic,
            "count": str(count),
            "batch": "20",
            "pause.ms": "10",
        },
        "sink": {"connector.class": "CollectSink", "topics": topic, "file": str(out)},
    }.items():
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps({"name": f"{topic}-{name}", **config, **RESTART}))
    chance = seeded()
    left = KILLS
    while left:
        with standalone(
            kafka, tmp_path, files, plugin__path=PLUGINS, offset__flush__interval__ms=200
        ) as worker:
            # Some tasks first, then the worker itself. Until both have started, the processes
            # below the worker may be such as check their configs.
            for part in ("source", "sink"):
                worker.wait_running(f"{topic}-{part}")
            for _ in range(min(left - 1, chance.randrange(1, 5))):
                seen = len(read_lines(out)) + chance.randrange(1, 200)
                wait_for(
                    lambda seen=seen: len(read_lines(out)) >= min(seen, count),
                    lambda seen=seen: f"the sink to get {seen}; {worker.status(f'{topic}-sink')}",
                    90,
                )
                kill_a_task([worker], chance)
                left -= 1
            worker.process.send_signal(signal.SIGKILL)
            worker.process.wait()
            left -= 1
    with standalone(kafka, tmp_path, files, plugin__path=PLUGINS):
        wait_for(
            lambda: len(numbers(out)) == count,
            lambda: f"all {count} numbers; there are {len(numbers(out))}",
            180,
        )
    assert numbers(out) == set(range(count))


@pytest.mark.parametrize("source", ["NumbersSource", "BareNumbersSource"])
def test_exactly_once_survives_kills(kafka, topic, tmp_path, consume_all, source):
    """Every number is committed exactly once though tasks and workers are killed, some replaced."""
    name = f"killed-{topic}"
    count = 100 * KILLS
    chance = seeded()
    admin = admin_client(kafka)
    with cluster(
        kafka,
        tmp_path,
        n=2,
        plugin__path=PLUGINS,
        exactly__once__source__support="enabled",
    ) as workers:
        workers.any.create(
            name,
            {
                "connector.class": source,
                "topic": topic,
                "count": str(count),
                "batch": "5",
                "pause.ms": "20",
                "tasks.max": str(TASKS),
                **RESTART,
            },
        )
        for kill in range(KILLS):
            # Anywhere in a transaction: what is seen is a moment old.
            goal = TASKS * count * kill // (KILLS + 1) + chance.randrange(50)
            wait_for(
                lambda goal=goal: committed(admin, topic) >= goal,
                lambda goal=goal: f"{goal} to be committed; {workers.any.status(name)}",
                90,
            )
            if kill % 5 == 4:
                workers.kill(chance.choice(workers.workers))
                workers.add()
            else:
                kill_a_task(workers.workers, chance)
        found = consume_all(topic, TASKS * count, timeout=180)
    values = [json.loads(message.value()) for message in found]
    if source == "BareNumbersSource":  # whose values don't tell which task wrote them
        assert sorted(map(int, values)) == sorted(list(range(count)) * TASKS)
        return
    for task in range(TASKS):
        assert [v["n"] for v in values if v["task"] == str(task)] == list(range(count))


def seeded():
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 - shown when it fails
    return random.Random(seed)


def committed(admin, topic):
    """How far readers of committed records can read: markers of transactions count, too."""
    place = TopicPartition(topic, 0)
    asked = admin.list_offsets(
        {place: OffsetSpec.latest()}, isolation_level=IsolationLevel.READ_COMMITTED
    )
    return asked[place].result(30).offset


def kill_a_task(workers, chance):
    """Kill one task process; others, such as the fork server, are left alone."""

    def tasks():
        return [p for worker in workers for p in descendants(worker.process.pid) if is_task(p)]

    victim = chance.choice(wait_for(tasks, "a task to run", 60))
    with suppress(ProcessLookupError):
        os.kill(victim, signal.SIGKILL)


def numbers(path):
    """The numbers that arrived whole. A kill may tear a line; its record comes again."""
    found = set()
    for line in read_lines(path):
        try:
            found.add(json.loads(line)["v"]["n"])
        except (ValueError, KeyError, TypeError):
            continue
    return found
