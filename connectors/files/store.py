"""Where files are kept: a disk, or an object store through fsspec. A file is there whole or not."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Protocol

import fsspec

from connect import Config, ConfigError, MissingExtraError, Secret

# Which extra brings the package for a kind of URL.
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "abfs": "azure", "az": "azure"}


class Store(Protocol):
    def write(self, path: str, data: bytes) -> None:
        """Have the file at path hold just this. OSError when it can't be done."""


def make_store(config: Config) -> Store:
    url = config["files.url"] or f"s3://{config['s3.bucket.name']}"
    protocol = url.partition("://")[0] if "://" in url else "file"
    if protocol == "file":
        return DiskStore(Path(url.removeprefix("file://")))
    try:
        system = fsspec.filesystem(protocol, **_options(protocol, config))
    except ImportError as error:
        extra = _EXTRAS.get(protocol)
        if extra is None:
            raise ConfigError("files.url", url, f"needs a package: {error}") from error
        raise MissingExtraError(extra, f"files.url={protocol}://…") from error
    except ValueError as error:
        raise ConfigError("files.url", url, f"is of no kind that fsspec knows: {error}") from error
    return ObjectStore(system, url.partition("://")[2].rstrip("/"))


def _options(protocol: str, config: Config) -> dict[str, Any]:
    if not protocol.startswith("s3"):
        return {}
    secret: Secret | None = config["aws.secret.access.key"]
    options: dict[str, Any] = {
        "key": config["aws.access.key.id"] or None,
        "secret": secret.reveal() if secret is not None else None,
        "endpoint_url": config["store.url"] or None,
    }
    if config["s3.region"]:
        options["client_kwargs"] = {"region_name": config["s3.region"]}
    return {name: value for name, value in options.items() if value is not None}


class DiskStore:
    """A directory. A new file gets its name when it is safe on the disk, so none is ever torn."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def write(self, path: str, data: bytes) -> None:
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        fd, draft = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=target.parent)
        try:
            with os.fdopen(fd, "wb") as file:
                os.fchmod(fd, 0o644)
                file.write(data)
                file.flush()
                os.fsync(fd)
            Path(draft).replace(target)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
        directory = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


class ObjectStore:
    """An object store, in which an object appears when it is complete."""

    def __init__(self, system: Any, root: str) -> None:
        self._system = system
        self._root = root

    def write(self, path: str, data: bytes) -> None:
        try:
            self._system.pipe_file(f"{self._root}/{path}", data)
        except Exception as error:
            if not isinstance(error, OSError) and _is_lost_connection(error):
                raise OSError(f"The store is out of reach: {error}") from error
            raise


# fsspec hands these on as the stores' own packages raise them.
_LOST_CONNECTIONS = {
    "botocore.exceptions.ConnectionError",
    "botocore.exceptions.HTTPClientError",
    "botocore.parsers.ResponseParserError",
    "aiohttp.client_exceptions.ClientError",
    "google.auth.exceptions.TransportError",
    "azure.core.exceptions.ServiceRequestError",
    "azure.core.exceptions.ServiceResponseError",
}


def _is_lost_connection(error: Exception) -> bool:
    """Whether a package says that it can't reach its store, or was cut off."""
    kinds = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__}
    return not kinds.isdisjoint(_LOST_CONNECTIONS)
