"""Processes that tests start, and what runs below them."""

import functools
import signal
import subprocess
from pathlib import Path
from typing import Any

from penstock.stack.guard import Guard
from penstock.stack.process import Process


def start(words: list, **options: Any) -> subprocess.Popen:
    """Run a command that does not outlive the tests, even if they are killed."""
    process = subprocess.Popen(words, **options)
    guard().watch(Process.of(process.pid))
    return process


def stop(*processes: subprocess.Popen, seconds: float = 60) -> None:
    """End those that still run: SIGTERM to all, and SIGKILL to who is not gone in time."""
    running = [process for process in processes if process.poll() is None]
    for process in running:
        process.send_signal(signal.SIGCONT)  # one that is held hears nothing
        process.send_signal(signal.SIGTERM)
    for process in running:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@functools.cache
def guard() -> Guard:
    """One for everything that this process starts; it acts when the process is gone."""
    return Guard()


def descendants(pid: int) -> list[int]:
    """The pids of all processes below one."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for member in found:  # grows while it is walked
        found += children.get(member, [])
    return found[1:]


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    fields = stat(pid)
    return fields is not None and fields[0] not in "ZX"


def stands_still(pid: int) -> bool:
    """Whether SIGSTOP has reached all of its threads: until then some go on working."""
    threads = [int(each.name) for each in Path(f"/proc/{pid}/task").iterdir()]
    states = [fields[0] for each in threads if (fields := stat(each)) is not None]
    return set(states) <= {*"TZX"}


def is_task(pid: int) -> bool:
    """A task process is a child of the fork server, which itself is a child of the worker."""
    fields = stat(pid)
    return fields is not None and name(int(fields[1])) == "forkserver"


def name(pid: int) -> str:
    """What ps and top show; empty if it is gone."""
    return _read(pid, "comm").decode().rstrip("\n")


def command(pid: int) -> bytes:
    """Its command line, with a zero byte after each word; empty if it is gone."""
    return _read(pid, "cmdline")


def _read(pid: int, file: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{file}").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def stat(pid: int) -> list[str] | None:
    """What Linux tells about it behind the command, which may hold spaces: state, parent, …"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
