"""Whether executors have what a query needs, asked of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

# What an executor's Python imports to read a range.
NEEDED = ("confluent_kafka", "pyarrow", "connect.pipeline", "spark_sink.source")


class Executor(NamedTuple):
    """One executor's answer. `missing` is empty when nothing is."""

    host: str
    python: str
    executable: str
    missing: str


def executors(spark: Any) -> list[Executor]:
    """Run a small job on all executors and gather their answers, one for each host and Python."""
    columns = ", ".join(f"{name} STRING" for name in Executor._fields)
    rows = spark.range(0, 64, 1, 16).mapInArrow(_looker(NEEDED), columns)
    return sorted({Executor(*row) for row in rows.distinct().collect()})


def _looker(needed: tuple[str, ...]) -> Any:
    # A function inside a function travels by value: executors that lack this module can run it.
    def look(_batches: Iterator[Any]) -> Iterator[Any]:
        import importlib  # noqa: PLC0415 - on the executor
        import platform  # noqa: PLC0415
        import socket  # noqa: PLC0415
        import sys  # noqa: PLC0415

        import pyarrow as pa  # noqa: PLC0415

        missing = []
        for name in needed:
            try:
                importlib.import_module(name)
            except ImportError as error:
                missing.append(f"{name} ({error})")
        yield pa.RecordBatch.from_pydict(
            {
                "host": [socket.gethostname()],
                "python": [platform.python_version()],
                "executable": [sys.executable],
                "missing": [", ".join(missing)],
            }
        )

    return look
