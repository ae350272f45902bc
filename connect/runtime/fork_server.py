"""The fork server: a process without threads, from which all children of a worker are forked.

It loads what every task needs, so that children have those pages of memory in common. Where they
stay common (`memory.stays_shared`), it is itself forked from the worker, before that has threads
and loads more; elsewhere it is run when the first child is wanted.

For each child it gets two open files over a socket: the child's end of its line to the worker, on
which the first message says what to run, and a pipe, on which the server tells the child's pid and
later how it has ended. When the worker is gone the socket is closed, and the server ends.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import importlib
import logging
import os
import pickle
import select
import signal
import socket
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, NoReturn

from connect.errors import ConnectError, WorkerStateError
from connect.plugins.builtin import builtin_plugins
from connect.runtime.memory import share, tune_allocation

log = logging.getLogger(__name__)

# What every task needs, and the smallest connectors.
_PRELOAD = (
    "connect.runtime.host",
    "converters.json",
    "converters.string",
    "converters.simple_header",
    "connectors.file.sink",
    "connectors.file.source",
)
_MAIN = (
    # Ctrl-C is for the worker, and so is what a service manager sends to all of its processes.
    "from signal import *; signal(SIGINT, SIG_IGN); signal(SIGTERM, SIG_IGN); "
    "import sys; _, handle, *sys.path = sys.argv; del sys.argv[1:]; "
    "from connect.runtime.fork_server import load, serve; load(); serve(int(handle))"
)
_NUMBER = struct.Struct("i")


class Forked:
    """A child. `status` becomes readable when it has ended."""

    def __init__(self, pid: int, line: Connection, status: int) -> None:
        self.pid = pid
        self.line = line
        self.status = status

    def exit_code(self) -> int | None:
        """How it has ended: negative for a signal, None if the server was killed too. Call once."""
        code = _read_number(self.status)
        os.close(self.status)
        return code

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class ForkServer:
    """The server as the worker sees it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: socket.socket | None = None
        self._pid = 0

    def begin(self) -> None:
        """Fork it from this process, which has no threads yet."""
        load()
        ours, theirs = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            ours.close()
            del sys.argv[1:]
            serve(theirs.detach())
        theirs.close()
        self._requests = ours

    def fork(self, target: Callable[[Connection, Any], None], spec: Any) -> Forked:
        """A child that runs `target(line, spec)`. Blocks until it is there."""
        what = pickle.dumps((target, spec))
        for _ in range(2):
            requests = self._running()
            ours, theirs = Pipe()
            with theirs:
                status = _request(requests, theirs.fileno())
            pid = _read_number(status)
            if pid is not None and pid < 0:
                os.close(status)
                raise WorkerStateError(f"There can be no more processes: {os.strerror(-pid)}")
            if pid is not None:
                with contextlib.suppress(OSError):  # it has ended already, and tells so
                    ours.send_bytes(what)
                return Forked(pid, ours, status)
            os.close(status)
            ours.close()
            self._forget(requests)
        raise WorkerStateError("The fork server ends at once; standard error may say why")

    def _running(self) -> socket.socket:
        with self._lock:
            if self._requests is None:
                self._requests, theirs = socket.socketpair()
                with theirs:
                    theirs.set_inheritable(True)
                    words = [sys.executable, "-P", "-c", _MAIN, str(theirs.fileno()), *sys.path]
                    self._pid = os.posix_spawn(sys.executable, words, os.environ)
            return self._requests

    def _forget(self, requests: socket.socket) -> None:
        """Put away a server that was killed."""
        with self._lock:
            if self._requests is requests:
                requests.close()
                self._requests = None
                os.waitpid(self._pid, 0)


def _request(requests: socket.socket, line: int) -> int:
    """Ask for a child; the pipe on which its pid will be told."""
    status, told = os.pipe()
    with contextlib.suppress(OSError):  # the server was killed: nothing will be told
        socket.send_fds(requests, [b"1"], [line, told])
    os.close(told)
    return status


