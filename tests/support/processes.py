"""What runs below a process."""

import subprocess
from pathlib import Path


def descendants(pid: int) -> list[int]:
    """The pids of all processes below one."""
    listing = subprocess.run(
        ["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True
    )
    parents = [tuple(map(int, line.split())) for line in listing.stdout.splitlines()]
    found, queue = [], [pid]
    while queue:
        below = [child for child, parent in parents if parent == queue[0]]
        queue = [*queue[1:], *below]
        found += below
    return found


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_task(pid: int) -> bool:
    """A task process is a child of the fork server, which itself is a child of the worker."""
    try:
        parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
        command = Path(f"/proc/{parent}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return b"forkserver" in command
