"""Filter: drops every record it gets. With a predicate: those that the predicate picks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from connect import Transformation
from connect.records import R


class Filter(Transformation[R], Generic[R]):
    """Drops all records; a predicate decides which ones come here."""

    def apply(self, record: R) -> R | None:  # noqa: ARG002
        return None

    def apply_batch(self, records: Sequence[R]) -> list[R | None]:
        return [None] * len(records)
