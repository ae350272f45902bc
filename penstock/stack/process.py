"""Processes that may outlive us, known by more than their number."""

import contextlib
import os
import pwd
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import UserError

# Between two looks at a server that is starting or stopping: well below what a person notices.
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Process:
    """A process by number and start time: a stranger who got the number later is left alone."""

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> "Process":
        return cls(pid, _start_time(pid) or "gone")

    def is_alive(self) -> bool:
        return _start_time(self.pid) == self.started

    def stop(self, sig: signal.Signals = signal.SIGKILL, *, seconds: float = 20) -> None:
        """End it and return when it is gone; SIGKILL follows if sig has no effect in time."""
        if not self.is_alive():
            return
        for attempt in (sig, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, attempt)
            deadline = time.monotonic() + seconds
            while self.is_alive() and time.monotonic() < deadline:
                time.sleep(_POLL_SECONDS)
            if not self.is_alive():
                break
        # A child of ours stays as a zombie until it is waited for. One of an earlier command is not
        # our child.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)


def _start_time(pid: int) -> str | None:
    """When the process started, in the system's own words; None if it is gone or only a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        if Path("/proc/self").exists():
            return None
    else:
        # The second field is the command in parentheses and may itself hold spaces and parentheses.
        fields = stat.rpartition(")")[2].split()
        state, threads, started = fields[0], int(fields[17]), fields[19]
        # A JVM's first thread is a zombie for as long as the others still hold ports and files.
        return None if state in "ZX" and threads <= 1 else started
    # No /proc, as on macOS.
    ps = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, started = ps.stdout.strip().partition(" ")
    return None if not state or state.startswith("Z") else started.strip()


class ServerDiedError(UserError):
    """A server ended before it was ready."""


@dataclass(frozen=True)
class Service:
    """Something at an address, and how to tell that it serves."""

    name: str
    address: str
    answers: Callable[[], bool]


@dataclass(frozen=True)
class Launch:
    """A service about to be started as a process."""

    service: Service
    command: list[str]
    log: Path
    user: str | None = None
    stop_signal: signal.Signals = signal.SIGKILL


def start(launch: Launch, started: Callable[[Process], None], *, seconds: float = 90) -> Process:
    """Run the server and return once it answers.

    `started` gets the process before the wait, so that whoever cleans up knows of it even if we are
    interrupted. If the server ends or does not answer in time it is killed and the error says why.
    """
    with launch.log.open("ab") as log:
        child = subprocess.Popen(
            launch.command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            **_as(launch.user),
            cwd=launch.log.parent,
            # A session of its own: Ctrl-C in the terminal is for us, and we stop it in our order.
            start_new_session=True,
        )
    process = Process.of(child.pid)
    started(process)
    try:
        wait_until_ready(
            launch.service, lambda: child.poll() is None, lambda: tail(launch.log), seconds
        )
    except BaseException:
        process.stop(launch.stop_signal)
        child.poll()
        raise
    # From here on it is known by pid and start time alone. This keeps the Popen object from warning
    # about a running child when it is collected; Process.stop reaps.
    child.returncode = 0
    return process


def server_user(*names: str, missing: type[UserError]) -> str | None:
    """Who runs a server that refuses to run as root: the first of these. None: we ourselves."""
    if os.geteuid() != 0:
        return None
    for name in names:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise missing(
        "The server does not run as root, and this machine has no user "
        f"{' or '.join(map(repr, names))}: run as an ordinary user."
    )


def run_as(user: str | None, command: list[str], directory: Path) -> None:
    """Run a step that comes before a server's start; what it says is in the error if it fails."""
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=directory, **_as(user)
    )
    if done.returncode != 0:
        raise UserError(f"{command[0]} failed in {directory}:\n{done.stdout}{done.stderr}")


def _as(user: str | None) -> dict[str, Any]:
    """Subprocess's arguments for another user, with his group alone."""
    if user is None:
        return {}
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


def wait_until_ready(
    service: Service, is_alive: Callable[[], bool], last_words: Callable[[], str], seconds: float
) -> None:
    deadline = time.monotonic() + seconds
    while not service.answers():
        if not is_alive():
            raise ServerDiedError(
                f"{service.name} ended before it was ready. Its last words:\n{last_words()}"
            )
        if time.monotonic() > deadline:
            raise UserError(
                f"{service.name} did not answer at {service.address} within {seconds:.0f} s. "
                f"Its last words:\n{last_words()}"
            )
        time.sleep(_POLL_SECONDS)


def tail(log: Path, lines: int = 15) -> str:
    """The end of a log, without Java's stack frames: the reason stands above them."""
    try:
        with log.open(errors="replace") as text:
            said = (line.rstrip() for line in text)
            kept = deque((line for line in said if not line.startswith("\tat ")), lines)
    except FileNotFoundError:
        return "  (it wrote no log)"
    return "\n".join(f"  {line}" for line in kept)


def free_port(usual: int | None = None) -> int:
    """The usual port of the loopback address if nobody has it, otherwise one the system picks."""
    for port in (usual, 0):
        if port is None:
            continue
        with socket.socket() as probe:
            # As servers do: a port whose last connection is only lingering counts as free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise UserError(
        "No port of 127.0.0.1 is free: end some of the servers that run on this machine"
    )


def listens(address: str) -> bool:
    """Whether somebody accepts connections at one of `host:port,host:port`."""
    for one in address.split(","):
        host, _, port = one.strip().rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=1):
                return True
        except (OSError, ValueError):
            continue
    return False
