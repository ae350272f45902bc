"""Message types from the text of .proto files, at run time.

Registries give text, not descriptors, so it goes through the protoc that grpcio-tools bundles. It
runs as a process of its own, once a schema: what it says about errors can be caught, and text that
crashes it does not take a task along.
"""

from __future__ import annotations

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

        compiled = descriptor_pb2.FileDescriptorSet.FromString(_protoc(text, references))
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


def _protoc(text: str, references: Mapping[str, str]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="penstock-proto-") as name:
        folder = Path(name)
        sources = folder / "sources"
        sources.mkdir()
        for path, other in {**references, _MAIN: text}.items():
            if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
                raise DataError(f"A reference is called {path}, which is no name for a file")
            target = sources / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(other, encoding="utf-8")
        known = _known_files([text, *references.values()], set(references))
        (folder / "known.pb").write_bytes(known)
        out = folder / "out.pb"
        command = [
            *(sys.executable, "-m", "grpc_tools.protoc"),
            f"--descriptor_set_in={folder / 'known.pb'}",
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
            errors = done.stderr.replace(_MAIN, "schema").strip()
            raise DataError(f"The schema is no .proto file that protoc takes: {errors[:500]}")
        return out.read_bytes()


def _known_files(texts: list[str], registered: set[str]) -> bytes:
    """The files that are imported without being registered, with what they import themselves."""
    from google.protobuf import descriptor_pb2  # noqa: PLC0415

    known = descriptor_pb2.FileDescriptorSet()
    added: set[str] = set(registered)

    def add(descriptor: Any) -> None:
        if descriptor.name not in added:
            added.add(descriptor.name)
            for dependency in descriptor.dependencies:
                add(dependency)
            descriptor.CopyToProto(known.file.add())

    for text in texts:
        for path in _IMPORT.findall(text):
            start = path.partition("/")[0] + "/"
            if path in added or start not in _KNOWN:
                continue
            module = _KNOWN[start] + path.removesuffix(".proto").replace("/", ".") + "_pb2"
            try:
                add(importlib.import_module(module).DESCRIPTOR)
            except ImportError:
                continue  # protoc will say that it is missing
    return known.SerializeToString()
