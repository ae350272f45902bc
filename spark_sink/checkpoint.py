"""Where a connector's checkpoints are: a new one each time its offsets are changed by hand."""

from __future__ import annotations

import re
from pathlib import Path

from connect import ConfigError, UnsupportedError

_CURRENT = "current"
_OWNER = "connector"
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://?", re.IGNORECASE)


class Checkpoint:
    """The folder given by spark.checkpoint.location.

    Spark's checkpoint can't be told other offsets. To change them a new one is begun beside the
    old one, under the next number, and starts from the consumer group's offsets.
    """

    def __init__(self, location: str) -> None:
        self._location = location.rstrip("/")
        self._folder = _local(self._location)

    @property
    def path(self) -> str:
        return f"{self._location}/{self._number()}"

    def claim(self, connector: str) -> None:
        """Take the folder for a connector, or raise ConfigError if it is another's.

        Two queries that share a checkpoint take each other's batches for their own. On storage
        that only Spark can reach nobody looks after this.
        """
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        owner = self._folder / _OWNER
        if not owner.exists():
            owner.write_text(f"{connector}\n")
        found = owner.read_text().strip()
        if found != connector:
            raise ConfigError(
                "spark.checkpoint.location",
                self._location,
                f"is the checkpoint of connector {found}. Each connector needs its own; if "
                f"{connector} is to go on where {found} stood, remove the file {owner}",
            )

    def starting(self, configured: str) -> str:
        """Where a query begins that finds nothing here: `group` once offsets were set by hand."""
        return " ".join(self._current()[1:]) or configured

    def begin_anew(self, starting: str = "") -> None:
        if self._folder is None:
            raise UnsupportedError(
                f"The checkpoint {self._location} is not on a file system that this worker can "
                "write to. Set another spark.checkpoint.location and spark.starting.offsets."
            )
        self._folder.mkdir(parents=True, exist_ok=True)
        new = self._folder / (_CURRENT + ".new")
        new.write_text(f"{self._number() + 1} {starting}\n")
        new.replace(self._folder / _CURRENT)

    def _number(self) -> int:
        return int(self._current()[0])

    def _current(self) -> list[str]:
        current = self._folder and self._folder / _CURRENT
        return current.read_text().split() if current and current.exists() else ["0"]


def _local(location: str) -> Path | None:
    if location.startswith("file:"):
        return Path("/" + location.removeprefix("file:").lstrip("/"))
    return None if _SCHEME.match(location) else Path(location)
