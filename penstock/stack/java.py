"""The Java runtime that runs Kafka, the registry and Ivy."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import UserError

# What Kafka 4's broker and Spark 4 are compiled for.
OLDEST = 17


@dataclass(frozen=True)
class Java:
    """A `java` command that is new enough."""

    command: str
    major: int


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """The first Java of at least version 17: JAVA_HOME's, then the one on the PATH."""
    found = []
    for where, command in _candidates(environment):
        try:
            major = _major_version(command)
        except _NotRunningError as reason:
            found.append(f"{command} ({where}) does not run: {reason}")
            continue
        if major >= OLDEST:
            return Java(command, major)
        found.append(f"{command} ({where}) is version {major}")
    if not found:
        raise UserError(
            f"Java is missing: install a Java runtime of version {OLDEST} or newer and put it on "
            "the PATH, or set JAVA_HOME to where it is."
        )
    raise UserError(
        f"Java {OLDEST} or newer is needed, but {' and '.join(found)}. Install a newer one and put "
        "it on the PATH, or set JAVA_HOME to where it is."
    )


def _candidates(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    candidates = []
    home = environment.get("JAVA_HOME")
    if home:
        candidates.append(("JAVA_HOME", str(Path(home) / "bin" / "java")))
    on_path = shutil.which("java", path=environment.get("PATH"))
    if on_path:
        candidates.append(("PATH", on_path))
    return candidates


class _NotRunningError(Exception):
    """This is no working Java; the text says why."""


def _major_version(command: str) -> int:
    try:
        answer = subprocess.run(
            [command, "-version"], capture_output=True, text=True, check=False, timeout=30
        )
    except OSError as cause:
        raise _NotRunningError(cause.strerror) from cause
    except subprocess.TimeoutExpired as cause:
        raise _NotRunningError("it does not answer") from cause
    said = (answer.stderr + answer.stdout).strip()
    # 'openjdk version "21.0.2" 2024-01-16'; up to Java 8 it was 'java version "1.8.0_402"'.
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    if answer.returncode != 0 or version is None:
        raise _NotRunningError(said.rpartition("\n")[2] or f"it ends with {answer.returncode}")
    return int(version[1])


if __name__ == "__main__":
    # Asked by `make setup` before anything is installed, so nothing but the standard library here.
    try:
        find_java()
    except UserError as error:
        sys.exit(str(error))
