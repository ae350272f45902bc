"""A `java` that only says what a test wants it to say."""

import os
import shlex
import sys
from pathlib import Path


def fake_java(directory: Path, version: str = "21.0.1", ivy: str = "exit 0") -> dict[str, str]:
    """An environment whose only `java` claims this version and, run as Ivy, does what `ivy` says.

    `ivy` is shell; $RETRIEVE is the directory to fill. Each such run adds a line to ivy-runs.
    """
    bin_directory = directory / "bin"
    bin_directory.mkdir(parents=True)
    java = bin_directory / "java"
    java.write_text(
        f"""#!/bin/sh
if [ "$1" = -version ]; then
  echo 'openjdk version "{version}" 2024-01-16' >&2
  exit 0
fi
echo run >> {shlex.quote(str(directory / "ivy-runs"))}
for RETRIEVE; do :; done
RETRIEVE=$(dirname "$RETRIEVE")
{ivy}
"""
    )
    java.chmod(0o755)
    return {
        "PATH": os.pathsep.join([str(bin_directory), "/usr/bin", "/bin"]),
        "HOME": str(directory),
        "PENSTOCK_CACHE": str(directory / "cache"),
    }


def python_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "penstock", *arguments]
