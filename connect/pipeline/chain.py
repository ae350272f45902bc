"""The transform chain: predicates and transforms of a connector, in order, over whole batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from time import perf_counter
from typing import Any

from connect.data.columns import Columns
from connect.data.schema import Schema
from connect.pipeline.failures import Failure, Retry, Stage
from connect.plugin import Predicate, Transformation, ValueEdit

# Plans are kept for so many schemas: one that comes new with each record must not fill the memory.
MOST_PLANS = 256

# The new schema, whether the value is copied first, and what is done to it.
_FusedPlan = tuple[Schema | None, bool, list[Callable[[Any, Any], Any]]]


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

    def took(self, seconds: float) -> None:
        self.seconds += seconds

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


class _Fused:
    """Neighbouring steps that change the value alone, done in one loop on one copy of it."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps
        # By a schema's identity; the entry holds the schema, so its id can't pass to another.
        self._plans: dict[int, tuple[Schema | None, _FusedPlan | None]] = {}

    def took(self, seconds: float) -> None:
        for step in self.steps:
            step.seconds += seconds / len(self.steps)

    def fits(self, records: Sequence[Any]) -> bool:
        """Whether these records, judged by the first, are better done together than in steps."""
        return self._plan(records[0].value_schema) is not None

    def apply_batch(self, records: Sequence[Any]) -> list[Any]:
        result = [*records]
        seen: object = self  # no schema
        plan: _FusedPlan | None = None
        for i, record in enumerate(records):
            value = record.value
            schema = record.value_schema
            if schema is not seen:
                plan = self._plan(schema)
                seen = schema
            if value is None or plan is None:
                result[i] = self._apply(record)
                continue
            new_schema, copies, changes = plan
            if copies:
                value = {**value}
            for change in changes:
                value = change(value, record)
            record.value = value
            record.value_schema = new_schema
        return result

    def apply(self, record: Any) -> Any:
        value = record.value
        plan = None if value is None else self._plan(record.value_schema)
        if plan is None:
            return self._apply(record)
        schema, copies, changes = plan
        if copies:
            value = {**value}
        for change in changes:
            value = change(value, record)
        record.value = value
        record.value_schema = schema
        return record

    def _apply(self, record: Any) -> Any:
        for step in self.steps:
            record = step.apply(record)
            if record is None:
                break
        return record

    def _plan(self, schema: Schema | None) -> _FusedPlan | None:
        known = self._plans.get(id(schema))
        if known is None:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            known = self._plans[id(schema)] = (schema, self._make(schema))
        return known[1]

    def _make(self, schema: Schema | None) -> _FusedPlan | None:
        edits: list[ValueEdit] = []
        for step in self.steps:
            edit = step.transform.value_edit(schema)
            if edit is None:
                return None
            edits.append(edit)
            schema = edit.schema
        return schema, edits[0].in_place, [edit.change for edit in edits]


def _in_stages(steps: Sequence[Step]) -> list[_Fused | Step]:
    """The steps, with neighbours that can be done together as one."""
    stages: list[_Fused | Step] = []
    for fusible, run in groupby(steps, key=_fusible):
        some = [*run]
        stages += [_Fused(some)] if fusible and len(some) > 1 else some
    return stages


def _fusible(step: Step) -> bool:
    return step.predicate is None and (
        type(step.transform).value_edit is not Transformation.value_edit
    )


class Chain:
    """All steps. Batches go through step by step; a batch that raises goes record by record."""

    def __init__(self, steps: Sequence[Step], retry: Retry) -> None:
        self.steps = list(steps)
        self._stages = _in_stages(self.steps)
        self._retry = retry

    def run(
        self, records: list[Any], build_one: Callable[[int], Any]
    ) -> tuple[list[Any], dict[int, tuple[Step, Exception]]]:
        """Records in their order, None where dropped or failed; and who failed, by place.

        `build_one` makes one of them anew: transforms own what they are given, so a second run
        must not see what the first has changed.
        """
        try:
            return self._batch(records), {}
        except Exception:  # noqa: BLE001 - whoever raised is found again, record by record
            return self._singly(len(records), build_one)

    def run_one(self, record: Any) -> Any:
        """A record that comes alone; None if it is dropped. Whoever fails, raises."""
        started = perf_counter()
        for stage in self._stages:
            record = stage.apply(record)
            now = perf_counter()
            stage.took(now - started)
            if record is None:
                break
            started = now
        return record

    def edit_columns(self, columns: Columns, count: int) -> Columns | None:
        """What all steps make of these columns; None if there is one that wants records.

        None as well if no field is left: columns would not tell how many values there are.
        """
        return self._edit(self.steps, columns, count)

    def hoist(self, schema: Schema | None, values: Sequence[Any]) -> Columns | None:
        """The same for whole values, if the first step makes each of them a field."""
        first, *others = self.steps
        edit = None if first.predicate is not None else first.transform.value_edit(schema)
        if edit is None or edit.hoists is None:
            return None
        return self._edit(others, Columns(edit.schema, {edit.hoists: values}), len(values))

    def _edit(self, steps: Sequence[Step], columns: Columns, count: int) -> Columns | None:
        schema, fields = columns
        for step in steps:
            edit = None if step.predicate is not None else step.transform.value_edit(schema)
            if edit is None or edit.columns is None:
                return None
            started = perf_counter()
            fields = edit.columns(fields, count)
            step.seconds += perf_counter() - started
            schema = edit.schema
        return Columns(schema, fields) if fields else None

    def _batch(self, records: list[Any]) -> list[Any]:
        places: list[int] | None = None
        count = len(records)
        for stage in self._stages:
            parts: Sequence[_Fused | Step] = [stage]
            if isinstance(stage, _Fused) and not stage.fits(records):
                parts = stage.steps
            for part in parts:
                started = perf_counter()
                records = part.apply_batch(records)
                part.took(perf_counter() - started)
                if not all(records):
                    if places is None:
                        places = list(range(count))
                    places = [p for p, r in zip(places, records, strict=True) if r is not None]
                    records = [r for r in records if r is not None]
                if not records:
                    return [None] * count
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
