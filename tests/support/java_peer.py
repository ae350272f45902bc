"""A converter of the JVM, run beside ours: one line in, one line out."""

from __future__ import annotations

import base64
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.errors import UserError
from penstock.stack.jars import retrieve
from penstock.stack.java import find_java
from tests.oracle.worker import REGISTRY_CONVERTERS


class JavaError(Exception):
    """What the JVM raised, with its causes."""


class JavaPeer:
    """Talks to the Java program."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, verb: str, topic: str, data: bytes) -> bytes:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{verb} {topic} {base64.b64encode(data).decode()}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the Java program has ended"
        outcome, answer = line.split()
        if outcome == "error":
            raise JavaError(base64.b64decode(answer).decode())
        return base64.b64decode(answer)


@contextmanager
def java_peer(source: Path, say: Callable[[str], None], *arguments: str) -> Iterator[JavaPeer]:
    """Runs a Java source file; skips the test where there is no JDK or no way to the jars."""
    try:
        java = find_java().command
        jars = retrieve(REGISTRY_CONVERTERS, say)
    except UserError as error:
        pytest.skip(str(error))
    if shutil.which("javac") is None:
        pytest.skip("a JDK is needed to run Java sources")
    command = [java, "-Xmx256m", "-cp", f"{jars}/*", str(source), *arguments]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield JavaPeer(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(30)