# There is one for a process.
fork_server = ForkServer()


# -- in the server ---------------------------------------------------------------------------------


def load() -> None:
    """Load what all tasks share."""
    tune_allocation()  # here and in all children
    for name in _PRELOAD:
        importlib.import_module(name)
    builtin_plugins()
    _rehearse()
    share()


def _rehearse() -> None:
    try:
        # By its name: it needs the host, which needs this module.
        importlib.import_module("connect.runtime.rehearsal").rehearse()
    except Exception as error:  # noqa: BLE001 - whatever it is, tasks can do without
        reason = error if isinstance(error, ConnectError) else repr(error)
        log.warning("Tasks will take more memory than they need to: %s", reason)


def serve(handle: int) -> NoReturn:
    """Fork on request, until the worker is gone."""
    name_process("forkserver")
    with Path(os.devnull).open("rb") as nothing:  # and so is what is typed
        os.dup2(nothing.fileno(), 0)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    ended, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    pipes: dict[int, int] = {}  # by pid, where to tell how it ended
    requests = socket.socket(fileno=handle)
    requests.set_inheritable(False)
    poll = select.poll()  # select() knows no file beyond the thousandth
    poll.register(handle, select.POLLIN)
    poll.register(ended, select.POLLIN)
    while True:
        ready = [each for each, _ in poll.poll()]
        if ended in ready:
            os.read(ended, 65536)
            _tell_who_ended(pipes)
        if handle in ready:
            asked, handles, _, _ = socket.recv_fds(requests, 1, 2)
            if not asked:
                os._exit(0)  # the worker is gone: at once, nothing is to be tidied up
            line, pipe = handles
            pid = _fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                requests.close()
                for each in (ended, woken, pipe, *pipes.values()):
                    os.close(each)
                _run(line)
            _write_number(pipe, pid)
            os.close(line)
            if pid > 0:
                pipes[pid] = pipe
            else:
                os.close(pipe)


def _fork() -> int:
    """As os.fork does; negative if there can't be another process."""
    try:
        return os.fork()
    except OSError as error:
        return -(error.errno or errno.EAGAIN)


def _tell_who_ended(pipes: dict[int, int]) -> None:
    while pipes:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        pipe = pipes.pop(pid)
        _write_number(pipe, os.waitstatus_to_exitcode(status))
        os.close(pipe)


# -- in a child ------------------------------------------------------------------------------------


def _run(handle: int) -> NoReturn:
    code = 1
    try:
        name_process("penstock")
        line = Connection(handle)
        target, spec = line.recv()
        target(line, spec)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - it is shown, as an interpreter that ends by it does
        traceback.print_exc()
    finally:
        _end(code)


def _end(code: int) -> NoReturn:
    """End as an interpreter does: wait for threads, tidy up, write what was printed."""
    try:
        # It tells pools first that no more work comes: their threads would wait for it for ever.
        threading._shutdown()  # type: ignore[attr-defined] # as multiprocessing does
    except Exception:  # noqa: BLE001 - shown, as an interpreter does
        traceback.print_exc()
    atexit._run_exitfuncs()  # what a plugin or a library has asked for; errors are shown
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)


def name_process(name: str) -> None:
    """Set the name that ps and top show; Linux takes 15 bytes of it."""
    with contextlib.suppress(OSError):
        handle = os.open("/proc/self/comm", os.O_WRONLY)
        os.write(handle, name.encode())
        os.close(handle)


# -- numbers in pipes ------------------------------------------------------------------------------


def _read_number(pipe: int) -> int | None:
    """The next number; None if there will be none."""
    data = os.read(pipe, _NUMBER.size)  # so few bytes come at once
    number: int | None = _NUMBER.unpack(data)[0] if data else None
    return number


def _write_number(pipe: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # the worker no longer wants to know
        os.write(pipe, _NUMBER.pack(number))
