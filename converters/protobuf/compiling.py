"""Message types from the text of .proto files, at run time.

Registries give text, so it goes through the protoc that grpcio-tools bundles. It runs as a process
of its own, once a schema for all converters: what it says about errors can be caught, and text that
crashes it does not take a task along. Confluent's serializer for Python registers descriptors in
base64 instead, which some registries keep as they are; those go the same way.
"""

from __future__ import annotations

import base64
import functools
import importlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from connect import DataError

# The file that a schema itself is compiled as.
_MAIN: Final = "penstock_main.proto"
_IMPORT: Final = re.compile(r'^\s*import\s+(?:public\s+|weak\s+)?"([^"]+)"\s*;', re.MULTILINE)
# No .proto file has so few kinds of characters.
_BASE64: Final = re.compile(r"[A-Za-z0-9+/=\s]+")
_LOG_LINE: Final = re.compile(r"^(?:WARNING: All log messages|[IWE]\d{4} ).*\n", re.MULTILINE)
_TIMEOUT_SECONDS: Final = 60
# Where the Python modules of files that everybody may import without registering them are.
_KNOWN: Final = {
    "google/": "",
    "confluent/": "confluent_kafka.schema_registry.",
}


class ProtoFile:
    """A compiled file: its types, in a pool of their own so that versions do not meet."""

    def __init__(self, text: str, references: Mapping[str, str]) -> None:
        from google.protobuf import descriptor_pb2, descriptor_pool  # noqa: PLC0415

        compiled = descriptor_pb2.FileDescriptorSet.FromString(
            _protoc(text, tuple(references.items()))
        )
        self._pool = descriptor_pool.DescriptorPool()
        for file in compiled.file:
            self._pool.Add(file)
        self.main = next(file for file in compiled.file if file.name == _MAIN)
        if not self.main.message_type:
            raise DataError("The .proto file of the schema has no message")

    def full_name(self, indexes: tuple[int, ...]) -> str:
        """The name of the message at this path: which in the file, which inside that, and so on."""
        messages: Any = self.main.message_type
        names = [self.main.package] if self.main.package else []
        try:
            for index in indexes:
                names.append(messages[index].name)
                messages = messages[index].nested_type
        except IndexError:
            raise DataError(
                f"The schema has no message at {list(indexes)}, which the record names"
            ) from None
        return ".".join(names)

    def indexes_of(self, full_name: str) -> tuple[int, ...] | None:
        """The path to a message, by its full name or, failing that, by its own."""
        paths = list(_walk(self.main.message_type, self.main.package, ()))
        for name, path in paths:
            if name == full_name:
                return path
        short = full_name.rpartition(".")[2]
        return next((path for name, path in paths if name.rpartition(".")[2] == short), None)

    def descriptor(self, full_name: str) -> Any:
        return self._pool.FindMessageTypeByName(full_name)


def _walk(
    messages: Any, prefix: str, path: tuple[int, ...]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    for index, message in enumerate(messages):
        name = f"{prefix}.{message.name}".lstrip(".")
        yield name, (*path, index)
        yield from _walk(message.nested_type, name, (*path, index))


def message_class(descriptor: Any) -> Any:
    from google.protobuf import message_factory  # noqa: PLC0415

    return message_factory.GetMessageClass(descriptor)


@functools.lru_cache(maxsize=128)
def _protoc(text: str, references: tuple[tuple[str, str], ...]) -> bytes:
    from google.protobuf import descriptor_pb2  # noqa: PLC0415

    given = {**dict(references), _MAIN: text}
    done_before = descriptor_pb2.FileDescriptorSet()
    imported: list[str] = []
    with tempfile.TemporaryDirectory(prefix="penstock-proto-") as name:
        folder = Path(name)
        sources = folder / "sources"
        sources.mkdir()
        for path, other in given.items():
            if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
                raise DataError(f"A reference is called {path}, which is no name for a file")
            if _BASE64.fullmatch(other):
                descriptor = _descriptor(path, other)
                done_before.file.append(descriptor)
                imported += descriptor.dependency
                continue
            imported += _IMPORT.findall(other)
            target = sources / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(other, encoding="utf-8")
        _add_known_files(done_before, imported, set(given))
        (folder / "done.pb").write_bytes(done_before.SerializeToString())
        out = folder / "out.pb"
        command = [
            *(sys.executable, "-m", "grpc_tools.protoc"),
            f"--descriptor_set_in={folder / 'done.pb'}",
            f"--proto_path={sources}",
            "--include_imports",
            f"--descriptor_set_out={out}",
            _MAIN,
        ]
        done = subprocess.run(  # noqa: S603
            command,
            capture_output=True,
            text=True,
            cwd=sources,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
        if done.returncode != 0 or not out.exists():
            errors = _LOG_LINE.sub("", done.stderr).replace(_MAIN, "schema").strip()
            raise DataError(f"The schema is no .proto file that protoc takes: {errors[:500]}")
        return out.read_bytes()


def _descriptor(path: str, text: str) -> Any:
    from google.protobuf import descriptor_pb2, message  # noqa: PLC0415

    try:
        descriptor = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text))
    except (ValueError, message.DecodeError) as error:
        raise DataError(f"The schema is neither a .proto file nor a descriptor: {error}") from error
    descriptor.name = path
    return descriptor


def _add_known_files(files: Any, imported: list[str], given: set[str]) -> None:
    """Add the files that everybody may import, with what they import themselves."""
    added = set(given)

    def add(descriptor: Any) -> None:
        if descriptor.name not in added:
            added.add(descriptor.name)
            for dependency in descriptor.dependencies:
                add(dependency)
            descriptor.CopyToProto(files.file.add())

    for path in imported:
        start = path.partition("/")[0] + "/"
        if path in added or start not in _KNOWN:
            continue
        module = _KNOWN[start] + path.removesuffix(".proto").replace("/", ".") + "_pb2"
        try:
            add(importlib.import_module(module).DESCRIPTOR)
        except ImportError:
            continue  # protoc will say that it is missing
