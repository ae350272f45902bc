import signal
import socket
import subprocess
import sys

import pytest

from penstock.errors import UserError
from penstock.stack.process import (
    Launch,
    Process,
    ServerDiedError,
    Service,
    free_port,
    listens,
    start,
)
from tests.support import processes

FOREVER = [sys.executable, "-c", "import signal; print('up', flush=True); signal.pause()"]


def launch_of(tmp_path, command, answers):
    return Launch(Service("The Server", "127.0.0.1:1", answers), command, tmp_path / "server.log")


def test_a_stranger_with_the_same_number_is_left_alone():
    """A process that started at another time than the one we know is neither ours nor killed."""
    with processes.start(FOREVER) as stranger:
        ours = Process(stranger.pid, started="long ago")
        assert not ours.is_alive()
        ours.stop()
        assert stranger.poll() is None
        Process.of(stranger.pid).stop()


def test_a_process_that_is_only_a_zombie_is_dead():
    """A child that ended counts as gone before anybody has waited for it."""
    child = processes.start(FOREVER, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    process = Process.of(child.pid)
    assert process.is_alive()
    child.kill()
    process.stop()
    assert not process.is_alive()
    child.stdout.close()
    child.wait()


def test_one_that_ignores_the_signal_is_killed():
    """SIGKILL follows when the polite signal has had no effect in time."""
    deaf = (
        "import signal; signal.signal(15, signal.SIG_IGN); print('up', flush=True); signal.pause()"
    )
    with processes.start([sys.executable, "-c", deaf], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        Process.of(child.pid).stop(signal.SIGTERM, seconds=0.2)
        assert child.wait(10) in {-signal.SIGKILL, 0}


def test_started_is_called_before_the_server_is_ready(tmp_path):
    """Whoever cleans up hears of the process while it is still starting."""
    known: list[Process] = []
    process = start(launch_of(tmp_path, FOREVER, lambda: bool(known)), known.append)
    assert known == [process]
    assert process.is_alive()
    process.stop()


def test_a_server_that_dies_early_shows_its_last_words(tmp_path):
    """The end of the log is in the message when a server ends before it answers."""
    command = [sys.executable, "-c", "raise SystemExit('no such broker.id')"]
    with pytest.raises(ServerDiedError, match=r"The Server ended before .*\n  no such broker.id"):
        start(launch_of(tmp_path, command, lambda: False), lambda _: None)


def test_a_server_that_never_answers_is_killed(tmp_path):
    """After the deadline the process is ended and the message says where it did not answer."""
    known: list[Process] = []
    with pytest.raises(UserError, match=r"did not answer at 127\.0\.0\.1:1 within 0 s"):
        start(launch_of(tmp_path, FOREVER, lambda: False), known.append, seconds=0.3)
    assert not known[0].is_alive()


def test_an_interrupted_start_leaves_no_process(tmp_path):
    """Ctrl-C while a server starts ends the server."""
    known: list[Process] = []

    def interrupted() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start(launch_of(tmp_path, FOREVER, interrupted), known.append)
    assert not known[0].is_alive()


def test_the_usual_port_is_taken_only_when_it_is_free():
    """A busy usual port gives another one; a free one is used."""
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        assert listens(f"127.0.0.1:{port}")
        assert free_port(port) != port
    assert not listens(f"127.0.0.1:{port}")
    assert free_port(port) == port
