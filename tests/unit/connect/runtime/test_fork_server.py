"""Children of the fork server: what they are given, how they end, and who outlives whom."""

import atexit
import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import wait

import pytest

from connect.runtime import fork_server, rehearsal
from connect.runtime.fork_server import ForkServer
from tests.support.processes import alive, name, stat
from tests.support.waiting import wait_for

pools = []  # of a child


@pytest.fixture(scope="module")
def server():
    server = ForkServer()
    yield server
    last = server.fork(stay, None)
    assert last.line.recv() == "here"
    parent = parent_of(last)
    last.kill()
    server._requests.close()  # as the kernel does for a worker that has ended
    wait_for(lambda: not alive(parent), "the fork server to end")
    os.waitpid(parent, 0)


def parent_of(child):
    return int(stat(child.pid)[1])


def echo(line, spec):
    line.send((spec, os.getpid(), sys.stdin.read()))


def leave(line, code):
    sys.exit(code)


def fail(line, spec):
    raise ValueError(spec)


def linger(line, spec):
    """Return while a thread is still at work."""
    threading.Thread(target=lambda: line.send(line.recv())).start()


def work_with_a_pool(line, spec):
    """Return with a pool whose thread has done its work and waits for more."""
    pools.append(ThreadPoolExecutor(1))
    pools[0].submit(line.send, "worked").result()
    atexit.register(line.send, "tidied up")


def fail_before_threads_end(line, spec):
    threading._register_atexit(fail, line, spec)  # as concurrent.futures does
    atexit.register(line.send, "tidied up")


def tidy_up(line, spec):
    """Ask for two things to be done at the end, of which one fails."""
    atexit.register(line.send, "tidied up")
    atexit.register(fail, line, spec)


def stay(line, spec):
    line.send("here")
    line.recv()


def signals(line, spec):
    line.send([signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGCHLD)])


def work_with_a_server_of_its_own():
    """A worker that forks its server, loses it and has another. Writes which there were."""
    server = ForkServer()
    server.begin()
    parents = []
    for _ in range(2):
        child = server.fork(stay, None)
        assert child.line.recv() == "here"
        parents.append(parent_of(child))
        assert name(parents[-1]) == "forkserver"
        assert int(stat(parents[-1])[1]) == os.getpid()
        os.kill(parents[-1], signal.SIGKILL)
        assert child.exit_code() is None
        child.kill()
    child = server.fork(echo, "what is shared is of use")
    assert child.line.recv() == ("what is shared is of use", child.pid, "")
    assert child.exit_code() == 0
    sys.stdout.write(f"{parents[0]} {parents[1]} {server._pid}")


def test_it_is_forked_from_a_worker_and_run_when_that_one_was_killed():
    """And goes with the worker, however that ends."""
    words = [sys.executable, "-c", f"from {__name__} import *; work_with_a_server_of_its_own()"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    servers = [int(pid) for pid in done.stdout.split()]
    assert len(set(servers)) == 3
    wait_for(lambda: not any(map(alive, servers)), "the last fork server to end")


def test_a_child_gets_what_to_run_and_nothing_to_read(server):
    """The function and its argument travel over the line; standard input is empty."""
    spec = {"config": "x" * 1_000_000}
    child = server.fork(echo, spec)
    assert child.line.recv() == (spec, child.pid, "")
    assert child.exit_code() == 0


@pytest.mark.parametrize(
    ("target", "spec", "code"),
    [(leave, None, 0), (leave, 7, 7), (leave, "words", 1), (fail, "no", 1)],
)
def test_the_worker_learns_the_exit_code(server, target, spec, code):
    """It is what the interpreter would have ended with."""
    assert server.fork(target, spec).exit_code() == code


def test_the_worker_learns_of_a_signal(server):
    """A child that was killed has the signal's number as its code."""
    child = server.fork(stay, None)
    assert child.line.recv() == "here"
    child.kill()
    assert child.exit_code() == -signal.SIGKILL


def test_threads_of_a_child_end_before_it(server):
    """The process is there until its last thread that is no daemon has ended."""
    child = server.fork(linger, None)
    child.line.send("said late")
    assert child.line.recv() == "said late"
    assert child.exit_code() == 0


def test_a_pool_that_nobody_has_shut_down_ends_with_its_child(server):
    """Its threads are told that no more work comes, as at the end of an interpreter."""
    child = server.fork(work_with_a_pool, None)
    assert child.line.recv() == "worked"
    if not wait([child.status], 10):
        child.kill()
    assert child.exit_code() == 0
    assert child.line.recv() == "tidied up"


def test_a_hook_that_fails_keeps_no_child_from_its_end(server):
    """What is to be done after it is done."""
    child = server.fork(fail_before_threads_end, "a failure before the end")
    assert child.line.recv() == "tidied up"
    assert child.exit_code() == 0


def test_a_child_tidies_up_when_it_ends(server):
    """What a library has registered for the end of the process is done."""
    child = server.fork(tidy_up, "a failure at the end")
    assert child.line.recv() == "tidied up"
    assert child.exit_code() == 0


def test_a_child_has_the_usual_signal_handlers(server):
    """What the server does with signals is not passed on."""
    child = server.fork(signals, None)
    assert child.line.recv() == [signal.SIG_DFL, signal.SIG_DFL]


def test_what_cannot_be_sent_starts_no_child(server):
    """An argument that does not pickle is an error of the caller."""
    with pytest.raises(TypeError, match="pickle"):
        server.fork(echo, socket.socket())


def test_a_server_that_was_killed_is_run_again(server):
    """Who waits for its children learns that they are gone; the next child has a new server."""
    child = server.fork(stay, None)
    assert child.line.recv() == "here"
    first = parent_of(child)
    os.kill(first, signal.SIGKILL)
    assert child.exit_code() is None
    child.line.close()
    other = server.fork(stay, None)
    assert other.line.recv() == "here"
    assert parent_of(other) != first
    other.kill()
    other.exit_code()


def test_children_can_be_started_from_many_threads(server):
    """Each gets its own."""
    found = []

    def start(number):
        child = server.fork(echo, number)
        found.append((number, child.line.recv()[0], child.exit_code()))

    threads = [threading.Thread(target=start, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(n, n, 0) for n in range(8)]


@pytest.mark.parametrize(
    "error",
    [RuntimeError("can't start new thread"), OSError(24, "Too many open files"), EOFError()],
)
def test_a_rehearsal_that_goes_wrong_is_told_and_done_without(error, monkeypatch, caplog):
    """It saves memory: whatever becomes of it, tasks can be forked."""

    def fails():
        raise error

    monkeypatch.setattr(rehearsal, "_native_threads", fails)
    fork_server._rehearse()
    assert repr(error) in caplog.text
