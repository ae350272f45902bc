"""A worker of three is killed or stopped while forty tasks run: only its own work is touched."""

import contextlib
import json
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import httpx
from confluent_kafka import Consumer, TopicPartition

from tests.support.waiting import wait_for

CONNECTORS = 20
TASKS = {f"count-{n}": 2 for n in range(CONNECTORS)}
PROCESSES = ("count-0", "count-1")
SESSION_SECONDS = 6
# A machine that is busy with other tests may be slow; what was measured is printed.
SLACK_SECONDS = 20


class Counts:
    """What the tasks wrote: for each task its runs, and when each number came."""

    def __init__(self, bootstrap, topic):
        self._consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": topic, "fetch.wait.max.ms": 50}
        )
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self.runs = defaultdict(lambda: defaultdict(list))

    def read(self):
        for message in self._consumer.consume(5000, 0.2):
            assert message.error() is None, message.error()
            value = json.loads(message.value())
            at = message.timestamp()[1] / 1000
            self.runs[value["run"].partition("/")[0]][value["run"]].append((value["n"], at))

    def newest(self, task):
        """What the newest run of a task wrote."""
        return max(self.runs[task].values(), key=lambda counted: counted[0][1])

    def close(self):
        self._consumer.close()


@contextlib.contextmanager
def asking(workers):
    """Ask these workers all the time; every answer must be good. Gives the seconds they took."""
    over = threading.Event()
    bad, took = [], []

    def ask(url):
        with httpx.Client(base_url=url, timeout=30) as rest:
            while not over.wait(0.1):
                for path in ("/connectors?expand=status", "/connectors/count-0/config", "/health"):
                    began = time.monotonic()
                    try:
                        answer = rest.get(path)
                    except httpx.HTTPError as error:
                        bad.append(f"{url}{path}: {error!r}")
                        continue
                    took.append(time.monotonic() - began)
                    if answer.status_code != 200:
                        bad.append(f"{url}{path}: {answer.status_code} {answer.text[:200]}")

    threads = [threading.Thread(target=ask, args=(worker.url,)) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        yield took
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not bad, bad[:5]


def owners(statuses):
    return {
        f"{name}-{task['id']}": task["worker_id"]
        for name, status in statuses.items()
        for task in status["tasks"]
    }


def lose(cluster, counts, victim, how):
    """Take a worker away and check who noticed."""
    before = owners(cluster.wait_all_running(TASKS))
    theirs = {task for task, owner in before.items() if owner == victim.id}
    assert len(theirs) in {13, 14, 20}, before
    wait_for(lambda: counts.read() or all(counts.runs[t] for t in before), "all to count")
    known = {task: set(counts.runs[task]) for task in before}
    survivors = [worker for worker in cluster.workers if worker is not victim]
    with asking(survivors) as took:
        began = time.time()
        how(victim)
        wait_for(
            lambda: counts.read() or all(set(counts.runs[t]) - known[t] for t in theirs),
            "every task of the lost worker to count again",
            SESSION_SECONDS + SLACK_SECONDS,
        )
        cluster.wait_all_running(TASKS)
    again = [counts.newest(task)[0][1] - began for task in theirs]
    pauses = []
    for task in before:
        found = [n for counted in counts.runs[task].values() for n, _ in counted]
        assert set(found) == set(range(max(found) + 1)), f"{task} lost records"
        if task not in theirs:
            assert set(counts.runs[task]) == known[task], f"{task} was started again"
            pauses += [b - a for (_, a), (_, b) in pairwise(counts.newest(task)) if b > began]
    print(  # noqa: T201 - the figures, shown with -s
        f"\n{how.__name__}: {len(theirs)} tasks ran again after "
        f"{min(again):.1f} to {max(again):.1f} s; the others' longest pause was "
        f"{max(pauses):.2f} s; {len(took)} requests to survivors, the slowest "
        f"{max(took):.2f} s"
    )


def test_only_the_work_of_a_lost_worker_is_touched(new_cluster, topic):
    """The leader is killed, then a worker stopped: unaffected tasks count on in the same run, the
    affected ones run elsewhere, nothing is lost, and the others answer REST all the time."""
    config = {
        "connector.class": "NumbersSource",
        "topic": topic,
        "tasks.max": "2",
        "count": "1000000",
        "batch": "1",
        "pause.ms": "100",
    }
    with new_cluster(3) as cluster, contextlib.closing(Counts(cluster.bootstrap, topic)) as counts:
        with ThreadPoolExecutor(5) as threads:
            list(threads.map(lambda name: cluster.any.create(name, isolated(name, config)), TASKS))
        wait_for(
            lambda: (
                sorted(cluster.task_counts(cluster.wait_all_running(TASKS)).values())
                == [13, 13, 14]
            ),
            "the tasks to be spread",
        )
        lose(cluster, counts, cluster.leader, cluster.kill)
        lose(cluster, counts, cluster.any, cluster.stop)


def isolated(name, config):
    """Most tasks are threads, which start sooner; a few are processes, as they are by default."""
    return {**config, "task.isolation": "process" if name in PROCESSES else "thread"}
