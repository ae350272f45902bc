"""Functions that tests of PythonTransform name in a config."""

import contextlib
import time

from connect import Record, RetriableError


def shout(record: Record) -> Record | None:
    if record.value is None:
        return None
    record.value = record.value.upper()
    return record


def divide(record: Record) -> Record:
    record.value = 1 // record.value
    return record


def unavailable(record: Record) -> Record:
    raise RetriableError("the service is away")


def wrong_result(record: Record) -> str:
    return "not a record"


def stubborn(record: Record) -> Record:
    """Swallows all exceptions that it can, and waits."""
    if record.value != "slow":
        return record
    while True:
        with contextlib.suppress(Exception):
            time.sleep(0.01)


not_callable = 5
