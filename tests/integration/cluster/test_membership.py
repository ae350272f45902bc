"""Members that freeze, come back, stay behind or are expected back."""

import asyncio
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from connect.cluster.config_log import ClusterConfig
from connect.cluster.membership import Membership
from connect.cluster.protocol import MemberState
from connect.config.worker import load_worker_config
from tests.support.topics import consume_all
from tests.support.waiting import wait_for
from tests.support.worker import RunningWorker, _url


def numbers(topic, **more):
    config = {"connector.class": "NumbersSource", "topic": topic, "count": 1, **more}
    return {k: str(v) for k, v in config.items()}


@pytest.mark.parametrize("exactly_once", ["disabled", "enabled"])
def test_leader_that_was_frozen_leads_no_more(new_cluster, topic, exactly_once):
    """A leader that sleeps longer than its session finds a successor, and what it was asked
    meanwhile it refuses or passes on: it writes nothing by what it knew."""
    with new_cluster(2, exactly__once__source__support=exactly_once) as cluster:
        former = cluster.leader
        [other] = [worker for worker in cluster.workers if worker is not former]
        other.create("kept", numbers(topic))
        cluster.wait_all_running({"kept": 1})
        os.kill(former.process.pid, signal.SIGSTOP)
        with ThreadPoolExecutor(1) as threads:
            # It waits in the socket's queue, and is the first thing that the former leader sees.
            asked = threads.submit(httpx.delete, f"{former.url}/connectors/kept", timeout=120)
            wait_for(lambda: leads(other), "the other to lead", 60)
            changed = other.rest.patch("/connectors/kept/config", json={"count": "2"})
            assert changed.status_code == 200, changed.text
            os.kill(former.process.pid, signal.SIGCONT)
            answer = asked.result()
        assert answer.status_code in {204, 409}, answer.text
        deleted = answer.status_code == 204
        wait_for(lambda: "led by" in rounds(former)[-1], "the former leader to follow", 60)
        for worker in cluster.workers:
            wait_for(
                lambda worker=worker: (
                    (worker.rest.get("/connectors/kept").status_code == 404) == deleted
                ),
                "both to know the same",
            )
        written = [
            m for m in config_records(cluster) if m.key() == b"connector-kept" and m.value() is None
        ]
        assert len(written) == deleted
        # It is a worker like any other now.
        answer = former.rest.put("/connectors/kept/config", json=numbers(topic, count=3))
        assert answer.status_code in {200, 201}, answer.text
        cluster.wait_all_running({"kept": 1})


def rounds(worker):
    return [line for line in worker.log_text().splitlines() if "] Generation " in line]


def leads(worker):
    return ": leading" in rounds(worker)[-1]


def config_records(cluster):
    return consume_all(cluster.bootstrap, cluster.settings["config.storage.topic"])


def test_static_member_has_its_work_when_it_is_back(new_cluster, make_topic):
    """A worker with group.instance.id is expected back: stopped and started within its session it
    runs what it had, and nobody else's tasks stop."""
    tasks = {"a": 2, "b": 2}
    with new_cluster(1, session__timeout__ms=60_000) as cluster:
        [static] = cluster.add(1, group__instance__id="second")
        for name in tasks:
            cluster.any.create(name, numbers(make_topic(), **{"tasks.max": 2}))
        wait_for(
            lambda: sorted(cluster.task_counts(cluster.wait_all_running(tasks)).values()) == [2, 2],
            "the tasks to be spread",
        )
        before = cluster.wait_all_running(tasks)
        wait_for(lambda: cluster.starts().total() == 4, "all starts to be logged")
        url = static.url
        assert cluster.stop(static) == 0
        cluster.add(1, group__instance__id="second", listeners=url)
        cluster.wait_all_running(tasks)
        again = static.id
        wanted = {
            f"{name}-{task['id']}": 2 if task["worker_id"] == again else 1
            for name, status in before.items()
            for task in status["tasks"]
        }
        wait_for(
            lambda: dict(cluster.starts()) == wanted,
            lambda: f"only its own tasks to start again: {wanted}; {cluster.starts()}",
        )


def test_worker_that_can_not_keep_up_leaves_and_comes_back(new_cluster):
    """A worker that can't read the configs the leader divides by stays away from the group for
    worker.unsync.backoff.ms, and then tries again."""
    settings = {"worker.sync.timeout.ms": "300", "worker.unsync.backoff.ms": "1000"}
    with new_cluster(0, **settings) as cluster:
        with leader_far_ahead(cluster.settings):
            process, log = cluster._start({})
            worker = RunningWorker(process, _url(process, log), log)
            told = "leaves the group for 1 s (worker.unsync.backoff.ms)"
            wait_for(lambda: worker.log_text().count(told) > 1, worker.log_text, 60)
            assert worker.rest.get("/health").status_code in {500, 503}
        wait_for(lambda: worker.rest.get("/health").status_code == 200, worker.log_text, 60)
        worker.rest.close()


class _FarAhead:
    """A config log that has read more than there is."""

    def snapshot(self):
        return ClusterConfig(offset=1_000_000)

    def read_to_end(self, seconds):
        pass


class _Listener:
    def __init__(self):
        self.leads = threading.Event()

    async def prepare_join(self):
        return MemberState("http://127.0.0.1:1/", 1_000_000, None)

    async def joined(self, outcome):
        if outcome.is_leader:
            self.leads.set()

    async def lost(self):
        pass


@contextmanager
def leader_far_ahead(settings):
    """A member of the group that leads it, and divides by configs that nobody else can have."""
    listener = _Listener()
    over = threading.Event()

    async def lead():
        config = load_worker_config(settings, distributed=True)
        membership = Membership(config, _FarAhead(), listener)
        membership.start()
        await asyncio.to_thread(over.wait)
        await membership.leave()

    thread = threading.Thread(target=lambda: asyncio.run(lead()))
    thread.start()
    try:
        assert listener.leads.wait(60)
        yield
    finally:
        over.set()
        thread.join()
