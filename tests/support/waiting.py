"""Waiting for a condition instead of sleeping."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(condition: Callable[[], T], what: str | Callable[[], str], timeout: float = 30) -> T:
    """Call condition until it returns something true, and return that.

    `what`, or what it returns in the end, completes "waited 30 s for …". What condition
    raises is raised at once.
    """
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            told = what if isinstance(what, str) else what()
            raise AssertionError(f"waited {timeout:g} s for {told}; last seen: {value!r}")
        time.sleep(0.05)
