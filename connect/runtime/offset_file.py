"""Source offsets of a standalone worker, in one file."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from connect.errors import ConnectError
from connect.javalang.serialized import MAGIC, SerializedError, read_byte_map

log = logging.getLogger(__name__)


class OffsetFile:
    """Offsets by connector and source partition. Every write replaces the file as a whole.

    The new content is complete on disk before it takes the old one's name, so a crash at any
    moment leaves the old offsets or the new ones, never half of both.

    A file that a JVM worker has written is read as well. At the first write ours takes its place,
    and the JVM's is kept beside it with `.jvm` after its name.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._offsets: dict[str, dict[bytes, dict[str, Any]]] = {}
        self._keep_as: Path | None = None
        self._writing = threading.Lock()
        self._load()

    def read(
        self, connector: str, partitions: Iterable[Mapping[str, Any]]
    ) -> list[dict[str, Any] | None]:
        known = self._offsets.get(connector, {})
        return [known.get(_key(p)) for p in partitions]

    def all(self, connector: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        return [(orjson.loads(k), v) for k, v in self._offsets.get(connector, {}).items()]

    def write(
        self,
        connector: str,
        offsets: Iterable[tuple[Mapping[str, Any], Mapping[str, Any] | None]],
    ) -> None:
        """Store offsets; None removes one. On disk when this returns. Any thread may call it."""
        with self._writing:
            known = self._offsets.setdefault(connector, {})
            for partition, offset in offsets:
                if offset is None:
                    known.pop(_key(partition), None)
                else:
                    known[_key(partition)] = dict(offset)
            self._save()

    def _load(self) -> None:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise ConnectError(
                f"offset.storage.file.filename {self._path} can't be read: {error.strerror}"
            ) from error
        if not data.strip():
            return
        try:
            if data.startswith(MAGIC[:2]):
                self._offsets = _from_jvm(data)
                self._keep_as = self._path.with_name(self._path.name + ".jvm")
                log.info("Source offsets of a JVM worker are taken over from %s", self._path)
                return
            self._offsets = {
                name: {_key(partition): offset for partition, offset in pairs}
                for name, pairs in orjson.loads(data).items()
            }
        except (ValueError, TypeError, AttributeError) as error:
            raise ConnectError(
                f"offset.storage.file.filename {self._path} is not an offset file: {error}. "
                "Move it away to start without offsets."
            ) from error

    def _save(self) -> None:
        content = orjson.dumps(
            {
                name: [[orjson.loads(k), v] for k, v in known.items()]
                for name, known in self._offsets.items()
                if known
            },
            option=orjson.OPT_INDENT_2,
        )
        temporary = self._path.with_name(self._path.name + ".new")
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if self._keep_as is not None:
                shutil.copy2(self._path, self._keep_as)
                self._keep_as = None
            temporary.replace(self._path)
            _sync_folder(self._path.parent)
        except OSError as error:
            raise ConnectError(
                f"offset.storage.file.filename {self._path} can't be written: {error.strerror}"
            ) from error


def _key(partition: Mapping[str, Any]) -> bytes:
    return orjson.dumps(dict(partition), option=orjson.OPT_SORT_KEYS)


def _sync_folder(folder: Path) -> None:
    """Make the new name itself safe: without this a power cut may bring the old file back."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _from_jvm(data: bytes) -> dict[str, dict[bytes, dict[str, Any]]]:
    """Offsets from the JVM's map of `["connector",{partition}]` to offsets, both in JSON."""
    offsets: dict[str, dict[bytes, dict[str, Any]]] = {}
    for key, value in read_byte_map(data).items():
        offset = orjson.loads(value) if value else None
        if offset is None:
            continue
        match orjson.loads(key):
            case [str(name), dict(partition)] if isinstance(offset, dict):
                offsets.setdefault(name, {})[_key(partition)] = offset
            case _:
                raise SerializedError("an entry is not [connector, partition] and an offset")
    return offsets
