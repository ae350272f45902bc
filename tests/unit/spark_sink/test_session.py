"""Spark's errors in words."""

import pyspark
import pytest

from connect import ConnectError
from spark_sink.session import last_error, start_session, with_package
from spark_sink.sql import mistake_in
from tests.support.fake_java import fake_java

TRACE = """py4j.Py4JException: An exception was raised by the Python Proxy. Return Message: \
Traceback (most recent call last):
  File "captured.py", line 257, in deco
    raise converted from None
pyspark.errors.exceptions.captured.PythonException: An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "source.py", line 190, in batches
    raise _intolerable(failures[0])
{}: Tolerance exceeded
  at orders-0"""


def test_the_error_is_told_without_what_carried_it():
    """Of a traceback that came through the bridge, the error itself is what a user reads."""
    told = "Tolerance exceeded\n  at orders-0"
    assert last_error(TRACE.format("connect.errors.ConnectError")) == told
    assert last_error(TRACE.format("shop.PriceError")) == f"shop.PriceError: {told}"
    java = TRACE.replace("Tolerance exceeded\n  at", "While calling o1.save.\n: at")
    assert last_error(java.format("py4j.protocol.Py4JJavaError")) == "at orders-0"


def test_other_messages_stay_as_they_are():
    """Spark's own messages have no traceback and are kept."""
    told = "[UNRESOLVED_COLUMN] Error: no such column; line 1 pos 7"
    assert last_error(told) == told


def test_a_module_that_executors_lack_comes_with_the_way_out():
    """Who reads that a module is missing reads how to bring it there."""
    text = TRACE.replace(
        "{}: Tolerance exceeded\n  at orders-0", "ModuleNotFoundError: No m 'shop'"
    )
    assert "No m 'shop'. The Python of Spark's executors" in last_error(text)


@pytest.mark.parametrize(
    ("format_", "package"),
    [
        ("delta", "io.delta:delta-spark"),
        ("iceberg", "none for Spark 4.2 yet"),
        ("avro", f"avro_2.13:{pyspark.__version__}"),
    ],
)
def test_a_missing_jar_is_named(format_, package):
    """Spark only says that it does not know the format."""
    told = f"[DATA_SOURCE_NOT_FOUND] Failed to find the data source: {format_}. Make sure"
    assert package in with_package(told)
    assert with_package("Failed to find the data source: mine.") == (
        "Failed to find the data source: mine."
    )


def test_a_jar_for_another_spark_is_told():
    """Java only names the class that does not fit."""
    told = "IncompatibleClassChangeError: class SparkView can not implement View"
    assert f"A jar does not fit this Spark, {pyspark.__version__}" in with_package(told)


@pytest.mark.parametrize("java", ["exit 1", None], ids=["too old", "missing"])
def test_java_that_cannot_run_spark_is_told(java, tmp_path, monkeypatch):
    """A query and a validation both say that Java 17 or newer is needed."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if java:
        fake_java(tmp_path, "11.0.2", java)
    with pytest.raises(ConnectError, match="Java 17 or newer"):
        start_session({"spark.master": "local[1]"}, "no-java")
    assert "Java 17 or newer" in mistake_in("SELECT 1")
