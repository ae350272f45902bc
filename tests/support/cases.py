"""One test over many cases: hundreds of vectors are one test, not hundreds for pytest to keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

SHOWN = 10


def every(
    cases: Iterable[Any], name: Callable[[Any], str] = repr
) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Call the test with each case (a sequence: with its items), and tell of all that fail."""
    cases = list(cases)
    assert cases

    def with_cases(test: Callable[..., None]) -> Callable[[], None]:
        def run() -> None:
            failures = []
            for case in cases:
                try:
                    test(*case) if isinstance(case, list | tuple) else test(case)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - told below
                    failures.append(f"{name(case)}\n{type(error).__name__}: {error}")
            if failures:
                told = "\n\n".join(failures[:SHOWN])
                pytest.fail(f"{len(failures)} of {len(cases)} cases fail\n\n{told}", pytrace=False)

        run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
        return run

    return with_cases
