"""Starting Spark, or finding it."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from connect import ConnectError, MissingExtraError
from connect.config.connector import settings_below

# Small enough for a laptop that runs everything else too; spark.conf.* says otherwise.
_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # Each query has a Python process beside the driver. On a busy machine it takes longer than
    # Spark's 15 s to start, and the query would fail for that.
    "spark.python.authenticate.socketTimeout": "120s",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.streaming.stopTimeout": "20s",
}


def start_session(
    config: Mapping[str, str], name: str, needed_for: str = "SparkSinkConnector"
) -> Any:
    """A session as the connector's settings say. Raises ConnectError with the way out."""
    try:
        from pyspark.errors import PySparkException  # noqa: PLC0415 - needs the extra
        from pyspark.sql import SparkSession  # noqa: PLC0415 - needs the extra
    except ImportError as error:
        raise MissingExtraError("spark", needed_for) from error
    builder = SparkSession.builder.appName(f"penstock-{name}")
    remote = config.get("spark.remote")
    if remote:
        builder = builder.remote(remote)
    else:
        master = config.get("spark.master") or "local[*]"
        builder = builder.master(master)
        python = _own(config).get("spark.pyspark.python")
        if python:
            # Spark reads this setting for programs that it starts itself, not for one like ours.
            os.environ["PYSPARK_PYTHON"] = python
        else:
            # Executors on this machine run the same Python.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        if master.startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            # The JVM's Python processes must find what this one has found.
            os.environ["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    for key, value in {**_DEFAULTS, **_packages(config), **_own(config)}.items():
        builder = builder.config(key, value)
    # The bridge to the JVM would log every call.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    try:
        with _archive_at_hand(None if remote else os.environ["PYSPARK_PYTHON"]):
            return builder.getOrCreate()
    except ImportError as error:
        if remote:
            raise MissingExtraError("spark-connect", "spark.remote") from error
        raise
    except PySparkException as error:
        if "JAVA_GATEWAY" in str(error):
            raise ConnectError(
                "Spark could not start Java. It needs Java 17 or newer: install it, or set "
                "JAVA_HOME for the worker; the worker's log shows what Java said."
            ) from error
        raise


@contextmanager
def _archive_at_hand(python: str | None) -> Iterator[None]:
    """Start Java where the Python of an archive, `./environment/bin/python`, can be found.

    Executors unpack the archive where they run. The driver plans with the same name and unpacks
    nothing, so it is given a folder where a link to this environment stands in for the archive.
    """
    if python is None or not python.startswith("./"):
        yield
        return
    folder = tempfile.mkdtemp(prefix="penstock-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    name = python.split("/")[1]
    Path(folder, name).symlink_to(sys.prefix)
    with contextlib.chdir(folder):
        yield


def _packages(config: Mapping[str, str]) -> dict[str, str]:
    packages = config.get("spark.packages", "").replace(" ", "")
    if not packages:
        return {}
    settings = {"spark.jars.packages": packages}
    if "io.delta:" in packages:
        settings["spark.sql.extensions"] = "io.delta.sql.DeltaSparkSessionExtension"
        settings["spark.sql.catalog.spark_catalog"] = (
            "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        )
        # Delta reads a table's state in 50 pieces, which takes longer than most batches here.
        settings["spark.databricks.delta.snapshotPartitions"] = "4"
    return settings


def _own(config: Mapping[str, str]) -> dict[str, str]:
    return {
        key if key.startswith("spark.") else f"spark.{key}": value
        for key, value in settings_below(config, "spark.conf.").items()
    }


@contextmanager
def sparks_words() -> Iterator[None]:
    """What Spark raises, in Spark's own words, without the bridge's."""
    try:
        yield
    except ConnectError:
        raise
    except Exception as error:
        told = in_sparks_words(error)
        if told is None:
            raise
        raise ConnectError(told) from None


def in_sparks_words(error: BaseException) -> str | None:
    """The message of the innermost cause that says something; None if it is not Spark's."""
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - needs the extra
    from pyspark.errors import PySparkException  # noqa: PLC0415 - needs the extra

    if isinstance(error, Py4JJavaError):
        java = error.java_exception
        while java.getCause() is not None and java.getCause() != java:
            java = java.getCause()
        return with_package(_first_lines(f"{java.getClass().getSimpleName()}: {java.getMessage()}"))
    if isinstance(error, PySparkException):
        inner: Any = error
        while getattr(inner, "_cause", None) is not None:
            inner = inner._cause
        text = getattr(inner, "_desc", None) or inner.getMessage() or str(inner)
        return with_package(last_error(_first_lines(str(text) or str(error))))
    return None


# What to put into spark.packages for formats that Spark does not bring along.
PACKAGES = {
    "delta": "io.delta:delta-spark_2.13:4.4.0",
    "avro": "org.apache.spark:spark-avro_2.13:{spark}",
    "kafka": "org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0, with Spark 4.1 (pip "
    "install 'pyspark<4.2'): there is none for Spark 4.2 yet",
}
_OTHER_JAR = re.compile(
    r"\b(IncompatibleClassChangeError|NoClassDefFoundError|NoSuchMethodError|AbstractMethodError)\b"
)
_NO_FORMAT = re.compile(r"(?i)failed to find (?:the )?data source: `?(\w+)`?")


def with_package(told: str) -> str:
    """Spark's words about a format or a jar that it does not know, with the way out."""
    import pyspark  # noqa: PLC0415 - needs the extra

    version = pyspark.__version__
    unknown = _NO_FORMAT.search(told)
    package = PACKAGES.get(unknown[1].lower()) if unknown else None
    if package:
        needed = package.format(spark=version)
        return f"{told}\nThe jar is missing: it needs spark.packages={needed}."
    if _OTHER_JAR.search(told):
        return (
            f"{told}\nA jar does not fit this Spark, {version}: look in spark.packages for one "
            "that was made for another version."
        )
    return told


def started_too_slowly(error: BaseException) -> bool:
    """Whether Spark gave up on a Python process that it had just started.

    It waits ten seconds, whatever is set, and on a busy machine that is not always enough. Nothing
    is wrong then, and nothing was done: the query can be started again.
    """
    return "Python worker failed to connect back" in str(error)


_TRACEBACK = "Traceback (most recent call last):"
_RAISED = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Interrupt)): ", re.MULTILINE)


def last_error(text: str) -> str:
    """What a Python traceback inside a message says in the end: the error itself, first.

    What Python code raised in a batch comes back through the bridge as the text of a traceback.
    """
    raised = [*_RAISED.finditer(text)]
    if _TRACEBACK not in text or not raised:
        return text
    name, told = raised[-1][1], text[raised[-1].end() :].strip()
    if name == "py4j.protocol.Py4JJavaError":  # "… while calling o12.save.\n: java.lang.…"
        return told.partition("\n: ")[2] or told
    if name == "ModuleNotFoundError":
        told += (
            ". The Python of Spark's executors can't import it: install it there, pack it with "
            "`penstock spark pack`, or send it along in spark.conf.spark.submit.pyFiles"
        )
    return told if name.startswith("connect.") else f"{name}: {told}"


def _first_lines(text: str) -> str:
    """The message without the JVM's frames."""
    kept = []
    for line in text.splitlines():
        if line.startswith(("\tat ", "JVM stacktrace:")):
            break
        kept.append(line)
    return "\n".join(kept).strip()
