"""A MariaDB or MySQL of one's own from the binaries the system has, as long as it is needed."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from penstock.errors import UserError
from penstock.stack.process import Launch, Service, free_port, listens, run_as, server_user

# Packages keep the server off an ordinary user's PATH.
_PACKAGED = ("/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/opt/homebrew/bin")
DATABASE = "test"

# Nothing here needs to survive a crash of the machine, so nothing waits for the disk.
_SETTINGS = {
    "bind-address": "127.0.0.1",
    "innodb-flush-log-at-trx-commit": "2",
    "innodb-buffer-pool-size": "64M",
    "character-set-server": "utf8mb4",
    "skip-name-resolve": None,
    "skip-log-bin": None,
}


class MariaDbMissingError(UserError):
    """This machine has neither MariaDB's nor MySQL's server binaries."""


class Binaries(NamedTuple):
    server: str
    # MariaDB's way to make the first tables; MySQL's server does it itself.
    install: str | None


def find_binaries(environment: Mapping[str, str] = os.environ) -> Binaries:
    path = os.pathsep.join((environment.get("PATH", ""), *_PACKAGED))
    install = shutil.which("mariadb-install-db", path=path)
    server = shutil.which("mariadbd", path=path) if install else None
    if server is None:
        install, server = None, shutil.which("mysqld", path=path)
    if server is None:
        raise MariaDbMissingError(
            "Neither MariaDB's mariadbd nor MySQL's mysqld is on the PATH or in /usr/sbin: install "
            "the MariaDB server package."
        )
    return Binaries(server, install)


def prepare(directory: Path) -> Launch:
    """Create the data directory and say how to start it. The address is a URL."""
    binaries = find_binaries()
    user = server_user("mysql", "nobody", missing=MariaDbMissingError)
    if user is not None:
        shutil.chown(directory, user)
    data, first = directory / "data", directory / "first.sql"
    # For this machine alone: the server listens at its loopback address.
    first.write_text(
        f"CREATE DATABASE IF NOT EXISTS {DATABASE};\n"
        "CREATE USER IF NOT EXISTS 'penstock'@'127.0.0.1' IDENTIFIED BY 'penstock';\n"
        "GRANT ALL ON *.* TO 'penstock'@'127.0.0.1';\n"
    )
    if binaries.install is not None:
        command = [
            binaries.install, "--no-defaults", f"--datadir={data}", "--skip-test-db",
            "--auth-root-authentication-method=normal",
        ]  # fmt: skip
    else:
        command = [binaries.server, "--no-defaults", "--initialize-insecure", f"--datadir={data}"]
    run_as(user, command, directory)
    port = free_port()
    settings: dict[str, str | None] = {
        **_SETTINGS,
        "datadir": str(data),
        "port": str(port),
        "socket": str(directory / "socket"),
        "pid-file": str(directory / "pid"),
        "tmpdir": str(directory),
        "init-file": str(first),
    }
    flags = [f"--{key}" if value is None else f"--{key}={value}" for key, value in settings.items()]
    address = f"mysql://penstock:penstock@127.0.0.1:{port}/{DATABASE}"
    return Launch(
        Service("MariaDB", address, lambda: listens(f"127.0.0.1:{port}")),
        command=[binaries.server, "--no-defaults", *flags],
        log=directory / "mariadb.log",
        user=user,
    )
