"""What was found, kept: a line of JSON for each row of each run, with the versions it holds for."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import re
import subprocess
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import confluent_kafka

from bench.runs import Row
from penstock.stack import kafka
from penstock.stack.java import find_java

FILE = Path(__file__).parent / "results" / "results.jsonl"


def append(rows: Sequence[Row]) -> None:
    when = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    versions = _versions()
    load = os.getloadavg()[2]  # above the cores, others were at work too
    with FILE.open("a") as file:
        for row in rows:
            found = {
                "when": when,
                **asdict(row),
                "goal": str(row.goal),
                **(
                    {} if row.reason else {"ratio": row.ratio, "ratios": row.ratios, "met": row.met}
                ),
                "versions": versions,
                "load": load,
            }
            file.write(json.dumps(_rounded(found), ensure_ascii=False) + "\n")


def latest() -> Iterator[dict[str, Any]]:
    """The newest line of each work that has ever been done."""
    by_work: dict[str, dict[str, Any]] = {}
    for line in FILE.read_text().splitlines() if FILE.exists() else []:
        row = json.loads(line)
        by_work[row["work"]] = row
    yield from by_work.values()


def _versions() -> dict[str, str]:
    return {
        "penstock": version("penstock"),
        "python": platform.python_version(),
        "python_build": _python_build(),
        "librdkafka": confluent_kafka.libversion()[0],
        "kafka": kafka.VERSION,
        "java": _java(),
        "cores": str(os.cpu_count()),
        "cpu": _cpu(),
    }


def _python_build() -> str:
    """Whether it was built with its own profile, which makes a fifth; distributions hide it."""
    flags = " ".join(
        str(sysconfig.get_config_var(key)) for key in ("CONFIG_ARGS", "PY_CFLAGS_NODIST")
    )
    told = re.search(r"--enable-optimizations|-fprofile(-instr)?-use", flags)
    return f"{platform.python_compiler()}, {'optimised' if told else 'not said to be optimised'}"


def _java() -> str:
    said = subprocess.run(
        [find_java().command, "-version"], capture_output=True, text=True, check=False
    )
    found = re.search(r'"(.+?)"', said.stderr)
    return found[1] if found else "unknown"


def _cpu() -> str:
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found[1].strip() if found else platform.machine()


def _rounded(value: Any) -> Any:
    """Four digits say more than was measured."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value
