"""Whether executors have what a query needs, asked of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from connect import ConnectError

# What an executor's Python imports to read a range.
NEEDED = ("confluent_kafka", "pyarrow", "connect.pipeline", "spark_sink.source")


class Executor(NamedTuple):
    """One executor's answer. `missing` is empty when nothing is."""

    host: str
    python: str
    executable: str
    missing: str

    def __str__(self) -> str:
        told = f"missing: {self.missing}" if self.missing else "has all it needs"
        return f"{self.host}: Python {self.python} ({self.executable}), {told}"


def executors(spark: Any) -> list[Executor]:
    """Run a small job on all executors and gather their answers, one for each host and Python."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - needs the extra

    # Without Arrow, because pyarrow is one of the things that may be missing.
    look = f.udf(_looker(NEEDED), "array<string>", useArrow=False)
    rows = spark.range(0, 8, 1, 8).select(look("id").alias("told")).distinct().collect()
    return sorted(Executor(*row.told) for row in rows)


def require_executors(spark: Any) -> None:
    """Raise ConnectError, with the way out, if an executor lacks something."""
    lacking = [told for told in executors(spark) if told.missing]
    if lacking:
        raise ConnectError(
            "Executors lack what the query needs. "
            + "; ".join(map(str, lacking))
            + ". Install penstock[spark] there, or send this environment along: penstock spark pack"
        )


def _looker(needed: tuple[str, ...]) -> Any:
    # A function inside a function travels by value: executors that lack this module can run it.
    def look(_number: int) -> list[str]:
        import importlib  # noqa: PLC0415 - on the executor
        import platform  # noqa: PLC0415
        import socket  # noqa: PLC0415
        import sys  # noqa: PLC0415

        missing = []
        for name in needed:
            try:
                importlib.import_module(name)
            except ImportError as error:
                missing.append(f"{name} ({error})")
        return [
            socket.gethostname(),
            platform.python_version(),
            sys.executable,
            ", ".join(missing),
        ]

    return look
