"""Spark's errors in words."""

from spark_sink.session import last_error

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


def test_other_messages_stay_as_they_are():
    """Spark's own messages have no traceback and are kept."""
    told = "[UNRESOLVED_COLUMN] Error: no such column; line 1 pos 7"
    assert last_error(told) == told
