"""A PostgreSQL of one's own from the binaries the system has, for as long as it is needed."""

import os
import re
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path

from penstock.errors import UserError
from penstock.stack.process import Launch, Service, free_port, run_as, server_user

# Where packages put the server when they leave it off the PATH.
_PACKAGED = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")
ROLE = "penstock"

# Nothing here needs to survive a crash of the machine, so nothing waits for the disk. What is
# committed survives a crash of the server. `logical` lets change data capture be tried.
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "wal_level": "logical",
    "max_connections": "50",
}


class PostgresMissingError(UserError):
    """This machine has no PostgreSQL server binaries."""


def find_binaries(environment: Mapping[str, str] = os.environ) -> Path:
    """The directory with initdb and postgres."""
    on_path = shutil.which("initdb", path=environment.get("PATH"))
    places = [Path(on_path).resolve().parent] if on_path else []
    for pattern in _PACKAGED:
        places += sorted(Path("/").glob(pattern[1:]), key=_version, reverse=True)
    for place in places:
        if (place / "initdb").exists() and (place / "postgres").exists():
            return place
    raise PostgresMissingError(
        "PostgreSQL's initdb and postgres are neither on the PATH nor in /usr/lib/postgresql: "
        "install the PostgreSQL server package."
    )


def _version(place: Path) -> int:
    digits = re.search(r"\d+", str(place))
    return int(digits[0]) if digits else 0


def prepare(directory: Path) -> Launch:
    """Create the database cluster and say how to start it. The address is a libpq URL."""
    binaries = find_binaries()
    user = server_user("postgres", "nobody", missing=PostgresMissingError)
    if user is not None:
        shutil.chown(directory, user)
    data = directory / "data"
    options = ["-U", ROLE, "-A", "trust", "-E", "UTF8", "--locale=C", "-N", "--no-instructions"]
    run_as(user, [str(binaries / "initdb"), "-D", str(data), *options], directory)
    port = free_port()
    settings = {
        **_SETTINGS,
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        "unix_socket_directories": str(directory),
    }
    flags = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    address = f"postgresql://{ROLE}@127.0.0.1:{port}/postgres"
    return Launch(
        Service("PostgreSQL", address, lambda: _is_ready(data)),
        command=[str(binaries / "postgres"), "-D", str(data), *flags],
        log=directory / "postgres.log",
        user=user,
        # Its immediate shutdown. SIGKILL would leave its shared memory behind.
        stop_signal=signal.SIGQUIT,
    )


def _is_ready(data: Path) -> bool:
    """What pg_ctl looks at: the eighth line of the lock file tells the state of the server."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) >= 8 and lines[7].strip() == "ready"
