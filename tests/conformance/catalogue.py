"""All scenarios there are."""

from __future__ import annotations

from functools import cache

from tests.conformance import converter_cases, generated_cases, transform_cases
from tests.conformance.scenarios import Scenario


@cache
def catalogue() -> tuple[Scenario, ...]:
    parts = (converter_cases, transform_cases, generated_cases)
    found: tuple[Scenario, ...] = tuple(s for part in parts for s in part.scenarios())
    titles = [s.title for s in found]
    assert len(set(titles)) == len(titles), "two scenarios have the same title"
    return found
