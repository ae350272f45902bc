"""Tasks and workers killed with SIGKILL at random moments: nothing is lost.

CHAOS_KILLS says how often; `make chaos` runs it in full.
"""

import json
import os
import random
import signal
from pathlib import Path

from tests.support.processes import descendants, is_task
from tests.support.waiting import wait_for
from tests.support.worker import read_lines, standalone

PLUGINS = Path(__file__).parents[1] / "support" / "plugins"
KILLS = int(os.environ.get("CHAOS_KILLS", "6"))
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
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 - shown when it fails
    chance = random.Random(seed)
    left = KILLS
    while left:
        with standalone(
            kafka, tmp_path, files, plugin__path=PLUGINS, offset__flush__interval__ms=200
        ) as worker:
            # Some tasks first, then the worker itself.
            for _ in range(min(left - 1, chance.randrange(1, 5))):
                seen = len(read_lines(out)) + chance.randrange(1, 200)
                wait_for(
                    lambda seen=seen: len(read_lines(out)) >= min(seen, count),
                    lambda seen=seen: f"the sink to get {seen}; {worker.status(f'{topic}-sink')}",
                    90,
                )
                kill_a_task(worker.process.pid, chance)
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


def kill_a_task(worker, chance):
    """Kill one task process; others, such as the fork server, are left alone."""
    tasks = [pid for pid in descendants(worker) if is_task(pid)]
    if tasks:
        os.kill(chance.choice(tasks), signal.SIGKILL)


def numbers(path):
    """The numbers that arrived whole. A kill may tear a line; its record comes again."""
    found = set()
    for line in read_lines(path):
        try:
            found.add(json.loads(line)["v"]["n"])
        except (ValueError, KeyError, TypeError):
            continue
    return found
