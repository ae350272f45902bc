"""The transform chain: predicates and transforms of a connector, in order, over whole batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from connect.pipeline.failures import Failure, Retry, Stage
from connect.plugin import Predicate, Transformation


@dataclass(slots=True)
class Step:
    """One transform of the chain, with the predicate that guards it."""

    alias: str
    transform: Transformation[Any]
    class_name: str
    predicate: Predicate[Any] | None = None
    negate: bool = False
    seconds: float = field(default=0.0)

    def apply(self, record: Any) -> Any:
        if self.predicate is not None and self.predicate.test(record) is self.negate:
            return record
        return self.transform.apply(record)

    def apply_batch(self, records: Sequence[Any]) -> list[Any]:
        if self.predicate is None:
            return self.transform.apply_batch(records)
        test, negate = self.predicate.test, self.negate
        chosen = [i for i, record in enumerate(records) if test(record) is not negate]
        result = list(records)
        for i, record in zip(
            chosen, self.transform.apply_batch([records[i] for i in chosen]), strict=True
        ):
            result[i] = record
        return result


class Chain:
    """All steps. Batches go through step by step; a batch that raises goes record by record."""

    def __init__(self, steps: Sequence[Step], retry: Retry) -> None:
        self.steps = list(steps)
        self._retry = retry

    def run(
        self, count: int, build: Callable[[], list[Any]], build_one: Callable[[int], Any]
    ) -> tuple[list[Any], dict[int, tuple[Step, Exception]]]:
        """Records in their order, None where dropped or failed; and who failed, by place.

        `build` and `build_one` make fresh records: transforms own what they are given, so a
        second run must not see what the first has changed.
        """
        try:
            return self._batch(build()), {}
        except Exception:  # noqa: BLE001 - whoever raised is found again, record by record
            return self._singly(count, build_one)

    def _batch(self, records: list[Any]) -> list[Any]:
        places: list[int] | None = None
        count = len(records)
        for step in self.steps:
            started = perf_counter()
            records = step.apply_batch(records)
            step.seconds += perf_counter() - started
            if not all(records):
                if places is None:
                    places = list(range(count))
                places = [p for p, r in zip(places, records, strict=True) if r is not None]
                records = [r for r in records if r is not None]
                if not records:
                    break
        if places is None:
            return records
        result: list[Any] = [None] * count
        for place, record in zip(places, records, strict=True):
            result[place] = record
        return result

    def _singly(
        self, count: int, build_one: Callable[[int], Any]
    ) -> tuple[list[Any], dict[int, tuple[Step, Exception]]]:
        result: list[Any] = [None] * count
        failed: dict[int, tuple[Step, Exception]] = {}
        call = self._retry.call
        for i in range(count):
            record = build_one(i)
            for step in self.steps:
                try:
                    record = call(step.apply, record)
                except Exception as error:  # noqa: BLE001 - kept as the failure's cause
                    failed[i] = (step, error)
                    record = None
                if record is None:
                    break
            result[i] = record
        return result, failed

    def close(self) -> None:
        for step in self.steps:
            step.transform.close()
            if step.predicate is not None:
                step.predicate.close()


def chain_failure(record: Any, step: Step, error: Exception) -> Failure:
    return Failure(record, Stage.TRANSFORMATION, step.class_name, error)
